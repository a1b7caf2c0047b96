"""Paste anything: from a URL or a name to the source that it stands for, with a look at what it would bring."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from yarl import URL

from catchment.domain.caller import OPERATOR, Caller
from catchment.domain.item import Item
from catchment.domain.options import OPTION_KEYS, SEALED_KEY, UNRESOLVED_KEY
from catchment.domain.source import Source
from catchment.errors import Conflict, InvalidInput, ParseError, RefusedAddress, TimedOut, Unreachable, VisitError
from catchment.fetch.pacing import Deferred
from catchment.manage.catalog import Catalog, Change, Draft
from catchment.manage.discovery import find_podcast, find_sitemap, look_behind
from catchment.manage.preview import Preview, Previewer, is_missing
from catchment.parse.discovery import is_title_of_comments
from catchment.parse.html import plain_text
from catchment.redact import redact_url
from catchment.sources.base import Suggestion
from catchment.sources.client import ClientFactory
from catchment.sources.registry import Registry, default_name
from catchment.sources.shortcuts import Services, address_in, looks_like_feed, podcast_id

MAX_PREVIEWED = 5
MAX_NAME = 100
FEED_TYPE, WEBSITE_TYPE, SITEMAP_TYPE = "rss", "website", "sitemap"
_SPELT = {FEED_TYPE: "feed", WEBSITE_TYPE: "page"}


@dataclass(frozen=True, slots=True, kw_only=True)
class PreviewItem:
    title: str
    url: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Resolved:
    type: str
    name: str
    config: Mapping[str, Any]
    #: Why it is taken for that, in one sentence.
    why: str
    icon: str | None = None
    #: Some of what it would bring; None when it could not be looked at, and then `doubt` says why.
    preview: tuple[PreviewItem, ...] | None = None
    doubt: str | None = None
    #: The doubt is that there is nothing at that address (404, 410).
    is_missing: bool = False

    @property
    def is_no_feed(self) -> bool:
        return self.is_missing and self.type == FEED_TYPE

    @property
    def draft(self) -> Draft:
        return Draft(type=self.type, config=self.config, name=self.name)

    def refuse_missing(self, remedy: str) -> None:
        """InvalidInput for an address at which there is nothing; the remedy says how to have it all the same."""
        if self.is_missing:
            raise InvalidInput(f"There is nothing to follow: {self.doubt}. {remedy}", field="url")


@dataclass(frozen=True, slots=True, kw_only=True)
class Pasted:
    """What somebody pasted, and what they said along with it."""

    text: str
    type: str | None = None
    #: Wins over what is found out.
    config: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class DetectedType:
    """What the text alone says."""

    suggestion: Suggestion
    address: str | None
    #: Somebody said so, or knows such addresses; else it goes by the spelling.
    is_sure: bool


class Resolver:
    def __init__(
        self,
        *,
        catalog: Catalog,
        registry: Registry,
        previewer: Previewer,
        clients: ClientFactory,
        services: Services,
    ) -> None:
        self._catalog = catalog
        self._registry = registry
        self._previewer = previewer
        self._clients = clients
        self._services = services

    def guess(self, pasted: Pasted, caller: Caller) -> Resolved:
        """What it is by its text alone; nobody is asked."""
        guess = self._guess(self._told(pasted), caller)
        return _resolved(guess.suggestion, pasted, icon=_usual_icon(guess.address))

    async def resolve(self, pasted: Pasted, caller: Caller) -> Resolved:
        """What it is, after a look at it. What cannot be looked at now is resolved all the same, with a doubt."""
        pasted = self._told(pasted)
        guess = self._guess(pasted, caller)
        visit = _Visit(previewer=self._previewer, pasted=pasted, caller=caller, icon=_usual_icon(guess.address))
        if pasted.type is not None:
            return await visit.look(guess.suggestion)
        # A feed that is not where such feeds are: the page may tell where it is.
        if guess.is_sure and not (seen := await visit.attempt(guess.suggestion)).is_no_feed:
            return seen
        guessed = _resolved(guess.suggestion, pasted, icon=visit.icon)
        if guess.address is None:
            doubt = f"there is no feed at {guess.suggestion.config['url']}"
            return replace(guessed, doubt=doubt, is_missing=True)
        try:
            return await self._explored(guess.address, visit)
        except RefusedAddress:
            raise
        except (Unreachable, TimedOut, Deferred) as error:
            # Only its spelling is known, so it is looked at again when it can be reached.
            return replace(guessed, config={**guessed.config, UNRESOLVED_KEY: True}, doubt=str(error))
        except VisitError as error:
            return replace(guessed, doubt=str(error), is_missing=is_missing(error))

    def _told(self, pasted: Pasted) -> Pasted:
        """Keys that no feed has say by themselves what is meant: selectors the page, patterns the sitemap."""
        given = {key for key, value in pasted.config.items() if value is not None} - {"url"}
        meant = (kind for kind in (WEBSITE_TYPE, SITEMAP_TYPE) if given & (self._registry.config_keys(kind) or set()))
        return pasted if pasted.type is not None else replace(pasted, type=next(meant, None))

    def _guess(self, pasted: Pasted, caller: Caller) -> DetectedType:
        text = pasted.text.strip()
        if pasted.type is not None and (found := self._registry.suggest(pasted.type, text)):
            return DetectedType(suggestion=found, address=None, is_sure=True)
        address = address_in(text)
        if address is not None:
            # Whatever it turns out to be, the catalogue has to be willing to ask for it.
            options = {key: value for key, value in pasted.config.items() if key in OPTION_KEYS}
            self._catalog.check(Draft(type=WEBSITE_TYPE, config={**options, "url": address}), caller)
        known = self._registry.recognise(address or text)
        if known is not None and pasted.type in {None, known.type}:
            return DetectedType(suggestion=known, address=address, is_sure=True)
        if address is None:
            raise InvalidInput(_neither(text), field="url")
        return DetectedType(suggestion=_by_spelling(address, pasted), address=address, is_sure=False)

    async def _explored(self, address: str, visit: _Visit) -> Resolved:
        """Ask for the address, and for what it leads to."""
        _, http = self._clients.client_for({**visit.pasted.config, "url": address})
        if number := podcast_id(address):
            return await visit.look(await find_podcast(http, self._services.apple_podcasts, number))
        found = await look_behind(http, self._clients.parsers, address)
        if found.page is None:
            return await visit.complete(found.suggestion, found.items)
        visit = replace(visit, icon=found.page.icon or visit.icon)
        unread = None
        for feed in found.feeds:
            seen = await visit.attempt(_feed_of_page(feed, found.suggestion.name))
            if not seen.is_no_feed and not is_title_of_comments(seen.name):
                return seen
            if unread is None and seen.is_no_feed and feed in found.named_feeds:
                unread = seen
        sitemap = await find_sitemap(http, self._clients.parsers, address, found.page)
        if sitemap:
            return await visit.complete(_instead_of(unread, sitemap, "its sitemap is followed"))
        return visit.seen(_instead_of(unread, found.suggestion, "the page itself is watched"), found.items)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Visit:
    """Looking at what one pasted text may stand for."""

    previewer: Previewer
    pasted: Pasted
    caller: Caller
    icon: str | None

    async def look(self, suggestion: Suggestion) -> Resolved:
        """With what it would bring. What can never work is raised."""
        resolved = _resolved(suggestion, self.pasted, icon=self.icon)
        return _with_preview(resolved, await self.previewer.look(resolved.draft, self.caller))

    async def attempt(self, suggestion: Suggestion) -> Resolved:
        """The same, but what cannot be read is a doubt."""
        resolved = _resolved(suggestion, self.pasted, icon=self.icon)
        try:
            preview = await self.previewer.look(resolved.draft, self.caller)
        except (ParseError, RefusedAddress) as error:
            preview = Preview(doubt=str(error), is_missing=True)
        return _with_preview(resolved, preview)

    async def complete(self, suggestion: Suggestion, items: Sequence[Item] = ()) -> Resolved:
        """With what was read on the way, or else with a look at it."""
        if not items and not (attempted := await self.attempt(suggestion)).is_no_feed:
            return attempted
        return self.seen(suggestion, items)

    def seen(self, suggestion: Suggestion, items: Sequence[Item]) -> Resolved:
        """With what was read on the way."""
        return _with_preview(_resolved(suggestion, self.pasted, icon=self.icon), Preview(items=items))


def _resolved(suggestion: Suggestion, pasted: Pasted, *, icon: str | None) -> Resolved:
    return Resolved(
        type=suggestion.type,
        name=plain_text(suggestion.name, MAX_NAME),
        config={**suggestion.config, **pasted.config},
        why=suggestion.why,
        icon=icon,
    )


def _with_preview(resolved: Resolved, preview: Preview) -> Resolved:
    """Named as it names itself, with the first of what it brings."""
    previewed = tuple(PreviewItem(title=item.title, url=item.url) for item in preview.items[:MAX_PREVIEWED])
    return replace(
        resolved,
        name=plain_text(preview.title, MAX_NAME) or resolved.name,
        preview=None if preview.doubt else previewed,
        doubt=preview.doubt,
        is_missing=preview.is_missing,
    )


def _by_spelling(address: str, pasted: Pasted) -> Suggestion:
    """What an address may be that nobody knows. A website finds out by itself what it is, once it can be reached."""
    kind = pasted.type or (FEED_TYPE if looks_like_feed(address) else WEBSITE_TYPE)
    why = "It was asked for." if pasted.type else f"It is spelt like the address of a {_SPELT[kind]}."
    return Suggestion(type=kind, config={"url": address}, name="", why=why)


def _feed_of_page(feed: str, name: str) -> Suggestion:
    return Suggestion(type=FEED_TYPE, config={"url": feed}, name=name, why="The page leads to this feed.")


def _instead_of(unread: Resolved | None, suggestion: Suggestion, what: str) -> Suggestion:
    """With the reason that the page does name a feed, but one that cannot be read."""
    if unread is None:
        return suggestion
    feed = redact_url(unread.config["url"])
    return replace(suggestion, why=f"The page names a feed at {feed}, but {what} instead: {unread.doubt}.")


def _usual_icon(address: str | None) -> str | None:
    """Where a site has its icon that does not say so."""
    return str(URL(address).origin() / "favicon.ico") if address else None


def _neither(text: str) -> str:
    shown = plain_text(text, MAX_NAME)
    return f"{shown!r} is not an http:// or https:// address, nor a name such as @handle, r/python or hn."


class FirstContact:
    """What was added while it could not be reached is looked at when it can be, and becomes what it is."""

    def __init__(self, *, resolver: Resolver, catalog: Catalog) -> None:
        self._resolver = resolver
        self._catalog = catalog

    async def resolve(self, source: Source) -> Source:
        """The source as what it turned out to be; as it is where it still cannot be reached, or leads nowhere."""
        url = source.config.get("url")
        if SEALED_KEY in source.config or not isinstance(url, str):
            # An address that is sealed opens only where it is collected: it stays what it was taken for.
            return source
        rest = {key: value for key, value in source.config.items() if key not in {"url", UNRESOLVED_KEY}}
        try:
            found = await self._resolver.resolve(Pasted(text=url, config=rest), OPERATOR)
        except (InvalidInput, VisitError):
            return source
        return source if found.doubt else await self._become(source, found)

    async def _become(self, source: Source, found: Resolved) -> Source:
        """The catalogue leaves it alone where somebody changed it while it was looked at."""
        try:
            return await self._catalog.change(source.id, _as(source, found), OPERATOR)
        except Conflict:
            # Its feed is followed already: this one goes on as the page that was asked for.
            config = {key: value for key, value in source.config.items() if key != UNRESOLVED_KEY}
            return await self._catalog.change(source.id, Change(config=config, seen_version=source.version), OPERATOR)


def _as(source: Source, found: Resolved) -> Change:
    """A name that somebody gave it stays."""
    is_unnamed = source.name == default_name(source.type, source.config)
    name = found.name or None if is_unnamed else None
    return Change(type=found.type, config=found.config, name=name, seen_version=source.version)
