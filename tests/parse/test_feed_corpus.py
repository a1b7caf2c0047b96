"""Every captured feed gives the entries that feedparser finds, or there is a reason."""

from __future__ import annotations

import io
import json
import re
from html import unescape
from pathlib import Path

import feedparser
import pytest

from catchment.errors import ParseError
from catchment.parse.feed import MAX_ENTRIES, parse_feed

JSON_FEED = "feedparser does not read JSON Feed"
NO_PERMALINK = "an entry without a link takes its id, if that is a web address"
TAG_IS_NO_LINK = "feedparser takes any id for a link; only a web address can be followed"
EMPTY_LINK = "an empty link leads to the feed, and not to the entry"
BASE = "made absolute by the link of the feed"
OWN_BASE = "the base of one entry is not the base of the next"
NEWEST = "of more entries than are taken at once the newest stay, and feedparser is asked for the first"
CUT_OFF = "its last entry is cut off"
PACKED = "packed by gzip, which feedparser is told of by a header or not at all"
PREFIXED = "feedparser finds nothing in RSS with undeclared prefixes and a doubled declaration"

# (file, field): why ours differs, and is right. A line that is not needed any more fails the test.
JUSTIFIED = {
    ("benchmark/cc314ce5dfbb3adc.xml", "title"): NEWEST,
    ("fastfeedparser_integration/json_feed_sample.json", "count"): JSON_FEED,
    ("fastfeedparser_integration/malformed_rss_namespaced.xml", "count"): PREFIXED,
    ("fastfeedparser_integration/osm-pl.xml", "count"): CUT_OFF,
    ("feed-rs/atom_entry_1.xml", "link"): TAG_IS_NO_LINK,
    ("feed-rs/jsonfeed_elastic_1.1.json", "count"): JSON_FEED,
    ("feedjira/Permalinks.xml", "link"): NO_PERMALINK,
    ("feedjira/json_feed.json", "count"): JSON_FEED,
    ("feedjira/json_feed_with_escaped_uris.json", "count"): JSON_FEED,
    ("live_2026-02/dylanharris.org_feed-me.rss", "count"): PREFIXED,
    ("netnewswire/OneFootTsunami.atom", "link"): EMPTY_LINK,
    ("netnewswire/allthis.json", "count"): JSON_FEED,
    ("netnewswire/inessential.json", "count"): JSON_FEED,
    ("netnewswire/pappacoda.atom", "link"): "the page of that entry is a PDF, which feedparser passes over",
    ("netnewswire/pxlnv.json", "count"): JSON_FEED,
    ("newsboat/atom10_2.xml", "link"): TAG_IS_NO_LINK,
    ("newsboat/rss20_2.xml", "link"): NO_PERMALINK,
    ("node-feedparser/atom-with-tag-uri-links.xml", "link"): TAG_IS_NO_LINK,
    ("node-feedparser/complexNamespaceFeed.xml", "link"): TAG_IS_NO_LINK,
    ("node-feedparser/compressed.xml", "count"): PACKED,
    ("node-feedparser/invalid-characters-gzipped.xml", "count"): PACKED,
    ("node-feedparser/rss-with-item-scoped-html-base.xml", "link"): OWN_BASE,
    ("node-feedparser/rss-with-relative-html-urls-no-base.xml", "link"): BASE,
    ("node-feedparser/tpm-with-empty-base.atom", "link"): BASE,
    ("node-feedparser/tpm-with-fragment-base.atom", "link"): BASE,
    ("node-feedparser/tpm.atom", "link"): BASE,
    ("rss-parser/gulp-atom.atom", "link"): BASE,
    ("rss-parser/missing-fields.atom", "link"): TAG_IS_NO_LINK,
    ("rss-parser/reddit-home.rss", "id"): "feedparser resolves ids as if they were relative links",
}

# What is written in them, in the script it was written in.
CHARACTERS = {
    "netnewswire/kc0011.rss": "建国35周年纪念，华表，和平鸽",
    "netnewswire/aktuality.rss": "Analytici Goldman Sachs zvýšili odhad rastu ekonomiky USA",
    "fastfeedparser_integration/utf16_encoded.xml": "UTF-16 Entry 1",
    "feed-rs/rss_0.91_encoding_1.xml": "bash - Expansão de Parâmetros",
    "feed-rs/rss_2.0_encoding_1.xml": "Revolução nas telas com pontos quânticos impressos em 3D",
    "feed-rs/rss_1.0_iso8859.xml": "Digitalministerium: Neue Glasfaserförderung mit Schnellkasse",
    "feed-rs/xml_iso8859.xml": "Digitalministerium: Neue Glasfaserförderung mit Schnellkasse",
    "miniflux/encoding_WINDOWS-1251.xml": "Цитата #17703",
    "miniflux/koi8r.xml": "Первая новость",
    "miniflux/no_encoding_ISO-8859-1.xml": "Perturbateurs endocriniens : quels effets sur le cerveau ?",
    "miniflux/rdf_UTF8.xml": "OLED-TVs: Vorsichtsmaßnahmen gegen Einbrennen",
    "miniflux/utf8-incorrect-prolog.xml": "Café",
    "miniflux/invalid-prolog.xml": "Café",
    "rss-parser/encoding.rss": "Mãe de utente é a nova presidente da Raríssimas",
    "rss-parser/uolNoticias.rss": "Ibope: Bolsonaro perde de Haddad, Ciro e Alckmin em simulações de 2º turno",
}

FEED_TITLES = {
    "miniflux/iso-8859-1.xml": "Café",
    "miniflux/windows-1252.xml": "Euro €",
    "miniflux/windows-1252-incorrect-prolog.xml": "Euro €",
    "miniflux/utf8.xml": "테스트 피드",
    "miniflux/encoding_ISO-8859-1.xml": "Golem.de",
}


def folded(text: str) -> str:
    text = unescape(text)
    return "".join(unescape(re.sub(r"</?[a-zA-Z][^<>]*>", "", text)).split())


def ours(body: bytes) -> list[tuple[str, str, str]]:
    try:
        return [(entry.id, entry.link, folded(entry.title)) for entry in parse_feed(body).entries]
    except ParseError:
        return []


def theirs(body: bytes) -> list[tuple[str, str, str]]:
    found = feedparser.parse(io.BytesIO(body), sanitize_html=False).entries[:MAX_ENTRIES]
    return [(e.get("id", ""), e.get("link", ""), folded(e.get("title", ""))) for e in found]


def differences(body: bytes) -> set[str]:
    mine, reference = ours(body), theirs(body)
    if len(mine) != len(reference):
        return {"count"}
    pairs = list(zip(mine, reference, strict=True))
    fields = enumerate(("id", "link", "title"))
    return {name for place, name in fields if any(a[place] != b[place] for a, b in pairs)}


@pytest.mark.captures
def test_every_captured_feed_gives_what_feedparser_finds_or_a_reason_is_named(real_feeds: Path):
    files = sorted(path for path in real_feeds.rglob("*") if path.is_file())
    found = {
        (path.relative_to(real_feeds).as_posix(), field) for path in files for field in differences(path.read_bytes())
    }

    assert len(files) > 150
    assert found - JUSTIFIED.keys() == set(), "differences without a reason"
    assert JUSTIFIED.keys() - found == set(), "reasons that nothing needs any more"


def contents(body: bytes) -> list[str]:
    """As they are collected."""
    try:
        return [entry.content for entry in parse_feed(body, summaries=False).entries]
    except ParseError:
        return []


def their_contents(body: bytes) -> list[str]:
    found = feedparser.parse(io.BytesIO(body), sanitize_html=False).entries[:MAX_ENTRIES]
    return ["".join([entry.get("summary", ""), *(text.value for text in entry.get("content", ()))]) for entry in found]


@pytest.mark.captures
@pytest.mark.proves("A-31")
def test_no_captured_entry_is_collected_without_the_text_that_feedparser_finds(real_feeds: Path):
    files = sorted(path for path in real_feeds.rglob("*") if path.is_file())
    pairs = {
        path.relative_to(real_feeds).as_posix(): (contents(path.read_bytes()), their_contents(path.read_bytes()))
        for path in files
    }
    lacking = {
        name
        for name, (mine, reference) in pairs.items()
        if any(not own and folded(text) for own, text in zip(mine, reference, strict=False))
    }

    assert sum(map(bool, (text for mine, _ in pairs.values() for text in mine))) > 1_500
    assert lacking == set()


@pytest.mark.captures
def test_at_least_99_in_100_captured_ids_links_and_titles_are_what_feedparser_reads(real_feeds: Path):
    bodies = [path.read_bytes() for path in real_feeds.rglob("*") if path.is_file()]
    pairs = [(mine, found) for body in bodies if len(mine := ours(body)) == len(found := theirs(body)) < MAX_ENTRIES]

    expected = sum(3 * len(reference) for _, reference in pairs)
    alike = sum(
        mine == reference or bool(reference and mine.endswith(reference))  # a link that was made absolute
        for entries, references in pairs
        for entry, found in zip(entries, references, strict=False)
        for mine, reference in zip(entry, found, strict=True)
    )

    assert expected > 5_000
    assert alike / expected >= 0.99


@pytest.mark.parametrize(("name", "title"), CHARACTERS.items())
def test_titles_come_in_their_right_characters(real_feeds: Path, name: str, title: str):
    assert parse_feed((real_feeds / name).read_bytes()).entries[0].title == title


@pytest.mark.parametrize(("name", "title"), FEED_TITLES.items())
def test_feed_titles_come_in_their_right_characters(real_feeds: Path, name: str, title: str):
    assert parse_feed((real_feeds / name).read_bytes()).title == title


def test_no_captured_feed_is_left_with_unreadable_characters(real_feeds: Path):
    spoilt = []
    for path in sorted(real_feeds.rglob("*")):
        body = path.read_bytes() if path.is_file() else b""
        if "\ufffd".encode() not in body and any("\ufffd" in title for _, _, title in ours(body)):
            spoilt.append(path.name)
    assert spoilt == []


def test_feeds_with_recorded_expectations_give_them(real_feeds: Path):
    folder = real_feeds / "fastfeedparser_integration"
    for path in sorted(folder.glob("*.xml")):
        expected = json.loads(path.with_suffix(".json").read_text())["entries"]
        entries = parse_feed(path.read_bytes()).entries
        if JUSTIFIED.get((f"{folder.name}/{path.name}", "count")) == CUT_OFF:
            expected = expected[:-1]
        assert [folded(e.title) for e in entries] == [folded(e["title"]) for e in expected], path.name
        assert [e.link for e in entries] == [e["link"] for e in expected], path.name
        dates = [e.published.isoformat() if e.published else None for e in entries]
        assert dates == [e.get("published") for e in expected], path.name


@pytest.mark.captures
@pytest.mark.proves("A-31")
def test_a_raw_ampersand_in_a_new_item_leaves_the_captured_ones_as_they_were(real_feeds: Path):
    compared = 0
    for path in sorted(path for path in real_feeds.rglob("*") if path.is_file()):
        body = path.read_bytes()
        first = re.search(rb"<item[\s>]", body)
        if first is None or not ours(body):
            continue
        news = b"<item><guid>new</guid><title>AT%sT</title><pubDate>Fri, 02 Jan 2026 03:04:05 GMT</pubDate></item>"
        proper, stray = (
            body[: first.start()] + news % ampersand + body[first.start() :] for ampersand in (b"&amp;", b"&")
        )
        mended, whole = (parse_feed(document, summaries=False) for document in (stray, proper))
        assert (mended.link, mended.entries) == (whole.link, whole.entries), path.name
        compared += 1
    assert compared > 60
