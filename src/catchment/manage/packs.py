"""Source packs as people manage them: made, listed, installed, passed on as a file.

A pack goes from hand to hand, so it carries no secret and opens no door: what is confidential is left out when it is
made, and what asks for more trust than a stranger deserves is refused when it is installed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from catchment.clock import Clock
from catchment.domain.caller import Caller
from catchment.domain.confidential import RISKY_OPTIONS, has_secret_address, names_of, secret_paths, without
from catchment.domain.listing import BadLine, LinedList, Listed, Listing, as_entry, read_entries
from catchment.domain.pack import Pack
from catchment.domain.slug import slug_of
from catchment.domain.storable import is_storable
from catchment.errors import Forbidden, InvalidInput, NotFound, VisitError
from catchment.manage.catalog import Catalog
from catchment.manage.exporting import listed_of
from catchment.manage.forms import Format
from catchment.manage.importing import ImportedLine, LineResult, add_entries, draft_of, refuse_risky
from catchment.manage.subscriptions import Subscriptions
from catchment.publish.listing import write_json, write_yaml
from catchment.store import packs
from catchment.store.door import Store
from catchment.store.sources import identity_hash

MOST_NAME, MOST_DESCRIPTION, MOST_SOURCES = 200, 2000, 2000
#: Identities looked up in one query.
_LOOKED_UP = 500
_NOT_FROM_A_PACK = "which no pack may"


@dataclass(frozen=True, slots=True, kw_only=True)
class PackDraft:
    name: str
    listing: Listing
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
        if not 0 < len(name) <= MOST_NAME or not is_storable(name):
            raise InvalidInput(f"A pack's name has 1 to {MOST_NAME} characters.", field="name")
        if len(draft.description) > MOST_DESCRIPTION or not is_storable(draft.description):
            raise InvalidInput(f"A description has at most {MOST_DESCRIPTION} characters.", field="description")
        if len(draft.listing.entries) > MOST_SOURCES:
            raise InvalidInput(f"A pack has at most {MOST_SOURCES:,} sources.", field="sources")
        shared = [_shared(entry) for entry in draft.listing.entries]
        pack = await self._store.write(
            packs.add,
            slug=slug_of(draft.slug or name, otherwise="pack"),
            name=name,
            description=draft.description,
            entries=[as_entry(entry) for entry, _ in shared if entry is not None],
            is_public=draft.is_public,
            created_by=caller.user_id,
            now=self._clock.now(),
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
        chosen = [one for one in mine if not (ids or tags) or one.id in ids or set(tags) & set(one.tags)]
        return await self.make(replace(draft, listing=Listing(entries=tuple(map(listed_of, chosen)))), caller)

    async def list(self, caller: Caller) -> list[Pack]:
        return [pack for pack in await self._store.read(packs.list_all) if pack.is_seen_by(caller)]

    async def show(self, slug: str, caller: Caller) -> Pack:
        # No other text can be a slug, and not every store could look for it.
        pack = await self._store.read(packs.find, slug) if slug.isascii() and slug.isprintable() else None
        if pack is None or not pack.is_seen_by(caller):
            raise NotFound(f"There is no pack {slug!r}.")
        return pack

    async def remove(self, pack_id: int, caller: Caller) -> None:
        pack = await self._store.read(packs.get, pack_id)
        if pack is None or not pack.is_seen_by(caller):
            raise NotFound(f"There is no pack {pack_id}.")
        if not caller.may_change_what_is_of(pack.created_by):
            raise Forbidden(f"The pack {pack.slug!r} belongs to somebody else.")
        await self._store.write(packs.remove, pack_id)

    async def install(self, slug: str, caller: Caller) -> Installed:
        pack = await self.show(slug, caller)
        installed = await self.install_entries(read_places(pack.sources), caller)
        await self._store.write(packs.count_install, pack.id)
        return installed

    async def install_entries(self, entries: Sequence[Listed | BadLine], caller: Caller) -> Installed:
        """Add what the caller does not have, as private sources. What they once removed is not brought back."""
        offered = [_private(refuse_risky(entry, _NOT_FROM_A_PACK)) for entry in entries]
        lines = await add_entries(self._catalog, await self._without_removed(offered, caller), caller)
        if caller.user_id is not None:
            known = [line.source_id for line in lines if line.source_id is not None]
            await self._subscriptions.add_many(known, caller)
        return Installed(lines=tuple(lines))

    async def _without_removed(self, entries: Sequence[Listed | BadLine], caller: Caller) -> Sequence[Listed | BadLine]:
        hashes = {position: self._hash(entry, caller) for position, entry in enumerate(entries)}
        known = [found for found in hashes.values() if found is not None]
        removed: set[str] = set()
        for start in range(0, len(known), _LOOKED_UP):
            batch = known[start : start + _LOOKED_UP]
            removed |= await self._store.read(packs.removed_by, caller.user_id, batch)
        return [
            _bad(entry, "You removed it once, so it is not brought back.") if hashes[position] in removed else entry
            for position, entry in enumerate(entries)
        ]

    def _hash(self, entry: Listed | BadLine, caller: Caller) -> str | None:
        """None for what cannot be a source; adding it will say why."""
        if isinstance(entry, BadLine):
            return None
        try:
            new = self._catalog.check(draft_of(entry), caller)
        except (InvalidInput, VisitError):
            return None
        return identity_hash(new.type, new.identity)


def read_places(sources: Sequence[Any]) -> tuple[Listed | BadLine, ...]:
    """The sources of a pack; the line of each is its place."""
    return read_entries(LinedList(values=list(sources), lines=list(range(1, len(sources) + 1))))


def write_pack(pack: Pack, form: Format) -> bytes:
    """The pack as a file, for `packs install` or `import` anywhere else."""
    document: Mapping[str, Any] = {
        "name": pack.name,
        "slug": pack.slug,
        "description": pack.description,
        "sources": [dict(entry) for entry in pack.sources],
    }
    return write_yaml(document) if form is Format.YAML else write_json(document)


def _shared(entry: Listed | BadLine) -> tuple[Listed | None, str]:
    """The entry as strangers may have it, and what was left out."""
    if isinstance(entry, BadLine):
        return None, f"Left out entry {entry.line}: {entry.reason}"
    if has_secret_address(entry.config):
        return None, f"Left out {entry.name!r}: its address holds a secret."
    secrets = secret_paths(entry.config)
    paths = [*secrets, *((option,) for option in RISKY_OPTIONS if option in entry.config)]
    bare = replace(entry, config=without(entry.config, paths), is_public=False, is_active=None)
    return bare, f"Left out of {entry.name!r}: {names_of(paths)}." if paths else ""


def _private(entry: Listed | BadLine) -> Listed | BadLine:
    return replace(entry, is_public=False, is_active=None) if isinstance(entry, Listed) else entry


def _bad(entry: Listed | BadLine, why: str) -> BadLine:
    return BadLine(line=entry.line, name=entry.name, address=entry.address, reason=why)
