from __future__ import annotations

import sys
from pathlib import Path

import pytest

from cli.command import Command

pytestmark = pytest.mark.proves("F-04")


@pytest.fixture
def catchment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Command:
    monkeypatch.chdir(tmp_path)
    return Command(tmp_path)


def test_on_sqlite_it_says_what_to_do_instead(catchment: Command) -> None:
    result = catchment("worker")
    assert result.exit_code == 2
    assert "set DATABASE_URL to postgresql://" in result.stderr
    assert "COLLECTOR_PROCESSES" in result.stderr


def test_without_procrastinate_it_says_what_to_install(catchment: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "catchment.workers", raising=False)
    monkeypatch.setitem(sys.modules, "procrastinate", None)
    result = catchment("worker", DATABASE_URL="postgresql://nobody@localhost/nothing")
    assert result.exit_code == 2
    assert "pip install 'catchment[workers]'" in result.stderr
