"""The house rules that a reader should be able to rely on: imports run one way, and each library has its home."""

from __future__ import annotations

import ast
import re
from functools import cache
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parent.parent / "src" / "catchment"

# From the top down. A room may import the rooms below its own line, and nothing beside or above it.
LAYERS = [
    {"cli"},
    {"web", "flows", "workers"},
    {"agents"},
    {"bootstrap"},
    {"manage"},
    {"jobs"},
    {"platforms", "x"},
    {"crawl"},
    {"engine"},
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
    "aiohappyeyeballs": {"fetch"},
    "alembic": {"store"},
    "apscheduler": {"schedule"},
    "apprise": {"fetch"},
    "argon2": {"manage"},
    "brotli": {"fetch"},
    "cryptography": {"crypto"},
    "cssselect": {"parse"},
    "dotenv": {"settings"},
    "fastapi": {"web"},
    "htmldate": {"parse"},
    "httptools": {"fetch"},
    "jinja2": {"web"},
    "jsonpath": {"parse"},
    "jsonschema": {"agents"},
    "jwt": {"manage"},
    "loguru": {
        "agents",
        "cli",
        "flows",
        "workers",
        "web",
        "bootstrap",
        "manage",
        "jobs",
        "platforms",
        "x",
        "crawl",
        "engine",
        "logs",
    },
    "lxml": {"parse", "publish"},
    "markdown_it": {"parse"},
    "markupsafe": {"web"},
    "mcp": {"agents", "web", "cli"},
    "multidict": {"fetch"},
    "nh3": {"parse"},
    "platformdirs": {"settings"},
    "prefect": {"flows"},
    "procrastinate": {"workers"},
    "prometheus_client": {"monitor", "web"},
    "psycopg": {"store"},
    "pyarrow": {"publish"},
    "pydantic": {"web"},
    "pydantic_core": {"store"},
    "re2": {"domain"},
    "rich": {"cli"},
    "sqlalchemy": {"store", "engine", "crawl", "platforms", "x", "jobs", "manage", "monitor", "web"},
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
    "crawl": {"Connection", "DBAPIError"},
    "engine": {"Connection", "DBAPIError"},
    "jobs": {"Connection"},
    "platforms": {"Connection"},
    "x": {"Connection"},
    "manage": {"Connection"},
    "monitor": {"Connection"},
    "web": {"Connection"},
}

MODULES = sorted(path for path in PACKAGE.rglob("*.py") if "migrations" not in path.parts)
STANDARD = __import__("sys").stdlib_module_names


def room(path: Path) -> str:
    """The folder of a module, or its own name at the top of the package."""
    return path.relative_to(PACKAGE).parts[0].removesuffix(".py")


@cache
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


def ours(path: Path) -> set[str]:
    """The other rooms that a module imports."""
    rooms = {name.split(".")[1] for name in imports(path) if name.startswith("catchment.")}
    return rooms - {room(path), "__version__"}


def is_allowed(here: str, other: str) -> bool:
    if here == "simulator":
        # It plays the outside world, and imports nothing of ours.
        return False
    if other == "simulator":
        # Only the demo may start it.
        return here == "cli"
    return layer(other) > layer(here)


def test_imports_run_one_way():
    against = [
        f"{path.relative_to(PACKAGE)} must not import {other}"
        for path in MODULES
        if room(path) not in {"__init__", "__main__"}
        for other in ours(path)
        if not is_allowed(room(path), other)
    ]
    assert against == []


def test_each_library_is_used_in_its_home_only():
    strays = [
        f"{library} does not belong into {path.relative_to(PACKAGE)}"
        for path in MODULES
        for library in {name.split(".")[0] for name in imports(path)} - STANDARD - {"catchment"}
        if room(path) not in HOMES.get(library, set())
    ]
    assert strays == []


def test_sql_is_written_in_the_store_only():
    writers = [
        path.relative_to(PACKAGE)
        for path in MODULES
        if room(path) in ONLY_CONNECTIONS
        and not {name.split(".")[-1] for name in imports(path) if name.startswith("sqlalchemy")}
        <= ONLY_CONNECTIONS[room(path)]
    ]
    assert writers == []


@pytest.mark.proves("F-05")
def test_no_other_way_out_than_the_guarded_client():
    ways_out = {"httpx", "requests", "urllib.request", "urllib3", "http.client", "aiohttp", "aiohappyeyeballs"}
    for path in MODULES:
        if room(path) in {"fetch", "simulator"}:
            continue
        used = {name for name in imports(path) for way in ways_out if name == way or name.startswith(f"{way}.")}
        assert not used, f"{path} talks to the outside by itself"


def test_the_environment_is_read_in_one_place():
    readers = [path for path in MODULES if "os.environ" in path.read_text() or "os.getenv" in path.read_text()]
    assert {room(path) for path in readers} <= {"settings", "simulator"}
    assert len(readers) <= 1


@pytest.mark.proves("F-01")
def test_no_pattern_insists_on_a_group():
    """What such a group took in vain Python gives back from 3.11.5 on alone, and Debian 12 has 3.11.2."""
    insisting = re.compile(r"\)(?:[*+?]|\{[\d,]*\})\+|\(\?>")
    lines = ((path, line.strip()) for path in MODULES for line in path.read_text(encoding="utf-8").splitlines())
    assert [f"{path.name}: {line}" for path, line in lines if insisting.search(line)] == []
