"""The article on a page: its text without the surroundings, what the page says of itself, and no harm from any bytes."""

from __future__ import annotations

import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path

import pytest
from bench.articles import load, ours, plain, score
from hypothesis import given
from hypothesis import strategies as st

from catchment.parse.article import Article, extract, without_site

pytestmark = pytest.mark.proves("B-09")

URL = "https://www.example.org/news/a"
SENTENCE = "The river rose by a hand's breadth in the night, and the ferry did not leave before noon. "


def page(head: str = "", body: str = "", attributes: str = "") -> bytes:
    article = f"<article><h1>Ferry late</h1><p>{SENTENCE * 3}</p><p>{SENTENCE * 2}</p>{body}</article>"
    around = "<nav><a href='/'>Home</a> <a href='/about'>About us</a></nav>"
    return f"<!doctype html><html {attributes}><head>{head}</head><body>{around}{article}<footer>Imprint</footer></body></html>".encode()


def test_it_reads_real_pages_at_least_as_well_as_plain_trafilatura(real_articles: Path):
    pages = load(real_articles)
    mine, reference = score(ours, pages), score(plain, pages)
    assert len(pages) > 20
    assert mine.found >= reference.found
    assert mine.left_out >= reference.left_out


def test_the_text_is_there_without_its_surroundings_and_as_harmless_markup():
    article = extract(
        page(body="<p onclick='x()'>See <a href='/b'>more</a>.<script>x()</script></p><img src='/i.png'>"), URL
    )
    assert article.text.count(SENTENCE.strip()) == 5
    assert "See more." in article.text.splitlines()
    assert "Imprint" not in article.text
    assert "About us" not in article.text
    assert 'href="https://www.example.org/b"' in article.html
    assert "onclick" not in article.html
    assert "script" not in article.html


HEAD = """<title>Ferry late | The Example</title><link rel="canonical" href="/news/ferry">
<meta property="og:title" content="Ferry late | The Example"><meta property="og:site_name" content="The Example">
<meta name="description" content="Plain words"><meta property="og:description" content="Water &amp; patience">
<meta property="og:image" content="/big.png"><meta name="author" content="https://example.org/people/ann">
<meta property="article:published_time" content="2026-03-04T05:06:07+02:00"><meta property="article:modified_time" content="2026-03-05">"""
DATA = """<script type="application/ld+json">{"@graph": [{"@type": "Organization", "@id": "#o", "name": "The Example"},
{"@type": "Person", "@id": "#ann", "name": "Ann Lee"}, {"@type": ["NewsArticle"], "headline": "Ferry late by hours",
"author": [{"@id": "#ann"}, {"name": "Bo Ek"}], "datePublished": "2026-03-01", "image": {"url": "/small.png"},
"publisher": {"@id": "#o"}, "inLanguage": "en"}]}</script>"""


def test_what_the_head_says_is_told():
    assert extract(page(HEAD, attributes='lang="en_GB"'), URL) == Article(
        title="Ferry late",
        description="Water & patience",
        text=extract(page(), URL).text,
        html=extract(page(), URL).html,
        author="",
        published=datetime(2026, 3, 4, 3, 6, 7, tzinfo=UTC),
        modified=datetime(2026, 3, 5, tzinfo=UTC),
        image="https://www.example.org/big.png",
        canonical="https://www.example.org/news/ferry",
        language="en-gb",
    )


def test_what_json_ld_says_is_told():
    article = extract(page(DATA), URL)
    assert (article.title, article.author) == ("Ferry late by hours", "Ann Lee, Bo Ek")
    assert article.published == datetime(2026, 3, 1, tzinfo=UTC)
    assert article.image == "https://www.example.org/small.png"
    assert article.language == "en"


@pytest.mark.proves("R-09")
def test_an_encyclopaedias_page_is_called_what_its_heading_says(real_articles: Path):
    """Its JSON-LD has what the thing is as the headline, rather than what it is called."""
    source = (real_articles / "readability/wikipedia-2/source.html").read_bytes()
    assert extract(source, "https://en.wikipedia.org/wiki/New_Zealand").title == "New Zealand"


@pytest.mark.proves("R-09")
@pytest.mark.parametrize(
    ("head", "title"),
    [
        ("<title>Ferries today</title>", "Ferries today"),
        ('<meta property="og:title" content="Ferries today">', "Ferries today"),
        ("", "Ferry late"),  # the page's heading
    ],
)
def test_a_headline_in_json_ld_that_names_something_else_does_not_count(head: str, title: str):
    data = '<script type="application/ld+json">{"@type": "Article", "headline": "A boat company"}</script>'
    assert extract(page(head + data), URL).title == title


@pytest.mark.proves("R-09")
def test_a_page_that_is_called_nothing_has_the_headline_of_its_json_ld():
    data = b'<script type="application/ld+json">{"@type": "Article", "headline": "A boat company"}</script><p>Words'
    assert extract(data, URL).title == "A boat company"


@pytest.mark.parametrize(
    "data",
    ["", "null", "[]", "{", '{"@type": 7}', '{"@type": "Article", "author": {"@id": {}}}', "[" * 100_000, '{"@type": [], "@id": []}',
     '{"@type": "Article", "headline": ["", {"@value": 5}], "datePublished": {"x": 1}, "author": [null, 3, []]}'],
)  # fmt: skip
def test_broken_json_ld_takes_nothing_away(data: str):
    article = extract(page(f'<title>T</title><script type="application/ld+json">{data}</script>'), URL)
    assert article.title == "T"


@pytest.mark.parametrize(
    "body",
    [
        "<html><head><title>Ferry</title></head><body><ul><li>Home</li></ul></html>{}</body></html>",
        "<html><head><title>Ferry</title></head></html><body>{}</body>",
        "<html><head><title>Ferry</title></head><body></body></html><html><head></head><body>{}</body></html>",
    ],
)
def test_a_page_goes_on_after_a_stray_end(body: str):
    text = "The ferry did not leave before noon, as the river rose by a hand's breadth in the night."
    article = extract(body.format(f"<div class='content'><p>{text}</p><p>{text}!</p></div>").encode(), URL)
    assert (article.title, article.text) == ("Ferry", f"{text}\n{text}!")


@pytest.mark.proves("R-09")
@pytest.mark.parametrize(
    "head",
    [
        '<meta property="og:title twitter:title" content="Ferry late"><meta property="x:creator author" content="Ann">',
        '<meta property="dc:title" content="Ferry late"><meta property="dc:creator" content="Ann">',
        '<meta name="DC.title" content="Ferry late"><meta name="DC.creator" content="Ann">',
        '<meta name="parsely-title" content="Ferry late"><meta name="parsely-author" content="Ann">',
    ],
)
def test_titles_and_authors_have_many_names(head: str):
    article = extract(page(f"<title>example.org: Ferry late</title>{head}"), URL)
    assert (article.title, article.author) == ("Ferry late", "Ann")


def test_json_ld_in_a_wrapping_is_read():
    wrapped = (
        '<script type="application/ld+json">\n//<![CDATA[\n{"@type": "BlogPosting", "author": "Ann"}\n//]]></script>'
    )
    assert extract(page(wrapped), URL).author == "Ann"


@pytest.mark.parametrize(
    ("said", "author"),
    [
        ("By Ann Lee", "Ann Lee"),
        ("von: Justus von Daniels", "Justus von Daniels"),
        ("Mark Di Stefano", "Mark Di Stefano"),
        ("Bobby Brown", "Bobby Brown"),
        ("Caspar Schwietering", "Caspar Schwietering"),
        ("View all posts by Daniel Ray", "Daniel Ray"),
        ("作者：张三", "张三"),
        ("Ann Lee (http://example.org/ann/)", "Ann Lee"),
        ("Ann Lee &lt;ann@example.org>", "Ann Lee"),
        ("http://example.org/ann/", ""),
        ("104363", ""),
    ],
)
def test_an_author_is_named_without_a_byline_and_with_every_part_of_the_name(said: str, author: str):
    assert extract(page(f'<meta name="author" content="{said}">'), URL).author == author


@pytest.mark.parametrize(
    ("body", "author"),
    [
        ('<p class="byline">By Ann Lee</p>', "Ann Lee"),
        ('<p class="ArticleByline">Written by Ann van der Lee<br>Edited by Bo Ray</p>', "Ann van der Lee"),
        ('<p class="post-author">By <a href="/ann">Ann Lee</a> <span>Tuesday, 4 March</span></p>', "Ann Lee"),
        ('<p class="byline">By Ann Lee and Bo Ray - Reporters</p>', "Ann Lee and Bo Ray"),
        # nobody's name
        ('<p class="byline">By email</p><p class="author">Username</p><p class="author"></p>', ""),
        # of several articles
        ('<p class="byline">By Ann Lee</p><p class="byline">By Bo Ray</p>', ""),
        # of a comment
        ('<div class="comments"><p class="author">By Bo Ray</p></div>', ""),
    ],
)
def test_an_author_may_stand_on_the_page_for_its_readers_alone(body: str, author: str):
    assert extract(page(body=body), URL).author == author


@pytest.mark.parametrize(
    ("body", "published"),
    [
        ('<time datetime="2026-03-04">4 March</time>', datetime(2026, 3, 4, tzinfo=UTC)),
        ('<meta itemprop="datePublished" content="2026-03-04">', datetime(2026, 3, 4, tzinfo=UTC)),
        ('<meta name="firstpublishedtime" content="2026-03-04-00:00:00">', datetime(2026, 3, 4, tzinfo=UTC)),
        ('<meta itemprop="dateUpdate" content="2026-03-04 00:00:00">', datetime(2026, 3, 4, tzinfo=UTC)),
        ('<time datetime="soon">soon</time>', None),
    ],
)
def test_a_date_may_be_marked_in_the_text(body: str, published: datetime | None):
    assert extract(page(body=body), URL).published == published


@pytest.mark.parametrize(
    ("body", "published"),
    [
        ('<span class="time">2024-03-04 10:30</span>', datetime(2024, 3, 4, tzinfo=UTC)),
        ("<p>发布时间：2024-03-04 10:30 浏览次数：7</p>", datetime(2024, 3, 4, tzinfo=UTC)),
        ('<p class="post-date">Published on 4 March 2024</p>', datetime(2024, 3, 4, tzinfo=UTC)),
        ('<p class="date">32.13.2024</p>', None),
        ('<p class="date">2024-03-04T05:06:07+99:99</p>', None),
        ("<p>The ferry of 1912 was late, too.</p>", None),
        ("<footer>© 2024 Example</footer>", None),
    ],
)
def test_a_date_may_stand_on_the_page_for_its_readers_alone(body: str, published: datetime | None):
    assert extract(page(body=body), URL).published == published


def test_what_a_page_says_of_its_date_comes_before_what_it_shows():
    said = '<meta property="article:published_time" content="2024-03-04T05:06:07Z">'
    assert extract(page(said, '<span class="date">2024-01-01</span>'), URL).published == datetime(
        2024, 3, 4, 5, 6, 7, tzinfo=UTC
    )


def test_an_address_may_tell_the_date():
    assert extract(page(), "https://example.org/2026/03/04/ferry").published == datetime(2026, 3, 4, tzinfo=UTC)


@pytest.mark.proves("R-09")
@pytest.mark.parametrize(
    ("url", "title"), [("https://example.org/news/1", "Ferry late"), ("https://example.org/", "Example")]
)
def test_what_the_whole_site_is_called_is_the_title_of_its_first_page_alone(url: str, title: str):
    by_heading = "<head><title>Example » Ferry late</title></head><body><h1>Example</h1></body>"
    assert extract(by_heading.encode(), url).title == title
    by_title = "<head><title>Example</title></head><body><h1>Ferry late</h1></body>"
    assert extract(by_title.encode(), url).title == title
    assert extract(b"<head><title>Example</title></head><body><p>Ferry late</p></body>", url).title == "Example"


@pytest.mark.proves("R-09")
def test_a_title_that_its_own_quotation_mark_cut_off_is_whole_in_the_heading():
    head = '<meta property="og:title" content="Captain says "no" to night ferry">'
    assert extract(page(head, '<h1>Captain says "no" to night ferry</h1>'), URL).title == (
        'Captain says "no" to night ferry'
    )


@pytest.mark.parametrize(
    ("title", "expected"),
    [
        ("Ferry late | The Example", "Ferry late"),
        ("Ferry late – the example", "Ferry late"),
        ("Ferry late › The Example", "Ferry late"),
        ("The Example: Ferry late", "The Example: Ferry late"),  # not clear: it may be a sentence
        ("The Example | Ferry late", "Ferry late"),
        ("Ferry late - News - The Example", "Ferry late - News"),
        ("Ferry late - example.org", "Ferry late"),
        ("Ferry late - Example", "Ferry late"),
        ("Spider-Man returns", "Spider-Man returns"),
        ("North - South", "North - South"),
        ("The Example", "The Example"),
        ("迟到的渡轮_科技_腾讯网", "迟到的渡轮_科技_腾讯网"),
        ("渡轮迟到-The Example", "渡轮迟到"),
        ("渡轮迟到-新华网", "渡轮迟到-新华网"),
        ("Full heading here | Section | Whatever", "Full heading here"),
        ("", ""),
    ],
)
def test_the_name_of_the_site_is_taken_off_where_it_is_clear(title: str, expected: str):
    found = without_site(title, sites=["The Example"], headings=["Full heading here"], url="https://www.example.org/a")
    assert found == expected


@pytest.mark.parametrize("mark", ["uppercase", "#b", ""])
def test_marks_of_other_vocabularies_are_words_like_others(mark: str):
    words = "Words of an article, enough of them to be taken for what it says. " * 5
    page = f"<html><body><article><p>{words}<hi rend='{mark}'>LOUD</hi></p></article></body></html>"
    assert extract(page.encode(), "https://example.org/").text.endswith("LOUD")


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16", "iso-8859-1", "windows-1251", "gb18030", "shift_jis"])
def test_characters_come_out_right_whatever_the_encoding(encoding: str):
    word = {"iso-8859-1": "Fähre", "windows-1251": "Паром", "gb18030": "渡轮", "shift_jis": "フェリー"}.get(
        encoding, "Fähre 渡轮"
    )
    body = page(f'<meta charset="{encoding}"><title>{word}</title>').decode().encode(encoding)
    assert extract(body, URL).title == word


def test_right_to_left_and_japanese_captures_keep_their_characters(real_articles: Path):
    article = extract(
        (real_articles / "trafilatura/nhk.or.jp.k100.html").read_bytes(), "https://www3.nhk.or.jp/news/easy/k1/k1.html"
    )
    assert "体罰" in article.title + article.text
    assert "\ufffd" not in article.text


HOSTILE = {
    "nothing": b"",
    "zeros": bytes(1000),
    "deep": b"<div>" * 100_000 + b"x",
    "deep tables": b"<table><tr><td>" * 20_000,
    "unclosed formatting": b"<b><i>" * 20_000,
    "brackets": b"<" * 200_000,
    "attributes": b"<p " + b"a=1 " * 100_000 + b">x",
    "long line": b"<p>" + b"word " * 300_000,
    "binary": bytes(range(256)) * 500,
    "entities": b"<p>" + b"&amp;" * 100_000,
    "many paragraphs": b"<p>a b c</p>" * 30_000,
    "not html": b'{"a": "b"}',
    "comments": b"<!--" * 50_000,
    "surrogates": b"<p>&#xD800;&#xDFFF;&#0;&#x1;text</p>" * 50,
    "strange base": b"<base href='http://['><link rel=canonical href='//['><a href='http://['>x</a>",
}


@pytest.mark.timeout(60)
@pytest.mark.parametrize("body", HOSTILE.values(), ids=HOSTILE)
def test_hostile_pages_are_read_soon_and_harmlessly(body: bytes):
    article = extract(body, URL)
    assert "\0" not in article.text + article.html + article.title
    article.text.encode()
    article.html.encode()


PIECES = [b"<p>", b"</p>", b"<article>", b"<h1>", b"<title>", b"<script type='application/ld+json'>", b"</script>", b"<table>", b"<td>",
          b"<meta property='og:title' content='x", b"<a href='", b"'>", b"<ul><li>", b"<time datetime='", b"\xff", b"\0", b"&#xD800;",
          b"<!--", b"text and more text. " * 9, b"<math><svg>", b"<template>", b"<base href='//['>", b"<link rel=canonical href='"]  # fmt: skip


@given(st.lists(st.sampled_from(PIECES) | st.binary(max_size=8), max_size=25).map(b"".join))
def test_no_page_raises(body: bytes):
    article = extract(body, URL)
    article.text.encode()
    assert "<script" not in article.html


def test_the_extractor_is_loaded_only_when_a_page_is_read():
    code = "import sys, catchment.parse.article; assert 'trafilatura' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True)
