"""Backups: a whole store in one SQLite file, whichever store it is of. Each can be read back into either."""

from __future__ import annotations

import shutil
import sqlite3
from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from tempfile import TemporaryDirectory

from sqlalchemy.engine import URL

from catchment.errors import Conflict, NotFound, StoreError
from catchment.store.copying import Counts, Progress, copy_store
from catchment.store.migrate import migrate_url

#: Only what is named like this is ever cleaned away.
_NAME = "catchment-{moment:%Y%m%d-%H%M%S}.sqlite3"
_PATTERN = "catchment-????????-??????.sqlite3"
_UNFINISHED = ".part"


@dataclass(frozen=True, slots=True, kw_only=True)
class Backup:
    file: Path
    size_bytes: int
    rows: Counts


def backup_name(now: datetime) -> str:
    return _NAME.format(moment=now)


def make_backup(store: URL, file: Path, *, progress: Progress | None = None) -> Backup:
    """Write the store into a new file, which is there once it is complete."""
    if file.exists():
        raise Conflict(f"{file} exists already, so no backup was made: name another file.")
    try:
        rows = _write(store, file, progress)
    except OSError as error:
        raise StoreError(f"The backup {file} cannot be written: {error.strerror}.") from error
    return Backup(file=file, size_bytes=file.stat().st_size, rows=rows)


def restore_backup(file: Path, store: URL, *, replace: bool = False, progress: Progress | None = None) -> Counts:
    """Read a backup back, also one of an earlier release; the file stays as it is."""
    if not file.is_file():
        raise NotFound(f"There is no backup at {file}.")
    with TemporaryDirectory(prefix="catchment-restore-") as folder:
        copy = Path(folder) / file.name
        _read_into(copy, file)
        if not _is_store(copy):
            raise StoreError(f"{file} is not a backup of Catchment, so nothing was restored.")
        migrate_url(_url_of(copy))
        return copy_store(_url_of(copy), store, replace=replace, progress=progress)


def keep_newest(folder: Path, keep: int) -> Sequence[Path]:
    """Delete the backups in a folder but the newest, and return those that went."""
    old = sorted(folder.glob(_PATTERN), reverse=True)[keep:]
    for file in old:
        file.unlink()
    return old


def _write(store: URL, file: Path, progress: Progress | None) -> Counts:
    file.parent.mkdir(parents=True, exist_ok=True)
    unfinished = file.with_name(file.name + _UNFINISHED)
    unfinished.unlink(missing_ok=True)
    # It holds whatever the store does: nobody else has to read it.
    unfinished.touch(mode=0o600)
    try:
        rows = copy_store(store, _url_of(unfinished), progress=progress)
        unfinished.rename(file)
    finally:
        unfinished.unlink(missing_ok=True)
    return rows


def _read_into(copy: Path, file: Path) -> None:
    try:
        shutil.copyfile(file, copy)
    except OSError as error:
        raise StoreError(f"The backup {file} cannot be read: {error.strerror}.") from error


def _is_store(file: Path) -> bool:
    """An empty or foreign file would be made a store of, and restored as one that holds nothing."""
    try:
        with closing(sqlite3.connect(file)) as db:
            return bool(db.execute("SELECT 1 FROM sqlite_master WHERE name = 'alembic_version'").fetchone())
    except sqlite3.DatabaseError:
        return False


def _url_of(file: Path) -> URL:
    return URL.create("sqlite+pysqlite", database=str(file))
