"""What there is to watch on a page."""

from __future__ import annotations

from contextlib import suppress
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from catchment.errors import BadConfig, ParseError
from catchment.parse.tree import compile_selector
from catchment.parse.watch import ListShape, read_chosen, read_listed, read_main

URL = "https://example.org/a/"
words = st.text("abc <>&\"'é\n\t", max_size=20)


def main_text(body: str) -> str:
    return read_main(f"<!doctype html><title>T</title><body>{body}</body>".encode(), url=URL).text


@pytest.mark.proves("A-31")
@pytest.mark.parametrize(
    "around",
    [
        "<nav>Home {}</nav>",
        "<header><p>Now {}</p></header>",
        "<footer>{} visitors</footer>",
        "<aside>{}</aside>",
        "<script>var now = '{}'</script>",
        "<style>.x {{ width: {} }}</style>",
        "<div class='site-ad top'>Buy {}</div>",
        "<p id=clock>{}</p>",
        "<div role=timer>{}</div>",
        "<form><input name=csrf value={}>{}</form>",
        "<!-- rendered in {} ms -->",
        "\n  {:>0.0s}\t ",
    ],
)
def test_what_stands_around_the_text_makes_no_change(around: str) -> None:
    text = "<div><h1>Rules</h1><p>Mind the step, and mind the head below the door.</p></div>"
    before, after = (main_text(around.format(word, word) + text) for word in ("12:00", "13:59"))
    assert before == after == "Rules Mind the step, and mind the head below the door."


@pytest.mark.parametrize("frame", ["main", "article", "div role=main", "div class=has-sidebar", "form"])
def test_the_main_part_is_found_whatever_frame_it_has(frame: str) -> None:
    assert (
        main_text(f"<{frame}><p>Mind the step.</p></{frame.partition(' ')[0]}><div class=ad>Oars</div>")
        == "Mind the step."
    )


def test_a_changed_word_is_a_change() -> None:
    assert main_text("<main>Open until <time>nine</time></main>") != main_text(
        "<main>Open until <time>ten</time></main>"
    )


def test_several_articles_are_all_watched() -> None:
    assert main_text("<article>One</article><article>Two</article>") == "One Two"


def test_a_chosen_element_is_the_only_one_that_counts() -> None:
    body = b"<title>T</title><p>No</p><div id=price><b>9</b> pounds<script>x</script><a href=b>buy</a></div>"
    passage = read_chosen(body, "#price", url=URL)
    assert (passage.title, passage.text) == ("T", "9 pounds buy")
    assert 'href="https://example.org/a/b"' in passage.html
    assert "script" not in passage.html


def test_a_selector_that_fits_nothing_says_so() -> None:
    with pytest.raises(ParseError, match="nothing on the page fits the selector '#gone'"):
        read_chosen(b"<p>x</p>", "#gone", url=URL)


@pytest.mark.parametrize("selector", ["", "a[", "::before", "ns|a", "a:unknown", "(((", ":is(" * 100, "a" * 501])
def test_a_selector_that_is_none_is_a_bad_config(selector: str) -> None:
    with pytest.raises(BadConfig):
        compile_selector(selector)


@pytest.mark.proves("A-31")
def test_listed_elements_have_a_title_a_link_a_text_and_a_time() -> None:
    body = """<ul><li><a href='#x'>skip</a><h2><a href=/1>First</a></h2><p>One.</p><time datetime=2026-03-01T08:00Z>
        </time></li><li><a href=//other.example/2>Second link</a> and text</li><li></li></ul>"""
    _, (first, second) = read_listed(body.encode(), ListShape(item="li"), url=URL)
    assert (first.title, first.url, first.text) == ("First", "https://example.org/1", "skip First One.")
    assert first.published == datetime(2026, 3, 1, 8, tzinfo=UTC)
    assert (second.title, second.url) == ("Second link and text", "https://other.example/2")


def test_parts_of_an_item_can_be_chosen() -> None:
    body = b"<div class=i><a href=/who>Ada</a><p class=t>Words</p><a class=d href=/7>8:00</a><i>99 views</i></div>"
    _, (one,) = read_listed(body, ListShape(item=".i", link="a.d", text=".t"), url=URL)
    assert (one.title, one.url, one.html) == ("Words", "https://example.org/7", "<p>Words</p>")


@given(st.binary(max_size=500) | words.map(lambda text: f"<main>{text}<div class='{text}'>{text}".encode()), words)
def test_any_bytes_can_be_watched(body: bytes, selector: str) -> None:
    passage = read_main(body, url=URL)
    assert passage.text == " ".join(passage.text.split())
    f"{passage}".encode()
    with suppress(ParseError, BadConfig):
        read_listed(body, ListShape(item=selector), url=URL)
