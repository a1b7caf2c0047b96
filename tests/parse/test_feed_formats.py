"""One small document of each format, and the shape in which all of them come out."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from html import escape

import pytest
from feed_documents import atom, rss

from catchment.errors import ParseError
from catchment.parse.feed import MAX_ENTRIES, ParsedEnclosure, parse_feed

RSS_091 = b"""<?xml version="1.0"?><!DOCTYPE rss PUBLIC "-//Netscape//DTD RSS 0.91//EN"
 "http://my.netscape.com/publish/formats/rss-0.91.dtd">
<rss version="0.91"><channel><title>Old</title><link>http://old.example/</link>
<item><title>One</title><link>http://old.example/1</link><description>First</description></item></channel></rss>"""
RSS_10 = b"""<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#" xmlns="http://purl.org/rss/1.0/"
 xmlns:dc="http://purl.org/dc/elements/1.1/"><channel rdf:about="http://rdf.example/"><title>Rdf</title>
<link>http://rdf.example/</link></channel><item rdf:about="http://rdf.example/1"><title>One</title>
<link>http://rdf.example/1</link><description>First</description><dc:creator>Ann</dc:creator>
<dc:date>2026-01-02T03:04:05+01:00</dc:date></item></rdf:RDF>"""
ATOM_03 = b"""<feed version="0.3" xmlns="http://purl.org/atom/ns#"><title>Three</title>
<link rel="alternate" type="text/html" href="http://three.example/"/><entry><title>One</title>
<link rel="alternate" type="text/html" href="http://three.example/1"/><id>tag:three.example,2004:1</id>
<issued>2004-05-06T07:08:09Z</issued><modified>2004-05-07T07:08:09Z</modified><summary>First</summary></entry></feed>"""


@pytest.mark.parametrize(
    ("body", "feed_title", "link"),
    [
        (RSS_091, "Old", "http://old.example/1"),
        (RSS_091.replace(b'"0.91"', b'"0.92"'), "Old", "http://old.example/1"),
        (RSS_10, "Rdf", "http://rdf.example/1"),
        (ATOM_03, "Three", "http://three.example/1"),
    ],
)
def test_each_old_format_gives_its_entry(body: bytes, feed_title: str, link: str):
    feed = parse_feed(body)
    (entry,) = feed.entries
    assert (feed.title, entry.title, entry.link, entry.summary) == (feed_title, "One", link, "First")


def test_rss_2_gives_every_field():
    item = """<item><title>A &amp;amp; B</title><link>https://example.com/1</link>
      <guid isPermaLink="false">id-1</guid><author>ann@example.com (Ann)</author>
      <pubDate>Fri, 02 Jan 2026 03:04:05 +0100</pubDate><category>x</category><category>y</category>
      <description>Short</description>
      <content:encoded xmlns:content="http://purl.org/rss/1.0/modules/content/"><![CDATA[<p>Long</p>]]></content:encoded>
      <enclosure url="https://example.com/a.mp3" type="audio/mpeg" length="123"/></item>"""
    feed = parse_feed(rss(item))
    (entry,) = feed.entries

    assert (feed.title, feed.link) == ("T", "https://example.com/")
    assert (entry.id, entry.link, entry.title) == ("id-1", "https://example.com/1", "A & B")
    assert entry.author == "ann@example.com (Ann)"
    assert entry.published == datetime(2026, 1, 2, 2, 4, 5, tzinfo=UTC)
    assert (entry.summary, entry.content) == ("Short", "<p>Long</p>")
    assert entry.tags == ("x", "y")
    assert entry.enclosures == (ParsedEnclosure(url="https://example.com/a.mp3", type="audio/mpeg", length=123),)


def test_atom_1_gives_every_field():
    entry_xml = """<entry><id>tag:example.com,2026:1</id><title type="html">A &amp;lt;b&amp;gt; &lt;i&gt;c&lt;/i&gt;</title>
      <link rel="self" href="https://example.com/1.atom"/><link href="https://example.com/1"/>
      <link rel="enclosure" href="https://example.com/a.ogg" type="audio/ogg"/>
      <author><name>Ann</name></author><category term="x"/><published>2026-01-02T03:04:05Z</published>
      <updated>2026-01-03T03:04:05.25-02:00</updated><summary>Short</summary>
      <content type="xhtml"><div xmlns="http://www.w3.org/1999/xhtml"><p>Long</p></div></content></entry>"""
    (entry,) = parse_feed(atom(entry_xml)).entries

    assert (entry.id, entry.link) == ("tag:example.com,2026:1", "https://example.com/1")
    assert (entry.author, entry.tags) == ("Ann", ("x",))
    assert entry.published == datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
    assert entry.updated == datetime(2026, 1, 3, 5, 4, 5, 250000, tzinfo=UTC)
    assert (entry.summary, entry.content) == ("Short", "<div><p>Long</p></div>")
    assert [(file.url, file.type) for file in entry.enclosures] == [("https://example.com/a.ogg", "audio/ogg")]


def test_json_feed_gives_every_field():
    document = {
        "version": "https://jsonfeed.org/version/1.1",
        "title": "J",
        "home_page_url": "https://example.com/",
        "authors": [{"name": "Ann"}],
        "items": [
            {
                "id": 7,
                "url": "/7",
                "title": "Seven",
                "content_text": "1 < 2",
                "summary": "s",
                "date_published": "2026-01-02T03:04:05+01:00",
                "date_modified": "nonsense",
                "tags": ["x", 3, "x"],
                "attachments": [{"url": "a.mp3", "mime_type": "audio/mpeg", "size_in_bytes": 5}, "junk"],
            },
            "junk",
        ],
    }
    feed = parse_feed(json.dumps(document).encode())
    (entry,) = feed.entries

    assert (feed.title, feed.link) == ("J", "https://example.com/")
    assert (entry.id, entry.link, entry.title, entry.author) == ("7", "https://example.com/7", "Seven", "Ann")
    assert (entry.summary, entry.content) == ("s", "1 &lt; 2")
    assert (entry.published, entry.updated) == (datetime(2026, 1, 2, 2, 4, 5, tzinfo=UTC), None)
    assert entry.tags == ("x",)
    assert entry.enclosures == (ParsedEnclosure(url="https://example.com/a.mp3", type="audio/mpeg", length=5),)


@pytest.mark.proves("A-31")
@pytest.mark.parametrize(
    ("given", "author"),
    [
        ({"author": "Bob"}, "Bob"),
        ({"author": [{"name": "Bob"}]}, "Bob"),
        ({"authors": {"name": "Bob"}}, "Bob"),
        ({"authors": [{"name": " Ann "}, "Bob", {"name": "Ann"}, {"url": "/c"}]}, "Ann, Bob"),
        ({"authors": [{"url": "/c"}], "author": {"name": "Bob"}}, "Bob"),
        ({"authors": [None, 7, []]}, "Zoe"),
    ],
)
def test_json_feed_names_its_authors_in_whatever_way(given: dict[str, object], author: str):
    document = {
        "version": "https://jsonfeed.org/version/1.1",
        "author": {"name": "Zoe"},
        "items": [{"id": "1", **given}],
    }
    assert parse_feed(json.dumps(document).encode()).entries[0].author == author


@pytest.mark.proves("A-31")
def test_rss_in_json_is_rss():
    item = {
        "title": "A & B",
        "link": "/7",
        "guid": {"isPermaLink": False, "#value": "id-7"},
        "description": "<p>One\x0b</p>",
        "pubDate": "Fri, 02 Jan 2026 03:04:05 GMT",
        "dc:creator": "Ann",
        "enclosure": {"url": "https://example.com/a.mp3", "length": 5, "type": "audio/mpeg"},
        "category": [{"domain": "x", "#value": "one"}, "two"],
        "no name": "?",
        "cloud": None,
    }
    channel = {"title": "News", "link": "https://example.com/", "item": [item, {"title": "last", "guid": 8}]}
    document = {"rss": {"version": "2.0", "xmlns:dc": "http://purl.org/dc/elements/1.1/", "channel": channel}}
    feed = parse_feed(json.dumps(document).encode())
    first, last = feed.entries
    assert (feed.title, feed.link, feed.is_damaged) == ("News", "https://example.com/", False)
    assert (first.id, first.link, first.title, first.author) == ("id-7", "https://example.com/7", "A & B", "Ann")
    assert (first.content, first.published) == ("<p>One</p>", datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC))
    assert first.enclosures == (ParsedEnclosure("https://example.com/a.mp3", "audio/mpeg", 5),)
    assert first.tags == ("one", "two")
    assert (last.id, last.title) == ("8", "last")


@pytest.mark.proves("A-31")
def test_rss_in_json_that_is_nested_too_deep_says_so():
    deep: dict[str, object] = {}
    for _ in range(900):
        deep = {"a": deep}
    with pytest.raises(ParseError, match="too deep"):
        parse_feed(json.dumps({"rss": {"channel": deep}}).encode())


@pytest.mark.proves("A-31")
def test_links_of_json_feed_may_be_relative_to_a_relative_address_of_its_own():
    item = {"id": "1", "url": "1.html", "content_html": "<a href='/x'>x</a>", "date_published": 1767323045}
    document = {"version": "https://jsonfeed.org/version/1.1", "feed_url": "/news/feed.json", "items": [item]}
    (entry,) = parse_feed(json.dumps(document).encode(), url="https://example.com/feed").entries
    assert entry.link == "https://example.com/news/1.html"
    assert 'href="https://example.com/x"' in entry.content
    assert entry.published == datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)


def test_json_feed_1_0_names_its_single_author():
    document = {"version": "https://jsonfeed.org/version/1", "items": [{"id": "1", "author": {"name": "Bob"}}]}
    assert parse_feed(json.dumps(document).encode()).entries[0].author == "Bob"


def test_entries_are_values_that_nobody_can_change():
    (entry,) = parse_feed(rss("<item><title>x</title></item>")).entries
    with pytest.raises(AttributeError):
        entry.title = "y"  # type: ignore[misc]


def test_an_entry_without_link_takes_an_id_that_is_a_web_address():
    items = "<item><title>a</title><guid>https://example.com/a</guid></item><item><title>b</title><guid>b</guid></item>"
    a, b = parse_feed(rss(items)).entries
    assert (a.link, b.link, b.id) == ("https://example.com/a", "", "b")


def test_an_entry_without_id_has_none_made_up():
    (entry,) = parse_feed(rss("<item><title>a</title><link>https://example.com/a</link></item>")).entries
    assert (entry.id, entry.link) == ("", "https://example.com/a")


def test_where_only_some_entries_have_ids_the_others_have_none():
    one = "<item><title>a</title><guid>https://example.com/a</guid><link>https://example.com/a</link></item>"
    other = "<item><title>b</title><link>https://example.com/b</link></item>"
    assert [entry.id for entry in parse_feed(rss(one + other)).entries] == ["https://example.com/a", ""]


DATED = "<item><title>b</title><guid>2</guid><pubDate>Mon, 01 Jul 2024 12:00:00 GMT</pubDate></item>"


@pytest.mark.proves("A-31")
@pytest.mark.parametrize(
    "around", ["", DATED, DATED * 20, "<lastBuildDate>Mon, 01 Jul 2024 12:00:00 GMT</lastBuildDate>"]
)
@pytest.mark.parametrize("guid", ["12", "20230405-17"])
def test_ids_are_never_taken_for_dates(around: str, guid: str):
    undated = f"<item><title>a</title><guid isPermaLink='false'>{guid}</guid></item>"
    (entry,) = (entry for entry in parse_feed(rss(around + undated)).entries if entry.id == guid)
    assert entry.published is None


@pytest.mark.parametrize(
    ("body", "url", "expected"),
    [
        (rss("<item><title>a</title><link>/a</link></item>"), "", "https://example.com/a"),
        (rss("<item><title>a</title><link>a</link></item>", channel=""), "https://x.org/f/feed", "https://x.org/f/a"),
        (rss("<item><title>a</title><link>//y.org/a</link></item>"), "", "https://y.org/a"),
        (
            atom("<entry><title>a</title><link href='a'/></entry>", attributes='xml:base="https://base.org/b/"'),
            "https://x.org/",
            "https://base.org/b/a",
        ),
        (rss("<item><title>a</title><link>javascript:alert(1)</link></item>"), "", ""),
        (rss("<item><title>a</title><link>https://[broken/a</link></item>"), "", "https://[broken/a"),
        (rss("<item><title>a</title><link>//[broken/a</link></item>"), "", ""),
        (rss("<item><title>a</title><link>\n https://x.org/a\n</link></item>"), "", "https://x.org/a"),
    ],
)
def test_links_are_absolute_or_not_there(body: bytes, url: str, expected: str):
    assert parse_feed(body, url=url).entries[0].link == expected


def test_of_several_atom_links_the_one_a_browser_opens_is_taken():
    links = "<link href='gemini://x.org/a'/><link href='https://x.org/a'/><link rel='edit' href='https://x.org/e'/>"
    assert parse_feed(atom(f"<entry><id>1</id>{links}</entry>")).entries[0].link == "https://x.org/a"


def test_an_atom_entry_that_links_only_to_itself_or_a_file_has_no_page():
    links = "<link rel='self' href='https://x.org/s'/><link rel='enclosure' href='https://x.org/f'/>"
    assert parse_feed(atom(f"<entry><id>1</id><title>t</title>{links}</entry>")).entries[0].link == ""


def test_a_text_that_is_the_only_one_is_summary_and_content():
    (only_summary,) = parse_feed(rss("<item><title>a</title><description>d</description></item>")).entries
    (only_content,) = parse_feed(atom("<entry><id>1</id><content type='html'>&lt;p>c&lt;/p></content></entry>")).entries
    assert (only_summary.summary, only_summary.content) == ("d", "d")
    assert (only_content.summary, only_content.content) == ("<p>c</p>", "<p>c</p>")


def test_plain_text_content_keeps_its_angle_brackets():
    (entry,) = parse_feed(atom("<entry><id>1</id><content type='text'>use &lt;b> &amp;amp;</content></entry>")).entries
    assert entry.content == "use &lt;b&gt; &amp;amp;"


@pytest.mark.proves("R-06")
@pytest.mark.parametrize("kind", ["text", "text/plain", "TEXT"])
def test_nothing_is_markup_in_a_title_that_atom_calls_text(kind: str):
    title = f"<title type='{kind}'>How to use\n &lt;b&gt; tags &amp;amp; more</title>"
    feed = parse_feed(atom(f"<entry><id>1</id>{title}</entry>", head=title))
    assert (feed.title, feed.entries[0].title) == ("How to use <b> tags &amp; more",) * 2


@pytest.mark.proves("R-06")
@pytest.mark.parametrize(
    "body",
    [
        atom("<entry><id>1</id><title>Use &lt;b>bold&lt;/b> &amp;amp; more</title></entry>"),
        atom("<entry><id>1</id><title type='html'>Use &lt;b>bold&lt;/b> &amp;amp; more</title></entry>"),
        atom("<entry><id>1</id><title type='text'>Use <b>bold</b> &amp; more</title></entry>"),
        rss("<item><guid>1</guid><title type='text'>Use &lt;b>bold&lt;/b> &amp;amp; more</title></item>"),
    ],
    ids=["Atom that says nothing", "Atom that says HTML", "Atom with markup as it is", "RSS"],
)
def test_markup_in_any_other_title_is_markup(body: bytes):
    assert parse_feed(body).entries[0].title == "Use bold & more"


def json_feed(**item: str) -> bytes:
    document = {"version": "https://jsonfeed.org/version/1.1", "title": "A <i> & B", "items": [item]}
    return json.dumps(document).encode()


@pytest.mark.proves("R-06")
def test_no_tag_is_markup_in_the_titles_of_json_feed():
    feed = parse_feed(json_feed(id="1", title="Tom & raw <i>, &lt;b&gt; and &#8216;so on&#8217;"))
    assert (feed.title, feed.entries[0].title) == ("A <i> & B", "Tom & raw <i>, <b> and ‘so on’")


#: Plain text, and the HTML that shows it.
LINES = {
    "one": ("a <b>", "a &lt;b&gt;"),
    "one that ends": ("\na\n\n", "a"),
    "two": ("a &\nb", "a &amp;<br>\nb"),
    "of Windows": ("a\r\nb\rc", "a<br>\nb<br>\nc"),
    "paragraphs": ("a\nb \n \n\nc", "<p>a<br>\nb</p>\n<p>c</p>"),
    "many": ("a\n" * 3_000 + "b", "a<br>\n" * 3_000 + "b"),
}


@pytest.mark.proves("R-08")
@pytest.mark.parametrize(("text", "html"), LINES.values(), ids=LINES)
def test_the_lines_of_a_plain_text_stay_lines(text: str, html: str):
    assert parse_feed(json_feed(id="1", content_text=text)).entries[0].content == html
    # XML itself makes one sign of every end of a line, unless it is given by its number.
    content = f"<content type='text'>{escape(text)}</content>".replace("\r", "&#13;")
    assert parse_feed(atom(f"<entry><id>1</id>{content}</entry>")).entries[0].content == html


@pytest.mark.proves("R-08")
def test_lines_of_html_are_left_as_they_are():
    assert parse_feed(json_feed(id="1", content_html="a\nb", content_text="c\nd")).entries[0].content == "a\nb"
    content = "<content type='html'>a\nb</content>"
    assert parse_feed(atom(f"<entry><id>1</id>{content}</entry>")).entries[0].content == "a\nb"


@pytest.mark.proves("R-06", "R-08")
def test_what_is_known_by_its_words_alone_keeps_them_as_they_were():
    for body in (
        json_feed(title="a <b> c", content_text="a\nb"),
        atom("<entry><title type='text'>a &lt;b> c</title><content type='text'>a\nb</content></entry>"),
    ):
        (entry,) = parse_feed(body).entries
        assert (entry.title, entry.content) == ("a c", "a\nb")


ENCODED = "xmlns:content='http://purl.org/rss/1.0/modules/content/'"
MEDIA = "xmlns:media='http://search.yahoo.com/mrss/'"
VIDEO = "<media:content url='https://x.org/v' type='video/mp4'/>"
RDF_ITEM = b"""<description>First</description>
<content:encoded xmlns:content="http://purl.org/rss/1.0/modules/content/">&lt;p>Whole&lt;/p></content:encoded>"""
#: What is stored of an entry, by the way in which its feed gives it.
CONTENTS = {
    "an empty content": (
        rss(f"<item><title>a</title><description>Said</description><content:encoded {ENCODED}/></item>"),
        "Said",
    ),
    "a blank content": (
        rss(
            f"<item><title>a</title><description>Said</description><content:encoded {ENCODED}> \n</content:encoded></item>"
        ),
        "Said",
    ),
    "a content that is elsewhere": (
        atom("<entry><id>1</id><summary>Said</summary><content src='https://x.org/1' type='text/html'/></entry>"),
        "Said",
    ),
    "the text of a video": (
        atom(
            f"<entry><id>1</id><media:group>{VIDEO}<media:description>Said &amp;amp; shown</media:description>"
            "</media:group></entry>",
            attributes=MEDIA,
        ),
        "Said &amp; shown",
    ),
    "the text of nothing": (
        atom(
            "<entry><id>1</id><media:group><media:description>Said</media:description></media:group></entry>",
            attributes=MEDIA,
        ),
        "Said",
    ),
    "the text of an entry with a video": (
        rss(
            f"<item {MEDIA}><title>a</title><description>Said</description>{VIDEO}"
            "<media:description>Shown</media:description></item>"
        ),
        "Said",
    ),
    "RDF": (RSS_10.replace(b"<description>First</description>", RDF_ITEM), "<p>Whole</p>"),
    "markup as it is": (
        rss("<item><title>a</title><description><p>Said</p> at <b>once</b></description></item>"),
        "<p>Said</p> at <b>once</b>",
    ),
    "markup after text": (
        rss("<item><title>a</title><description>Said <b>at</b> once</description></item>"),
        "Said <b>at</b> once",
    ),
    "markup in Atom": (
        atom("<entry><id>1</id><content type='text/html'>Said <b>at</b> once</content></entry>"),
        "Said <b>at</b> once",
    ),
}


@pytest.mark.proves("A-31")
@pytest.mark.parametrize(("body", "content"), CONTENTS.values(), ids=CONTENTS)
def test_no_way_to_give_a_text_loses_it(body: bytes, content: str):
    (entry,) = parse_feed(body, summaries=False).entries  # as it is collected
    assert entry.content == content
    (entry,) = parse_feed(body).entries
    assert entry.content == content


OWN_BASE = (
    "<entry><id>1</id><link href='{link}'/><content type='html' xml:base='https://x.org/posts/1/'>"
    "&lt;a href='#note'>1&lt;/a></content></entry>"
)


@pytest.mark.proves("A-31")
@pytest.mark.parametrize("link", ["https://x.org/posts/1/", "posts/1/"], ids=["absolute", "relative"])
@pytest.mark.parametrize("summaries", [True, False])
def test_links_in_a_text_with_a_base_of_its_own_lead_where_that_says(link: str, summaries: bool):
    (entry,) = parse_feed(atom(OWN_BASE.format(link=link)), url="https://x.org/feed", summaries=summaries).entries
    assert 'href="https://x.org/posts/1/#note"' in entry.content
    assert entry.summary == entry.content


RELATIVE = "<item><title>b</title><link>/b</link><description>&lt;a title='x' href='/b'>b&lt;/a></description></item>"


@pytest.mark.proves("A-31")
@pytest.mark.parametrize(
    ("written", "title"),
    [
        ("AT&T", "AT&T"),
        ("R&D; &nbsp;more", "R&D; more"),
        ("caf&eacute; &LT;3", "café <3"),
        ("a &copy b", "a © b"),
        ("&unheardof; <![CDATA[&eacute;]]>", "&unheardof; é"),
    ],
)
def test_a_stray_ampersand_is_read_and_changes_nothing_else(written: str, title: str):
    item = "<item><title>{}</title><link>https://x.org/?a=1&copy=2</link></item>"
    proper, stray = (rss(item.format(text) + RELATIVE) for text in ("x", written))
    first, second = parse_feed(stray).entries
    assert first.title == title
    assert first.link == "https://x.org/?a=1&copy=2"
    assert second == parse_feed(proper.replace(b"&copy=", b"&amp;copy=")).entries[1]


ATOM_AUTHORS = "<author><name>Ann</name><email>ann@x.org</email></author><author><name>Bob</name></author>"
RSS_AUTHORS = "<dc:creator xmlns:dc='http://purl.org/dc/elements/1.1/'>{}</dc:creator>"


@pytest.mark.proves("A-31")
@pytest.mark.parametrize(
    ("body", "author"),
    [
        (atom(f"<entry><id>1</id><title>t</title>{ATOM_AUTHORS}</entry>"), "Ann"),
        (atom("<entry><id>1</id><title>t</title></entry>", head=ATOM_AUTHORS), "Ann"),
        (atom("<entry><id>1</id><author><email>ann@x.org</email><name/></author></entry>"), "ann@x.org"),
        (rss(f"<item><title>t</title>{RSS_AUTHORS.format('Ann')}{RSS_AUTHORS.format('Bob')}</item>"), "Ann"),
        (rss("<item><title>t</title><author>ann@x.org (Ann)</author></item>"), "ann@x.org (Ann)"),
        (rss("<item><title>t</title><author>by <a href='/ann'>Ann</a></author></item>"), "by Ann"),
        (rss("<item><title>t</title><author><title>Chief</title><homepage>/ann</homepage></author></item>"), ""),
    ],
)
def test_of_several_authors_the_first_is_taken_with_an_address_only_for_want_of_a_name(body: bytes, author: str):
    (entry,) = parse_feed(body).entries
    assert entry.author == author


def test_atom_entries_inherit_the_author_of_their_feed():
    head = "<title>T</title><author><name>Ann</name></author>"
    assert parse_feed(atom("<entry><id>1</id><title>t</title></entry>", head=head)).entries[0].author == "Ann"


@pytest.mark.parametrize(
    "items",
    [
        "<item><title>fish & chips</title></item>",
        "<item><title>fish &amp; chips</title></item>",
        "<item><title><![CDATA[fish & chips]]></title></item>",
        "<item><title><![CDATA[fish &amp; chips]]></title></item>",
        "<item><title>fish&nbsp;&amp; chips</title></item>",
        "<item><title>  fish\n &amp;\t<![CDATA[<b>chips</b>]]> </title></item>",
    ],
)
def test_titles_are_one_line_of_plain_text(items: str):
    assert parse_feed(rss(items)).entries[0].title == "fish & chips"


def test_a_title_in_xhtml_is_read_whole():
    title = '<title type="xhtml"><div xmlns="http://www.w3.org/1999/xhtml">Less <em>is</em> more</div></title>'
    assert parse_feed(atom(f"<entry><id>1</id>{title}</entry>")).entries[0].title == "Less is more"


def test_a_long_title_is_cut_at_a_word():
    title = parse_feed(rss(f"<item><title>{'word ' * 1000}</title></item>")).entries[0].title
    assert title.endswith("word…")
    assert len(title) <= 500


def test_an_overlong_id_becomes_its_fingerprint():
    a, b = parse_feed(rss("".join(f"<item><guid>{'x' * 5000}{i}</guid></item>" for i in range(2)))).entries
    assert a.id.startswith("sha256:")
    assert a.id != b.id


@pytest.mark.parametrize("item", ["<item><title>x</title></item>", "<item><title>x & y</title></item>"])
def test_at_most_500_entries_are_taken(item: str):
    assert len(parse_feed(rss(item * 700)).entries) == MAX_ENTRIES == 500


def test_at_most_500_json_entries_are_taken():
    document = {"version": "https://jsonfeed.org/version/1.1", "items": [{"id": str(i)} for i in range(700)]}
    assert len(parse_feed(json.dumps(document).encode()).entries) == 500


def test_a_feed_without_entries_is_a_feed():
    assert parse_feed(rss()).entries == ()
    assert parse_feed(atom()).entries == ()


@pytest.mark.parametrize(
    "body",
    [
        b"\n\n  " + rss("<item><title>x</title></item>"),
        b"\xef\xbb\xbf" + rss("<item><title>x</title></item>"),
        rss("<item><title>x</title></item>").replace(b"</channel></rss>", b""),
        rss("<item><title>x</title><description><![CDATA[never closed"),
        rss("<item><title>x</title></item>").replace(b"<rss", b"<!-- a -->\n<rss"),
        rss("<item><title>x\x00</title></item>"),
        rss("<item><title>x\x0c</title><p>&nope;</p></item>"),
        rss("<ITEM><TITLE>x</TITLE></ITEM>"),
        atom("<entry><title>x</title></entry>").replace(b' xmlns="http://www.w3.org/2005/Atom"', b""),
    ],
)
def test_damage_that_is_often_met_loses_nothing(body: bytes):
    assert [entry.title for entry in parse_feed(body).entries] == ["x"]


def test_items_outside_the_channel_are_found_as_well():
    body = rss("<item><title>a</title></item></channel><item><title>b</title></item><channel>")
    assert [entry.title for entry in parse_feed(body).entries] == ["a", "b"]


def test_items_quoted_in_a_text_are_no_items():
    quoted = "<item><title>x</title><description><![CDATA[write <item><title>y</title></item>]]></description></item>"
    assert len(parse_feed(rss(quoted)).entries) == 1


CHALLENGE = b"<!DOCTYPE html><html><head><title>Just a moment...</title></head><body></body></html>"


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (b"", "empty"),
        (b" \n ", "empty"),
        (CHALLENGE, "this is an HTML page, not a feed: 'Just a moment...'"),
        (b"<html><body>no title", "this is an HTML page, not a feed"),
        (b'{"error": "no"}', "no JSON Feed: it has 'error'"),
        (b"[1, 2]", "this is JSON but no feed"),
        (b'{"items": [', "this is JSON with a mistake in it: "),
        (b"hello there", "this is no feed; it starts with 'hello there'"),
        (b"\x89PNG\r\n\x1a\n\x00\x00", "this is no feed"),
        (b"<?xml version='1.0'?><note>x</note>", "this is no feed"),
    ],
)
def test_what_is_no_feed_is_named(body: bytes, message: str):
    with pytest.raises(ParseError) as raised:
        parse_feed(body)
    assert message in str(raised.value)
