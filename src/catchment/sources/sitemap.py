"""Any site by its sitemap: what is new or changed is found in the sitemap, and only that is fetched."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from datetime import datetime
from html import escape
from typing import Any

from yarl import URL

from catchment.domain.candidate import CandidatePolicy, KnownListing, Listed, Told
from catchment.domain.filters import Filters, url_filters
from catchment.domain.item import Item, make_item
from catchment.domain.options import USER_AGENT_KEY
from catchment.errors import BadConfig, RefusedAddress
from catchment.fetch.body import StreamedResponse
from catchment.fetch.client import Request, Response
from catchment.fetch.freshness import Validators
from catchment.fetch.pacing import Deferred
from catchment.parse.article import Article, extract
from catchment.sources.base import Context, Detail, Parts
from catchment.sources.config import flag, text, texts, whole
from catchment.sources.robots import RobotsCache
from catchment.sources.sitemap_tree import SitemapTree

UNTITLED = "Untitled"


def item_without_page(listed: Listed) -> Item:
    """What the sitemap alone says. The date is part of the text, so that a later one makes it a changed item."""
    return make_item(
        native_id=listed.native_id or listed.url,
        url=listed.url,
        title=_listed_title(listed) or title_from_url(listed.url),
        content=f"<p>Updated {listed.lastmod:%Y-%m-%d %H:%M} UTC</p>" if listed.lastmod else "",
        published_at=listed.lastmod,
    )


def item_of_page(listed: Listed, article: Article, *, with_content: bool) -> Item:
    """A page. Its date is that of its last change, so that a changed page rises in the feed."""
    content = article.html if with_content else ""
    return make_item(
        native_id=listed.native_id or listed.url,
        url=listed.url,
        title=article.title or _listed_title(listed) or title_from_url(listed.url),
        author=article.author,
        content=content or (f"<p>{escape(article.description)}</p>" if article.description else ""),
        published_at=listed.lastmod or article.modified or article.published,
        metadata=_metadata(listed, article),
    )


def title_from_url(url: str) -> str:
    """A title for people from the path: `/tech/python-tips.html` is "Tech - Python Tips"."""
    parts = [part for part in URL(url).path.split("/") if part]
    if parts:
        parts[-1] = parts[-1].rpartition(".")[0] or parts[-1]
    words = [" ".join(part.replace("-", " ").replace("_", " ").split()) for part in parts]
    return " - ".join(word.title() for word in words if word) or UNTITLED


def _listed_title(listed: Listed) -> str:
    return str(listed.facts["title"]) if listed.facts and listed.facts.get("title") else ""


def _metadata(listed: Listed, article: Article) -> dict[str, Any]:
    """What has no column of its own, where there is any."""
    said = {
        "description": article.description,
        "image": article.image,
        "canonical": article.canonical if article.canonical != listed.url else None,
        "published": _iso(article.published),
        "modified": _iso(article.modified),
    }
    return {name: value for name, value in said.items() if value}


def _iso(moment: datetime | None) -> str | None:
    return moment.isoformat() if moment else None


_HTML = frozenset({"", "text/html", "application/xhtml+xml", "text/plain"})
_MAX_PATTERNS = 50


@dataclass(frozen=True, slots=True, kw_only=True)
class SitemapConfig:
    url: URL
    filters: Filters
    policy: CandidatePolicy
    #: Whether the page is asked for its title and description, or its address has to do.
    fetch_titles: bool
    extract_content: bool
    respect_robots: bool

    @property
    def is_site(self) -> bool:
        """A site rather than a sitemap: where its sitemaps are is yet to be found out."""
        return self.url.path == "/" and not self.url.query_string


CONFIG_KEYS = frozenset(
    {
        "url",
        "site_name",
        "include_patterns",
        "exclude_patterns",
        "fetch_titles",
        "extract_content",
        "respect_robots",
        "enable_incremental",
        "max_items",
        "baseline_items",
        "retry_failed_urls",
        "recheck_pages",
        "max_history_days",
        "cleanup_interval_days",
    }
)


def read_config(config: Mapping[str, Any]) -> SitemapConfig:
    return SitemapConfig(
        url=_url(config),
        filters=url_filters(_patterns(config, "include_patterns"), _patterns(config, "exclude_patterns")),
        policy=_policy(config),
        fetch_titles=flag(config, "fetch_titles", default=True),
        extract_content=flag(config, "extract_content", default=True),
        respect_robots=flag(config, "respect_robots", default=True),
    )


class SitemapType:
    type = "sitemap"
    display_names: Mapping[str, str] = {"en": "Sitemap", "zh": "站点地图"}
    default_minutes = 240
    config_keys = CONFIG_KEYS

    def __init__(self, user_agent: str) -> None:
        self._user_agent = user_agent

    @classmethod
    def from_parts(cls, parts: Parts) -> SitemapType:
        return cls(parts.settings.user_agent)

    def identity(self, config: Mapping[str, Any]) -> str:
        """One site may be several sources, each with other pages of it."""
        read_config(config)
        patterns = [_patterns(config, name) for name in ("include_patterns", "exclude_patterns")]
        address = str(_url(config))
        return json.dumps([address, *patterns]) if any(patterns) else address

    def start_crawl(self, context: Context) -> SitemapCrawlSession:
        user_agent = context.source.config.get(USER_AGENT_KEY) or self._user_agent
        return SitemapCrawlSession(context, read_config(context.source.config), user_agent=user_agent)


class SitemapCrawlSession:
    lane: asyncio.Lock | None = None

    def __init__(self, context: Context, config: SitemapConfig, *, user_agent: str) -> None:
        self._context = context
        self._config = config
        slow_down = context.http.slow_down if config.respect_robots else None
        self._robots = RobotsCache(self._send, home=config.url, user_agent=user_agent, slow_down=slow_down)
        self.policy = config.policy
        self.address = str(config.url)
        self.name = text(context.source.config, "site_name", default=context.source.name)

    async def list_pages(self, known: Mapping[bytes, KnownListing]) -> AsyncIterator[Told]:
        roots = await self._roots()
        async with self._context.parsers.one_alone() as parsers:
            tree = SitemapTree(self._stream, parsers, keeps=self._config.filters.keeps_url, now=self._context.now)
            async for told in tree.walk(roots, known):
                yield told

    async def detail(self, listed: Listed) -> Detail:
        _check_address(listed.url)
        if not self._config.fetch_titles:
            return Detail(item_without_page(listed))
        page = await self._ask(Request(url=listed.url))
        return Detail(await self._item(listed, page), validators=_validators(listed, page))

    async def recheck(self, listed: Listed, validators: Validators) -> Detail | None:
        _check_address(listed.url)
        page = await self._ask(Request(url=listed.url, validators=validators))
        if page.not_modified:
            return None
        return Detail(await self._item(listed, page), validators=_validators(listed, page))

    async def _ask(self, request: Request) -> Response:
        if self._config.respect_robots:
            await self._robots.check(request.url)
        return await self._send(request)

    async def _item(self, listed: Listed, page: Response) -> Item:
        content_type = page.headers.get("Content-Type", "")
        if content_type.partition(";")[0].strip().lower() not in _HTML:
            return item_without_page(listed)
        article = await self._context.parsers.read(extract, page.body, page.url, content_type)
        return item_of_page(listed, article, with_content=self._config.extract_content)

    async def _roots(self) -> list[str]:
        """The sitemap itself, or those that the site's robots.txt names, or the one that every site may have."""
        if not self._config.is_site:
            return [self.address]
        robots = await self._robots.of(self.address)
        return list(robots.sitemaps) or [str(self._config.url / "sitemap.xml")]

    async def _send(self, request: Request) -> Response:
        while True:
            try:
                return await self._context.http.send(request)
            except Deferred as deferred:
                await self._wait(deferred)

    @asynccontextmanager
    async def _stream(self, request: Request) -> AsyncIterator[StreamedResponse]:
        async with AsyncExitStack() as stack:
            while True:
                try:
                    answer = await stack.enter_async_context(self._context.http.stream(request))
                except Deferred as deferred:
                    await self._wait(deferred)
                else:
                    break
            yield answer

    async def _wait(self, deferred: Deferred) -> None:
        """A full run remembers nothing to go on with later, so it waits for its turn."""
        if self.policy.incremental:
            raise deferred
        await asyncio.sleep(deferred.seconds)


def _url(config: Mapping[str, Any]) -> URL:
    given = text(config, "url", example="https://example.org/sitemap.xml")
    try:
        url = URL(given).with_fragment(None)
        is_web = url.scheme in {"http", "https"} and bool(url.host)
    except ValueError as error:
        raise BadConfig(f"{given[:200]!r} is not a URL that can be read.") from error
    if not is_web:
        raise BadConfig(f"{given!r} is no web address; it starts with https:// or http://.")
    return url


def _check_address(url: str) -> None:
    """Raise RefusedAddress for what is no address after all, so that it spoils no other."""
    try:
        URL(url).origin()
    except ValueError as error:
        raise RefusedAddress(f"{url[:200]!r} is not a URL that can be read") from error


def _validators(listed: Listed, page: Response) -> Validators | None:
    """Those of the page itself, and not of whoever it led to elsewhere."""
    is_there = URL(page.url).origin() == URL(listed.url).origin()
    return Validators.from_headers(page.headers) if is_there else None


def _patterns(config: Mapping[str, Any], name: str) -> tuple[str, ...]:
    return texts(config, name, most=_MAX_PATTERNS)


def _policy(config: Mapping[str, Any]) -> CandidatePolicy:
    return CandidatePolicy(
        incremental=flag(config, "enable_incremental", default=True),
        max_items=whole(config, "max_items", default=50, least=1, most=10_000),
        baseline_items=whole(config, "baseline_items", default=10, least=0, most=10_000),
        retry_failed=flag(config, "retry_failed_urls", default=True),
        rechecks=flag(config, "recheck_pages", default=True) and flag(config, "fetch_titles", default=True),
        max_history_days=whole(config, "max_history_days", default=30, least=1, most=36_500),
        cleanup_interval_days=whole(config, "cleanup_interval_days", default=7, least=0, most=36_500),
    )
