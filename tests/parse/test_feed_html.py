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


ADDRESSES = [
    "posts/1", "posts/1#2", "a.b/c..d/?q=1.5#x", "a/../b", "../a", "./a", "a/./b", "a/..", "a//b", "/a", "?q", "#f", "", "a b",
    "a:b", "a%2e/b", "%2e%2e/a", "ä", "http://x.org/", "https://x.org:8080/a/../b?c=d%20e#f", "http://x.org:99999/",
    "http://1.2.3.4.5/a", "http://xn--a/", "http://u@x.org/", "http://X.org/", "http://x.org", "http:///a", "https://-/a",
    "HTTP://x.org/", "javascript:x()", "data:,x", "//x.org/a", "http://[::1]/", "http://x.org/\\a", "http://x.org/ä",
    "http://x.org/\u00a0",
]  # fmt: skip
PIECES = [
    "x", " ", "\n", "\r\n", "\u00a0", "\x0c", "\x85", "\u2028", "\ufffe", "\ud800", "&amp;", "&", ">", "<", '"', "🌧", "noscript",
    "<p>", "</p>", "<p>a\n<em>b</em>. <br>c</p>", "<p><b>a</p>", "<p><b>a<i>b</i></b></p>", "<p><p>a</p></p>", "<h2>a</h2>",
    "<h2>a</h3>", "<ul> <li>a</li>\n<li><code>b</code></li></ul>", "<ol>a<li>b</li></ol>", "<ul>\u00a0</ul>", "<li>a</li>",
    "<ul><li>a</ul>", "<blockquote>\n<p>a</p></blockquote>", "<blockquote>a</blockquote>", "<br/>", "<P>a</P>", "<p >a</p>",
    "<a>a</a>", "<em><a href='x'>a</a></em>", '<p><a href="a" title="b">c</a></p>', "<script>a</script>", "<em>", "</em>",
    "<em><em>a</em></em>", "<!-- a -->", "<pre>\na</pre>",
]  # fmt: skip
LINKS = [f'<a href="{address}">a</a>' for address in ADDRESSES]


BASES = pytest.mark.parametrize("base", [BASE, "HTTP://Example.com:80/ü b/c.html?d=e&f#g", "https://example.com", ""])


@BASES
def test_every_piece_comes_out_as_from_the_cleaner_whether_it_needs_one_or_not(base: str):
    for piece in (*PIECES, *LINKS):
        assert_as_from_the_cleaner(base, piece)


@BASES
@given(st.lists(st.sampled_from([*PIECES, *LINKS, *(f"<p>{link}</p>" for link in LINKS)]), max_size=5))
def test_pieces_in_any_order_come_out_as_from_the_cleaner(base: str, pieces: list[str]):
    assert_as_from_the_cleaner(base, "".join(pieces))


def assert_as_from_the_cleaner(base: str, text: str) -> None:
    cleaner = HtmlCleaner(base)
    marked = f"<p>Some markup.</p>{text}<p>More.</p>"
    # The rule is one of the things that are always left to the cleaner.
    assert cleaner.clean(marked) == cleaner.clean("<hr>" + marked).removeprefix("<hr>").strip()


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
