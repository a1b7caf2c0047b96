"""Feeds out, as people manage them: saved views under short names, public or with a token."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from typing import Any

from sqlalchemy import Connection

from catchment.clock import Clock
from catchment.crypto import hash_secret, new_token, same_secret
from catchment.domain.audit_trail import changed_values, deed
from catchment.domain.caller import Caller
from catchment.domain.feed import (
    FeedFilter,
    NewFeed,
    SavedFeed,
    check_slug,
    filter_shape,
    free_slug,
    read_feed_filter,
    slug_of,
)
from catchment.domain.item import checked_line, is_storable
from catchment.errors import Forbidden, InvalidInput, NotFound
from catchment.store import feeds
from catchment.store.audit_trail import record, recorded
from catchment.store.database import Store

MAX_TITLE, MAX_DESCRIPTION, MAX_LINK, MAX_LANGUAGE = 500, 5000, 2000, 35


@dataclass(frozen=True, slots=True, kw_only=True)
class FeedDraft:
    slug: str
    title: str = ""
    description: str = ""
    link: str = ""
    language: str = ""
    filter: Mapping[str, Any]
    is_public: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class FeedChange:
    """What somebody wants changed; None leaves a thing as it is."""

    title: str | None = None
    description: str | None = None
    link: str | None = None
    language: str | None = None
    filter: Mapping[str, Any] | None = None
    is_public: bool | None = None
    #: Make another token; the old one is void.
    new_token: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Published:
    """A feed, and the token that was made for it just now: nobody can ever tell it again."""

    feed: SavedFeed
    token: str | None = None


class Feeds:
    def __init__(self, *, store: Store, clock: Clock) -> None:
        self._store = store
        self._clock = clock

    async def add(self, draft: FeedDraft, caller: Caller) -> Published:
        """Publish a view. A private one gets a token; a taken short name is a Conflict."""
        token = None if draft.is_public else new_token()
        told = {name: check(getattr(draft, name)) for name, check in _CHECKS.items()}
        token_hash = hash_secret(token) if token else None
        new = NewFeed(slug=check_slug(draft.slug), **told, token_hash=token_hash, owner_id=caller.user_id)
        now = self._clock.now()
        entry = deed("feed.add", f"feed {new.slug}", "public" if new.is_public else "private", now=now, caller=caller)
        return Published(feed=await self._store.write(recorded, entry, feeds.add, new, now=now), token=token)

    async def free_slug(self, slug: str, title: str) -> str:
        """The short name that a new feed gets: this one, or else one that is made of the title; no other has it."""
        if slug:
            return await self._store.read(feeds.check_free, check_slug(slug))
        wanted = slug_of(title, otherwise="feed")
        return free_slug(wanted, await self._store.read(feeds.slugs_like, wanted))

    async def twin_of(self, draft: FeedDraft, caller: Caller) -> SavedFeed | None:
        """The first of the caller's own that shows the same, however much of it."""
        wanted = _what_it_shows(read_feed_filter(draft.filter))
        own = await self._store.read(feeds.list_owned, caller.user_id)
        return next((feed for feed in own if _what_it_shows(feed.filter) == wanted), None)

    def imagine(self, draft: FeedDraft, caller: Caller) -> SavedFeed:
        """The feed that the draft would be, to look at what it shows."""
        now = self._clock.now()
        return SavedFeed(
            id=0,
            slug="preview",
            title=draft.title,
            description=draft.description,
            link=draft.link,
            language=draft.language,
            filter=read_feed_filter(_checked_filter(draft.filter)),
            is_public=draft.is_public,
            owner_id=caller.user_id,
            sees_all=caller.sees_all,
            created_at=now,
            updated_at=now,
        )

    async def list(self, caller: Caller) -> list[SavedFeed]:
        return await self._store.read(feeds.list_visible, caller)

    async def get(self, slug: str, caller: Caller) -> SavedFeed:
        return _visible(await self._store.read(feeds.find, _findable(slug)), slug, caller)

    async def change(self, slug: str, change: FeedChange, caller: Caller) -> Published:
        return await self._store.write(_change, slug, change, caller, now=self._clock.now())

    async def remove(self, slug: str, caller: Caller) -> None:
        await self._store.write(_remove, slug, caller, now=self._clock.now())


def opens(feed: SavedFeed, token: str) -> bool:
    """Whether this token lets whoever has it read the feed."""
    if feed.is_stopped:
        return False
    return feed.token_hash is not None and same_secret(hash_secret(token), feed.token_hash)


def _change(conn: Connection, slug: str, change: FeedChange, caller: Caller, *, now: datetime) -> Published:
    feed = _changeable(conn, slug, caller)
    wanted = {name: getattr(change, name) for name in _CHECKS}
    values = {name: _CHECKS[name](value) for name, value in wanted.items() if value is not None}
    token = new_token() if _needs_token(feed, change) else None
    if token:
        values["token_hash"] = hash_secret(token)
    if values:
        feeds.change(conn, feed.id, values, now=now)
        before = {name: filter_shape(feed.filter) if name == "filter" else getattr(feed, name) for name in wanted}
        told = changed_values(before, {name: value for name, value in values.items() if name in wanted})
        summary = "; ".join(filter(None, [told, "a new token" if token else ""]))
        record(conn, deed("feed.change", f"feed {slug}", summary, now=now, caller=caller))
    return Published(feed=feeds.find(conn, slug) or feed, token=token)


def _needs_token(feed: SavedFeed, change: FeedChange) -> bool:
    """A private feed has one; one that was public until now may have none yet."""
    becomes_private = change.is_public is False and feed.token_hash is None
    return change.new_token or becomes_private


def _remove(conn: Connection, slug: str, caller: Caller, *, now: datetime) -> None:
    feeds.remove(conn, _changeable(conn, slug, caller).id)
    record(conn, deed("feed.remove", f"feed {slug}", now=now, caller=caller))


def _changeable(conn: Connection, slug: str, caller: Caller) -> SavedFeed:
    feed = _visible(feeds.find(conn, _findable(slug), for_change=True), slug, caller)
    if not feed.may_be_changed_by(caller):
        raise Forbidden(f"The feed {slug} belongs to somebody else.")
    return feed


def _visible(feed: SavedFeed | None, slug: str, caller: Caller) -> SavedFeed:
    if feed is None or not feed.may_be_seen_by(caller):
        raise NotFound(f"There is no feed {slug}.")
    return feed


def _findable(slug: str) -> str:
    """What cannot be a short name names no feed, and might be more than a store can compare."""
    return slug if slug.isascii() and slug.isprintable() else ""


def _what_it_shows(filter_: FeedFilter) -> Mapping[str, Any]:
    return {name: value for name, value in filter_shape(filter_).items() if name != "limit"}


def _checked_link(text: str) -> str:
    link = checked_line(text, "link", least=0, most=MAX_LINK)
    if link and not link.startswith(("https://", "http://")):
        raise InvalidInput("A link begins with https:// or http://.", field="link")
    return link


def _checked_filter(value: Mapping[str, Any]) -> dict[str, Any]:
    """As it is kept: read, and written in one form."""
    shape = filter_shape(read_feed_filter(value))
    if not is_storable(shape):
        raise InvalidInput("The filter holds a NUL or broken characters, which cannot be kept.", field="filter")
    return shape


#: What people say of a feed, and how each is checked.
_CHECKS: Mapping[str, Callable[[Any], Any]] = {
    "title": partial(checked_line, what="title", least=0, most=MAX_TITLE),
    "description": partial(checked_line, what="description", least=0, most=MAX_DESCRIPTION),
    "link": _checked_link,
    "language": partial(checked_line, what="language", least=0, most=MAX_LANGUAGE),
    "filter": _checked_filter,
    "is_public": bool,
}
