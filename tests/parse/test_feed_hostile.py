"""Whatever the bytes are: a feed or a ParseError, soon, with nothing unsafe in it and nothing fetched."""

from __future__ import annotations

import json
import socket
from pathlib import Path

import pytest
from feed_documents import atom, rss
from hypothesis import example, given
from hypothesis import strategies as st

from catchment.errors import ParseError
from catchment.parse.entry import ParsedEntry
from catchment.parse.feed import ParsedFeed, parse_feed

# What follows would run for minutes, or eat all memory, if it were not held in check.
within_limits = pytest.mark.timeout(30)
FORBIDDEN = {*map(chr, range(32)), "\ufffe", "\uffff"} - {"\t", "\n", "\r"}


def texts_of(feed: ParsedFeed) -> list[str]:
    return [feed.title, feed.link, *(text for entry in feed.entries for text in texts_of_entry(entry))]


def texts_of_entry(entry: ParsedEntry) -> list[str]:
    files = [part for file in entry.enclosures for part in (file.url, file.type)]
    return [
        entry.id, entry.link, entry.title, entry.author, entry.summary, entry.content, *entry.tags, *files
    ]  # fmt: skip


def assert_a_feed_or_a_parse_error(body: bytes) -> None:
    try:
        feed = parse_feed(body, url="https://example.com/feed", content_type="text/xml")
    except ParseError:
        return
    for text in texts_of(feed):
        assert FORBIDDEN.isdisjoint(text)
        text.encode()  # raises for half a surrogate pair
    for entry in feed.entries:
        # Ids, titles and names are plain text, escaped where they are shown; these are shown as they are.
        assert "<script" not in f"{entry.summary} {entry.content} {entry.link}".lower()
        for moment in (entry.published, entry.updated):
            assert moment is None or moment.utcoffset() is not None


FULL = atom(
    """<entry><id>i</id><title>t &amp; u</title><link href="https://x.org/"/><updated>2026-01-02T03:04:05Z</updated>
    <summary>s</summary><content type="html">&lt;p onclick="x()"&gt;c&lt;script&gt;x&lt;/script&gt;&lt;/p&gt;</content></entry>"""
)
SEEDS = [
    FULL,
    rss("<item><guid>1</guid><title>a</title><pubDate>Fri, 02 Jan 2026 03:04:05 GMT</pubDate></item>" * 2),
    rss("<item><title>fish & chips</title><description><![CDATA[<b>x</b>]]></description></item>"),
    json.dumps({"version": "https://jsonfeed.org/version/1.1", "items": [{"id": "1", "title": "x"}]}).encode(),
]
TOKENS = st.sampled_from([
    b"<", b">", b"&", b"]]>", b"<![CDATA[", b"<!--", b"\x00", b"\xff\xfe", b"&#0;", b"&amp;#1;", b"&#xD800;", b"</item>",
    b"<item>", b"<entry>", b"<!DOCTYPE x [", b"<!ENTITY a 'b'>", b"&a;", b'"', b"\\ud800", b"\\u0000", b"{", b"9" * 20,
    b"<script>", b"&lt;script>", b"xml:base='", b"encoding='utf-7'", b"\xed\xa0\x80", b"<?xml", b"<title type='xhtml'>",
])  # fmt: skip


@st.composite
def mutated(draw: st.DrawFn) -> bytes:
    body = draw(st.sampled_from(SEEDS))
    for _ in range(draw(st.integers(1, 6))):
        start = draw(st.integers(0, len(body)))
        end = min(len(body), start + draw(st.sampled_from([0, 1, 5, 40])))
        body = body[:start] + draw(st.one_of(TOKENS, st.binary(max_size=8))) + body[end:]
    return body


@given(mutated())
@example(rss("<item><title>a&#xD800;b</title></item>"))
@example(rss("<item><title>x</title><description>a&amp;#1;b&amp;#xFFFE;</description></item>"))
@example(b'{"version": "jsonfeed.org", "items": [{"id": "1", "content_html": "<b>\\ud800</b>"}]}')
@example(b'{"version": "jsonfeed.org", "items": [{"id": "\\ud800", "title": "a\\u0000b", "tags": ["\\udfff"]}]}')
def test_damaged_feeds_give_a_feed_or_a_parse_error(body: bytes):
    assert_a_feed_or_a_parse_error(body)


@given(st.binary(max_size=400), st.sampled_from([b"", b"<rss>", b"<feed>", b"{", b"<?xml version='1.0'?>", b"<"]))
def test_random_bytes_give_a_feed_or_a_parse_error(body: bytes, start: bytes):
    assert_a_feed_or_a_parse_error(start + body)


_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=8,
)
_ITEM = st.dictionaries(
    st.sampled_from(
        ["id", "url", "title", "content_html", "date_published", "authors", "author", "tags", "attachments"]
    ),
    _JSON,
)


@given(st.lists(_ITEM | _JSON, max_size=4), st.dictionaries(st.sampled_from(["title", "authors", "feed_url"]), _JSON))
def test_json_of_any_shape_gives_a_feed_or_a_parse_error(items: list[object], rest: dict[str, object]):
    assert_a_feed_or_a_parse_error(json.dumps({**rest, "items": items}).encode())


def bomb(use: str) -> bytes:
    lines = "".join(f'<!ENTITY l{i} "{f"&l{i - 1};" * 10}">' for i in range(1, 10))
    return (
        f'<?xml version="1.0"?><!DOCTYPE rss [<!ENTITY l0 "lol">{lines}]><rss><channel>{use}</channel></rss>'.encode()
    )


@within_limits
@pytest.mark.parametrize(
    "use",
    [
        "<item><title>x &l9;</title></item>",
        '<item><title>x</title><enclosure url="http://x.org/&l9;" type="a"/></item>',
        "<item><title>x</title><description>&l9;</description></item>",
    ],
)
def test_an_entity_bomb_does_not_go_off(use: str):
    feed = parse_feed(bomb(use))
    assert sum(map(len, texts_of(feed))) < 1_000


def test_external_entities_are_neither_read_nor_fetched(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    secret = tmp_path / "secret"
    secret.write_text("hunter2")
    monkeypatch.setattr(socket, "socket", None)  # any attempt to connect fails loudly
    dtd = f'<!DOCTYPE rss [<!ENTITY x SYSTEM "{secret.as_uri()}"><!ENTITY % p SYSTEM "http://127.0.0.1:9/"> %p;]>'
    body = f"{dtd}<rss><channel><item><title>a&x;</title><description>&x;</description></item></channel></rss>"
    assert "hunter2" not in "".join(texts_of(parse_feed(body.encode())))


@pytest.mark.parametrize("make", [str, lambda path: path.as_uri(), lambda path: "https://example.com/feed"])
def test_a_body_that_names_a_file_or_an_address_opens_nothing(tmp_path: Path, make):
    feed = tmp_path / "feed.xml"
    feed.write_bytes(rss("<item><title>x</title></item>"))
    with pytest.raises(ParseError):
        parse_feed(make(feed).encode())


KIB_256 = 256 * 1024
TANGLES = {
    "reopened formatting": "<p>" + "".join(f"<b title={i}>" for i in range(8000)) + "<p>x" * 30_000,
    "hidden closings": "".join(f"<b title={i}><object></b></object>" for i in range(4000)) + "<p>x" * 20_000,
    "attribute closings": "".join(f'<b title={i}><img alt="</b>">' for i in range(4000)) + "<p>x" * 20_000,
    "deep nesting": "<div>" * 60_000,
    "nested tables": "<table><td>" * 30_000,
    "ampersands": "&" * KIB_256,
    "angle brackets": "<" * KIB_256,
    "links": "<a>" * 80_000,
}


@within_limits
@pytest.mark.parametrize("text", TANGLES.values(), ids=TANGLES)
def test_markup_that_would_explode_is_cleaned_soon_and_stays_small(text: str):
    document = json.dumps({"version": "jsonfeed.org", "items": [{"id": "1", "content_html": text}]}).encode()
    (entry,) = parse_feed(document).entries
    assert len(entry.content.encode()) <= KIB_256


@within_limits
@pytest.mark.parametrize("piece", [b"<", b"<a ", b"<a>", b"<item>", b"<![CDATA[", b"&", b"<!--", b"<entry><title>"])
def test_a_hostile_megabyte_takes_no_minute(piece: bytes):
    body = b"<rss><channel><item><title>" + piece * (200_000 // len(piece))
    assert_a_feed_or_a_parse_error(body)


MEGABYTE = 2**20
#: Where a text of strangers is read, by what reads it.
PLACES = {
    "title": "<rss><channel><item><title><![CDATA[{}]]></title></item></channel></rss>",
    "title of the feed": "<rss><channel><title><![CDATA[{}]]></title><item><title>x</title></item></channel></rss>",
    "text": "<rss><channel><item><link>/x</link><description><![CDATA[{}]]></description></item></channel></rss>",
    "text in Atom": (
        "<feed xmlns='http://www.w3.org/2005/Atom'><entry><id>1</id><link href='/x'/>"
        "<summary>s</summary><content type='html'><![CDATA[{}]]></content></entry></feed>"
    ),
    "author": "<rss><channel><item><title>x</title><author><![CDATA[{}]]></author></item></channel></rss>",
    "attribute": "<rss><channel><item><title>x</title><enclosure url='https://x.org/{}'/></item></channel></rss>",
    "after the end": "<rss><channel><item><title>x</title></item></channel></rss>{}",
    "page": "<html><head>{}",
}
PIECES = [
    "<!--",
    "<title ",
    "<title",
    "<summary ",
    "<link ",
    "<description ",
    "<!ENTITY",
    "-->",
    "<a",
    "&#9",
    "a",
    "a.",
    "\n",
]


@pytest.mark.fuzz
@within_limits
@pytest.mark.proves("A-31")
@pytest.mark.parametrize("place", PLACES.values(), ids=PLACES)
@pytest.mark.parametrize("piece", PIECES)
def test_no_text_of_a_megabyte_holds_up_everybody(place: str, piece: str):
    """A regular expression that looks for its end from every start would, and lets no other thread run meanwhile."""
    text = piece * (MEGABYTE // len(piece))
    written = text.replace("<", "&lt;").replace("&#", "&amp;#") if "enclosure" in place else text
    assert_a_feed_or_a_parse_error(place.format(written).encode())


@within_limits
@pytest.mark.proves("A-31")
@pytest.mark.parametrize(
    "body",
    [
        b"<?xml version='1.0'?>" + b"\n" * MEGABYTE + SEEDS[1],
        b"<?xml version='1.0'?>" + b"\n<!DOCTYPE" * 100_000 + SEEDS[1],
        b"<?xml " + b"encoding='" * 100_000 + SEEDS[1],
        rss(f"<item><title>x</title><author>{'a' * MEGABYTE}</author></item>"),
        rss(f"<item><title>x</title><author>{'&#97;' * 200_000}</author></item>"),
        SEEDS[1] + b"<!ENTITY" * 100_000,
    ],
    ids=["blank lines", "document types", "encodings", "author", "author in numbers", "entities"],
)
def test_no_damage_is_brooded_on(body: bytes):
    assert len(parse_feed(body + b"<").entries) > 0


@within_limits
@pytest.mark.proves("A-31")
def test_many_short_texts_of_nothing_but_brackets_are_soon_read():
    item = f"<item><title>x</title><description>y</description><content:encoded><![CDATA[{'<' * 2_500}]]></content:encoded></item>"
    feed = parse_feed(rss(f"<x xmlns:content='http://purl.org/rss/1.0/modules/content/'/>{item * 400}"))
    assert len(feed.entries) == 400


@within_limits
@pytest.mark.proves("A-31")
@pytest.mark.parametrize("name", ["a{}:title", "a{}"])
def test_names_that_are_never_closed_are_not_looked_for_one_by_one(name: str):
    items = "".join(f"<item><{name.format(number)}><![CDATA[x]]></item>" for number in range(100_000))
    assert_a_feed_or_a_parse_error(rss(items))


@pytest.mark.proves("A-31")
@pytest.mark.parametrize("number", ["&#" + "9" * 5_000, "&#x" + "f" * 5_000], ids=["decimal", "hexadecimal"])
def test_a_character_of_too_large_a_number_is_none(number: str):
    assert_a_feed_or_a_parse_error(rss(f"<item><title><![CDATA[{number};]]></title></item>"))
    assert_a_feed_or_a_parse_error(rss(f"<item><title>{number};</title></item>"))


def test_json_nested_too_deep_is_a_parse_error():
    with pytest.raises(ParseError):
        parse_feed(b'{"items":' + b"[" * 200_000)
