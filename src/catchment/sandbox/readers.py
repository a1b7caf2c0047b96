"""Which functions read the bytes of strangers: a parser process runs nothing else, and nothing else comes back."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from importlib import import_module
from typing import Any, Final

#: By name, so that a process imports what it is asked for and nothing beside it.
READERS: Final = frozenset(
    {
        "catchment.manage.discovery:judge",
        "catchment.manage.discovery:lists_pages",
        "catchment.parse.article:extract",
        "catchment.parse.listing:read_listing",
        "catchment.parse.opml:read_opml",
        "catchment.parse.sitemap:read_portion",
        "catchment.sources.custom_api:read_items",
        "catchment.sources.custom_api:read_page",
        "catchment.sources.feed_items:read_items",
        "catchment.sources.github_trending:read_repositories",
        "catchment.sources.reddit:read_listing",
        "catchment.sources.website:read_chosen_parts",
        "catchment.sources.website:read_unknown",
    }
)
#: The classes, besides plain data, of what readers return.
RESULTS: Final = frozenset(
    {
        "catchment.domain.item:Item",
        "catchment.domain.listing:BadLine",
        "catchment.domain.listing:ListedSource",
        "catchment.domain.listing:SourceList",
        "catchment.domain.visit:Reading",
        "catchment.manage.discovery:Discovered",
        "catchment.parse.article:Article",
        "catchment.parse.discovery:Discovery",
        "catchment.parse.opml:FeedOutline",
        "catchment.parse.sitemap:SitemapEntry",
        "catchment.parse.sitemap:Portion",
        "catchment.sources.base:Suggestion",
        "catchment.sources.custom_api:Page",
        "catchment.sources.website:PageReading",
        "datetime:datetime",
        "datetime:timedelta",
        "datetime:timezone",
    }
)


def name_of(function: Callable[..., Any]) -> str | None:
    """The name of a reader; None for a function that is none, such as one of a plug-in."""
    name = f"{getattr(function, '__module__', '')}:{getattr(function, '__qualname__', '')}"
    return name if name in READERS else None


@cache
def reader(name: str) -> Callable[..., Any]:
    if name not in READERS:
        raise LookupError(f"{name!r} reads nothing")
    module, _, function = name.partition(":")
    found: Callable[..., Any] = getattr(import_module(module), function)
    return found
