"""A site as a feed of its own, whose source alone says how it looks. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from urllib.parse import urlsplit

from catchment.domain.feed import FeedFilter, SavedFeed, ShownItem
from catchment.domain.source import ADDRESS_KEY, Source
from catchment.publish.feed import Feed
from catchment.publish.formats import Format
from catchment.publish.views import CHANNEL_KEY, Address, view_feed

_SUFFIXES = {".atom": Format.ATOM, ".json": Format.JSON}


def site_feed(source: Source, shown: Sequence[ShownItem], *, served_at: str) -> Feed:
    """`served_at` is where the document will be, unless the channel says it; empty when nobody knows."""
    sitemap = urlsplit(str(source.config[ADDRESS_KEY]))
    home = f"{sitemap.scheme}://{sitemap.netloc}"
    address = Address(folder_url=home, self_url=_said_address(source) or served_at)
    return view_feed(_whole(source), source, shown, address=address, hub_url="")


def format_of(file_name: str) -> Format:
    """By how the name ends; whatever says nothing is RSS."""
    suffix = file_name[file_name.rfind(".") :].lower() if "." in file_name else ""
    return _SUFFIXES.get(suffix, Format.RSS)


def _whole(source: Source) -> SavedFeed:
    """The view that nobody saved: all of one source."""
    return SavedFeed(
        id=0,
        slug="site",
        title="",
        description="",
        link="",
        language="",
        filter=FeedFilter(sources=(source.id,)),
        is_public=True,
        token_hash=None,
        owner_id=None,
        sees_all=True,
        version=0,
        created_at=source.created_at,
        updated_at=source.created_at,
    )


def _said_address(source: Source) -> str:
    """Where the channel says that its document is, if it does."""
    return str((source.config.get(CHANNEL_KEY) or {}).get("self_url") or "")
