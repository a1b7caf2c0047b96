"""Bring a store to the schema of this release, or back to an earlier one."""

from __future__ import annotations

import asyncio
import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path

from sqlalchemy import Connection, Engine, inspect, text
from sqlalchemy.engine import URL

from catchment.errors import MissingStore, StoreError
from catchment.store.database import (
    COMPANIONS,
    OWNERS_FILE,
    Store,
    migration_engine,
    reading_engine,
    shown_place,
    sqlite_file,
    translated_errors,
)

#: As for migrations: any number will do, as long as every process asks for the same one.
WORKER_TABLES_LOCK = 7_767_002
JOBS = "procrastinate_jobs"


def ensure_worker_tables(conn: Connection, schema: str) -> bool:
    """Run the schema where it is not there yet; says whether it was. Processes that start together take turns."""
    conn.execute(text("SELECT pg_advisory_xact_lock(:key)"), {"key": WORKER_TABLES_LOCK})
    if inspect(conn).has_table(JOBS):
        return False
    conn.exec_driver_sql(schema.replace("%", "%%"))
    return True


#: Any number will do, as long as every process asks for the same one.
ADVISORY_LOCK = 7_767_001
_MIGRATIONS = Path(__file__).parent / "migrations"
_DIGITS = 4


async def migrate(store: Store, revision: str = "head", *, makes_store: bool = True) -> None:
    await asyncio.to_thread(migrate_url, store.url, revision, makes_store=makes_store)


def migrate_url(url: URL, revision: str = "head", *, makes_store: bool = True) -> None:
    """Move to `revision` in one transaction. Processes that start together take turns."""
    with translated_errors(url), _made_whole(url) if makes_store else nullcontext(url) as place:
        _migrate(place, revision, makes_store=makes_store)


@contextmanager
def _made_whole(url: URL) -> Iterator[URL]:
    """Where to migrate: a new file is made beside its place and then moved there, so that whoever is killed meanwhile
    leaves no store without content. Those who find no file at the same time take turns.
    """
    file = sqlite_file(url)
    if file is None or file.exists():
        yield url
        return
    new = Path(f"{file.resolve()}.new")
    with _locked(new):
        if file.exists():
            new.unlink(missing_ok=True)
            yield url
            return
        os.truncate(new, 0)
        for end in COMPANIONS:
            Path(f"{new}{end}").unlink(missing_ok=True)
        yield url.set(database=str(new))
        new.rename(file.resolve())


@contextmanager
def _locked(new: Path) -> Iterator[None]:
    """Alone with this file, which is made if need be; the lock goes with the process."""
    try:
        descriptor = os.open(new, os.O_CREAT | os.O_RDWR, OWNERS_FILE)
    except OSError as error:
        raise StoreError(f"The store cannot be made: {new}: {error.strerror}") from error
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


def _migrate(url: URL, revision: str, *, makes_store: bool) -> None:
    # Read first: whoever finds the store as it should be waits for nobody who writes.
    with _begun(reading_engine(url)) as conn:
        if not _has_to_move(conn, url, revision, makes_store=makes_store):
            return
    with _begun(migration_engine(url)) as conn:
        if conn.dialect.name == "postgresql":
            conn.execute(text("SELECT pg_advisory_xact_lock(:key)"), {"key": ADVISORY_LOCK})
        if _has_to_move(conn, url, revision, makes_store=makes_store):
            _move(conn, revision)


@contextmanager
def _begun(engine: Engine) -> Iterator[Connection]:
    try:
        with engine.begin() as conn:
            yield conn
    finally:
        engine.dispose()


def _has_to_move(conn: Connection, url: URL, revision: str, *, makes_store: bool) -> bool:
    current = current_revision(conn)
    refuse_unknown_schema(current, f"The store {shown_place(url)}")
    if not makes_store and current is None:
        raise missing_store(url)
    return revision != "head" or current != head_revision()


def require_file(url: URL) -> None:
    """Refuse a store in a file that is not there, before opening it would make it."""
    file = sqlite_file(url)
    if file is not None and not file.is_file():
        raise missing_store(url)


def missing_store(url: URL) -> MissingStore:
    variable = "CATCHMENT_HOME" if sqlite_file(url) else "DATABASE_URL"
    return MissingStore(
        f"There is no store at {shown_place(url)}. `catchment up` or `catchment add` makes one there; "
        f"{variable} says where one is that is elsewhere."
    )


def current_revision(conn: Connection) -> str | None:
    if not inspect(conn).has_table("alembic_version"):
        return None
    return conn.execute(text("SELECT version_num FROM alembic_version")).scalar_one_or_none()


def head_revision() -> str:
    """The revision that this release works on. Files are named by what they lead to: nobody has to read them all."""
    return max(_revisions())


def refuse_unknown_schema(revision: str | None, what: str) -> None:
    """StoreError for a store or a backup that this release cannot bring to its own schema."""
    if revision is not None and revision > head_revision():
        raise StoreError(
            f"{what} is at schema {revision}, made by a newer release; this one knows {head_revision()} at most. "
            "Upgrade Catchment, or restore a backup made before the upgrade."
        )
    if revision is not None and revision < (oldest := min(_revisions())):
        raise StoreError(
            f"{what} is at schema {revision}; this release takes over what is at {oldest} or later. Start the last "
            f"release that takes {revision} on it once (a backup: restore it there and make a new one), then come back."
        )


def _revisions() -> list[str]:
    return [path.name[:_DIGITS] for path in (_MIGRATIONS / "versions").glob("[0-9]*.py")]


def _move(conn: Connection, revision: str) -> None:
    # Loaded when there is something to move: most starts find the store as it should be.
    from alembic import command
    from alembic.config import Config

    config = Config()
    config.set_main_option("script_location", str(_MIGRATIONS))
    config.attributes["connection"] = conn
    if revision == "head" or _is_ahead(conn, revision):
        command.upgrade(config, revision)
    else:
        command.downgrade(config, revision)


def _is_ahead(conn: Connection, revision: str) -> bool:
    """Revisions are numbered, so order is text order; `base` comes before all."""
    return revision != "base" and revision >= (current_revision(conn) or "")
