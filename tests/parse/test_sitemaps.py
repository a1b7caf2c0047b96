"""Sitemaps as sites really write them: every address that can be read is read, whatever surrounds it."""

from __future__ import annotations

import gzip
import tracemalloc
from datetime import UTC, datetime
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from catchment.errors import BadBody, CatchmentError, ParseError
from catchment.parse.sitemap import SitemapEntry, SitemapParser

pytestmark = pytest.mark.proves("B-01")

HERE = "https://example.org/maps/sitemap.xml"
NAMESPACE = 'xmlns="http://www.sitemaps.org/schemas/sitemap/0.9"'


def read(*chunks: bytes) -> list[SitemapEntry]:
    parser = SitemapParser(HERE)
    return [entry for chunk in chunks for entry in parser.feed(chunk)] + parser.close()


def urlset(inner: str, start: str = f"<urlset {NAMESPACE}>") -> bytes:
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{start}{inner}</urlset>'.encode()


def url(loc: str, more: str = "") -> str:
    return f"<url><loc>{loc}</loc>{more}</url>\n"


def addresses(*chunks: bytes) -> list[str]:
    return [entry.url for entry in read(*chunks)]


# --- what sites really sent ---------------------------------------------------------------------------------

CAPTURED = {
    "advertools/image_sitemap.xml": 2,
    "advertools/news_sitemap.xml": 6,
    "advertools/regular_sitemap.xml": 5,
    "advertools/regular_sitemap.xml.gz": 5,  # not packed at all
    "advertools/sitemap_index.xml": 4,
    "advertools/video_sitemap.xml": 6,
    "advertools/zipped_sitemap.xml.gz": 5,
    "trafilatura/sitemap-hreflang.xml": 4,
    "trafilatura/sitemap.xml": 84,
    "trafilatura/sitemap.xml.gz": 84,
    "trafilatura/sitemap2.xml": 2,
}
NO_SITEMAPS = {"advertools/error_sitemap.xml", "advertools/robots.txt"}


def test_every_captured_sitemap_is_read_and_nothing_else_is(real_sitemaps: Path):
    files = {path.relative_to(real_sitemaps).as_posix() for path in real_sitemaps.rglob("*") if path.is_file()}
    assert files == CAPTURED.keys() | NO_SITEMAPS
    assert {name: len(read((real_sitemaps / name).read_bytes())) for name in CAPTURED} == CAPTURED
    for name in NO_SITEMAPS:
        with pytest.raises(ParseError):
            read((real_sitemaps / name).read_bytes())


def test_a_captured_news_sitemap_gives_its_titles_and_dates(real_sitemaps: Path):
    first = read((real_sitemaps / "advertools/news_sitemap.xml").read_bytes())[0]
    assert first == SitemapEntry(
        "https://www.nytimes.com/interactive/2020/05/11/magazine/quarantine-insanity.html",
        datetime(2020, 5, 19, 21, 57, 45, tzinfo=UTC),
        False,
        "Quarantine Was Driving Me Crazy — So I Decided to Lose My Mind on Purpose",
    )


# --- kinds of documents -------------------------------------------------------------------------------------


def test_an_index_lists_sitemaps_and_a_urlset_pages():
    index = (
        f"<sitemapindex {NAMESPACE}><sitemap><loc>/a.xml.gz</loc><lastmod>2026-01-02</lastmod></sitemap></sitemapindex>"
    )
    assert read(index.encode()) == [
        SitemapEntry("https://example.org/a.xml.gz", datetime(2026, 1, 2, tzinfo=UTC), is_sitemap=True)
    ]
    assert [entry.is_sitemap for entry in read(urlset(url("https://example.org/a")))] == [False]


@pytest.mark.proves("R-14")
def test_a_place_on_a_page_is_no_other_page():
    listed = urlset(url("https://x.org/a#top") + url("https://x.org/a?b=1#c") + url("https://x.org/#"))
    assert addresses(listed) == ["https://x.org/a", "https://x.org/a?b=1", "https://x.org/"]


def test_an_rss_feed_serves_as_a_sitemap():
    body = b"""<rss version="2.0"><channel><title>Site</title><link>https://example.org/</link>
    <image><url>https://example.org/logo.png</url></image>
    <item><title>A &amp; B</title><link>https://example.org/a?x=1&amp;y=2</link>
    <pubDate>Mon, 11 Aug 2014 14:12:04 +0200</pubDate></item>
    <item><guid isPermaLink="false">tag:1</guid><link>https://example.org/b</link></item>
    <item><guid>https://example.org/c</guid></item></channel></rss>"""
    assert read(body) == [
        SitemapEntry("https://example.org/a?x=1&y=2", datetime(2014, 8, 11, 12, 12, 4, tzinfo=UTC), False, "A & B"),
        SitemapEntry("https://example.org/b", None, False),
        SitemapEntry("https://example.org/c", None, False),
    ]


def test_an_atom_feed_serves_as_a_sitemap():
    body = b"""<feed xmlns="http://www.w3.org/2005/Atom"><link href="https://example.org/"/>
    <entry><title>One</title><id>urn:1</id><link rel="edit" href="/edit"/><link href="/one"/>
    <published>2026-01-01T00:00:00Z</published><updated>2026-01-02T00:00:00Z</updated></entry></feed>"""
    assert read(body) == [SitemapEntry("https://example.org/one", datetime(2026, 1, 2, tzinfo=UTC), False, "One")]


def test_a_text_sitemap_has_one_address_a_line():
    body = b"\xef\xbb\xbf\r\nhttps://example.org/a\r\n\r\nnot an address\r\nhttps://example.org/b?x=<1>\nHTTP://EXAMPLE.org/c"
    assert addresses(body) == ["https://example.org/a", "https://example.org/b?x=%3C1%3E", "HTTP://EXAMPLE.org/c"]


def test_warnings_before_the_document_do_not_hide_it():
    body = b"Warning: mysql_connect() in /var/www on line 3\n<br />\n<b>Notice</b>: x\n" + urlset(
        url("https://example.org/a")
    )
    assert addresses(body) == ["https://example.org/a"]


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-16-be", "utf-32", "iso-8859-1", "gb18030"])
def test_any_encoding_is_read(encoding: str):
    text = urlset(url("https://example.org/caf\u00e9")).decode().replace("UTF-8", encoding.removesuffix("-sig"))
    assert addresses(text.encode(encoding)) == ["https://example.org/caf\u00e9"]


def test_a_wrong_declaration_is_not_believed():
    body = urlset(url("https://example.org/caf\u00e9")).replace(b"UTF-8", b"iso-8859-1")
    assert addresses(body) == ["https://example.org/caf\u00e9"]


# --- broken ones --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "start",
    [
        "<urlset>",  # no namespace
        '<urlset xmlns="http://www.google.com/schemas/sitemap/0.84">',  # a former one
        '<urlset xmlns="">',
        "<URLSET>",
    ],
)
def test_namespaces_do_not_matter(start: str):
    assert addresses(urlset(url("https://example.org/a"), start)) == ["https://example.org/a"]


def test_prefixes_do_not_matter_and_locations_of_images_are_no_pages():
    body = b"""<sm:urlset xmlns:sm="http://www.sitemaps.org/schemas/sitemap/0.9" xmlns:image="i">
    <sm:url><image:image><image:loc>https://example.org/a.png</image:loc><image:title>Picture</image:title></image:image>
    <sm:loc>https://example.org/a</sm:loc><sm:lastmod>2026-01-02</sm:lastmod></sm:url></sm:urlset>"""
    assert read(body) == [SitemapEntry("https://example.org/a", datetime(2026, 1, 2, tzinfo=UTC), False, "Picture")]


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("https://example.org/?a=1&b=2", "https://example.org/?a=1&b=2"),
        ("https://example.org/?a=1&amp;b=2", "https://example.org/?a=1&b=2"),
        ("https://example.org/?a=1&copy=2&lt=3", "https://example.org/?a=1&copy=2&lt=3"),
        ("<![CDATA[https://example.org/?a=1&b=2]]>", "https://example.org/?a=1&b=2"),
        ("https://example.org/&#233;&#xe9;", "https://example.org/éé"),
        ("https://example.org/&bomb;", "https://example.org/&bomb;"),
        ("\n   https://example.org/a\n", "https://example.org/a"),
        ("https://example.org/a<!-- why not -->b", "https://example.org/ab"),
        ("/a", "https://example.org/a"),
        ("//other.example/a", "https://other.example/a"),
        ("a.html", "https://example.org/maps/a.html"),
        ("HTTPS://example.org:8443/[a]", "https://example.org:8443/[a]"),
        ("https://[2001:db8::1]/a", "https://[2001:db8::1]/a"),
        ("https://münchen.example/a", "https://münchen.example/a"),
    ],
)
def test_an_address_is_read_as_it_was_meant(written: str, meant: str):
    assert addresses(urlset(url(written))) == [meant]


@pytest.mark.parametrize(
    "loc",
    [
        "", "  ", "javascript:alert(1)", "mailto:a@b.c", "http://[::1", "https://e.org/" + "x" * 9000,
        "http:///nohost", "https://", "http://?q", "http://a.example:99999/", "http://a.example:port/", "http://@/x",
    ],
)  # fmt: skip
def test_an_entry_without_a_usable_address_spoils_itself_only(loc: str):
    assert addresses(urlset(url(loc) + url("https://example.org/b"))) == ["https://example.org/b"]


W3C = {
    "2026": (2026, 1, 1),
    "2026-03": (2026, 3, 1),
    "2026-03-04": (2026, 3, 4),
    "2026-03-04T05:06Z": (2026, 3, 4, 5, 6),
    "2026-03-04T05:06:07Z": (2026, 3, 4, 5, 6, 7),
    "2026-03-04T05:06:07.25+02:00": (2026, 3, 4, 3, 6, 7, 250000),
    "2015-06-26T11:21:15+0000": (2015, 6, 26, 11, 21, 15),
    "2026-03-04 05:06:07": (2026, 3, 4, 5, 6, 7),
    "2026-03-04 05:06:07 UTC": (2026, 3, 4, 5, 6, 7),
    "2026/3/4": (2026, 3, 4),
    "Mon, 11 Aug 2014 14:12:04 +0200": (2014, 8, 11, 12, 12, 4),
    " 2026-03-04\n": (2026, 3, 4),
}
NONSENSE = ["", "0000-00-00", "2026-02-30", "yesterday", "2026-13", "0000", "1970-01-01", "9" * 300, "<b>2026</b>x"]


@pytest.mark.parametrize(("text", "parts"), W3C.items())
def test_a_lastmod_of_any_precision_is_a_moment_in_utc(text: str, parts: tuple[int, ...]):
    (entry,) = read(urlset(url("https://example.org/a", f"<lastmod>{text}</lastmod>")))
    assert entry.lastmod == datetime(*parts, tzinfo=UTC)


@pytest.mark.parametrize("text", NONSENSE)
def test_a_bad_lastmod_spoils_no_more_than_itself(text: str):
    bad = url("https://example.org/a", f"<lastmod>{text}</lastmod>")
    good = url("https://example.org/b", "<lastmod>2026-01-02</lastmod>")
    assert [(entry.url[-1], entry.lastmod) for entry in read(urlset(bad + good))] == [
        ("a", None),
        ("b", datetime(2026, 1, 2, tzinfo=UTC)),
    ]


def test_the_publication_date_of_news_stands_in_for_a_missing_lastmod():
    news = "<news:news><news:publication_date>2026-01-02</news:publication_date><news:title>T &amp; U</news:title></news:news>"
    assert read(urlset(url("https://example.org/a", news))) == [
        SitemapEntry("https://example.org/a", datetime(2026, 1, 2, tzinfo=UTC), False, "T & U")
    ]


def test_entries_that_are_never_closed_end_where_the_next_begins():
    body = b"<urlset><url><loc>https://example.org/a<lastmod>2026-01-02</lastmod><url><loc>https://example.org/b</loc>"
    assert [(entry.url, entry.lastmod is not None) for entry in read(body)] == [
        ("https://example.org/a", True),
        ("https://example.org/b", False),
    ]


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"   \n",
        b"<!doctype html><html><head><title>Not found</title></head><body>Nothing</body></html>",
        b'<?xml version="1.0"?><!DOCTYPE html><html xmlns="http://www.w3.org/1999/xhtml"><url><loc>https://e.org/</loc></url></html>',
        b'{"urls": ["https://example.org/"]}',
        b"\x89PNG\r\n\x1a\n\0\0\0",
        b"<svg><url/></svg>",
        b"<urlset><url><loc></loc></url></urlset>",
        b"<urlset><ur",
        b"<urlset>" + b"<a>" * 3_000 + b"</urlset>",
        b"<urlset>" + b"<a/>" * 3_000 + b"</urlset>",
        b"<sitemapindex><page><name>https://example.org/</name></page></sitemapindex>",
        b"<a>" * 3_000 + b"<urlset></urlset>" + b"</a>" * 3_000,
        b"Ceci n'est pas une sitemap.\nMais non.",
    ],
)
def test_what_is_no_sitemap_is_an_error_and_never_an_empty_one(body: bytes):
    with pytest.raises(ParseError, match="sitemap"):
        read(body)


EMPTY_FEED = b"<rss version='2.0'><channel><title>Nothing yet</title></channel></rss>"


@pytest.mark.parametrize(
    "body", [urlset("<!-- none yet -->"), urlset(""), b"<urlset/>", b"<sitemapindex></sitemapindex>", EMPTY_FEED]
)
def test_an_empty_sitemap_is_one(body: bytes):
    assert read(body) == []


@pytest.mark.parametrize("declared_by", ["urlset", "news"])
def test_extensions_may_have_any_prefix(declared_by: str):
    name = 'xmlns:n="http://www.google.com/schemas/sitemap-news/0.9"'
    on_root, on_news = (name, "") if declared_by == "urlset" else ("", f" {name}")
    news = f"<n:news{on_news}><n:publication_date>2026-03-04</n:publication_date><n:title>Ferry late</n:title></n:news>"
    [entry] = read(urlset(url("https://e.org/a", news), f"<urlset {NAMESPACE} {on_root}>"))
    assert (entry.lastmod, entry.title) == (datetime(2026, 3, 4, tzinfo=UTC), "Ferry late")


@pytest.mark.proves("R-11")
@pytest.mark.parametrize(
    ("end", "last"),
    [
        ("<url><loc>https://e.org/b/some-pa", []),
        ("<url><loc>https://e.org/b</loc><lastmod>2026", [("https://e.org/b", None)]),
        ("<url><loc>https://e.org/b</loc>", [("https://e.org/b", None)]),
    ],
)
def test_what_was_cut_off_in_its_midst_is_no_address_and_no_date(end: str, last: list[tuple[str, None]]):
    body = urlset(url("https://e.org/a")).removesuffix(b"</urlset>") + end.encode()
    assert [(entry.url, entry.lastmod) for entry in read(body)] == [("https://e.org/a", None), *last]


@pytest.mark.parametrize(
    ("body", "is_whole"), [(urlset(url("https://e.org/")), True), (urlset(url("https://e.org/"))[:-3], False)]
)
def test_it_is_known_whether_the_end_was_seen(body: bytes, is_whole: bool):
    parser = SitemapParser(HERE)
    assert len(parser.feed(body) + parser.close()) == 1
    assert parser.is_whole is is_whole


# --- portions and size --------------------------------------------------------------------------------------

# The start of a document is kept until its encoding is settled; what follows comes through in any portions.
START = b"\n" * 4096
DOCUMENTS = [
    urlset(
        url("https://example.org/é?a=1&b=2", "<lastmod>2026-01-02</lastmod>") * 3
        + "<!-- > <url> --><url><loc><![CDATA[/x]]></loc></url>"
    ),
    urlset(url("https://example.org/" + "a" * 200, "<lastmod>bad</lastmod><priority>1</priority>") * 60),
    gzip.compress(urlset(url("https://example.org/a") * 50)) + gzip.compress(b"\n"),
    urlset(url("https://example.org/ü")).decode().replace("UTF-8", "utf-16").encode("utf-16"),
    b"https://example.org/a\r\nhttps://example.org/b\n" + "https://example.org/é\n".encode(),
    b"<rss><item><title>a < b</title><link>https://example.org/a</link></item><item><link>/b</link>",
    b"junk\n<urlset><url does not close<url><loc>https://example.org/a</loc></urlset>",
]


DOCUMENTS += [START + document for document in DOCUMENTS if not document.startswith((b"\x1f", b"\xff"))]


def outcome(*chunks: bytes) -> object:
    try:
        return read(*chunks)
    except CatchmentError as error:
        return str(error)


def cut(body: bytes, places: list[int]) -> list[bytes]:
    edges = [0, *sorted(place % (len(body) + 1) for place in places), len(body)]
    return [body[start:end] for start, end in pairwise(edges)]


@settings(deadline=None)
@given(body=st.sampled_from(DOCUMENTS), places=st.lists(st.integers(0, 20_000), max_size=12))
def test_any_portions_give_the_same_entries(body: bytes, places: list[int]):
    assert outcome(*cut(body, places)) == outcome(body)


@pytest.mark.parametrize("body", DOCUMENTS)
def test_single_bytes_give_the_same_entries(body: bytes):
    assert outcome(*(bytes([byte]) for byte in body)) == read(body)


TOKENS = [
    b"<urlset>", b"</urlset>", b"<url>", b"</url>", b"<loc>", b"</loc>", b"https://e.org/", b"<", b">", b"&", b"&amp;", b"]]>",
    b"<![CDATA[", b"<!--", b"-->", b"<sitemap>", b"<lastmod>", b"2026-01-01", b"\n", b"\0", b"\xff", b"<?", b"<!", b"/", b'"',
    b"\x1f\x8b", b"<item>", b"<rss>", b"<link href='/a'/>", b"<html>", b"\xfe\xff", b"x" * 5000,
]  # fmt: skip


@given(
    parts=st.lists(st.sampled_from(TOKENS) | st.binary(max_size=6), max_size=30),
    places=st.lists(st.integers(0, 9999), max_size=6),
)
@example(parts=[b"<urlset>", b"<url>", b"<loc>", b"https://e.org/", b"</loc>", b"</url>"], places=[9, 20])
def test_no_bytes_do_harm_and_portions_never_matter(parts: list[bytes], places: list[int]):
    body = START + b"".join(parts)
    portions = [START, *cut(body[len(START) :], places)]
    assert outcome(*portions) == outcome(body)


def test_what_is_held_does_not_grow_with_the_sitemap():
    def peak(entries: int) -> int:
        parser = SitemapParser(HERE)
        tracemalloc.start()
        parser.feed(b"<urlset>")
        for number in range(entries // 100):
            portion = "".join(url(f"https://example.org/{number}/{place}") for place in range(100))
            assert len(parser.feed(portion.encode())) in {99, 100, 101}
        parser.feed(b"</urlset>")
        parser.close()
        _, most = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        return most

    peak(1_000)  # what is made once
    assert peak(40_000) < 2 * peak(4_000)


@pytest.mark.fuzz
@pytest.mark.timeout(30)
@pytest.mark.parametrize(
    "piece",
    [
        b"<",
        b"<!--",
        b"<url>",
        b"<loc>",
        b"&",
        b"<![CDATA[",
        b"<a ",
        b"x",
        b" ",
        b"<url><loc>",
        b"http://",
        b"\n",
        b"]]>",
    ],
)
@pytest.mark.parametrize("start", [b"<urlset>", b"<urlset><url><loc>", b"https://e.org/\n"])
def test_hostile_megabytes_are_passed_over_in_bounded_memory(start: bytes, piece: bytes):
    parser = SitemapParser(HERE)
    portion = piece * (65_536 // len(piece))
    tracemalloc.start()
    try:
        parser.feed(start)
        for _ in range(4):
            parser.feed(portion)
        parser.close()
    except ParseError:
        pass
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert most < 2_500_000


def test_an_entity_bomb_does_not_go_off():
    lines = "".join(f'<!ENTITY l{i} "{f"&l{i - 1};" * 10}">' for i in range(1, 10))
    body = f'<!DOCTYPE urlset [<!ENTITY l0 "lol">{lines}]><urlset>{url("https://e.org/&l9;")}</urlset>'.encode()
    assert addresses(body) == ["https://e.org/&l9;"]


def test_a_gzip_bomb_is_refused_while_it_unfolds():
    bomb = gzip.compress(b"<urlset>" + b" " * 300_000_000, compresslevel=1)
    tracemalloc.start()
    with pytest.raises(BadBody, match="unfolds"):
        read(*cut(bomb, list(range(0, len(bomb), 16_384))))
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert most < 20_000_000


def test_gzip_that_is_cut_short_is_never_taken_for_whole():
    packed = gzip.compress(urlset("".join(url(f"https://example.org/{number}") for number in range(500))))
    with pytest.raises(BadBody, match="cut short"):
        read(packed[:-20])


@pytest.mark.timeout(30)
@pytest.mark.parametrize(
    "body",
    [
        b"a\n" * 2**21,
        b"\n" * 2**20,
        b"http:/\n" * 2**17,
        b"<urlset><" + b"a" * 2**20,
        b"<urlset><" + b"a" * 2**20 + b"<",
        b"<feed><entry>" + (b"<link " + b"a" * 30_000 + b">") * 30 + b"</entry></feed>",
        b"<feed><entry>" + (b"<link " + b"a " * 15_000 + b">") * 30 + b"</entry></feed>",
        b"<urlset>" + b"<!--" * 2**18,
        b"<urlset>" + b"<url> " * 2**17,
        gzip.compress(b"") * 2**16,
    ],
    ids=["lines", "blank lines", "near addresses", "endless tag", "open tag", "attribute", "attributes", "comments",
         "entries", "packed nothing"],
)  # fmt: skip
def test_a_hostile_megabyte_is_soon_done_with(body: bytes):
    outcome(body)
