"""A sitemap that arrives in parts is read by one process, which remembers it in between."""

from __future__ import annotations

import gzip

import psutil
import pytest

from catchment.errors import ParseError, ParserFailed
from catchment.sandbox.pool import ParserPool
from catchment.sources import sitemap_tree
from catchment.sources.sitemap_tree import SitemapReader

pytestmark = pytest.mark.proves("R-19")
URL = "https://example.org/sitemap.xml"
PAGES = [f"https://example.org/{number}" for number in range(3_000)]
SITEMAP = ("<urlset>" + "".join(f"<url><loc>{page}</loc></url>" for page in PAGES) + "</urlset>").encode()


@pytest.mark.parametrize("size", [1_000, 100_000, 10**9])
@pytest.mark.parametrize("packed", [False, True])
async def test_it_is_the_same_however_it_arrives(size: int, packed: bool):
    body = gzip.compress(SITEMAP) if packed else SITEMAP
    async with ParserPool(size=1, seconds=60) as parsers, parsers.one_alone() as own:
        reader = SitemapReader(own, URL)
        entries = [entry for start in range(0, len(body), size) for entry in await reader.feed(body[start:][:size])]
        entries += await reader.close()
        assert [entry.url for entry in entries] == PAGES
        assert reader.is_whole
        assert parsers.pids == []


@pytest.mark.parser_processes
async def test_when_its_process_is_gone_it_is_read_again_at_the_next_visit():
    async with ParserPool(size=1, seconds=60) as parsers, parsers.one_alone() as own:
        reader = SitemapReader(own, URL)
        assert await reader.feed(SITEMAP)
        for pid in own.pids:
            psutil.Process(pid).kill()
        with pytest.raises((ParserFailed, ParseError)):
            await reader.feed(SITEMAP)
        again = SitemapReader(own, URL)
        assert len([*await again.feed(SITEMAP), *await again.close()]) == len(PAGES)


async def test_reading_one_document_has_an_end(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(sitemap_tree, "MAX_SECONDS", 0.0)
    async with ParserPool(size=1, seconds=60) as parsers, parsers.one_alone() as own:
        with pytest.raises(ParserFailed, match="took longer than 0 s"):
            await SitemapReader(own, URL).feed(SITEMAP)
