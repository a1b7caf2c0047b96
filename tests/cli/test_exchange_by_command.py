from __future__ import annotations

import json
import os
from asyncio import to_thread
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from command import Command, on_a_terminal
from hypothesis import given
from hypothesis import strategies as st

from catchment.domain.listing import ListedSource, ListFormat
from catchment.parse.opml import read_opml
from catchment.publish.opml import by_folder, folder_of, list_writer
from catchment.redact import MASK
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


@pytest.mark.proves("A-33")
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


@pytest.mark.proves("A-33")
def test_five_thousand_feeds_with_fifty_broken_lines_are_imported_once_however_often_they_come(
    catchment: Command,
) -> None:
    path, broken = many_feeds(catchment.home / "many.opml")
    answer = catchment.json("import", str(path))
    assert answer["totals"] == {"added": 4950, "duplicate": 0, "refused": 50}
    refused = {one["line"]: one["reason"] for one in answer["results"] if one["result"] == "refused"}
    assert refused.keys() == broken
    assert all(refused.values())
    assert imported(catchment, path) == {"added": 0, "duplicate": 4950, "refused": 50}
    assert len(feeds(catchment)) == 4950


@pytest.mark.proves("A-33")
def test_every_bad_line_is_in_the_table_that_a_person_sees(catchment: Command) -> None:
    path, broken = many_feeds(catchment.home / "many.opml", 1000)
    shown = catchment("import", str(path)).stdout
    assert {int(line.split()[0]) for line in shown.splitlines() if " refused " in line} == broken
    assert "990 added, 0 there already, 10 refused." in shown


def many_feeds(path: Path, count: int = 5000) -> tuple[Path, set[int]]:
    """So many feeds, one a line, of which every hundredth is broken in one way or another; the lines of those."""
    faults = ('xmlUrl=""', 'xmlUrl="|~/bin/fetch"', 'xmlUrl="http://10.0.0.1/feed"', 'xmlUrl="htp:/nowhere"', "")
    lines, broken = ["<opml><body>"], set()
    for number in range(count):
        address = f'xmlUrl="https://host{number % 700}.example/feed/{number}"'
        if number % 100 == 7:
            address = faults[number // 100 % len(faults)]
            broken.add(len(lines) + 1)
        lines.append(f'<outline type="rss" text="Feed {number}" {address}/>')
    path.write_text("\n".join([*lines, "</body></opml>"]))
    return path, broken


@pytest.mark.proves("A-33")
def test_a_person_sees_a_bar_move_while_a_machine_does_not(catchment: Command) -> None:
    path, _ = many_feeds(catchment.home / "some.opml", 1000)
    screen = on_a_terminal(catchment.home, "import", str(path))
    assert "1000/1000" in screen
    assert catchment("import", str(path)).stderr.startswith("…")


@pytest.mark.proves("A-33")
def test_every_type_comes_back_with_all_of_its_config_but_the_secrets(catchment: Command) -> None:
    wanted = [
        {"name": "Hot", "type": "reddit", "config": {"subreddit": "python", "limit": 5}, "tags": ["a, b", "c"]},
        {"name": "HN", "type": "hackernews", "config": {"filter": "best", "fetch_interval_minutes": 15}},
        {"name": "Paused", "url": "https://p.example/feed", "is_active": False, "is_public": True},
        {
            "name": "Home",
            "url": "https://h.example/feed",
            "options": {"html_url": "https://h.example/", "keep_days": 3},
        },
        {
            "name": "Secret",
            "url": "https://s.example/feed",
            "options": {
                "basic_auth": {"username": "ada", "password": "hunter2"},
                "headers": {"X-Lang": "en", "X-Api-Key": "k3y"},
                "filters": {"include": [{"field": "title", "pattern": "<b>&\"'"}]},
            },
        },
        {"name": "Mine", "url": "http://192.168.1.5/feed", "options": {"allow_private": True}},
    ]
    (catchment.home / "wanted.json").write_text(json.dumps(wanted))
    assert catchment.json("import", "wanted.json", "--trust")["totals"]["added"] == 6
    exported = catchment("export")
    assert exported.stderr == "Left out: basic_auth, headers.X-Api-Key, headers.X-Lang of 'Secret'.\n"
    assert "hunter2" not in exported.stdout
    assert "k3y" not in exported.stdout
    (catchment.home / "out.opml").write_bytes(exported.stdout_bytes)
    elsewhere = Command(catchment.home / "elsewhere")
    assert elsewhere.json("import", "out.opml", "--trust")["totals"] == {"added": 6, "duplicate": 0, "refused": 0}
    before, after = everything(catchment), everything(elsewhere)
    secret = before["Secret"]["config"]
    del secret["basic_auth"], secret["headers"]
    assert after == before


def everything(catchment: Command) -> dict[str, dict[str, Any]]:
    kept = ("type", "config", "tags", "is_public", "is_active")
    return {one["name"]: {key: one[key] for key in kept} for one in catchment.json("sources", "list")}


@pytest.mark.proves("A-33")
def test_a_strangers_file_opens_no_door_unless_it_is_trusted(catchment: Command) -> None:
    entries = [
        {"url": "http://192.168.1.5/feed", "options": {"allow_private": True}},
        {"url": "https://a.example/feed", "options": {"verify_tls": False}},
        {"url": "https://b.example/feed", "options": {"verify_tls": True}},
        {"url": "https://c.example/feed", "options": {"headers": {"Authorization": "Bearer ${TOKEN}"}}},
    ]
    (catchment.home / "theirs.json").write_text(json.dumps(entries))
    answer = catchment.json("import", "theirs.json")
    assert [one["result"] for one in answer["results"]] == ["refused", "refused", "added", "refused"]
    assert "--trust" in answer["results"][0]["reason"]
    assert "a variable of this machine in headers" in answer["results"][3]["reason"]


@pytest.mark.proves("A-33")
def test_a_masked_secret_is_not_stored_as_if_it_were_one(catchment: Command) -> None:
    entry = {"url": "https://a.example/feed", "options": {"basic_auth": {"username": "ada", "password": MASK}}}
    (catchment.home / "masked.json").write_text(json.dumps([entry]))
    [line] = catchment.json("import", "masked.json")["results"]
    assert (line["result"], "basic_auth" in line["reason"]) == ("added", True)
    assert catchment.json("sources", "list")[0]["config"] == {"url": "https://a.example/feed"}


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
    given_feeds = [
        ListedSource(type="rss", config={"url": "https://example.org/"}, name=name, tags=tuple(tags))
        for name, tags in written
    ]
    writer = list_writer(ListFormat.OPML, title="Any", created_at=START)
    read = read_opml(writer.write(by_folder(given_feeds, lambda one: folder_of(one.tags))) + writer.finish())
    assert sorted((one.name, one.tags) for one in read) == sorted((one.name, one.tags) for one in given_feeds)


@pytest.mark.proves("R-10")
def test_a_feed_has_the_tags_of_every_folder_that_it_lies_in(catchment: Command) -> None:
    outline = '<outline text="A" xmlUrl="https://a.example/feed"/>'
    folders = "".join(f'<outline text="{name}">{outline}</outline>' for name in ("Sea", "Work", "Sea"))
    (catchment.home / "list.opml").write_text(f"<opml><body>{folders}{outline}</body></opml>")
    totals = catchment.json("import", "list.opml")["totals"]
    assert (totals["added"], totals["duplicate"]) == (1, 3)
    [source] = catchment.json("sources", "list")
    assert source["tags"] == ["Sea", "Work"]


@pytest.mark.proves("R-10")
def test_a_feed_is_one_however_its_address_is_written_in_each_folder(catchment: Command) -> None:
    spellings = ("a.example/feed", "https://A.Example/feed", "feed://a.example/feed#top", "http://[bad")
    folders = "".join(
        f'<outline text="F{number}"><outline text="A" xmlUrl="{url}"/></outline>'
        for number, url in enumerate(spellings)
    )
    (catchment.home / "list.opml").write_text(f"<opml><body>{folders}</body></opml>")
    totals = catchment.json("import", "list.opml")["totals"]
    assert (totals["added"], totals["duplicate"], totals["refused"]) == (1, 2, 1)
    [source] = catchment.json("sources", "list")
    assert source["tags"] == ["F0", "F1", "F2"]


@pytest.mark.proves("R-10")
def test_addresses_without_a_scheme_are_taken_and_an_undefined_sign_costs_its_own_line_only(catchment: Command) -> None:
    lines = (
        "a.example/feed",
        "//b.example/feed",
        "feed://c.example/feed",
        "https://d.example/?q=&harbour;",
        "e.example",
    )
    body = "".join(f'<outline text="x" type="rss" xmlUrl="{url}"/>' for url in lines)
    (catchment.home / "list.opml").write_text(f"<opml><body>{body}</body></opml>")
    told = json.loads(catchment("import", "list.opml", "--json").stdout)
    assert [line["result"] for line in told["results"]] == ["added", "added", "added", "refused", "added"]
    assert "&harbour;" in told["results"][3]["reason"]
    assert [source["config"]["url"] for source in catchment.json("sources", "list")] == [
        "https://a.example/feed",
        "https://b.example/feed",
        "https://c.example/feed",
        "https://e.example",
    ]
