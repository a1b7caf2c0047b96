"""No planted cookie may be in anything that a run of the tests writes. One that is fails the run, by its place.

What a test wrote into its folder (stores, logs, profiles) and into its PostgreSQL is looked through by `conftest.py` when
the test is over and before it is gone; what it printed or logged, what is left in pytest's folder and a JUnit report at
the end of the run.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest
from psycopg import sql

from planted import COOKIE_FILE, MARKER

_CHUNK = 1 << 20
_SUMMARY = "a planted cookie got out"
_WRITTEN = """
SELECT relname FROM pg_class
WHERE relnamespace = 'public'::regnamespace AND relkind = 'r' AND pg_relation_size(oid) > 0
"""


class LeakWatch:
    def __init__(self) -> None:
        self._found: list[str] = []

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """In a run on several processes the first one gets the reports of all."""
        self._found += [f"{report.nodeid}, {title}" for title, text in report.sections if MARKER in text]

    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        config = session.config
        if hasattr(config, "workerinput"):
            # The first process looks, as the folders of the others are in its own, and before pytest clears it away.
            return
        written = [Path(config.option.xmlpath)] if config.option.xmlpath else []
        self._found += map(str, leaks_in([*_files(_folder(config)), *written]))
        if self._found and session.exitstatus in {pytest.ExitCode.OK, pytest.ExitCode.NO_TESTS_COLLECTED}:
            session.exitstatus = pytest.ExitCode.TESTS_FAILED

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        if self._found:
            terminalreporter.section(_SUMMARY, red=True, bold=True)
            for place in self._found:
                terminalreporter.line(place)


def leaks_in(paths: list[Path]) -> Iterator[Path]:
    """The files that hold the marker, but for those that a test hands over."""
    return (path for path in paths if path.name != COOKIE_FILE and _holds_marker(path))


def refuse_leaks_into_files(folder: Path) -> None:
    """Fail when a file in the folder holds the marker."""
    found = [path.name for path in leaks_in([*_files(folder)])]
    assert not found, f"{_SUMMARY}: into {found}"


def refuse_leaks_into_rows(conn: psycopg.Connection) -> None:
    """Fail when a row of the database holds the marker."""
    tables = written_tables(conn)
    look = sql.SQL("SELECT {label} FROM {table} AS one WHERE one::text LIKE {marker}")
    looks = (
        look.format(label=sql.Literal(name), table=sql.Identifier(name), marker=sql.Literal(f"%{MARKER}%"))
        for name in tables
    )
    found = conn.execute(sql.SQL(" UNION ").join(looks)).fetchall() if tables else []
    assert not found, f"{_SUMMARY}: into {found}"


def written_tables(conn: psycopg.Connection) -> list[str]:
    """Those that have, or had, a row."""
    return [name for (name,) in conn.execute(_WRITTEN)]


def _folder(config: pytest.Config) -> Path | None:
    # It is made at its first use; a run that had none for it wrote nothing.
    factory = config._tmp_path_factory
    return factory._basetemp


def _files(folder: Path | None) -> Iterator[Path]:
    return (path for path in folder.rglob("*") if path.is_file() and not path.is_symlink()) if folder else iter(())


def _holds_marker(path: Path) -> bool:
    marker, tail = MARKER.encode(), b""
    try:
        with path.open("rb") as file:
            while chunk := file.read(_CHUNK):
                if marker in tail + chunk:
                    return True
                tail = chunk[-len(marker) :]
    except FileNotFoundError:
        # A process that is just ending clears up behind itself.
        return False
    return False
