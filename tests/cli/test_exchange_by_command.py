from __future__ import annotations

import json
import os
from asyncio import to_thread
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from command import Command
from hypothesis import given
from hypothesis import strategies as st

from catchment.parse.opml import read_opml
from catchment.publish.opml import OpmlFeed, write_opml
from feed_site import FeedSite

START = datetime(2026, 3, 1, 12, tzinfo=UTC)
REAL = Path(os.environ.get("CATCHMENT_REAL_DATA", "../shared/data/real")).absolute() / "opml"

LIST = """<opml version="2.0"><body>
<outline text="Good" xmlUrl="https://example.org/feed"/>
<outline text="Private" xmlUrl="http://192.168.1.1/feed"/>
<outline text="Twice" xmlUrl="https://example.org/feed"/>
<outline text="Script" xmlUrl="|~/bin/fetch"/>
<outline text="Lost" type="rss"/>
<outline text="Folder"><outline text="Also good" xmlUrl="https://example.net/feed"/></outline>
</body></opml>"""


def feeds(catchment: Command) -> list[tuple[str, str, list[str]]]:
    return sorted((one["config"]["url"], one["name"], one["tags"]) for one in catchment.json("sources", "list"))


def imported(catchment: Command, path: Path) -> dict[str, Any]:
    return catchment.json("import", str(path))["totals"]


def test_each_line_has_its_result_and_a_bad_one_breaks_nothing(catchment: Command) -> None:
    (catchment.home / "list.opml").write_text(LIST)
    answer = catchment.json("import", "list.opml")
    assert answer["totals"] == {"added": 2, "duplicate": 1, "refused": 3}
    results = {(one["line"], one["result"]) for one in answer["results"]}
    assert results == {
        (2, "added"),
        (3, "refused"),
        (4, "duplicate"),
        (5, "refused"),
        (6, "refused"),
        (7, "added"),
    }
    assert all(one["reason"] for one in answer["results"] if one["result"] != "added")
    assert feeds(catchment) == [
        ("https://example.net/feed", "Also good", ["Folder"]),
        ("https://example.org/feed", "Good", []),
    ]
    shown = catchment("import", "list.opml")
    assert "0 added, 3 there already, 3 refused." in shown.stdout


def test_five_thousand_feeds_are_imported_once_however_often_they_come(catchment: Command) -> None:
    path = catchment.home / "many.opml"
    many = [OpmlFeed(name=f"Feed {n}", url=f"https://host{n % 700}.example/feed/{n}") for n in range(5000)]
    path.write_bytes(write_opml(many, title="Many", created_at=START))
    assert imported(catchment, path) == {"added": 5000, "duplicate": 0, "refused": 0}
    assert imported(catchment, path) == {"added": 0, "duplicate": 5000, "refused": 0}
    assert len(catchment.json("sources", "list")) == 5000


@pytest.mark.skipif(not REAL.is_dir(), reason="the real captures are not on this machine")
def test_what_is_exported_and_imported_elsewhere_is_the_same(catchment: Command) -> None:
    for path in sorted(REAL.iterdir()):
        catchment("import", str(path))
    before = feeds(catchment)
    assert len(before) > 500
    assert catchment("export", "--output", "out.opml").exit_code == 0
    elsewhere = Command(catchment.home / "elsewhere")
    elsewhere("import", str(catchment.home / "out.opml"))
    assert feeds(elsewhere) == before


def test_export_without_a_file_goes_to_stdout_and_comes_back_by_stdin(catchment: Command) -> None:
    catchment.json("add", "https://example.org/feed?a=1&b=2", "--no-check", "--name", "A & <b>", "--tag", "x, y")
    written = catchment("export").stdout_bytes
    elsewhere = Command(catchment.home / "elsewhere")
    result = elsewhere("import", "-", "--json", stdin=written)
    assert json.loads(result.stdout)["totals"]["added"] == 1
    assert feeds(elsewhere) == feeds(catchment)


async def test_a_list_is_imported_from_its_address(catchment: Command, site: FeedSite) -> None:
    url = site.serve(LIST)
    answer = await to_thread(catchment.json, "import", url)
    assert answer["totals"]["added"] == 2


@pytest.mark.parametrize("words", ["missing.opml", ".", "http://10.0.0.1/list.opml", "junk.opml"])
def test_what_cannot_be_read_is_a_clear_error(catchment: Command, words: str) -> None:
    (catchment.home / "junk.opml").write_bytes(b"\x00\x01 nothing of the kind")
    result = catchment("import", words)
    assert (result.exit_code, result.stdout) == (1, "")
    assert result.stderr.startswith("Error: ")
    assert result.stderr.count("\n") == 1


text = st.text(st.characters(exclude_categories=["Cs", "Cc"]), min_size=1, max_size=30)
names = text.map(lambda one: " ".join(one.split())).filter(bool)


@given(st.lists(st.tuples(names, st.lists(names, unique=True, max_size=4)), max_size=5))
def test_whatever_the_names_and_tags_are_they_come_back_as_they_went(
    written: list[tuple[str, list[str]]],
) -> None:
    given_feeds = [OpmlFeed(name=name, url="https://example.org/", tags=tuple(tags)) for name, tags in written]
    read = read_opml(write_opml(given_feeds, title="Any", created_at=START))
    assert sorted((one.name, one.tags) for one in read) == sorted((one.name, one.tags) for one in given_feeds)
