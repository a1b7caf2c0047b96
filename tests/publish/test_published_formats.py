"""The writers: whatever the texts are, what comes out is valid, is read back as it went in, and is the same every time."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import feedparser
import lxml.etree
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from catchment.domain.feed import FeedFilter, SavedFeed, ShownItem
from catchment.domain.item import make_item
from catchment.publish.feed import Enclosure, Feed, FeedEntry, FeedFormat, without_forbidden_characters
from catchment.publish.views import MAX_CONTENT_CHARS, Address, entry_id, view_feed
from examples import at_most

START = datetime(2026, 3, 1, 12, tzinfo=UTC)
HERE = Path(__file__).parent
SCHEMAS = {
    FeedFormat.RSS: lxml.etree.RelaxNG(lxml.etree.parse(HERE / "rss20.rng")),
    FeedFormat.ATOM: lxml.etree.RelaxNG(lxml.etree.parse(HERE / "atom10.rng")),
}
ATOM = "{http://www.w3.org/2005/Atom}"

#: Each alone, and each joined to each: more than five hundred texts.
PIECES = [
    "", "plain", "]]>", "<![CDATA[", "&amp;", "&", "<b>", "</item>", "<!--", "-->", "<?xml version='1.0'?>", '"', "'",
    "\x00", "\x01\x08\x0b\x0c\x0e\x1f", "\x7f\x85", "\ufffe\uffff", "\ud800", "\udfff\ud800", "\t\n\r\n", "  ",
    "😀👩‍👩‍👧‍👦🏳️‍🌈", "مرحبا بالعالم", "\u202eהפוך\u202c", "漢字\u3000かな", "e\u0301" * 50, "\ufeff", "\U0010ffff", "x" * 100_000,
]  # fmt: skip
NASTY = [first + second for first in PIECES[:-1] for second in PIECES if first != second]


def feed_of(text: str, **more: Any) -> Feed:
    entry = FeedEntry(
        id=entry_id(1, "1"),
        url="https://x.example/?a=1&b=2",
        title=text,
        html=text,
        author=text,
        published_at=START,
        updated_at=START,
        categories=(text,) if text else (),
        enclosures=(Enclosure(url="https://x.example/a.mp3", type="audio/mpeg", length=5), Enclosure(url="https://x/")),
    )
    given_ = {"title": text, "description": text, "home_url": "https://x.example/", "entries": (entry,), **more}
    return Feed(self_url="https://x.example/feed", **given_)


def as_xml_reads(text: str) -> str:
    """What XML cannot hold is replaced, and every line end is a newline."""
    return without_forbidden_characters(text).replace("\r\n", "\n").replace("\r", "\n")


def check(feed: Feed) -> None:
    text = feed.entries[0].title
    rss, atom = (lxml.etree.fromstring(format_.write(feed)) for format_ in (FeedFormat.RSS, FeedFormat.ATOM))
    SCHEMAS[FeedFormat.RSS].assertValid(rss)
    SCHEMAS[FeedFormat.ATOM].assertValid(atom)
    expected = as_xml_reads(text)
    for tag in ("title", "description", "{http://purl.org/dc/elements/1.1/}creator"):
        assert (rss.findtext(f"channel/item/{tag}") or "") == (expected if text else "")
    for tag in ("title", "content"):
        assert (atom.findtext(f"{ATOM}entry/{ATOM}{tag}") or "") == expected
    item = json.loads(FeedFormat.JSON.write(feed))["items"][0]
    assert item["title"] == text.encode("utf-8", "replace").decode()
    assert item["id"] == rss.findtext("channel/item/guid") == atom.findtext(f"{ATOM}entry/{ATOM}id")


@pytest.mark.proves("B-10")
def test_five_hundred_nasty_texts_go_through_every_format_and_come_back():
    assert len(NASTY) >= 500
    for text in NASTY:
        # An author without a name would be none.
        check(feed_of(text or "x"))


@pytest.mark.proves("B-10")
@given(st.text(st.characters(codec=None), min_size=1))
def test_any_text_goes_through_every_format_and_comes_back(text: str):
    check(feed_of(text, hub_url="https://hub.example/", language="en-GB", ttl_minutes=5))


@pytest.mark.proves("B-10")
@pytest.mark.parametrize("text", [*PIECES[1:20], "<p>words</p>"])
def test_other_readers_find_nothing_to_complain_about(text: str):
    for format_ in (FeedFormat.RSS, FeedFormat.ATOM):
        parsed = feedparser.parse(format_.write(feed_of(text)))
        assert not parsed.bozo, (format_, parsed.get("bozo_exception"))
        assert len(parsed.entries) == 1
        assert parsed.entries[0].id == entry_id(1, "1")


@pytest.mark.parametrize("format_", [FeedFormat.RSS, FeedFormat.ATOM])
@pytest.mark.parametrize("year", [1, 999, 1970, 9999])
def test_an_empty_feed_and_any_year_are_valid(format_: FeedFormat, year: int):
    moment = datetime(year, 1, 1, tzinfo=UTC)
    empty = feed_of("x", entries=(), updated_at=moment)
    SCHEMAS[format_].assertValid(lxml.etree.fromstring(format_.write(empty)))
    SCHEMAS[format_].assertValid(lxml.etree.fromstring(format_.write(feed_of("x", entries=(), updated_at=None))))


def test_a_json_feed_has_what_its_version_asks_for():
    document = json.loads(FeedFormat.JSON.write(feed_of("x", hub_url="https://hub.example/", language="zh")))
    assert document["version"] == "https://jsonfeed.org/version/1.1"
    assert document["hubs"] == [{"type": "WebSub", "url": "https://hub.example/"}]
    assert document["items"][0]["attachments"] == [
        {"url": "https://x.example/a.mp3", "mime_type": "audio/mpeg", "size_in_bytes": 5},
        {"url": "https://x/", "mime_type": "application/octet-stream"},
    ]


@pytest.mark.proves("B-10")
@pytest.mark.parametrize("format_", [FeedFormat.RSS, FeedFormat.ATOM])
def test_a_file_that_is_only_known_to_be_a_picture_is_valid(format_: FeedFormat):
    (entry,) = feed_of("x").entries
    pictures = tuple(Enclosure(url=f"https://x.example/{number}", type="image/*") for number in range(2))
    written = format_.write(feed_of("x", entries=(replace(entry, enclosures=pictures),)))
    SCHEMAS[format_].assertValid(lxml.etree.fromstring(written))
    assert [file.type for file in feedparser.parse(written).entries[0].enclosures] == ["image/*", "image/*"]


# From a view to a feed


def saved(**values: Any) -> SavedFeed:
    defaults: dict[str, Any] = {
        "id": 1,
        "slug": "view",
        "title": "A view",
        "description": "",
        "link": "",
        "language": "",
        "filter": FeedFilter(),
        "is_public": True,
        "token_hash": None,
        "owner_id": None,
        "sees_all": True,
        "version": 0,
        "created_at": START,
        "updated_at": START,
    }
    return SavedFeed(**{**defaults, **values})


def shown(**values: Any) -> ShownItem:
    item = make_item(**{"native_id": "1", "title": "One", **values})
    return ShownItem(item=item, source_id=7, source_type="rss", fetched_at=START, updated_at=None)


def printed(*items: ShownItem) -> Feed:
    address = Address(folder_url="https://x.example/feeds", self_url="https://x.example/feeds/view.rss")
    return view_feed(saved(), None, items, address=address, hub_url="")


def test_the_id_of_an_item_is_its_sources_and_its_keys_and_of_nothing_else():
    # Written down, so that no release ever changes it: readers would show everything anew.
    assert entry_id(7, "https://x.example/1") == "urn:uuid:20d0aa40-ecdc-5825-86ce-3cf690cad2e2"
    assert entry_id(7, "1") != entry_id(8, "1")
    first, second = printed(shown(title="a", url="https://a.example/")), printed(shown(title="b"))
    assert first.entries[0].id == second.entries[0].id


@pytest.mark.parametrize(
    "metadata",
    [
        {"tags": "news", "enclosures": {"url": "x"}},
        {"tags": [1, None, ""], "enclosures": [None, {}, {"url": ""}, {"url": 5}]},
    ],
)
def test_odd_metadata_is_passed_over(metadata: dict[str, Any]):
    entry = printed(shown(metadata=metadata)).entries[0]
    assert (entry.categories, entry.enclosures) == ((), ())


@pytest.mark.proves("R-14")
def test_an_item_without_author_has_none_and_one_without_a_date_that_of_when_it_came():
    entry = printed(shown()).entries[0]
    assert (entry.author, entry.published_at) == ("", START)


@pytest.mark.proves("R-14")
def test_a_feed_of_which_nobody_knows_where_it_is_served_is_valid_all_the_same():
    check(replace(feed_of("plain"), self_url=""))


def test_a_feed_has_a_size_beyond_which_entries_have_no_text():
    large = "x" * (MAX_CONTENT_CHARS // 2)
    entries = printed(*(shown(native_id=str(number), content=large) for number in range(3))).entries
    assert [len(entry.html) for entry in entries] == [len(large), len(large), 0]


texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=40)


@settings(max_examples=at_most(50))
@given(st.lists(st.tuples(texts, texts), max_size=8))
@pytest.mark.parametrize("format_", list(FeedFormat))
def test_the_same_items_are_the_same_bytes(format_: FeedFormat, found: list[tuple[str, str]]):
    def once() -> bytes:
        items = [shown(native_id=str(n), title=title, content=text) for n, (title, text) in enumerate(found)]
        return format_.write(printed(*items))

    assert once() == once()
