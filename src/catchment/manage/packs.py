"""Source packs as people manage them: made, listed, installed, passed on as a file.

A pack goes from hand to hand, so it carries no secret and opens no door: what is confidential is left out when it is
made, and what asks for more trust than a stranger deserves is refused when it is installed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from sqlalchemy import Connection

from catchment.clock import Clock
from catchment.domain.audit_trail import deed
from catchment.domain.caller import Caller
from catchment.domain.confidential import RISKY_OPTIONS, has_secret_address, names_of, secret_paths, without
from catchment.domain.feed import slug_of
from catchment.domain.item import is_storable
from catchment.domain.listing import (
    BadLine,
    LinedList,
    ListedSource,
    ListFormat,
    Pack,
    SourceList,
    as_entry,
    read_entries,
)
from catchment.errors import Forbidden, InvalidInput, NotFound, VisitError
from catchment.manage.catalog import Added, Catalog, Draft
from catchment.manage.import_export import (
    ImportedLine,
    LineResult,
    add_entries,
    draft_of,
    listed_of,
    refuse_risky,
)
from catchment.manage.subscriptions import Subscriptions
from catchment.publish.opml import write_json, write_yaml
from catchment.store import config, packs
from catchment.store.audit_trail import recorded
from catchment.store.database import Store
from catchment.store.sources import identity_hash

#: Kept in the config table once the pack was offered, so that what a person removed does not return.
OFFERED = "CATCHMENT_STARTER_PACK"


def _feed(name: str, url: str, *tags: str) -> Draft:
    return Draft(type="rss", name=name, config={"url": url}, tags=tags)


STARTER_PACK = (
    _feed("Hacker News", "https://news.ycombinator.com/rss", "tech"),
    _feed("LWN.net", "https://lwn.net/headlines/rss", "tech"),
    _feed("Python Insider", "https://blog.python.org/feeds/posts/default", "python"),
    _feed("BBC News: World", "https://feeds.bbci.co.uk/news/world/rss.xml", "news"),
    _feed("Nature", "https://www.nature.com/nature.rss", "science"),
    _feed("少数派", "https://sspai.com/feed", "中文"),
    _feed("阮一峰的网络日志", "https://www.ruanyifeng.com/blog/atom.xml", "中文"),
    _feed("Solidot", "https://www.solidot.org/index.rss", "中文", "tech"),
)


async def add_starter_pack(catalog: Catalog, store: Store, clock: Clock, caller: Caller) -> int:
    """Add the pack where there is no source yet and it was never offered; how many were added."""
    if not await store.write(_offer, now=clock.now()) or await catalog.list(caller):
        return 0
    outcomes = await catalog.add_many(STARTER_PACK, caller)
    return sum(isinstance(outcome, Added) for outcome in outcomes)


def _offer(conn: Connection, *, now: datetime) -> bool:
    """True for the first to ask, also when several start at once."""
    if OFFERED in config.read_config(conn):
        return False
    config.set_config(conn, {OFFERED: "offered"}, now=now)
    return True


MAX_NAME, MAX_DESCRIPTION, MAX_SOURCES = 200, 2000, 2000
#: Identities looked up in one query.
_LOOKED_UP = 500
_NOT_FROM_A_PACK = "which no pack may"


@dataclass(frozen=True, slots=True, kw_only=True)
class PackDraft:
    name: str
    listing: SourceList
    description: str = ""
    slug: str = ""
    is_public: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class Made:
    pack: Pack
    #: What of the sources is not in the pack, a sentence each.
    notes: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Installed:
    lines: tuple[ImportedLine, ...]

    @property
    def added(self) -> int:
        return sum(line.result is LineResult.ADDED for line in self.lines)

    @property
    def skipped(self) -> int:
        return len(self.lines) - self.added


class Packs:
    def __init__(self, *, store: Store, catalog: Catalog, subscriptions: Subscriptions, clock: Clock) -> None:
        self._store = store
        self._catalog = catalog
        self._subscriptions = subscriptions
        self._clock = clock

    async def make(self, draft: PackDraft, caller: Caller) -> Made:
        name = " ".join(draft.name.split())
        if not 0 < len(name) <= MAX_NAME or not is_storable(name):
            raise InvalidInput(f"A pack's name has 1 to {MAX_NAME} characters.", field="name")
        if len(draft.description) > MAX_DESCRIPTION or not is_storable(draft.description):
            raise InvalidInput(f"A description has at most {MAX_DESCRIPTION} characters.", field="description")
        if len(draft.listing.entries) > MAX_SOURCES:
            raise InvalidInput(f"A pack has at most {MAX_SOURCES:,} sources.", field="sources")
        shared = [_shared(entry) for entry in draft.listing.entries]
        now = self._clock.now()
        pack = await self._store.write(
            recorded,
            deed("pack.make", f"pack {name}", now=now, caller=caller),
            packs.add,
            slug=slug_of(draft.slug or name, otherwise="pack"),
            name=name,
            description=draft.description,
            entries=[as_entry(entry) for entry, _ in shared if entry is not None],
            is_public=draft.is_public,
            created_by=caller.user_id,
            now=now,
        )
        return Made(pack=pack, notes=tuple(note for _, note in shared if note))

    async def make_from_sources(
        self, draft: PackDraft, caller: Caller, *, ids: Sequence[int] = (), tags: Sequence[str] = ()
    ) -> Made:
        """A pack of the caller's own sources: those named, those with one of the tags, or all."""
        mine = [source for source in await self._catalog.list(caller) if caller.may_change(source)]
        missing = set(ids) - {source.id for source in mine}
        if missing:
            raise NotFound(f"There is no source {min(missing)} of yours.")
        unused = set(tags) - {tag for source in mine for tag in source.tags}
        if unused:
            raise NotFound(f"No source of yours has the tag {min(unused)!r}.")
        chosen = [one for one in mine if not (ids or tags) or one.id in ids or set(tags) & set(one.tags)]
        return await self.make(replace(draft, listing=SourceList(entries=tuple(map(listed_of, chosen)))), caller)

    async def list(self, caller: Caller) -> list[Pack]:
        return [pack for pack in await self._store.read(packs.list_all) if pack.is_seen_by(caller)]

    async def show(self, slug: str, caller: Caller) -> Pack:
        # No other text can be a slug, and not every store could look for it.
        pack = await self._store.read(packs.find, slug) if slug.isascii() and slug.isprintable() else None
        return _seen(pack, slug, caller)

    async def remove(self, pack_id: int, caller: Caller) -> None:
        pack = _seen(await self._store.read(packs.get, pack_id), pack_id, caller)
        if not caller.may_change_what_is_of(pack.created_by):
            raise Forbidden(f"The pack {pack.slug!r} belongs to somebody else.")
        entry = deed("pack.remove", f"pack {pack.slug}", now=self._clock.now(), caller=caller)
        await self._store.write(recorded, entry, packs.remove, pack_id)

    async def install(self, slug: str, caller: Caller) -> Installed:
        pack = await self.show(slug, caller)
        installed = await self.install_entries(read_places(pack.sources), caller)
        await self._store.write(packs.count_install, pack.id)
        return installed

    async def install_entries(self, entries: Sequence[ListedSource | BadLine], caller: Caller) -> Installed:
        """Add what the caller does not have, as private sources. What they once removed is not brought back."""
        offered = [_private(refuse_risky(entry, _NOT_FROM_A_PACK)) for entry in entries]
        lines = await add_entries(self._catalog, await self._without_removed(offered, caller), caller)
        if caller.user_id is not None:
            known = [line.source_id for line in lines if line.source_id is not None]
            await self._subscriptions.add_many(known, caller)
        return Installed(lines=tuple(lines))

    async def _without_removed(
        self, entries: Sequence[ListedSource | BadLine], caller: Caller
    ) -> Sequence[ListedSource | BadLine]:
        hashes = [self._hash(entry, caller) for entry in entries]
        known = [found for found in hashes if found is not None]
        removed: set[str] = set()
        for start in range(0, len(known), _LOOKED_UP):
            batch = known[start : start + _LOOKED_UP]
            removed |= await self._store.read(packs.removed_by, caller.user_id, batch)
        why = "You removed it once, so it is not brought back."
        return [
            entry.refused(why) if isinstance(entry, ListedSource) and found in removed else entry
            for entry, found in zip(entries, hashes, strict=True)
        ]

    def _hash(self, entry: ListedSource | BadLine, caller: Caller) -> str | None:
        """None for what cannot be a source; adding it will say why."""
        if isinstance(entry, BadLine):
            return None
        try:
            new = self._catalog.check(draft_of(entry), caller)
        except (InvalidInput, VisitError):
            return None
        return identity_hash(new.type, new.identity)


def _seen(pack: Pack | None, named: str | int, caller: Caller) -> Pack:
    if pack is None or not pack.is_seen_by(caller):
        raise NotFound(f"There is no pack {named!r}.")
    return pack


def read_places(sources: Sequence[Any]) -> tuple[ListedSource | BadLine, ...]:
    """The sources of a pack; the line of each is its place."""
    return read_entries(LinedList(values=list(sources), lines=list(range(1, len(sources) + 1))))


def write_pack(pack: Pack, form: ListFormat) -> bytes:
    """The pack as a file, for `packs install` or `import` anywhere else."""
    document: Mapping[str, Any] = {
        "name": pack.name,
        "slug": pack.slug,
        "description": pack.description,
        "sources": [dict(entry) for entry in pack.sources],
    }
    return write_yaml(document) if form is ListFormat.YAML else write_json(document)


def _shared(entry: ListedSource | BadLine) -> tuple[ListedSource | None, str]:
    """The entry as strangers may have it, and what was left out."""
    if isinstance(entry, BadLine):
        return None, f"Left out entry {entry.line}: {entry.reason}"
    if has_secret_address(entry.config):
        return None, f"Left out {entry.name!r}: its address holds a secret."
    secrets = secret_paths(entry.config)
    paths = [*secrets, *((option,) for option in RISKY_OPTIONS if option in entry.config)]
    bare = replace(entry, config=without(entry.config, paths), is_public=False, is_active=None)
    return bare, f"Left out of {entry.name!r}: {names_of(paths)}." if paths else ""


def _private(entry: ListedSource | BadLine) -> ListedSource | BadLine:
    return replace(entry, is_public=False, is_active=None) if isinstance(entry, ListedSource) else entry
