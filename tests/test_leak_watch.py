"""The watch over planted cookies is itself watched: runs of their own, one of which leaks."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import psycopg
import pytest
from sqlalchemy.engine import make_url

from leak_watch import leaks_in, refuse_leaks_into_files, refuse_leaks_into_rows
from planted import MARKER, cookie_file, leaky_cookie, planted_cookie

CONFTEST = """
from leak_watch import LeakWatch
def pytest_configure(config):
    config.pluginmanager.register(LeakWatch())
"""
TESTS = {
    "keeps it to itself": "assert planted_cookie()",
    "writes it to a file": "tmp_path.joinpath('a.log').write_text('x' * (2**20 - 40) + planted_cookie())",
    "prints it": "print(planted_cookie())",
    "hands it over": "cookie_file(tmp_path, planted_cookie())",
    "leaks on purpose": "tmp_path.joinpath('a.log').write_text(leaky_cookie())",
}
CLEAN = {"keeps it to itself", "hands it over", "leaks on purpose"}


@pytest.fixture
def elsewhere() -> Iterator[Path]:
    """Not in pytest's folder: what leaks here is not this run's."""
    with TemporaryDirectory() as folder:
        yield Path(folder)


def run(folder: Path, body: str, *words: str) -> subprocess.CompletedProcess[str]:
    folder.joinpath("conftest.py").write_text(CONFTEST)
    test = f"from planted import *\ndef test_one(tmp_path):\n    {body}\n"
    folder.joinpath("test_inner.py").write_text(test)
    return subprocess.run(
        [sys.executable, "-m", "pytest", "-q", f"--basetemp={folder / 'temp'}", *words],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(Path(__file__).parent), "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"},
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.proves("E-07")
@pytest.mark.parametrize("doing", TESTS)
def test_a_run_that_lets_a_cookie_out_fails_and_names_the_place(elsewhere, doing):
    ended = run(elsewhere, TESTS[doing])
    assert ended.returncode == (0 if doing in CLEAN else 1), ended.stdout
    assert ("a planted cookie got out" in ended.stdout) is (doing not in CLEAN)
    assert ("a.log" in ended.stdout) is (doing == "writes it to a file")
    assert MARKER not in ended.stdout


def test_a_run_on_several_processes_is_watched_as_well(elsewhere):
    assert run(elsewhere, TESTS["writes it to a file"], "-p", "xdist", "-n", "1").returncode == 1


def test_a_cookie_in_a_row_of_postgres_is_seen_before_the_database_is_gone(postgres_url):
    url = make_url(postgres_url).set(drivername="postgresql").render_as_string(hide_password=False)
    with psycopg.connect(url) as conn:
        refuse_leaks_into_rows(conn)
        conn.execute("INSERT INTO config VALUES ('x', %s, now())", [planted_cookie()])
        with pytest.raises(AssertionError, match="config"):
            refuse_leaks_into_rows(conn)
        conn.rollback()


def test_a_cookie_in_a_file_is_seen_before_the_folder_is_gone(elsewhere):
    elsewhere.joinpath("deep").mkdir()
    refuse_leaks_into_files(elsewhere)
    elsewhere.joinpath("deep/a.log").write_text(planted_cookie())
    with pytest.raises(AssertionError, match=r"a\.log"):
        refuse_leaks_into_files(elsewhere)


def test_every_value_of_a_planted_cookie_can_be_known(tmp_path):
    for platform in ("xhs", "wb", "dy"):
        assert MARKER in planted_cookie(platform=platform)
        assert MARKER not in leaky_cookie(platform=platform)
    assert list(leaks_in([cookie_file(tmp_path, planted_cookie())])) == []
