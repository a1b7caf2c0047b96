"""The readers that people use read what we publish. JSON Feed is not among what these three read."""

from __future__ import annotations

import json
import shutil
import sqlite3
import subprocess
from asyncio import to_thread
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path

import feedparser
import pytest

from catchment.publish.feed import Enclosure, Feed, FeedEntry, FeedFormat
from feed_site import FeedSite

START = datetime(2026, 3, 1, 12, tzinfo=UTC)
RSS_PARSER = "rss-parser@3.13.0"
XML_FORMATS = (FeedFormat.RSS, FeedFormat.ATOM)
_READ_BY_NODE = """
const Parser = require('rss-parser');
const text = require('fs').readFileSync(0, 'utf8');
new Parser().parseString(text).then(feed => console.log(JSON.stringify(feed)));
"""


def a_feed() -> Feed:
    entries = (
        FeedEntry(
            id="urn:uuid:6f0ab8f5-2c3f-5d0b-9a37-9f2d1c54f0c3",
            url="https://x.example/a?b=1&c=2",
            title="The ferry & the fog 河",
            html="<p>Late <b>again</b> &amp; again</p>",
            author="Ada",
            published_at=START,
            updated_at=START + timedelta(hours=2),
            categories=("sea", "fog"),
            enclosures=(
                Enclosure(url="https://x.example/a.mp3", type="audio/mpeg", length=5),
                Enclosure(url="https://x.example/b.png", type="image/png"),
            ),
        ),
        FeedEntry(id="urn:2", url="https://x.example/2", title="Second", html="<p>x</p>", published_at=START),
    )
    return Feed(
        title="Harbour",
        description="News",
        home_url="https://x.example/",
        self_url="https://x.example/feed",
        entries=entries,
        hub_url="https://hub.example/",
        language="en",
    )


@pytest.mark.proves("R-04")
@pytest.mark.parametrize("format_", XML_FORMATS)
def test_feedparser_reads_every_field(format_: FeedFormat) -> None:
    found = feedparser.parse(format_.write(a_feed()))
    first = found.entries[0]
    assert not found.bozo
    assert (first.title, first.link, first.author) == (
        "The ferry & the fog 河",
        "https://x.example/a?b=1&c=2",
        "Ada",
    )
    # RSS has one date for other readers, by which they sort: that of the edit.
    published = 14 if format_ is FeedFormat.RSS else 12
    assert (first.published_parsed[3], first.updated_parsed[3]) == (published, 14)
    assert [tag.term for tag in first.tags] == ["sea", "fog"]
    assert [file.href for file in first.enclosures] == ["https://x.example/a.mp3", "https://x.example/b.png"]
    assert "<b>again</b>" in (first.content[0].value if "content" in first else first.summary)


@pytest.mark.readers
@pytest.mark.proves("R-04")
@pytest.mark.parametrize("format_", XML_FORMATS)
async def test_newsboat_reads_it(format_: FeedFormat, tmp_path: Path) -> None:
    newsboat = shutil.which("newsboat") or pytest.skip("newsboat is not installed")
    async with FeedSite() as site:
        url = site.serve(format_.write(a_feed()).decode())
        (tmp_path / "urls").write_text(f"{url}\n")
        (tmp_path / "config").touch()
        files = [*("-u", tmp_path / "urls"), *("-C", tmp_path / "config"), *("-c", tmp_path / "cache.db")]
        await to_thread(_run, [newsboat, *map(str, files), "-x", "reload"])
    with sqlite3.connect(tmp_path / "cache.db") as cache:
        query = "SELECT title, url, author, guid, enclosure_url, content FROM rss_item ORDER BY title DESC"
        title, link, author, guid, file, content = cache.execute(query).fetchone()
    assert (title, link, author, file) == (
        "The ferry & the fog 河",
        "https://x.example/a?b=1&c=2",
        "Ada",
        "https://x.example/a.mp3",
    )
    assert guid == a_feed().entries[0].id
    assert "<b>again</b>" in content


@pytest.fixture(scope="module")
def node_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where npm has put the reader."""
    npm = shutil.which("npm") or pytest.skip("npm is not installed")
    folder = tmp_path_factory.mktemp("rss-parser")
    installed = _run(
        [npm, "install", "--no-audit", "--no-fund", "--loglevel=error", RSS_PARSER], cwd=folder, check=False
    )
    if installed.returncode != 0:
        pytest.skip(f"npm could not install {RSS_PARSER}: {installed.stderr.strip()[-200:]}")
    return folder


@pytest.mark.readers
@pytest.mark.proves("R-04")
@pytest.mark.parametrize("format_", XML_FORMATS)
def test_rss_parser_of_npm_reads_it(format_: FeedFormat, node_folder: Path) -> None:
    node = shutil.which("node") or pytest.skip("node is not installed")
    ended = _run([node, "-e", _READ_BY_NODE], cwd=node_folder, given=format_.write(a_feed()).decode())
    found = json.loads(ended.stdout)
    first = found["items"][0]
    assert (found["title"], len(found["items"])) == ("Harbour", 2)
    assert (first["title"], first["link"]) == ("The ferry & the fog 河", "https://x.example/a?b=1&c=2")
    assert "<b>again</b>" in first["content"]
    assert first["isoDate"].startswith("2026-03-01T1")
    assert "Ada" in {first.get("author"), first.get("creator")}


def _run(
    command: Sequence[str], *, cwd: Path | None = None, given: str = "", check: bool = True
) -> subprocess.CompletedProcess[str]:
    return subprocess.run(command, cwd=cwd, input=given, capture_output=True, text=True, check=check, timeout=100)
