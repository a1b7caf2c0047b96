"""What is behind an address: a feed, a sitemap, or a page and what it leads to."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
from dataclasses import dataclass

from yarl import URL

from catchment.domain.item import Item
from catchment.errors import BadBody, InvalidInput, ParseError, ParserFailed, VisitError
from catchment.fetch.client import Request, Response
from catchment.fetch.options import SourceClient
from catchment.fetch.pacing import Deferred
from catchment.parse.discovery import Discovery, discover, is_page, is_sitemap, refresh_of
from catchment.parse.json_values import holds_list, read_json
from catchment.parse.robots import Robots
from catchment.parse.sitemap import SitemapParser
from catchment.sandbox.pool import ParserPool
from catchment.sources.base import Suggestion
from catchment.sources.items import read_items
from catchment.sources.shortcuts import unnamed_feeds
from catchment.sources.website import MAX_FEEDS, MAX_REFRESHES, Watched, read_page

#: Somebody waits for the answer.
_SECONDS = 15.0
_MAX_SITEMAPS = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Discovered:
    suggestion: Suggestion
    #: What is listed there, as far as it was read on the way.
    items: Sequence[Item] = ()
    #: What the page says, where it is one.
    page: Discovery | None = None

    @property
    def named_feeds(self) -> tuple[str, ...]:
        return (*self.page.news_feeds, *self.page.linked_feeds)[:MAX_FEEDS] if self.page else ()

    @property
    def feeds(self) -> tuple[str, ...]:
        """Feeds that the page leads to, the likeliest first."""
        return (*self.named_feeds, *unnamed_feeds(str(self.suggestion.config["url"]))) if self.page else ()


async def look_behind(http: SourceClient, parsers: ParserPool, address: str) -> Discovered:
    """Ask for the address once. What is neither feed nor page is an InvalidInput."""
    response = await _followed(http, address)
    return await parsers.read(
        judge, response.body, address=address, url=response.url, content_type=response.content_type
    )


async def _followed(http: SourceClient, address: str) -> Response:
    """The answer, or that of the page it sends every browser on to."""
    response = await http.send(Request(url=address, timeout_seconds=_SECONDS))
    asked = [address]
    for _ in range(MAX_REFRESHES):
        target = refresh_of(response.body, response.url, *asked)
        if not target:
            break
        asked.append(target)
        response = await http.send(Request(url=target, timeout_seconds=_SECONDS))
    return response


def judge(body: bytes, *, address: str, url: str, content_type: str) -> Discovered:
    """What a body is, by what is in it rather than by what it is said to be."""
    if is_sitemap(body):
        return Discovered(suggestion=_suggest("sitemap", address, "", "The address is that of a sitemap."))
    if not is_page(body):
        try:
            return _feed(body, address=address, url=url, content_type=content_type)
        except ParseError:
            _refuse_json(body, address)
            # No feed, so it is a page.
    try:
        title, items = read_page(body, watched=Watched(address=address), url=url, content_type=content_type)
    except ParseError as error:
        raise InvalidInput(f"{address} cannot be followed: {error}.", field="url") from error
    why = "The page names no feed, so the page itself is watched."
    return Discovered(
        suggestion=_suggest("website", address, title, why),
        items=items,
        page=discover(body, url=url, content_type=content_type),
    )


def _refuse_json(body: bytes, address: str) -> None:
    """Answers of an API change all the time: whoever wants a page of them watched says so by the type."""
    try:
        document = read_json(body)
    except ParseError:
        return
    if holds_list(document):
        raise InvalidInput(
            f"{address} answers in JSON, and is neither a feed nor a page: "
            "`catchment add URL --type custom_api` follows it, as `catchment docs sources` tells.",
            field="url",
        )


async def find_sitemap(http: SourceClient, parsers: ParserPool, address: str, page: Discovery) -> Suggestion | None:
    """The sitemap that covers a page: named by the page, beside it, or named in robots.txt for a whole site."""
    usual = await _usual_sitemaps(http, URL(address))
    for candidate in dict.fromkeys([*page.sitemaps[:_MAX_SITEMAPS], *usual]):
        if await _is_sitemap(http, parsers, candidate):
            return _suggest("sitemap", candidate, page.title, "The page names no feed but has a sitemap.")
    return None


async def find_podcast(http: SourceClient, directory: str, number: str) -> Suggestion:
    """The feed of a podcast, from the directory that knows it by a number."""
    url = URL(f"{directory}/lookup").with_query({"id": number, "entity": "podcast"})
    response = await http.send(Request(url=str(url), timeout_seconds=_SECONDS))
    try:
        found = json.loads(response.body)["results"][0]
        feed, name = str(found["feedUrl"]), str(found.get("collectionName", ""))
    except (ValueError, LookupError, TypeError, AttributeError, RecursionError) as error:
        raise ParseError(f"the podcast directory has no feed for {number}") from error
    return _suggest("rss", feed, name, "The podcast directory names this feed.")


async def _usual_sitemaps(http: SourceClient, page: URL) -> list[str]:
    """A sitemap is about what lies beneath its own folder, so a page that is no folder has none."""
    if not page.path.endswith("/"):
        return []
    beside = str(page.with_query(None).with_fragment(None) / "sitemap.xml")
    if page.path != "/":
        return [beside]
    robots = await _ask(http, str(page.origin() / "robots.txt"))
    named = (await asyncio.to_thread(Robots.parse, robots.body, robots.url)).sitemaps if robots else ()
    return [*named[:_MAX_SITEMAPS], beside]


async def _is_sitemap(http: SourceClient, parsers: ParserPool, address: str) -> bool:
    response = await _ask(http, address)
    if response is None:
        return False
    try:
        return await parsers.read(lists_pages, response.body, url=response.url)
    except ParserFailed:
        return False


def lists_pages(body: bytes, *, url: str) -> bool:
    """Whether it is a sitemap, and not an empty one."""
    if is_page(body):
        return False
    parser = SitemapParser(url)
    try:
        return bool(parser.feed(body) or parser.close())
    except (ParseError, BadBody):
        return False


async def _ask(http: SourceClient, address: str) -> Response | None:
    """The answer, or None: what is only looked for need not be there."""
    try:
        return await http.send(Request(url=address, timeout_seconds=_SECONDS))
    except (VisitError, Deferred):
        return None


def _feed(body: bytes, *, address: str, url: str, content_type: str) -> Discovered:
    title, items, *_ = read_items(body, url=url, content_type=content_type)
    is_json = body.lstrip()[:1] == b"{"
    kind, what = ("digest_feed", "a JSON Feed") if is_json else ("rss", "a feed")
    return Discovered(suggestion=_suggest(kind, address, title, f"The address is that of {what}."), items=items)


def _suggest(source_type: str, address: str, name: str, why: str) -> Suggestion:
    return Suggestion(type=source_type, config={"url": address}, name=name, why=why)
