"""A saved view as a feed. Pure: the same view and items give the same feed, now and in a year."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any
from urllib.parse import urlsplit
from uuid import UUID, uuid5

from catchment.domain.account import User
from catchment.domain.feed import Digest, DigestType, FeedFilter, SavedFeed, ShownItem
from catchment.domain.source import ADDRESS_KEY, Source
from catchment.parse.html import plain_text
from catchment.publish.feed import UNKNOWN_FILE, Enclosure, Feed, FeedEntry, FeedFormat

_TITLES = {
    DigestType.FOUR_HOURS: "Digest of {end:%Y-%m-%d %H:%M} UTC",
    DigestType.DAILY: "Daily digest of {end:%Y-%m-%d}",
    DigestType.WEEKLY: "Weekly digest up to {end:%Y-%m-%d}",
    DigestType.MONTHLY: "Monthly digest up to {end:%Y-%m-%d}",
}


def digest_feed(user: User, digests: Iterable[Digest], *, base_url: str, path: str) -> Feed:
    home = f"{base_url.rstrip('/')}/feed/{user.slug}"
    return Feed(
        title=f"Digests of {user.name}",
        description=f"What {user.name} follows, summed up.",
        home_url=home,
        self_url=f"{base_url.rstrip('/')}{path}",
        entries=tuple(_digest_entry(digest, home) for digest in digests),
    )


def digest_title(digest: Digest) -> str:
    return _TITLES[digest.type].format(end=digest.created_at)


def _digest_entry(digest: Digest, home: str) -> FeedEntry:
    return FeedEntry(
        id=f"catchment-digest-{digest.id}",
        url=f"{home}#digest-{digest.id}",
        title=digest_title(digest),
        text=digest.content,
        published_at=digest.created_at,
    )


#: Where a source's config says how its own feed presents itself.
CHANNEL_KEY = "channel"
#: Text of all entries together; entries beyond it have a title and a link only, or a feed could be of any size.
MAX_CONTENT_CHARS = 8 * 1024 * 1024
#: All of an item's text is searched, however long.
_ALL = 2**31
#: Types whose items are pages.
_OF_PAGES = frozenset({"sitemap"})
_NAMESPACE = UUID("6f0ab8f5-2c3f-5d0b-9a37-9f2d1c54f0c3")


@dataclass(frozen=True, slots=True, kw_only=True)
class Address:
    """Where a document is: the folder of the feeds, and its own place."""

    folder_url: str
    self_url: str


def keeps(wanted: FeedFilter, shown: ShownItem) -> bool:
    """Whether the item is one that the view shows, as far as its words tell."""
    return wanted.rules.keeps(shown.item) and _is_found(wanted.words, shown)


def view_feed(
    saved: SavedFeed, source: Source | None, items: Sequence[ShownItem], *, address: Address, hub_url: str
) -> Feed:
    """`source` is given when the view shows exactly one: what the view does not say of itself, the source says."""
    channel = _channel(source)
    name = saved.title or channel.text("title") or (source.name if source else saved.slug)
    return Feed(
        title=name,
        description=saved.description or channel.text("description") or name,
        home_url=saved.link or channel.link() or address.folder_url,
        self_url=address.self_url,
        entries=_within_bounds([_entry(shown) for shown in items]),
        updated_at=saved.updated_at,
        language=saved.language or channel.text("language"),
        ttl_minutes=channel.ttl_minutes(),
        hub_url=hub_url,
    )


def entry_id(source_id: int, key: str) -> str:
    """Names an item of a source for ever, whatever becomes of its title, its address and the source's own address."""
    return uuid5(_NAMESPACE, f"{source_id}\n{key}").urn


def _id_of(shown: ShownItem) -> str:
    """A page of a site is named by its address, which outlives a lost state and is the same in full runs."""
    return shown.item.url if shown.source_type in _OF_PAGES else entry_id(shown.source_id, shown.item.key)


def _is_found(words: Sequence[str], shown: ShownItem) -> bool:
    if not words:
        return True
    text = f"{shown.item.title}\n{plain_text(shown.item.content, _ALL)}".casefold()
    return all(word in text for word in words)


def _entry(shown: ShownItem) -> FeedEntry:
    item = shown.item
    return FeedEntry(
        id=_id_of(shown),
        url=item.url,
        title=item.title,
        html=item.content,
        author=item.author,
        published_at=item.published_at or shown.fetched_at,
        updated_at=shown.updated_at,
        categories=tuple(tag for tag in _list(item.metadata, "tags") if isinstance(tag, str) and tag),
        enclosures=tuple(_enclosure(one) for one in _list(item.metadata, "enclosures") if _is_enclosure(one)),
    )


def _within_bounds(entries: Sequence[FeedEntry]) -> tuple[FeedEntry, ...]:
    bounded, left = [], MAX_CONTENT_CHARS
    for entry in entries:
        left -= len(entry.html)
        bounded.append(entry if left >= 0 else replace(entry, html=""))
    return tuple(bounded)


def _list(metadata: Mapping[str, Any], key: str) -> list[Any]:
    """What plug-ins put down may be anything."""
    found = metadata.get(key)
    return found if isinstance(found, list) else []


def _is_enclosure(value: Any) -> bool:
    return isinstance(value, Mapping) and isinstance(value.get("url"), str) and bool(value["url"])


def _enclosure(value: Mapping[str, Any]) -> Enclosure:
    kind, length = value.get("type"), value.get("length")
    return Enclosure(
        url=value["url"],
        type=kind if isinstance(kind, str) and "/" in kind else UNKNOWN_FILE,
        length=length if isinstance(length, int) and length > 0 else 0,
    )


class _Channel:
    """How a source's config wants its feed to look; whatever in it makes no sense counts as not said."""

    def __init__(self, given: Mapping[str, Any]) -> None:
        self._given = given

    def text(self, key: str) -> str:
        value = self._given.get(key)
        return value.strip() if isinstance(value, str) else ""

    def link(self) -> str:
        link = self.text("link")
        return link if link.startswith(("https://", "http://")) else ""

    def ttl_minutes(self) -> int:
        value = self._given.get("ttl")
        return value if isinstance(value, int) and value > 0 else 0


def _channel(source: Source | None) -> _Channel:
    given = source.config.get(CHANNEL_KEY) if source else None
    return _Channel(given if isinstance(given, Mapping) else {})


_SUFFIXES = {".atom": FeedFormat.ATOM, ".json": FeedFormat.JSON}


def site_feed(source: Source, shown: Sequence[ShownItem], *, served_at: str) -> Feed:
    """`served_at` is where the document will be, unless the channel says it; empty when nobody knows."""
    sitemap = urlsplit(str(source.config[ADDRESS_KEY]))
    home = f"{sitemap.scheme}://{sitemap.netloc}"
    address = Address(folder_url=home, self_url=_said_address(source) or served_at)
    return view_feed(_whole(source), source, shown, address=address, hub_url="")


def format_of(file_name: str) -> FeedFormat:
    """By how the name ends; whatever says nothing is RSS."""
    suffix = file_name[file_name.rfind(".") :].lower() if "." in file_name else ""
    return _SUFFIXES.get(suffix, FeedFormat.RSS)


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
