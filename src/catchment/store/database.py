"""The door to the database: `read` and `write` run a function of the other modules here in one transaction.

Those functions are plain and synchronous (`def pick(conn, …) -> …`), so they are written once for both stores. SQLite
runs them in threads of its own, with one writer, so that writers queue up here instead of meeting a lock; PostgreSQL
runs them on an async connection from a pool. A process that serves nobody runs those of SQLite on its event loop:
threads that take turns at one interpreter hold the lock of a store four times as long as what they do there takes.
"""

from __future__ import annotations

import asyncio
import os
import shutil
import sqlite3
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager, suppress
from datetime import datetime
from enum import StrEnum
from importlib import import_module
from pathlib import Path
from threading import Event
from time import monotonic, sleep
from typing import Any, Concatenate, ParamSpec, Protocol, TypeVar

from sqlalchemy import Connection, Engine, create_engine, event
from sqlalchemy.engine import URL, make_url
from sqlalchemy.exc import ArgumentError, DBAPIError, OperationalError
from sqlalchemy.exc import TimeoutError as NoneFree
from sqlalchemy.pool import NullPool, QueuePool

from catchment.errors import DamagedStore, FullStore, ReadOnlyStore, SettingsError, StoreError
from catchment.store import jobs
from catchment.store.types import AS_JSON

#: What SQLite keeps beside its file.
COMPANIONS = ("-wal", "-shm", "-journal")
#: What SQLite says of a file that it cannot read.
DAMAGE = ("malformed", "not a database")
#: How the stores call a disk without room, and a store that must not be written: by SQLSTATE, or by SQLite's code.
FULL, READ_ONLY = {"53100", sqlite3.SQLITE_FULL}, {"25006", sqlite3.SQLITE_READONLY}
#: SQLite lets nobody wait any longer.
LOCKED = {sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED}
#: SQLite tells more about an error in the bits above these.
_PRIMARY = 0xFF
_LOCK = "BEGIN IMMEDIATE"
#: Less than SQLite needs for a page and its log.
NO_ROOM_BYTES = 64 * 1024


@contextmanager
def translated_errors(url: URL) -> Iterator[None]:
    """Turn what an operator can mend into a StoreError; let our own mistakes pass as they are."""
    shown = shown_place(url)
    try:
        yield
    except NoneFree as error:
        raise StoreError(f"The store {shown} is busy: none of our connections to it came free.") from error
    except DBAPIError as error:
        if isinstance(error.orig, sqlite3.DatabaseError) and any(sign in str(error.orig) for sign in DAMAGE):
            raise DamagedStore(f"The store {url.database} is damaged: {error.orig}.") from error
        if _is_full(error, url):
            raise FullStore(f"The store {shown} cannot be written, its disk is full: {error.orig}") from error
        if _code(error) in READ_ONLY:
            raise ReadOnlyStore(f"The store {shown} cannot be written, it is read-only: {error.orig}") from error
        if _code(error) in LOCKED:
            held = "another program holds it, or it lies on a network file system; end that program and try again"
            raise StoreError(f"The store {shown} is locked: {held}.") from error
        # A server that ends an idle transaction calls that an error of ours.
        if isinstance(error, OperationalError) or error.connection_invalidated:
            raise StoreError(f"The store {shown} failed: {error.orig}") from error
        raise


def _is_full(error: DBAPIError, url: URL) -> bool:
    code = _code(error)
    if code == sqlite3.SQLITE_IOERR:
        # What SQLite says when it cannot lay its files beside the store, for want of room or for other reasons.
        return shutil.disk_usage(Path(url.database or "").absolute().parent).free < NO_ROOM_BYTES
    return code in FULL


def _code(error: DBAPIError) -> str | int:
    return getattr(error.orig, "sqlstate", None) or getattr(error.orig, "sqlite_errorcode", 0) & _PRIMARY


#: What an incremental crawl remembers.
_STATE = ("expeditions", "listings", "candidates")


def check_soundness(conn: Connection) -> None:
    """DamagedStore when a part of the file is broken, even one that nobody asked for yet. Others look after theirs."""
    _check(conn, "1")


def check_state(conn: Connection) -> None:
    """The same of the state of incremental crawls alone: a store with many items takes long to look through."""
    for table in _STATE:
        _check(conn, table)


def _check(conn: Connection, what: str) -> None:
    if conn.dialect.name != "sqlite":
        return
    found = conn.exec_driver_sql(f"PRAGMA quick_check({what})").scalar()
    if found != "ok":
        raise DamagedStore(f"The store {conn.engine.url.database} is damaged: {found}.")


def set_aside(url: str, now: datetime) -> Path:
    """Rename the file of a closed store and say what it is called now; the next to open the store begins a new one."""
    path = Path(make_url(url).database or "")
    kept = path.with_name(f"{path.name}.damaged-{now:%Y%m%dT%H%M%S}")
    for companion in ("", *COMPANIONS):
        file = Path(f"{path}{companion}")
        if file.exists():
            file.rename(f"{kept}{companion}")
    return kept


P = ParamSpec("P")
T = TypeVar("T")
READERS = 4
#: Another process may be writing; its transactions are short, so this is never reached in health.
BUSY_SECONDS = 60
BUSY_LOOK_SECONDS = 0.002
#: A store holds what sources are opened with: nobody else has to read it.
OWNERS_FOLDER, OWNERS_FILE = 0o700, 0o600


class Store(Protocol):
    url: URL
    #: Whether it can be written.
    checked: WriteCheck

    async def read(self, query: Callable[Concatenate[Connection, P], T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Run `query` in a read-only transaction."""
        ...

    async def write(self, change: Callable[Concatenate[Connection, P], T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Run `change` in one transaction: all of it happens, or none."""
        ...

    async def close(self) -> None: ...


def open_store(url: str, *, in_place: bool = False) -> Store:
    """`in_place` is for whoever may be held up by a transaction."""
    parsed = store_url(url)
    if parsed.get_backend_name() == "sqlite":
        return SqliteStoreInPlace(parsed) if in_place else SqliteStore(parsed)
    return PostgresStore(parsed)


def store_url(url: str) -> URL:
    """The address of a store, with the driver that we use."""
    try:
        parsed = make_url(url)
    except (ArgumentError, ValueError) as error:  # a ValueError is about its port
        raise SettingsError("DATABASE_URL is not a database URL; use sqlite:///path or postgresql://…") from error
    match parsed.get_backend_name():
        case "sqlite":
            if not parsed.database or parsed.database == ":memory:":
                raise SettingsError("DATABASE_URL: SQLite needs a file: sqlite:///path/to/catchment.sqlite3")
            return parsed.set(drivername="sqlite+pysqlite")
        case "postgresql" | "postgres":
            _require_psycopg()
            return parsed.set(drivername="postgresql+psycopg")
        case _:
            raise SettingsError(
                f"DATABASE_URL: {parsed.drivername} is not supported; use sqlite:///path or postgresql://…"
            )


def _require_psycopg() -> None:
    try:
        for module in ("psycopg", "greenlet"):
            import_module(module)
    except ImportError as error:
        raise SettingsError(f"PostgreSQL needs an extra: pip install 'catchment[postgres]' ({error}).") from error


def sqlite_file(url: URL) -> Path | None:
    """The file of a store in a file."""
    return Path(url.database) if url.get_backend_name() == "sqlite" and url.database else None


def shown_place(url: URL) -> str:
    """Where a store is, as a person may read it."""
    return str(sqlite_file(url) or url.render_as_string(hide_password=True))


class SqliteStore:
    def __init__(self, url: URL) -> None:
        self.url = url
        self.checked = WriteCheck(self)
        make_folder(self.url)
        refuse_emptied(self.url)
        self._writer = _sqlite_engine(self.url, begin=_begin_writing, connections=1)
        self._reader = _sqlite_engine(self.url, begin=_begin_reading, connections=READERS)
        self._write_thread = ThreadPoolExecutor(1, thread_name_prefix="store-writer")
        self._read_threads = ThreadPoolExecutor(READERS, thread_name_prefix="store-reader")

    async def read(self, query: Callable[Concatenate[Connection, P], T], *args: P.args, **kwargs: P.kwargs) -> T:
        return await _in_thread(self._read_threads, self._reader, lambda conn: query(conn, *args, **kwargs))

    async def write(self, change: Callable[Concatenate[Connection, P], T], *args: P.args, **kwargs: P.kwargs) -> T:
        with self.checked.watching():
            return await _in_thread(self._write_thread, self._writer, lambda conn: change(conn, *args, **kwargs))

    async def close(self) -> None:
        for threads, engine in ((self._read_threads, self._reader), (self._write_thread, self._writer)):
            await asyncio.to_thread(threads.shutdown)
            engine.dispose()


class SqliteStoreInPlace:
    """SQLite on the event loop: a transaction holds it up, to wait for the lock does not."""

    def __init__(self, url: URL) -> None:
        self.url = url
        self.checked = WriteCheck(self)
        self._writer = _sqlite_engine(self.url, begin=_begin_nothing, connections=1)
        self._reader = _sqlite_engine(self.url, begin=_begin_reading, connections=1)
        self._turn = asyncio.Lock()

    async def read(self, query: Callable[Concatenate[Connection, P], T], *args: P.args, **kwargs: P.kwargs) -> T:
        # Else whoever reads again and again would never let go of the loop.
        await asyncio.sleep(0)
        with translated_errors(self.url), self._reader.connect() as conn, conn.begin():
            return query(conn, *args, **kwargs)

    async def write(self, change: Callable[Concatenate[Connection, P], T], *args: P.args, **kwargs: P.kwargs) -> T:
        with self.checked.watching():
            async with self._turn:
                await asyncio.sleep(0)
                with translated_errors(self.url), self._writer.connect() as conn, conn.begin():
                    await _wait_for_lock(conn)
                    return change(conn, *args, **kwargs)

    async def close(self) -> None:
        for engine in (self._reader, self._writer):
            engine.dispose()


async def _in_thread(threads: ThreadPoolExecutor, engine: Engine, function: Callable[[Connection], T]) -> T:
    given_up = Event()

    def work() -> T:
        with translated_errors(engine.url), engine.connect() as conn:
            conn.info["given_up"] = given_up
            with conn.begin():
                return function(conn)

    try:
        return await asyncio.get_running_loop().run_in_executor(threads, work)
    except asyncio.CancelledError:
        given_up.set()
        raise


def make_folder(url: URL) -> None:
    folder = Path(url.database or "").parent
    try:
        folder.mkdir(mode=OWNERS_FOLDER, parents=True, exist_ok=True)
    except OSError as error:
        raise SettingsError(f"The data folder {folder} cannot be made: {error.strerror}") from error


def refuse_emptied(url: URL) -> None:
    """Raises DamagedStore where a store was and nothing is left of it: a new one in its place would hide the loss."""
    file = Path(url.database or "")
    if not file.exists():
        if Path(f"{file}-wal").exists():
            raise DamagedStore(
                f"The store {file} is gone, though {file.name}-wal is still beside it. Put the file back, or "
                "`catchment restore` a backup; to begin a new store, delete what is named like it first."
            )
        return
    if file.stat().st_size == 0:
        raise DamagedStore(
            f"The store {file} is empty (0 bytes): no schema and no rows, what was in it is lost. `catchment restore` "
            "a backup; to begin a new store, delete the empty file first."
        )


def _sqlite_engine(url: URL, *, begin: Callable[[Connection], None], connections: int) -> Engine:
    engine = create_engine(
        url,
        poolclass=QueuePool,
        pool_size=connections,
        max_overflow=0,
        # The one that was used last again: each has a cache of its own, and one that is full serves best.
        pool_use_lifo=True,
        connect_args={"check_same_thread": False},
        **AS_JSON,
    )
    event.listen(engine, "do_connect", _make_private)
    event.listen(engine, "connect", _prepare_sqlite)
    if begin is not _begin_reading:
        event.listen(engine, "connect", _prepare_writer)
    event.listen(engine, "begin", begin)
    return engine


def _make_private(_dialect: Any, _record: Any, place: Sequence[Any], _options: Any) -> None:
    """A store that is made now is for its owner alone, and what SQLite lays beside it has the same mode."""
    # Where it is there already, or cannot be made, SQLite says what there is to say.
    with suppress(OSError):
        os.close(os.open(place[0], os.O_CREAT | os.O_EXCL | os.O_WRONLY, OWNERS_FILE))


def _begin_reading(conn: Connection) -> None:
    conn.exec_driver_sql("BEGIN")


def _begin_writing(conn: Connection) -> None:
    """Wait for the writers of other processes, looking often: SQLite's own waiting grows to a tenth of a second a look,
    and whoever waits like that starves beside a busy collector. Nobody waits for what was given up meanwhile.
    """
    deadline = monotonic() + BUSY_SECONDS
    given_up: Event | None = conn.info.get("given_up")
    while monotonic() < deadline and not (given_up is not None and given_up.is_set()):
        if _has_locked(conn):
            return
        sleep(BUSY_LOOK_SECONDS)
    conn.exec_driver_sql(_LOCK)


def _begin_nothing(_conn: Connection) -> None:
    """The lock is waited for by whoever writes."""


async def _wait_for_lock(conn: Connection) -> None:
    deadline = monotonic() + BUSY_SECONDS
    while monotonic() < deadline:
        if _has_locked(conn):
            return
        await asyncio.sleep(BUSY_LOOK_SECONDS)
    conn.exec_driver_sql(_LOCK)


def _has_locked(conn: Connection) -> bool:
    """Whether the lock could be had at once. By the driver itself: for SQLAlchemy every look that finds it held is five
    times the work.
    """
    driver = conn.connection.driver_connection
    assert driver is not None
    try:
        driver.execute(_LOCK)
    except sqlite3.OperationalError as error:
        if error.sqlite_errorcode & _PRIMARY == sqlite3.SQLITE_BUSY:
            return False
        # Anything else is told in SQLAlchemy's words.
        conn.exec_driver_sql(_LOCK)
    return True


def _prepare_sqlite(connection: Any, _record: Any) -> None:
    # The driver must not begin transactions by its own lights: "begin" above says how.
    connection.isolation_level = None
    for pragma in (
        f"busy_timeout = {BUSY_SECONDS * 1000}",
        # For a store that is made now: an item is a kilobyte or more, and every page of a commit is a call of its own.
        "page_size = 16384",
        "journal_mode = WAL",
        "synchronous = NORMAL",
        "foreign_keys = ON",
        # Readers are many, and what they read again the system keeps as well.
        "cache_size = -8192",
        "temp_store = MEMORY",
        "wal_autocheckpoint = 2000",
    ):
        connection.execute(f"PRAGMA {pragma}")


def _prepare_writer(connection: Any, _record: Any) -> None:
    """Its transactions are large, and it waits by itself."""
    for pragma in ("busy_timeout = 0", "cache_size = -16384"):
        connection.execute(f"PRAGMA {pragma}")


def migration_engine(url: URL) -> Engine:
    """A plain engine for migrations, which run before anything else does."""
    if url.get_backend_name() == "sqlite":
        return _sqlite_engine(url, begin=_begin_writing, connections=1)
    return create_engine(url, poolclass=NullPool, **AS_JSON)


def reading_engine(url: URL) -> Engine:
    """A plain engine whose transactions see the store as it was when they began."""
    if url.get_backend_name() == "sqlite":
        return _sqlite_engine(url, begin=_begin_reading, connections=1)
    return create_engine(url, poolclass=NullPool, isolation_level="REPEATABLE READ", **AS_JSON)


def _speak_utc(connection: Any, _record: Any) -> None:
    """Moments come in UTC, as they are shown: to read one of any other zone, be it Etc/UTC, takes twice as long."""
    with closing(connection.cursor()) as cursor:
        cursor.execute("SET TIME ZONE 'UTC'")
    connection.commit()


class PostgresStore:
    def __init__(self, url: URL) -> None:
        self.url = url
        self.checked = WriteCheck(self)
        # Imported here: it takes a tenth of a second, and most stores are files.
        from sqlalchemy.ext.asyncio import create_async_engine

        self._engine = create_async_engine(url, pool_size=10, max_overflow=10, pool_pre_ping=True, **AS_JSON)
        event.listen(self._engine.sync_engine, "connect", _speak_utc)
        self._under_way: set[asyncio.Task[Any]] = set()

    async def read(self, query: Callable[Concatenate[Connection, P], T], *args: P.args, **kwargs: P.kwargs) -> T:
        return await self._run(lambda conn: query(conn, *args, **kwargs))

    async def write(self, change: Callable[Concatenate[Connection, P], T], *args: P.args, **kwargs: P.kwargs) -> T:
        with self.checked.watching():
            return await self._run(lambda conn: change(conn, *args, **kwargs))

    async def _run(self, function: Callable[[Connection], T]) -> T:
        """In a task of its own: who leaves a stream is cancelled anew at every step, also at those by which the
        connection would be brought in order for the next.
        """
        work = asyncio.create_task(self._transact(function))
        self._under_way.add(work)
        work.add_done_callback(self._forget)
        try:
            return await asyncio.shield(work)
        except asyncio.CancelledError:
            work.cancel()
            await asyncio.wait([work])
            raise

    async def _transact(self, function: Callable[[Connection], T]) -> T:
        with translated_errors(self.url):
            async with self._engine.begin() as conn:
                return await conn.run_sync(function)

    def _forget(self, work: asyncio.Task[Any]) -> None:
        self._under_way.discard(work)
        if not work.cancelled():
            work.exception()  # who left is not there to be told

    async def close(self) -> None:
        """What is under way ends first: at the end of its loop all is cancelled at once, also what gives connections
        back. What begins meanwhile closes its own: the pool, which is gone by then, would keep it.
        """
        event.listen(self._engine.sync_engine.pool, "checkin", lambda _connection, record: record.invalidate())
        if self._under_way:
            await asyncio.wait(self._under_way)
        await self._engine.dispose()


#: Strangers may ask for the health, but not have us write as often as they like.
FRESH_SECONDS = 1.0
#: A look is small, and may find room where what has to be stored finds none; that is tried again every second.
FAILING_SECONDS = 5.0
#: A look that has to wait for a long transaction tells nothing, and nobody who asks for the health waits longer.
PATIENCE_SECONDS = 0.1
#: When every look had to wait for so long, it is no transaction of ours: those are short.
HELD_SECONDS = 10.0
_WRITE_CHECK = "write check"


class WriteTrouble(StrEnum):
    FULL = "full"
    READ_ONLY = "read_only"
    HELD = "held"
    FAILING = "failing"


class WriteCheck:
    def __init__(self, store: Store, *, monotonic: Callable[[], float] = monotonic) -> None:
        self._store = store
        self._monotonic = monotonic
        self._looked_at: float | None = None
        #: The first look that had to wait, until a write comes through.
        self._waits_since: float | None = None
        self._failed_at: float | None = None
        self._trouble = WriteTrouble.FULL

    @contextmanager
    def watching(self) -> Iterator[None]:
        """Around every write: one that found no room is remembered."""
        try:
            yield
        except (FullStore, ReadOnlyStore) as error:
            self._failed_at = self._monotonic()
            self._trouble = WriteTrouble.FULL if isinstance(error, FullStore) else WriteTrouble.READ_ONLY
            raise
        self._waits_since = None

    async def require(self, now: datetime) -> None:
        """A StoreError where it cannot be written: for whoever begins what cannot do without."""
        await self._store.write(_write_a_little, now=now)

    async def trouble(self, now: datetime) -> WriteTrouble | None:
        """What keeps the store from being written; None while nothing does."""
        if self._is_recent(self._failed_at, FAILING_SECONDS):
            return self._trouble
        if not self._is_recent(self._looked_at, FRESH_SECONDS):
            return await self._look(now)
        return self._held()

    async def _look(self, now: datetime) -> WriteTrouble | None:
        self._looked_at = self._monotonic()
        try:
            async with asyncio.timeout(PATIENCE_SECONDS):
                await self._store.write(_write_a_little, now=now)
        except TimeoutError:
            self._waits_since = self._looked_at if self._waits_since is None else self._waits_since
            return self._held()
        except (FullStore, ReadOnlyStore):
            return self._trouble
        except StoreError:
            # Whether it is away for longer than a moment is seen at the next look.
            self._looked_at = None
            return WriteTrouble.FAILING
        return None

    def _held(self) -> WriteTrouble | None:
        waits = self._waits_since is not None and not self._is_recent(self._waits_since, HELD_SECONDS)
        return WriteTrouble.HELD if waits else None

    def _is_recent(self, at: float | None, seconds: float) -> bool:
        return at is not None and self._monotonic() - at < seconds


def _write_a_little(conn: Connection, *, now: datetime) -> None:
    """A row that comes and goes in one transaction: it is written, and nothing is left of it."""
    jobs.ensure(conn, _WRITE_CHECK, due_at=now)
    jobs.remove(conn, _WRITE_CHECK)
