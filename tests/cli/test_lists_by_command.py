from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from command import Command, environment

from catchment.cli.console import MAX_ROWS

MORE = 3


@pytest.fixture
def many(catchment: Command) -> list[str]:
    """The names of more sources than a page shows."""
    names = [f"Source number {number}" for number in range(MAX_ROWS + MORE)]
    listed = [
        {"name": name, "type": "rss", "config": {"url": f"https://example.org/{at}"}} for at, name in enumerate(names)
    ]
    assert catchment("import", "-", stdin=json.dumps(listed)).exit_code == 0
    return names


@pytest.mark.proves("S-02")
@pytest.mark.parametrize("words", [("sources", "list"), ("status",)], ids=" ".join)
def test_a_list_for_people_shows_a_page_and_how_many_more_there_are(catchment, many, words):
    page, whole = catchment(*words), catchment(*words, "--all")
    assert page.stdout.count("Source number ") == MAX_ROWS
    assert f"{MORE} more: --all shows all." in page.stderr
    assert whole.stdout.count("Source number ") == len(many)
    assert "more" not in whole.stderr


@pytest.mark.proves("S-02")
def test_json_has_all_of_a_list(catchment, many):
    assert [one["name"] for one in catchment.json("sources", "list")] == many
    assert sorted(one["name"] for one in catchment.json("status")["sources"]) == sorted(many)


READING = (
    *("status", "sources list", "items list", "items search flood", "feeds list", "config list", "keys list"),
    *("users list", "hooks list", "alerts", "jobs list", "trail", "undo", "audit", "cookies list", "cookies forecast"),
    *("crawl executions", "x status", "x follows"),
)


@pytest.mark.proves("S-02")
def test_commands_that_only_read_load_nothing_that_asks_the_outside_or_reads_its_answers(home: Path):
    script = (
        "import sys; from typer.testing import CliRunner; from catchment.cli.main import app\n"
        f"for words in {READING!r}:\n"
        "    answer = CliRunner().invoke(app, words.split())\n"
        "    assert answer.exit_code == 0, (words, answer.output)\n"
        "    loaded = {'aiohappyeyeballs', 'lxml', 'jsonpath', 'fastapi'} & set(sys.modules)\n"
        "    assert not loaded, (words, loaded)\n"
    )
    done = subprocess.run([sys.executable, "-c", script], env=environment(home), capture_output=True, check=False)
    assert done.returncode == 0, done.stderr.decode()
