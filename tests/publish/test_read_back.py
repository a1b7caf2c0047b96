"""What is published is read back: by our own parser without the loss of a field, and by the readers that people use."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from catchment.parse.entry import ParsedEntry
from catchment.parse.feed import parse_feed
from catchment.publish.feed import Enclosure, Feed, FeedEntry, FeedFormat
from examples import at_most

START = datetime(2026, 3, 1, 12, tzinfo=UTC)
#: Without what a title may not have in a feed that is read as HTML, and what is folded wherever it stands.
WORDS = st.from_regex(r"[A-Za-z0-9À-ÿ一-龥'.,!?-]{1,12}( [A-Za-z0-9À-ÿ一-龥'.,!?-]{1,12}){0,4}", fullmatch=True)
PATHS = st.from_regex(r"[a-z0-9]{1,10}(/[a-z0-9]{1,10}){0,2}", fullmatch=True)
MOMENTS = st.integers(0, 10**8).map(lambda seconds: START - timedelta(seconds=seconds))
FILES = st.builds(
    Enclosure,
    url=PATHS.map("https://x.example/{}.mp3".format),
    type=st.sampled_from(["audio/mpeg", "image/png", "image/*", "video/mp4"]),
    length=st.integers(0, 10**9),
)
HTML = st.lists(WORDS, min_size=1, max_size=3).map(lambda parts: "".join(f"<p>{part}</p>" for part in parts))


@st.composite
def entries(draw: st.DrawFn) -> FeedEntry:
    published = draw(MOMENTS)
    return FeedEntry(
        id=draw(st.uuids()).urn,
        url=draw(st.just("") | PATHS.map("https://x.example/{}".format)),
        title=draw(WORDS),
        html=draw(HTML),
        author=draw(WORDS),
        published_at=published,
        updated_at=draw(st.none() | st.integers(1, 10**6).map(lambda seconds: published + timedelta(seconds=seconds))),
        categories=tuple(draw(st.lists(WORDS, max_size=3, unique=True))),
        enclosures=tuple(draw(st.lists(FILES, max_size=3, unique_by=lambda file: file.url))),
    )


def feed_of(*given_: FeedEntry) -> Feed:
    return Feed(
        title="Harbour",
        description="News of the quay",
        home_url="https://x.example/",
        self_url="https://x.example/feed",
        entries=given_,
    )


def as_read(entry: FeedEntry) -> ParsedEntry:
    return ParsedEntry(
        id=entry.id,
        link=entry.url,
        title=entry.title,
        author=entry.author,
        published=entry.published_at,
        updated=entry.updated_at or entry.published_at,
        summary=entry.html,
        content=entry.html,
        enclosures=tuple((file.url, file.type, file.length) for file in entry.enclosures),
        tags=entry.categories,
    )


def read(format_: FeedFormat, feed: Feed) -> list[ParsedEntry]:
    found = parse_feed(format_.write(feed), url="https://x.example/feed", content_type=format_.media_type)
    assert (found.title, found.link) == ("Harbour", "https://x.example/")
    return [one._replace(updated=one.updated or one.published) for one in found.entries]


@pytest.mark.proves("R-04")
@pytest.mark.parametrize("format_", FeedFormat)
@settings(max_examples=at_most(30))
@given(given_=st.lists(entries(), min_size=1, max_size=3, unique_by=lambda entry: entry.id))
def test_our_own_parser_reads_every_field_back(format_: FeedFormat, given_: list[FeedEntry]) -> None:
    assert read(format_, feed_of(*given_)) == [as_read(entry) for entry in given_]


@pytest.mark.proves("R-04")
def test_atom_is_written_in_the_default_namespace() -> None:
    entry = FeedEntry(id="urn:1", url="", title="T", html="<p>x</p>", published_at=START)
    document = FeedFormat.ATOM.write(feed_of(entry)).decode()
    assert '<feed xmlns="http://www.w3.org/2005/Atom"' in document
    assert "<entry>" in document
    assert "atom:" not in document


@pytest.mark.proves("R-04")
@pytest.mark.parametrize("format_", [FeedFormat.ATOM, FeedFormat.JSON])
def test_what_looks_like_markup_in_a_title_is_read_back(format_: FeedFormat) -> None:
    title = "How to use <b> & <i> at </quay>"
    entry = FeedEntry(id="urn:1", url="https://x.example/1", title=title, published_at=START)
    read = parse_feed(format_.write(replace(feed_of(entry), title=title)))
    assert (read.title, read.entries[0].title) == (title, title)
