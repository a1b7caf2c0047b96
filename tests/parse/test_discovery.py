"""What a page says about its site."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from catchment.parse.discovery import discover, is_page, is_sitemap, refresh_of

URL = "https://example.org/a/b"
tags = st.sampled_from(
    [
        b"<base href='",
        b"<link rel=alternate type=application/rss+xml href='",
        b"<link rel=icon href='",
        b"<meta property=og:title content='",
        b"'>",
        b"<title>",
        b"http://[::1",
        b"//\\",
        b"\xff\xfe",
        b"</",
        b"\0",
    ]
)


def feeds(head: str, url: str = URL) -> tuple[str, ...]:
    return discover(f"<!doctype html><html><head>{head}</head><body>x</body></html>".encode(), url=url).feeds


@pytest.mark.proves("A-32")
@pytest.mark.proves("R-47")
def test_a_commentary_is_no_comment() -> None:
    body = b"<link rel=alternate type=application/rss+xml title='Daily Commentary' href=/commentary/feed.xml>"
    assert discover(body, url="https://example.org/").news_feeds == ("https://example.org/commentary/feed.xml",)


@pytest.mark.parametrize(
    "kind",
    [
        "application/rss+xml",
        "application/atom+xml",
        "application/rdf+xml",
        "application/feed+json",
        "text/rss+xml",
        "application/x-rss+xml",
        "application/x.atom+xml",
    ],
)
def test_feeds_of_every_kind_are_found(kind: str) -> None:
    assert feeds(f'<LINK REL="Alternate" TYPE="{kind.upper()}; charset=utf-8" HREF="f">') == (
        "https://example.org/a/f",
    )


@pytest.mark.proves("A-32")
def test_a_vague_type_is_a_feed_where_address_or_title_says_so() -> None:
    assert feeds("<link rel=alternate type=application/json title='JSON Feed' href=f>") == ("https://example.org/a/f",)
    assert feeds("<link rel=alternate type=application/json title=JSON href=/wp-json/2>") == ()


@pytest.mark.proves("A-32")
@pytest.mark.parametrize(
    "href", ["feed:https://example.org/f", "feed://https://example.org/f", " FEED:https://example.org/f"]
)
def test_an_address_that_asks_for_a_reader_of_feeds_is_one(href: str) -> None:
    assert feeds(f"<link rel=alternate type=application/rss+xml href='{href}'>") == ("https://example.org/f",)
    assert discover(f"<a href='{href}'>Follow</a>".encode(), url=URL).linked_feeds == ("https://example.org/f",)
    assert feeds("<link rel=alternate type=application/rss+xml href='feed://example.org/f'>") == (
        "http://example.org/f",
    )


@pytest.mark.proves("R-47")
@pytest.mark.parametrize(
    "link",
    [
        "<a href=/n>Subscribe via RSS</a>",
        "<a href=/n aria-label=RSS><svg></svg></a>",
        "<a href=/n title='RSS feed'>Follow us</a>",
        "<a href=/n><img src=i.png alt=RSS></a>",
    ],
)
def test_a_plain_link_that_calls_itself_a_feed_may_be_one(link: str) -> None:
    assert discover(link.encode(), url=URL).linked_feeds == ("https://example.org/n",)


@pytest.mark.proves("A-32")
def test_links_are_absolute_and_the_base_counts() -> None:
    link = "<link rel=alternate type=application/rss+xml href=feed#top>"
    assert feeds(f"<base href='/x/'>{link}") == ("https://example.org/x/feed",)
    assert feeds(f"<base href='https://cdn.example/y/'>{link}") == ("https://cdn.example/y/feed",)


@pytest.mark.proves("A-32")
def test_feeds_of_comments_come_last() -> None:
    link = "<link rel=alternate type=application/rss+xml title='{}' href={}>"
    head = link.format("Blog: Comments", "1") + link.format("", "/comments/feed") + link.format("Blog", "2")
    assert [feed.rsplit("/", 1)[1] for feed in feeds(head)] == ["2", "1", "feed"]


@pytest.mark.parametrize(
    "link",
    [
        "<link rel=alternate hreflang=de href=/de/feed>",
        "<link rel=alternate type=application/json href=/wp-json/v2/pages/7>",
        "<link rel=alternate type=application/json+oembed href=/oembed?format=json>",
        "<link rel=alternate media=handheld href=/m/>",
        "<link rel=stylesheet type=application/rss+xml href=/feed>",
        "<link rel=alternate type=application/rss+xml href='javascript:feed()'>",
        "<link rel=alternate type=application/rss+xml href='http://[::1'>",
        "<link rel=alternate type=application/rss+xml>",
    ],
)
def test_what_only_looks_like_a_feed_is_none(link: str) -> None:
    assert feeds(link) == ()


def test_a_vague_type_counts_where_the_address_says_feed() -> None:
    assert feeds("<link rel=alternate type=text/xml href=/rss.xml>") == ("https://example.org/rss.xml",)


def test_the_page_is_told_by_its_own_words() -> None:
    page = (
        "<meta charset=gbk><title>港口</title><meta name=description content='灯 &amp; 雾'>"
        "<link rel='shortcut icon' href=/i.png><link rel=canonical href=//example.org/c><link rel=sitemap href=/s.xml>"
    )
    found = discover(page.encode("gbk"), url=URL)
    assert (found.title, found.description) == ("港口", "灯 & 雾")
    assert (found.icon, found.canonical) == ("https://example.org/i.png", "https://example.org/c")
    assert found.sitemaps == ("https://example.org/s.xml",)


def test_pages_and_sitemaps_are_told_apart() -> None:
    assert is_page(b"\n<?xml version='1.0'?><!-- x --><!DOCTYPE html PUBLIC>")
    assert not is_page(b"<?xml version='1.0'?><rss><item><![CDATA[<html>]]>")
    assert is_sitemap(b"<?xml version='1.0'?><urlset xmlns='x'>")
    assert not is_sitemap(b"<!doctype html><pre><urlset ></pre>")


@given(st.one_of(st.binary(max_size=400), st.lists(st.one_of(tags, st.binary(max_size=8))).map(b"".join)), st.text())
def test_nothing_in_a_page_can_do_harm(body: bytes, url: str) -> None:
    found = discover(body, url=url, content_type="text/html")
    for address in (*found.feeds, *found.sitemaps, *filter(None, (found.icon, found.canonical))):
        assert address.startswith(("http://", "https://"))
    f"{found}".encode()  # no half of a surrogate pair, so it can be stored


@pytest.mark.timeout(30)
@pytest.mark.proves("A-32")
@pytest.mark.parametrize("piece", [b"<!---->", b"<!-- --> ", b"<?xml?>", b" "])
def test_what_begins_as_a_page_does_is_soon_known_to_be_one_or_none(piece: bytes) -> None:
    assert is_page(piece * 50 + b"<html>")
    assert not is_page(piece * 50 + b"<rss>")
    assert not is_page(piece * 1_000)


@pytest.mark.timeout(30)
@pytest.mark.proves("A-32")
@pytest.mark.parametrize("piece", ["<!--", "&lt;!--", "<title", "a"])
def test_a_hostile_page_is_soon_read(piece: str) -> None:
    text = piece * (2**20 // len(piece))
    page = f'<html><head><title>{text}</title><meta name="description" content="{text}"></head></html>'
    assert len(discover(page.encode(), url=URL).description) <= 500


@pytest.mark.timeout(30)
@pytest.mark.proves("A-32")
def test_a_charset_after_many_blanks_is_soon_missed() -> None:
    blanks = " " * 2**16
    assert discover(f"<meta charset={blanks};><title>x</title>".encode(), url=URL).title == "x"
    body = "<title>\xe9</title>".encode("latin-1")
    assert discover(body, url=URL, content_type=f"text/html; charset={blanks};").title == "é"


REFRESH = b"<meta http-equiv=refresh content='0; url=/new'>"


@pytest.mark.timeout(30)
@pytest.mark.parametrize(
    "part", [b"<noscript ", b"<!--", b"<script>", b"<meta ", b"<meta a", b"<?", b" ", b"<textarea>x</"]
)
def test_no_page_takes_long_to_be_read_for_a_refresh(part: bytes) -> None:
    assert {refresh_of(part * (64 * 1024 // len(part)), URL) for _ in range(20)} == {""}


@pytest.mark.proves("R-47")
@pytest.mark.parametrize(
    "before",
    [
        b"",
        b"<!doctype html><!-- a --><head>",
        b"<?xml version='1.0'?><html>",
        b"<!--[if !IE]><!-->",
        b"<!-->",
        b"<script>1</script><noscript><img></noscript><title>T</title>",
    ],
)
def test_a_refresh_is_where_every_browser_goes(before: bytes) -> None:
    assert refresh_of(before + REFRESH, URL) == "https://example.org/new"


@pytest.mark.proves("R-47")
@pytest.mark.parametrize(
    "body",
    [
        b"<!--[if lt IE 9]>%s<![endif]-->",
        b'<script>document.write("%s")</script>',
        b"<textarea>%s</textarea>",
        b"<NOSCRIPT>%s</noscript>",
        b"<noscript>%s",
        b"<?xml version='1.0'?><!-- x --><rss version='2.0'><description><![CDATA[%s]]></description></rss>",
        b"\xef\xbb\xbf <?xml-stylesheet href='a'?><feed xmlns='http://www.w3.org/2005/Atom'><![CDATA[%s]]></feed>",
        b"<rdf:RDF><![CDATA[%s]]></rdf:RDF>",
        b"<rss><![CDATA[%s]]></rss>",
        b'{"content_html": "%s"}',
        b'[{"content_html": "%s"}]',
    ],
)
def test_a_refresh_that_no_browser_sees_leads_nowhere(body: bytes) -> None:
    assert refresh_of(body % REFRESH, URL) == ""


@pytest.mark.proves("R-47")
@pytest.mark.parametrize(
    ("url", "target", "leads_to"),
    [
        ("https://a.example/", "https://a.example", ""),
        ("https://a.example", "https://A.example/#top", ""),
        ("https://a.example/x?y", "http://a.example/x?y", ""),
        ("https://a.example/", "?", ""),
        ("https://a.example/x", "https://a.example/x?y", "https://a.example/x?y"),
        # A page may know no other way to send browsers on to where they are safe.
        ("http://a.example/", "https://a.example/", "https://a.example/"),
    ],
)
def test_a_page_that_sends_browsers_to_itself_sends_them_nowhere(url: str, target: str, leads_to: str) -> None:
    assert refresh_of(b"<meta http-equiv=refresh content='5; url=%s'>" % target.encode(), url) == leads_to
