"""The catalogue: sources as people manage them. Every door (API, CLI, import) goes through here."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, TypeVar

from loguru import logger
from sqlalchemy import Connection

from catchment.clock import Clock
from catchment.crypto import Unsealable, Vault
from catchment.domain.audit_trail import changed_values, deed
from catchment.domain.caller import Caller
from catchment.domain.confidential import mask_paths, masked, restored
from catchment.domain.item import checked_line, is_storable
from catchment.domain.listing import HTML_URL
from catchment.domain.options import (
    ALLOW_PRIVATE_KEY,
    INTERVAL_KEY,
    KEEP_DAYS_KEY,
    OPTION_KEYS,
    SEALED_KEY,
    UNRESOLVED_KEY,
    has_options,
    read_options,
)
from catchment.domain.sealing import is_plain, open_config, seal_config
from catchment.domain.source import CHANNEL_KEY, MAX_NAME, RESTING, UNDO, NewSource, NextCheck, PausedBy, Source, Why
from catchment.engine.cadence import Cadences
from catchment.errors import CatchmentError, Conflict, Forbidden, InvalidInput, NotFound, VisitError
from catchment.fetch.guard import AddressGuard
from catchment.redact import redact_url
from catchment.schedule.due import after_interval_change
from catchment.schedule.intervals import MAX_MINUTES, read_minutes
from catchment.settings.spec import refuse_unknown
from catchment.sources.registry import Registry, default_name
from catchment.store import audit_trail, changes, overview, sources
from catchment.store.database import Store
from catchment.store.source_list import (
    SourceOutline,
    SourceQuery,
    count_tags,
    list_names,
    list_outlines,
    list_types,
)

T = TypeVar("T")


#: What is found by its spelling alone while it cannot be reached, and then looked at.
RESOLVABLE = frozenset({"rss", "website", "sitemap"})
#: Sources added in one transaction.
BATCH = 500
#: Removed sources that are listed.
MAX_REMOVED = 500
#: Of what somebody may choose from so many are offered; and it is kept for so many.
MAX_OFFERED, MAX_OFFERED_TO = 200, 1_000
MAX_CONFIG_CHARS, MAX_TAGS, MAX_TAG = 65_536, 50, 100


@dataclass(frozen=True, slots=True, kw_only=True)
class Draft:
    """A source as somebody describes it."""

    type: str
    config: Mapping[str, Any]
    name: str = ""
    is_public: bool = False
    tags: tuple[str, ...] = ()
    fetch_interval_minutes: Any = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """What somebody wants changed; None leaves a thing as it is."""

    name: str | None = None
    type: str | None = None
    config: Mapping[str, Any] | None = None
    is_active: bool | None = None
    is_public: bool | None = None
    tags: tuple[str, ...] | None = None
    #: 0 goes back to the type's interval.
    fetch_interval_minutes: Any = None
    #: Nothing is changed where somebody else changed it since it was this version.
    seen_version: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Removed:
    source: Source
    at: datetime
    #: Until then it can be had back.
    until: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Added:
    source: Source


@dataclass(frozen=True, slots=True, kw_only=True)
class Refused:
    """It was not added; the error says why, and a Conflict names the one that is there already."""

    error: CatchmentError


@dataclass(frozen=True, slots=True, kw_only=True)
class Offers:
    """Types, the commonest tags, and the first names in the order of the alphabet."""

    types: Sequence[str]
    tags: Sequence[str]
    names: Sequence[str]
    #: How often the catalogue had been edited by then.
    edits: int


class Catalog:
    def __init__(
        self,
        *,
        store: Store,
        registry: Registry,
        guard: AddressGuard,
        cadences: Cadences,
        vault: Vault,
        clock: Clock,
    ) -> None:
        self._store = store
        self._registry = registry
        self._guard = guard
        self._own_guard = guard.with_private()
        self._cadences = cadences
        self._vault = vault
        self._clock = clock
        self._offers: dict[tuple[int | None, bool], Offers] = {}

    def check(self, draft: Draft, caller: Caller) -> NewSource:
        """What would be stored, or InvalidInput, RefusedAddress or BadConfig that says what is wrong."""
        source_type = self._checked_type(draft.type)
        config = _without_stray_mark(source_type, _checked_config(draft.config))
        self._refuse_unknown_keys(source_type, config)
        if draft.fetch_interval_minutes is not None:
            config = {**config, INTERVAL_KEY: draft.fetch_interval_minutes}
        config = self._with_checked_options(_with_checked_interval(restored(config, {})), caller)
        identity = self.identity(source_type, config)
        return NewSource(
            name=checked_line(draft.name or default_name(source_type, config), "name", most=MAX_NAME),
            type=source_type,
            config=seal_config(config, self._vault),
            identity=identity,
            is_public=draft.is_public,
            created_by=caller.user_id,
            tags=_checked_tags(draft.tags),
            host=self._registry.host(source_type, config),
        )

    async def add(self, draft: Draft, caller: Caller) -> Source:
        """Store a source, due at once. One that the caller knows of already is a Conflict that names it."""
        new = self.check(draft, caller)
        return await self._store.write(_add, new, caller, now=self._clock.now())

    async def find_twin(self, draft: Draft, caller: Caller) -> Source | None:
        """The source that the caller knows of already, for which adding this one would be a Conflict."""
        new = self._checked(draft, caller)
        return None if isinstance(new, Refused) else await self._store.read(_twin_of, new, caller)

    async def add_many(self, drafts: Sequence[Draft], caller: Caller) -> Sequence[Added | Refused]:
        """Add each that can be added, in a few transactions; what becomes of each, in the order given."""
        outcomes: list[Added | Refused] = []
        for start in range(0, len(drafts), BATCH):
            checked = [self._checked(draft, caller) for draft in drafts[start : start + BATCH]]
            new = [one for one in checked if isinstance(one, NewSource)]
            stored = iter(await self._store.write(_add_batch, new, caller, now=self._clock.now()))
            outcomes += [one if isinstance(one, Refused) else next(stored) for one in checked]
        return outcomes

    async def get(self, source_id: int, caller: Caller) -> Source:
        source = await self._store.read(sources.get, source_id)
        return _visible(source, source_id, caller)

    async def list(self, caller: Caller, *, most: int | None = None, after_id: int = 0) -> list[Source]:
        """Those that the caller may see, the oldest first; all of them unless `most` says how many."""
        return await self._store.read(sources.list_visible, caller, limit=most, after_id=after_id)

    async def pages(self, caller: Caller, *, most: int) -> AsyncIterator[Sequence[Source]]:
        """All of them, so many at a time."""
        after_id = 0
        while found := await self.list(caller, most=most, after_id=after_id):
            yield found
            after_id = found[-1].id

    async def outlines(self, caller: Caller) -> Sequence[SourceOutline]:
        """All of them by one look, each without what it takes to show it."""
        return await self._store.read(list_outlines, SourceQuery(caller=caller))

    async def offers(self, caller: Caller) -> Offers:
        """What there is to choose from, as far as the caller may see it: read anew once the catalogue was edited."""
        whose = (caller.user_id, caller.sees_all)
        offers = await self._store.read(_read_offers, caller, self._offers.get(whose))
        if len(self._offers) >= MAX_OFFERED_TO:
            self._offers.clear()
        self._offers[whose] = offers
        return offers

    async def find(self, source_ids: Sequence[int], caller: Caller) -> Sequence[Source]:
        """In the order given, without those that are gone or not for the caller to see."""
        return [one for one in await self._store.read(sources.get_many, source_ids) if caller.may_see(one)]

    async def count(self, caller: Caller) -> int:
        counts = await self._store.read(overview.count_sources, caller)
        return counts.total

    async def change(self, source_id: int, change: Change, caller: Caller) -> Source:
        # Loaded first: a new interval is applied against the other sources of truth.
        await self._cadences.load()
        changed = await self._store.write(self._change, source_id, change, caller)
        if change.is_active is not None:
            told = logger.bind(event="source.resumed" if changed.is_active else "source.paused", source_id=changed.id)
            told.info("source {} ({}): {} set is_active", changed.id, changed.name, caller.name)
        return changed

    async def change_many(self, source_ids: Sequence[int], change: Change, caller: Caller) -> Sequence[Source]:
        """Change all of them, or none where one cannot be changed."""
        await self._cadences.load()
        return await self._store.write(_each, source_ids, lambda conn, one: self._change(conn, one, change, caller))

    async def remove(self, source_id: int, caller: Caller) -> None:
        """Out of every list at once; for a day it can be had back with all that belongs to it."""
        await self._store.write(self._remove, source_id, caller)

    async def remove_many(self, source_ids: Sequence[int], caller: Caller) -> None:
        await self._store.write(_each, source_ids, lambda conn, one: self._remove(conn, one, caller))

    async def restore(self, source_id: int, caller: Caller) -> Source:
        """Take a removal of the last day back; Conflict if the same source was added again since."""
        return await self._store.write(self._restore, source_id, caller)

    async def restore_many(self, source_ids: Sequence[int], caller: Caller) -> Sequence[Source]:
        return await self._store.write(_each, source_ids, lambda conn, one: self._restore(conn, one, caller))

    async def list_removed(self, caller: Caller) -> Sequence[Removed]:
        """What the caller can have back, the last first."""
        since = self._clock.now() - UNDO
        found = await self._store.read(sources.list_removed, since=since, limit=MAX_REMOVED)
        return [Removed(source=one, at=at, until=at + UNDO) for one, at in found if caller.may_change(one)]

    async def make_due(self, source_id: int, caller: Caller) -> Source:
        """Have it looked at as soon as somebody collects, unless it is paused. Conflict where nobody here can."""
        return await self._store.write(self._make_due, source_id, caller)

    async def seal_plain(self) -> int:
        """Seal the secrets that were stored before they were sealed; says of how many sources."""
        sealed, after_id = 0, 0
        while found := await self._store.read(sources.page_with_doubtful_config, after_id=after_id, limit=BATCH):
            for source in filter(lambda one: is_plain(one.config), found):
                try:
                    config = seal_config(open_config(source.config, self._vault), self._vault)
                except Unsealable as error:
                    logger.warning("source {} ({}): {}", source.id, source.name, error)
                    continue
                sealed += await self._store.write(sources.set_config, source, config)
            after_id = found[-1].id
        return sealed

    def _checked(self, draft: Draft, caller: Caller) -> NewSource | Refused:
        try:
            return self.check(draft, caller)
        except (Forbidden, InvalidInput, VisitError) as error:
            return Refused(error=error)

    def _change(self, conn: Connection, source_id: int, change: Change, caller: Caller) -> Source:
        source = _changeable(conn, source_id, caller)
        if change.seen_version not in {None, source.version}:
            return source
        now = self._clock.now()
        values: dict[str, Any] = {}
        if change.name is not None:
            values["name"] = checked_line(change.name, "name", most=MAX_NAME)
        if change.is_public is not None:
            values["is_public"] = change.is_public
        if change.tags is not None:
            values["tags"] = list(_checked_tags(change.tags))
        values |= self._changed_config(source, change, caller, now)
        values |= _changed_activity(source, change.is_active, now)
        if not values:
            return source
        changed = sources.change(conn, source_id, values, now=now)
        _record(conn, "source.change", changed, what_changed(source, changed), caller=caller, now=now)
        return changed

    def _changed_config(self, source: Source, change: Change, caller: Caller, now: datetime) -> dict[str, Any]:
        """A new address starts afresh; a new interval moves the next check."""
        if change.config is None and change.type is None and change.fetch_interval_minutes is None:
            return {}
        source_type = self._checked_type(change.type) if change.type is not None else source.type
        # What was stored before keys were checked stays as it is.
        self._refuse_unknown_keys(source_type, (change.config or {}).keys() - source.config.keys())
        config, identity = self._wanted_config(source, source_type, change, caller)
        values: dict[str, Any] = {
            "type": source_type,
            "config": config,
            "identity": identity,
            "host": self._registry.host(source_type, config),
            "keep_days": config.get(KEEP_DAYS_KEY),
        }
        if identity != source.identity:
            return {**values, "memory": {}, "moved": None, **_due_at_new_address(source, now)}
        changed = replace(source, type=source_type, config=config)
        check = after_interval_change(changed, self._cadences.of(changed))
        return {**values, **sources.schedule_columns(check)}

    def _wanted_config(
        self, source: Source, source_type: str, change: Change, caller: Caller
    ) -> tuple[dict[str, Any], str]:
        """As it is stored, with its identity. A new interval alone leaves the secrets sealed as they are."""
        if change.config is None and change.type is None:
            config = _with_checked_interval(_with_interval(source.config, change.fetch_interval_minutes))
            return self._with_checked_options(config, caller), source.identity
        wanted = _without_stray_mark(source_type, self._plain(source, change))
        plain = _with_checked_interval(_with_interval(wanted, change.fetch_interval_minutes))
        identity = self.identity(source_type, self._with_checked_options(plain, caller))
        return seal_config(plain, self._vault), sources.identity_hash(source_type, identity)

    def _plain(self, source: Source, change: Change) -> Mapping[str, Any]:
        """A secret is shown as a mask; one that comes back as the mask is the one that was there."""
        wanted = None if change.config is None else _checked_config(change.config)
        if wanted is not None and not mask_paths(wanted):
            return wanted
        try:
            stored = open_config(source.config, self._vault)
        except Unsealable as error:
            raise InvalidInput(f"The secrets of source {source.id} do not open: write them all out.") from error
        return stored if wanted is None else restored(wanted, stored)

    def _remove(self, conn: Connection, source_id: int, caller: Caller) -> None:
        source, now = _changeable(conn, source_id, caller), self._clock.now()
        sources.delete(conn, source_id, now=now)
        _record(conn, "source.remove", source, caller=caller, now=now)

    def _restore(self, conn: Connection, source_id: int, caller: Caller) -> Source:
        source, now = sources.get_for_change(conn, [source_id]).get(source_id), self._clock.now()
        removed_at = sources.removed_at(conn, source_id)
        if source is None or removed_at is None or not caller.may_change(source) or now - removed_at > UNDO:
            raise NotFound(f"There is no source {source_id} that was removed within the last day.")
        try:
            restored_source = sources.restore(conn, source, _check_again(source, now), now=now)
        except Conflict as error:
            raise Conflict(
                f"Source {source_id} ({source.name}) was added again since it was removed: remove the new one first."
            ) from error
        _record(conn, "source.restore", restored_source, caller=caller, now=now)
        return restored_source

    def _make_due(self, conn: Connection, source_id: int, caller: Caller) -> Source:
        source, now = _changeable(conn, source_id, caller), self._clock.now()
        if why := self._registry.why_skipped(source.type):
            raise Conflict(why)
        if source.is_active:
            sources.reschedule(conn, [(source_id, NextCheck(at=now, why=Why.NEW))])
        _record(conn, "source.fetch", source, caller=caller, now=now)
        return source

    def _checked_type(self, source_type: object) -> str:
        known = sorted(self._registry)
        if source_type not in known:
            raise InvalidInput(f"There is no source type {source_type!r}; there are {', '.join(known)}.", field="type")
        return str(source_type)

    def _refuse_unknown_keys(self, source_type: str, keys: Collection[str]) -> None:
        own = self._registry.config_keys(source_type)
        if own is None:
            return
        known = [*sorted(own), *sorted(OPTION_KEYS - {SEALED_KEY, UNRESOLVED_KEY}), CHANNEL_KEY, HTML_URL]
        refuse_unknown(f"The config of a {source_type} source", set(keys).difference(OPTION_KEYS), known)

    def _with_checked_options(self, config: dict[str, Any], caller: Caller) -> dict[str, Any]:
        """The config, once everything in it is known to be right."""
        if not has_options(config):
            return config
        options = read_options(config)
        if options.allow_private and not caller.is_admin:
            raise Forbidden("Only an administrator may let a source reach private addresses (allow_private).")
        return config

    def identity(self, source_type: str, config: Mapping[str, Any]) -> str:
        """What makes it the same source as another, once its address is one that may be asked."""
        if isinstance(config.get("url"), str):
            guard = self._own_guard if config.get(ALLOW_PRIVATE_KEY) else self._guard
            guard.check_url(config["url"].strip())
        return self._registry.identity(source_type, config)


def _twin_of(conn: Connection, new: NewSource, caller: Caller) -> Source | None:
    return sources.find_twin(conn, new.type, new.identity, owner=new.created_by, anybodys=caller.sees_all)


def _add(conn: Connection, new: NewSource, caller: Caller, *, now: datetime) -> Source:
    twin = _twin_of(conn, new, caller)
    if twin is not None:
        raise _exists(twin)
    source = sources.add(conn, new, now=now)
    if new.created_by is not None:
        sources.subscribe(conn, new.created_by, source.id, now=now)
    _record(conn, "source.add", source, _address_of(source), caller=caller, now=now)
    return source


def _add_batch(
    conn: Connection, new: Sequence[NewSource], caller: Caller, *, now: datetime
) -> Sequence[Added | Refused]:
    hashes = [sources.identity_hash(one.type, one.identity) for one in new]
    known = sources.find_twins(conn, hashes, owner=caller.user_id, anybodys=caller.sees_all)
    fresh: dict[str, NewSource] = {}
    for hash_, one in zip(hashes, new, strict=True):
        if hash_ not in known:
            fresh.setdefault(hash_, one)
    added = {source.identity: source for source in sources.add_all(conn, list(fresh.values()), now=now)}
    for source in added.values():
        _record(conn, "source.add", source, _address_of(source), caller=caller, now=now)
    if caller.user_id is not None:
        for source in added.values():
            sources.subscribe(conn, caller.user_id, source.id, now=now)
    outcomes: list[Added | Refused] = []
    for hash_ in hashes:
        if hash_ in known:
            outcomes.append(Refused(error=_exists(known[hash_])))
        else:
            # A second one in the same batch meets the first.
            known[hash_] = added[hash_]
            outcomes.append(Added(source=added[hash_]))
    return outcomes


def _check_again(source: Source, now: datetime) -> NextCheck:
    """When one that is back is looked at: at once, unless something but errors has it rest."""
    if source.is_active:
        return NextCheck(at=now, why=Why.NEW)
    return NextCheck(at=now if source.paused_by is PausedBy.ERROR else None, why=Why.PROBE)


def _each(conn: Connection, source_ids: Sequence[int], work: Callable[[Connection, int], T]) -> list[T]:
    """In one order, so that two who do it at once do not wait for each other for ever."""
    if len(source_ids) > BATCH:
        raise InvalidInput(f"At most {BATCH} sources at once.", field="ids")
    return [work(conn, one) for one in sorted(set(source_ids))]


def _record(conn: Connection, action: str, source: Source, summary: str = "", *, caller: Caller, now: datetime) -> None:
    entry = deed(action, f"source {source.id} ({source.name})", summary, now=now, caller=caller)
    audit_trail.record(conn, entry)


def _address_of(source: Source) -> str:
    url = source.config.get("url")
    return f"{source.type} {redact_url(url)}" if isinstance(url, str) else source.type


def what_changed(before: Source, after: Source) -> str:
    """Of a config by name alone, but for what everybody may read."""
    old, new = masked(before.config), masked(after.config)
    keys = sorted(key for key in {*old, *new} - {INTERVAL_KEY} if old.get(key) != new.get(key))
    told = changed_values(_telling(before), _telling(after))
    return "; ".join(filter(None, [told, f"config: {', '.join(keys)}" if keys else ""]))


def _telling(source: Source) -> dict[str, Any]:
    return {
        "name": source.name,
        "type": source.type,
        "tags": source.tags,
        "public": source.is_public,
        "active": source.is_active,
        "interval": source.config.get(INTERVAL_KEY),
    }


def _exists(twin: Source) -> Conflict:
    return Conflict(f"This source exists already: {twin.name!r} (id {twin.id}).", existing_id=twin.id)


def _visible(source: Source | None, source_id: int, caller: Caller) -> Source:
    if source is None or not caller.may_see(source):
        raise NotFound(f"There is no source {source_id}.")
    return source


def _changeable(conn: Connection, source_id: int, caller: Caller) -> Source:
    source = _visible(sources.get_for_change(conn, [source_id]).get(source_id), source_id, caller)
    if not caller.may_change(source):
        raise Forbidden(f"Source {source_id} belongs to somebody else.")
    return source


def _changed_activity(source: Source, is_active: bool | None, now: datetime) -> dict[str, Any]:
    """A person's pause also holds where errors paused it before: it is neither probed nor resumed by itself then."""
    if is_active is True and not source.is_active:
        return sources.resumed(now)
    if is_active is False and source.paused_by is not PausedBy.PERSON:
        return _paused()
    return {}


def _due_at_new_address(source: Source, now: datetime) -> dict[str, Any]:
    """At once, also where the old address was given up; not where a person paused it or its owner is disabled."""
    if source.is_active:
        return sources.schedule_columns(NextCheck(at=now, why=Why.NEW))
    return {} if source.paused_by in RESTING else sources.resumed(now)


def _paused() -> dict[str, Any]:
    return {
        "is_active": False,
        "paused_by": PausedBy.PERSON,
        **sources.schedule_columns(NextCheck(at=None, why=None)),
    }


def _checked_config(config: object) -> dict[str, Any]:
    if not isinstance(config, Mapping):
        raise InvalidInput('The config is an object, such as {"url": "https://…"}.', field="config")
    if SEALED_KEY in config:
        raise InvalidInput(f"{SEALED_KEY!r} is where secrets are kept; write them where they belong.", field="config")
    if not is_storable(dict(config)):
        raise InvalidInput("The config holds what cannot be kept: a NUL, NaN, or broken characters.", field="config")
    if len(json.dumps(dict(config))) > MAX_CONFIG_CHARS:
        raise InvalidInput(f"The config is larger than {MAX_CONFIG_CHARS} characters.", field="config")
    return dict(config)


def _without_stray_mark(source_type: str, config: Mapping[str, Any]) -> dict[str, Any]:
    """Whoever adds what was resolved hands the mark on; where there is no address to look at it means nothing."""
    is_meant = source_type in RESOLVABLE and isinstance(config.get("url"), str)
    return {key: value for key, value in config.items() if is_meant or key != UNRESOLVED_KEY}


def _with_interval(config: Mapping[str, Any], minutes: Any) -> dict[str, Any]:
    if minutes is None:
        return dict(config)
    rest = {key: value for key, value in config.items() if key != INTERVAL_KEY}
    return rest if minutes == 0 else {**rest, INTERVAL_KEY: minutes}


def _with_checked_interval(config: Mapping[str, Any]) -> dict[str, Any]:
    given = config.get(INTERVAL_KEY)
    if given is None:
        return _with_interval(config, 0)
    minutes = read_minutes(given)
    if minutes is None:
        raise InvalidInput(
            f"The interval is a whole number of minutes, 1 to {MAX_MINUTES}; {given!r} is not.",
            field=INTERVAL_KEY,
        )
    return {**config, INTERVAL_KEY: minutes}


def _read_offers(conn: Connection, caller: Caller, known: Offers | None) -> Offers:
    # Before all else: what is read after it may be newer than it says, and is read again then.
    edits = changes.edits(conn)
    if known is not None and known.edits == edits:
        return known
    query = SourceQuery(caller=caller, limit=MAX_OFFERED)
    tags = [tag for tag, _ in count_tags(conn, caller).most_common(MAX_OFFERED)]
    return Offers(types=list_types(conn, caller), tags=tags, names=list_names(conn, query), edits=edits)


def split_tags(text: str) -> tuple[str, ...]:
    """No tag holds a comma: on the pages it stands between two of them."""
    return tuple(tag.strip() for tag in text.replace("，", ",").split(",") if tag.strip())


def _checked_tags(tags: tuple[str, ...]) -> tuple[str, ...]:
    parted = (part for tag in tags for part in split_tags(str(tag)) or ("",))
    cleaned = tuple(dict.fromkeys(" ".join(part.split()) for part in parted))
    if len(cleaned) > MAX_TAGS or any(not 0 < len(tag) <= MAX_TAG or not is_storable(tag) for tag in cleaned):
        raise InvalidInput(
            f"At most {MAX_TAGS} tags of 1 to {MAX_TAG} characters, none of them NUL or broken.", field="tags"
        )
    return cleaned
