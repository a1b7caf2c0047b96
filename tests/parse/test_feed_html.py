"""What is left of strangers' HTML and text."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from catchment.parse.html import MAX_HTML_BYTES, HtmlCleaner, plain_text, storable

BASE = "https://example.com/blog/"
clean = HtmlCleaner(BASE).clean


@pytest.mark.parametrize(
    ("dirty", "expected"),
    [
        ("plain", "plain"),
        ("<p>a <b>b</b></p>", "<p>a <b>b</b></p>"),
        ("a<script>alert(1)</script>b", "ab"),
        ("<style>p{}</style>x", "x"),
        ('<p onclick="x()" style="a:b" class="c">y</p>', "<p>y</p>"),
        ('<a href="javascript:x()">y</a>', '<a rel="noopener noreferrer">y</a>'),
        ('<a href="/a">y</a>', '<a href="https://example.com/a" rel="noopener noreferrer">y</a>'),
        ('<img src="i.png" onerror="x()">', '<img src="https://example.com/blog/i.png">'),
        ('<img src="data:image/png;base64,x">', "<img>"),
        ('<video src="https://x.org/v.mp4" autoplay controls=""></video>',
         '<video src="https://x.org/v.mp4" controls=""></video>'),
        ('<iframe src="https://x.org/"></iframe>z', "z"),
        ("<b>never closed", "<b>never closed</b>"),
        ("a\x00b&#1;c", "abc"),
        ("<b>half \ud800a pair</b>", "<b>half a pair</b>"),
    ],
)  # fmt: skip
def test_article_markup_stays_and_everything_active_goes(dirty: str, expected: str):
    assert clean(dirty) == expected


@pytest.mark.parametrize("base", ["", "not a base"])
def test_without_a_base_relative_links_go_instead_of_leading_to_us(base: str):
    assert HtmlCleaner(base).clean('<img src="/i.png" alt="x">') == '<img alt="x">'


def test_a_text_that_is_too_long_is_cut_and_stays_whole_html():
    cleaned = clean("<p>" + "wörd &amp; " * 100_000 + "</p>")
    assert MAX_HTML_BYTES * 0.8 < len(cleaned.encode()) <= MAX_HTML_BYTES
    assert cleaned.endswith("</p>")


def test_a_long_article_keeps_its_markup():
    article = "<ul>" + '<li><a href="https://x.org/">x</a><br></li>' * 500 + "</ul>"
    assert clean(article).count("<li>") == 500


@given(st.text(st.sampled_from("<>&;/ab p=\"'#x0\n\0\ud800\uffff") | st.characters(), max_size=60))
def test_cleaned_text_is_storable_and_cleaning_it_again_changes_nothing(text: str):
    cleaned = clean(text)
    assert storable(cleaned) == cleaned
    if "<" in cleaned or "&" in cleaned:
        assert clean(cleaned) == cleaned


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a &amp; b", "a & b"),
        ("a &lt;b&gt;bold&lt;/b&gt;", "a bold"),
        ("<p>a</p><p>b</p>", "a b"),
        ("if a < b and c > d", "if a < b and c > d"),
        ("x<!-- c -->y", "xy"),
        ("Caf&eacute; \u00a0\n bar", "Café bar"),
        ("a\x00b\x1bc", "abc"),
        ("half \ud800 pair", "half pair"),
    ],
)
def test_plain_text_is_one_line_without_markup(text: str, expected: str):
    assert " ".join(plain_text(text, 100).split()) == expected


@pytest.mark.proves("R-06")
@pytest.mark.parametrize(
    ("title", "shown"),
    [
        ("How to use List&lt;T&gt; and &lt;div&gt; in C#?", "How to use List<T> and <div> in C#?"),
        ("C++ <vector> explained", "C++ <vector> explained"),
        ("<T> is a parameter", "<T> is a parameter"),
        ("<script> tags", "<script> tags"),
        ("<div>cut off", "cut off"),
        ("<div>a</div> and <b>b</b>", "a and b"),
        ("a <b>bold", "a bold"),
        ("a <u2 href='x'>b", "a b"),
        ("The <em>New York Times</em> piece, H<sub>2</sub>O", "The New York Times piece, H2O"),
    ],
)
def test_a_name_in_brackets_that_nothing_closes_is_a_word(title: str, shown: str):
    assert plain_text(title, 500) == shown


@given(st.text(max_size=300), st.integers(10, 100))
def test_plain_text_is_never_longer_than_asked(text: str, limit: int):
    assert len(plain_text(text, limit)) <= limit


@pytest.mark.proves("A-31")
@pytest.mark.parametrize(
    ("title", "shown"),
    [
        ("a<!-- b --> c", "a c"),
        ("a<!-- <b>x</b> --> c <!-- d", "a c <!-- d"),
        ("a --> b", "a --> b"),
        ("a <!-- b", "a <!-- b"),
        ("<p>a<!--b--></p><!-->c", "a <!-->c"),
    ],
)
def test_comments_are_no_text_but_an_arrow_is(title: str, shown: str):
    assert plain_text(title, 500) == shown


@pytest.mark.proves("R-08")
@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ("where $a<b$ and x>y.", "where $a&lt;b$ and x&gt;y."),
        ("for i<n, j>m (k<l) or p<q_{1}>0", "for i&lt;n, j&gt;m (k&lt;l) or p&lt;q_{1}&gt;0"),
        ("Ada <ada@example.org> wrote <https://example.org/a?b=1>", "Ada &lt;ada@example.org&gt; wrote &lt;https://example.org/a?b=1&gt;"),
        ("<p>a<b>c</b></p> <o:p>d</o:p> <my-tag>e</my-tag>", "<p>a<b>c</b></p> d e"),
    ],
)  # fmt: skip
def test_what_no_tag_can_be_called_is_text(text: str, kept: str):
    assert HtmlCleaner("https://example.org/").clean(text) == kept
