from __future__ import annotations

import json
from datetime import UTC, datetime

import feedparser
import pytest

from catchment.simulator.formats import STYLES, Dialect, Style, identity, link_to, write_feed
from catchment.simulator.words import LANGUAGES
from catchment.simulator.world import SimulatedSite, World

START = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)
HOME = "http://127.77.0.1:8000/s/20/"


def site_in(style: Style, language: str) -> SimulatedSite:
    """Beyond the welcome sites, which keep their own language."""
    spoken = Style(format=style.format, encoding=style.encoding, languages=(language,))
    return World(seed=4, sites=21, started_at=START, window=40, styles=[spoken]).sites[20]


def written(site: SimulatedSite) -> bytes:
    edition = site.edition(START)
    return write_feed(site.style.format, site.style.encoding, site.channel(HOME), edition.posts, edition.changed_at)


XML_STYLES = [style for style, _ in STYLES if style.format is not Dialect.JSONFEED]


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("style", XML_STYLES, ids=lambda style: f"{style.format}-{style.encoding}")
def test_an_xml_feed_reads_back_as_what_was_posted(style: Style, language: str) -> None:
    site = site_in(style, language)
    posts = site.posts(START)
    parsed = feedparser.parse(written(site), sanitize_html=False)
    assert not parsed.bozo, parsed.get("bozo_exception")
    assert parsed.feed.title == site.title
    assert [entry.title for entry in parsed.entries] == [post.title for post in posts]
    assert [entry.link for entry in parsed.entries] == [link_to(HOME, post.number) for post in posts]
    assert [entry.get("id", entry.link) for entry in parsed.entries] == [
        identity(style.format, post.id, HOME, post.number) for post in posts
    ]


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("feed_format", [Dialect.RSS20, Dialect.RSS10, Dialect.ATOM10, Dialect.ATOM03])
def test_bodies_authors_and_dates_survive_the_format(feed_format: Dialect, language: str) -> None:
    site = site_in(Style(format=feed_format), language)
    entries = feedparser.parse(written(site), sanitize_html=False, resolve_relative_uris=False).entries
    for entry, post in zip(entries, site.posts(START), strict=True):
        assert entry.content[-1].value == post.body.replace('href="', f'href="{HOME}')
        assert entry.author == post.author
        published = entry.get("published_parsed") or entry.updated_parsed
        assert datetime(*published[:6], tzinfo=UTC) == post.published.replace(microsecond=0)


@pytest.mark.parametrize("feed_format", [Dialect.RSS20, Dialect.ATOM10])
def test_files_and_tags_are_in_the_feed(feed_format: Dialect) -> None:
    site = site_in(Style(format=feed_format), "en")
    entries = feedparser.parse(written(site)).entries
    posts = site.posts(START)
    assert [[tag.term for tag in entry.get("tags", [])] for entry in entries] == [list(post.tags) for post in posts]
    files = [[file.href for file in entry.enclosures] for entry in entries]
    assert files == [[HOME + post.enclosure.path] if post.enclosure else [] for post in posts]
    assert any(files)


def test_a_json_feed_reads_back_as_what_was_posted() -> None:
    site = site_in(Style(format=Dialect.JSONFEED), "ar")
    posts = site.posts(START)
    parsed = json.loads(written(site))
    assert [(item["id"], item["title"]) for item in parsed["items"]] == [(post.id, post.title) for post in posts]
    assert any("attachments" in item for item in parsed["items"])
    assert any("date_modified" in item for item in parsed["items"])


def test_thirty_english_posts_weigh_about_thirty_four_kilobytes() -> None:
    sites = World(seed=1, sites=60, started_at=START, styles=[Style(languages=("en",))]).sites[12:]
    sizes = [len(written(site)) for site in sites]
    assert 30_000 < sum(sizes) / len(sizes) < 38_000
