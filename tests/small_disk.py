"""A disk of a few megabytes, which a test can really fill."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from sqlalchemy import Connection, text

from catchment.errors import FullStore
from catchment.store.database import Store


class SmallDisk:
    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._filler = folder / "filler"

    def fill(self) -> None:
        """Leave not a byte."""
        with self._filler.open("ab", buffering=0) as filler:
            for size in (1 << 20, 1 << 12, 1):
                try:
                    while True:
                        filler.write(b"x" * size)
                except OSError:
                    continue

    def fill_but(self, size: int) -> None:
        """Leave so many bytes."""
        free = os.statvfs(self.folder)
        self._filler.write_bytes(b"x" * (free.f_bavail * free.f_frsize - size))

    def make_room(self) -> None:
        self._filler.unlink()

    def set_read_only(self, *, read_only: bool) -> None:
        _run("mount", "-o", f"remount,{'ro' if read_only else 'rw'}", str(self.folder))


@contextmanager
def small_disk(folder: Path, *, megabytes: int = 8) -> Iterator[SmallDisk]:
    folder.mkdir()
    try:
        _run("mount", "-t", "tmpfs", "-o", f"size={megabytes}m", "tmpfs", str(folder))
    except (OSError, subprocess.CalledProcessError) as error:
        pytest.skip(f"no file system can be mounted here: {error}")
    try:
        yield SmallDisk(folder)
    finally:
        _run("umount", "--lazy", str(folder))


async def fill_until_refused(store: Store) -> None:
    """SQLite has room in the files that it has: until that is used up as well, writing goes on."""

    def put(conn: Connection) -> None:
        conn.execute(text("INSERT INTO config VALUES (hex(randomblob(16)), hex(randomblob(20000)), '2026-03-01')"))

    async def put_on() -> None:
        while True:
            await store.write(put)

    with pytest.raises(FullStore):
        await put_on()


def _run(*words: str) -> None:
    subprocess.run(words, check=True, capture_output=True)
