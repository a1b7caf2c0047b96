"""Backups: a whole store in one SQLite file, whichever store it is of. Each can be read back into either.

A backup is whole or it is none: it ends in a manifest, which is checked before anything is replaced. A SQLite store is
restored in a file beside it, which takes its place once it is complete; PostgreSQL is filled in one transaction.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from sqlalchemy.engine import URL

from catchment import __version__
from catchment.errors import Conflict, InvalidInput, NotFound, StoreError
from catchment.store import runs
from catchment.store.backup_manifest import Manifest, read_manifest, seal
from catchment.store.copy import Counts, Progress, connected, copy_store, count_rows, is_same_place, refuse_to_replace
from catchment.store.database import COMPANIONS, OWNERS_FOLDER, migration_engine, reading_engine
from catchment.store.migrate import head_revision, migrate_url, refuse_unknown_schema

#: Only what is named like this is ever cleaned away.
_NAME = "catchment-%Y%m%d-%H%M%S.sqlite3"
_PATTERN = "catchment-????????-??????.sqlite3"
_UNFINISHED, _RESTORING = ".part", ".restoring"
#: SQLite's `application_id` of a backup with a manifest, so that one that lost its manifest is known.
_BACKUP_ID, _STORE_ID = 0x43617463, 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Backup:
    file: Path
    size_bytes: int
    rows: Counts


@dataclass(frozen=True, slots=True, kw_only=True)
class BackupFile:
    name: str
    made_at: datetime
    size_bytes: int


def list_backups(folder: Path) -> list[BackupFile]:
    """The complete ones that are named as ours are, the newest first."""
    return [
        BackupFile(name=file.name, made_at=_moment_of(file), size_bytes=file.stat().st_size)
        for file in sorted(folder.glob(_PATTERN), reverse=True)
    ]


def _moment_of(file: Path) -> datetime:
    """As its name says, which survives a copy; else when it was written."""
    try:
        return datetime.strptime(file.name, _NAME).replace(tzinfo=UTC)
    except ValueError:
        return datetime.fromtimestamp(file.stat().st_mtime, UTC)


def backup_name(now: datetime) -> str:
    return now.strftime(_NAME)


def make_backup(store: URL, file: Path, *, progress: Progress | None = None) -> Backup:
    """Write the store into a new file, which is there once it is complete and was read again."""
    if file.exists():
        raise Conflict(f"{file} exists already, so no backup was made: name another file.")
    try:
        rows = _write(store, file, progress)
    except OSError as error:
        raise StoreError(f"The backup {file} cannot be written: {error.strerror}.") from error
    return Backup(file=file, size_bytes=file.stat().st_size, rows=rows)


def restore_backup(
    file: Path,
    store: URL,
    *,
    replace: bool = False,
    in_use: bool = False,
    workplace: Path | None = None,
    progress: Progress | None = None,
) -> Counts:
    """Read a backup back, also one of an earlier release; the file stays as it is.

    `in_use` fills a SQLite store that other processes have open, row by row, instead of putting a new file in its
    place. In the `workplace` is room for a copy of the backup, on its way into PostgreSQL.
    """
    _require_backup(file)
    if is_same_place(_url_of(file), store):
        raise InvalidInput(f"{file} is the store itself: name a backup of it.")
    copy = _copy_for(store, workplace or file.parent)
    with _told_as_ours(file), _file_in_new_folder(copy):
        _unpack(file, copy)
        migrate_url(_url_of(copy))
        with connected(migration_engine(_url_of(copy))) as conn:
            runs.lapse(conn)
        if in_use or store.get_backend_name() != "sqlite":
            return copy_store(_url_of(copy), store, replace=replace, progress=progress)
        return _put_in_place(copy, store, replace=replace)


def clear_killed_restore(store: URL, workplace: Path) -> None:
    """Remove what a restore left that was killed. It never touched the store."""
    clear_leftover(_copy_for(store, workplace))


def keep_newest(folder: Path, keep: int) -> Sequence[Path]:
    """Delete the backups in a folder but the newest, and return those that went; what killed ones left goes as well."""
    for left in folder.glob(_PATTERN + _UNFINISHED):
        clear_leftover(left)
    old = sorted(folder.glob(_PATTERN), reverse=True)[keep:]
    for file in old:
        file.unlink()
    return old


def _write(store: URL, file: Path, progress: Progress | None) -> Counts:
    file.parent.mkdir(mode=OWNERS_FOLDER, parents=True, exist_ok=True)
    unfinished = file.with_name(file.name + _UNFINISHED)
    with exclusive_file(unfinished):
        rows = copy_store(store, _url_of(unfinished), progress=progress)
        _make_one_file(unfinished, _BACKUP_ID)
        size = unfinished.stat().st_size
        seal(unfinished, Manifest(version=__version__, schema=head_revision(), size_bytes=size, rows=dict(rows)))
        _check_contents(unfinished, file, read_manifest(unfinished, name=file))
        unfinished.rename(file)
        sync_folder(file.parent)
    return rows


def _require_backup(file: Path) -> None:
    """What can be said before a byte is read."""
    if not file.is_file():
        raise NotFound(f"There is no backup at {file}.")
    if file.name.endswith(_UNFINISHED):
        raise StoreError(f"{file} is an unfinished backup, so nothing was restored: use one that was completed.")
    if not file.stat().st_size:
        raise StoreError(f"{file} is empty, not a backup of Catchment, so nothing was restored.")
    if Path(f"{file}-wal").exists():
        raise StoreError(
            f"{file} is a database in use (there is {file.name}-wal beside it), not a backup, so nothing was restored. "
            "`catchment backup` makes one."
        )


@contextmanager
def _told_as_ours(file: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise StoreError(f"The backup {file} cannot be restored: {error.strerror}; nothing was replaced.") from error


def _copy_for(store: URL, workplace: Path) -> Path:
    """Where a restore works: beside a SQLite store, so that the copy can take its place."""
    if store.get_backend_name() == "sqlite":
        target = Path(store.database or "").resolve()
        return target.with_name(target.name + _RESTORING)
    return workplace / f"catchment.sqlite3{_RESTORING}"


@contextmanager
def _file_in_new_folder(copy: Path) -> Iterator[None]:
    copy.parent.mkdir(mode=OWNERS_FOLDER, parents=True, exist_ok=True)
    with exclusive_file(copy):
        yield


def _unpack(file: Path, copy: Path) -> None:
    """The database of a backup, once it is known to be whole."""
    with file.open("rb") as backup, copy.open("r+b") as pages:
        shutil.copyfileobj(backup, pages)
        pages.flush()
        os.fsync(pages.fileno())
    manifest = read_manifest(copy, name=file)
    if manifest is not None:
        os.truncate(copy, manifest.size_bytes)
    _check_contents(copy, file, manifest)


def _check_contents(copy: Path, file: Path, manifest: Manifest | None) -> None:
    """Raises StoreError unless the database is sound and holds what it should."""
    try:
        with closing(sqlite3.connect(copy)) as db:
            _check_database(db, file, manifest)
    except sqlite3.DatabaseError as error:
        if _is_sqlite(copy):
            raise _damaged(file, str(error)) from error
        raise StoreError(f"{file} is not a backup of Catchment, so nothing was restored.") from error


def _check_database(db: sqlite3.Connection, file: Path, manifest: Manifest | None) -> None:
    (found,) = db.execute("PRAGMA integrity_check(1)").fetchone()
    if found != "ok":
        raise _damaged(file, found)
    if not db.execute("SELECT 1 FROM sqlite_master WHERE name = 'alembic_version'").fetchone():
        raise StoreError(f"{file} is not a backup of Catchment, so nothing was restored.")
    (schema,) = db.execute("SELECT version_num FROM alembic_version").fetchone() or (None,)
    refuse_unknown_schema(schema, f"The backup {file}")
    if manifest is not None:
        _check_counts(db, file, manifest, schema)
    else:
        _check_without_manifest(db, file)


def _check_counts(db: sqlite3.Connection, file: Path, manifest: Manifest, schema: str | None) -> None:
    rows = _count_tables(db, manifest.rows)
    if schema != manifest.schema or rows != manifest.rows:
        raise _damaged(file, "it does not hold what its manifest says")


def _check_without_manifest(db: sqlite3.Connection, file: Path) -> None:
    """As they were before they had one. That it is sound was found out; that it was completed shows in what it holds,
    which came in one transaction.
    """
    if db.execute("PRAGMA application_id").fetchone() == (_BACKUP_ID,):
        raise StoreError(
            f"The backup {file} is incomplete or damaged: its manifest is missing. Nothing was changed; "
            "use another backup."
        )
    names = [name for (name,) in db.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
    # What belongs to the search is made anew from the rest.
    told = [name for name in names if name != "alembic_version" and not name.startswith("search_")]
    if not any(_count_tables(db, told).values()):
        raise StoreError(
            f"{file} holds nothing and has no manifest that would say that this is all, so nothing was restored. "
            "It may be half a backup: use another one."
        )


def _count_tables(db: sqlite3.Connection, names: Iterable[str]) -> dict[str, int]:
    return {name: db.execute(f'SELECT count(*) FROM "{name}"').fetchone()[0] for name in names}  # noqa: S608 (a table)


def _damaged(file: Path, why: str) -> StoreError:
    return StoreError(f"The backup {file} is damaged: {why}. Nothing was changed; use another backup.")


def _is_sqlite(file: Path) -> bool:
    with file.open("rb") as opened:
        return opened.read(16) == b"SQLite format 3\0"


def _put_in_place(copy: Path, store: URL, *, replace: bool) -> Counts:
    """Have the copy be the store, once it is counted and nobody else has the old one open."""
    target = Path(store.database or "").resolve()
    with connected(reading_engine(_url_of(copy))) as conn:
        rows = count_rows(conn)
    _make_one_file(copy, _STORE_ID)
    if target.exists():
        _take_over_mode(target, copy)
    if target.exists() and target.stat().st_size:
        if not replace:
            refuse_to_replace(store)
        with _nobody_has_open(target):
            copy.replace(target)
    else:
        # What lies beside a store that is gone would be read as part of the new one.
        remove_companions(target)
        copy.replace(target)
    sync_folder(target.parent)
    return rows


@contextmanager
def _nobody_has_open(target: Path) -> Iterator[None]:
    """All of the old store is in its file, nothing in a `-wal` beside it, and nobody can open it meanwhile."""
    with closing(sqlite3.connect(target, isolation_level=None, timeout=1.0)) as old:
        try:
            old.execute("PRAGMA journal_mode = DELETE")
            old.execute("BEGIN EXCLUSIVE")
        except sqlite3.OperationalError as error:
            raise Conflict(
                f"The store {target} is open in another process ({error}), so nothing was replaced: stop it first."
            ) from error
        except sqlite3.DatabaseError as error:
            raise StoreError(
                f"{target} is damaged or no store at all ({error}), so nothing was replaced: move it away, with what "
                "is named like it, and restore again."
            ) from error
        yield


def _take_over_mode(old: Path, new: Path) -> None:
    """Whoever could use the old one can use the new one."""
    held = old.stat()
    # Only root may give a file away.
    with suppress(PermissionError):
        os.chown(new, held.st_uid, held.st_gid)
    new.chmod(held.st_mode & 0o777)


def _make_one_file(file: Path, application_id: int) -> None:
    """Nothing of it is left in a file beside it."""
    with closing(sqlite3.connect(file)) as db:
        db.execute("PRAGMA journal_mode = DELETE")
        db.execute(f"PRAGMA application_id = {application_id}")


def _url_of(file: Path) -> URL:
    return URL.create("sqlite+pysqlite", database=str(file))


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
