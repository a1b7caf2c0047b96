from __future__ import annotations

import json

import pytest
from command import Command

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
