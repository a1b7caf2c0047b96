"""The house rules that a reader should be able to rely on: imports run one way, and each library has its home."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parent.parent / "src" / "catchment"

# From the top down. A room may import the rooms below its own line, and nothing beside or above it.
LAYERS = [
    {"cli"},
    {"web", "flows", "workers"},
    {"bootstrap"},
    {"manage"},
    {"collect"},
    {"publish", "monitor"},
    {"schedule"},
    {"sources", "store"},
    {"fetch", "parse", "sandbox"},
    {"domain"},
    {"logs", "settings", "crypto", "eventloop", "inflate", "processes"},
    {"clock", "errors", "redact"},
]

# Where each third-party library may be imported. Whatever is not listed has no business here.
HOMES = {
    "aiohttp": {"fetch"},
    "alembic": {"store"},
    "apscheduler": {"schedule"},
    "argon2": {"manage"},
    "brotli": {"fetch"},
    "cryptography": {"crypto"},
    "cssselect": {"parse"},
    "dotenv": {"settings"},
    "fastapi": {"web"},
    "jinja2": {"web"},
    "jsonpath": {"parse"},
    "jwt": {"manage"},
    "loguru": {"cli", "flows", "workers", "web", "bootstrap", "manage", "collect", "logs"},
    "lxml": {"parse", "publish"},
    "nh3": {"parse"},
    "platformdirs": {"settings"},
    "prefect": {"flows"},
    "procrastinate": {"workers"},
    "prometheus_client": {"monitor", "web"},
    "psycopg": {"store"},
    "pydantic": {"web"},
    "pydantic_core": {"store"},
    "re2": {"domain"},
    "rich": {"cli"},
    "sqlalchemy": {"store", "collect", "manage", "monitor", "web"},
    "starlette": {"web"},
    "trafilatura": {"parse"},
    "typer": {"cli"},
    "uvicorn": {"web"},
    "uvloop": {"eventloop"},
    "xhshow": {"sources"},
    "yaml": {"parse", "publish"},
    "yarl": {"fetch", "manage", "sources"},
}
#: Rooms of the rule about `sqlalchemy` that may name a connection, but write no SQL.
ONLY_CONNECTIONS = {
    "collect": {"Connection", "DBAPIError"},
    "manage": {"Connection"},
    "monitor": {"Connection"},
    "web": {"Connection"},
}

MODULES = sorted(path for path in PACKAGE.rglob("*.py") if "migrations" not in path.parts)
STANDARD = __import__("sys").stdlib_module_names


def room(path: Path) -> str:
    """The folder of a module, or its own name at the top of the package."""
    return path.relative_to(PACKAGE).parts[0].removesuffix(".py")


def imports(path: Path) -> set[str]:
    """Every module or name that is imported anywhere in the file, dotted."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: relative import"
            found |= {f"{node.module}.{alias.name}" for alias in node.names}
    return found


def layer(name: str) -> int:
    return next(number for number, rooms in enumerate(LAYERS) if name in rooms)


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_imports_run_one_way(path):
    here = room(path)
    ours = {name.split(".")[1] for name in imports(path) if name.startswith("catchment.")}
    if here in {"__init__", "__main__"}:
        return
    if here == "simulator":
        assert ours <= {"simulator"}, "the simulated web plays the outside world: it imports nothing of ours"
        return
    for other in ours - {here, "__version__"}:
        if other == "simulator":
            assert here == "cli", "only the demo may start the simulated web"
        else:
            assert layer(other) > layer(here), f"{here} must not import {other}"


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_each_library_is_used_in_its_home_only(path):
    here = room(path)
    for name in imports(path):
        library = name.split(".")[0]
        if library in STANDARD or library == "catchment":
            continue
        assert here in HOMES.get(library, set()), f"{library} does not belong into {here}"


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_sql_is_written_in_the_store_only(path):
    allowed = ONLY_CONNECTIONS.get(room(path))
    if allowed is None:
        return
    used = {name.split(".")[-1] for name in imports(path) if name.startswith("sqlalchemy")}
    assert used <= allowed


@pytest.mark.proves("F-05")
def test_no_other_way_out_than_the_guarded_client():
    ways_out = {"httpx", "requests", "urllib.request", "urllib3", "http.client", "aiohttp"}
    for path in MODULES:
        if room(path) in {"fetch", "simulator"}:
            continue
        used = {name for name in imports(path) for way in ways_out if name == way or name.startswith(f"{way}.")}
        assert not used, f"{path} talks to the outside by itself"


def test_the_environment_is_read_in_one_place():
    readers = [path for path in MODULES if "os.environ" in path.read_text() or "os.getenv" in path.read_text()]
    assert {room(path) for path in readers} <= {"settings", "simulator"}
    assert len(readers) <= 1
