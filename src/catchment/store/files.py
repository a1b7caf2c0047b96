"""Files on their way: written under another name by one process at a time, and renamed once they are complete."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from catchment.errors import Conflict

#: What SQLite keeps beside its file.
COMPANIONS = ("-wal", "-shm", "-journal")
#: They hold whatever a store does: nobody else has to read them.
_OWNERS_FILE = 0o600


def remove_with_companions(path: Path) -> None:
    path.unlink(missing_ok=True)
    remove_companions(path)


def remove_companions(path: Path) -> None:
    for end in COMPANIONS:
        Path(f"{path}{end}").unlink(missing_ok=True)


@contextmanager
def exclusive_file(path: Path) -> Iterator[None]:
    """An empty file that no other process writes meanwhile; in the end it was renamed, or it is gone.

    The lock goes with the process, so that what a killed one left is in nobody's way. Raises Conflict when it is held.
    """
    with _locked(path) as is_ours:
        if not is_ours:
            raise Conflict(f"{path} is being written by another process at this moment: wait until it is done.")
        try:
            remove_companions(path)
            os.truncate(path, 0)
            yield
        finally:
            remove_with_companions(path)


def clear_leftover(path: Path) -> None:
    """Remove what a killed process left, unless somebody is at it."""
    if not path.exists():
        return
    # Whoever may not touch it need not care about it either.
    with suppress(OSError), _locked(path) as is_left:
        if is_left:
            remove_with_companions(path)


def sync_folder(folder: Path) -> None:
    """A file that was renamed has its new name for good."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


@contextmanager
def _locked(path: Path) -> Iterator[bool]:
    """Whether the lock on this file, which is made if need be, is ours."""
    descriptor = os.open(path, os.O_CREAT | os.O_RDWR, _OWNERS_FILE)
    try:
        yield _lock(descriptor) and _is_still(path, descriptor)
    finally:
        os.close(descriptor)


def _lock(descriptor: int) -> bool:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _is_still(path: Path, descriptor: int) -> bool:
    """Whoever held the lock until now may have renamed the file."""
    return path.exists() and path.stat().st_ino == os.fstat(descriptor).st_ino
