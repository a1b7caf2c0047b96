"""Reading in apps: streams of what somebody follows, what they mark in them, and how they arrange it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any, Final

from sqlalchemy import Connection

from catchment.clock import Clock
from catchment.domain.caller import Caller
from catchment.domain.confidential import secret_paths, without
from catchment.domain.item import checked_line
from catchment.domain.listing import ListedSource, ListFormat
from catchment.domain.reading import (
    Followed,
    Marks,
    ReadItem,
    Stream,
    StreamKind,
    StreamPage,
    StreamQuery,
    UnreadCount,
    checked_label,
    with_folders,
)
from catchment.domain.source import MAX_NAME, Source
from catchment.errors import CatchmentError, Conflict, InvalidInput, NotFound, VisitError
from catchment.manage.accounts import user_of
from catchment.manage.catalog import RESOLVABLE, Catalog, Draft
from catchment.manage.import_export import AT_ONCE, ImportedLine, LineResult, import_sources
from catchment.manage.resolve import Pasted, Resolver
from catchment.manage.subscriptions import Subscriptions
from catchment.publish.opml import by_folder, folder_of, list_writer
from catchment.redact import redact_url
from catchment.sandbox.pool import ParserPool
from catchment.sources.shortcuts import address_in
from catchment.store import reading, sources
from catchment.store.database import Store
from catchment.store.reading import Reader

#: Items that one user stars, and labels that they give to single items.
MAX_STARRED: Final = 10_000
MAX_LABELLED: Final = 10_000
OPML_TITLE: Final = "Catchment subscriptions"


class ReaderStreams:
    def __init__(
        self,
        *,
        store: Store,
        clock: Clock,
        catalog: Catalog,
        resolver: Resolver,
        subscriptions: Subscriptions,
        parsers: ParserPool,
    ) -> None:
        self._store = store
        self._clock = clock
        self._catalog = catalog
        self._resolver = resolver
        self._subscriptions = subscriptions
        self._parsers = parsers

    async def followed(self, caller: Caller, source_id: int | None = None) -> list[Followed]:
        return await self._store.read(reading.followed, _reader(caller), source_id)

    async def page(self, query: StreamQuery, caller: Caller) -> StreamPage:
        """A source that the caller cannot see is NotFound."""
        if query.stream.kind is StreamKind.SOURCE:
            await self._catalog.get(query.stream.source_id, caller)
        return await self._store.read(reading.page, _reader(caller), query)

    async def items(self, ids: Sequence[int], caller: Caller) -> list[ReadItem]:
        """In the order given, without those that are gone or not for the caller to see."""
        return await self._store.read(reading.read_items, _reader(caller), ids)

    async def unread(self, caller: Caller) -> list[UnreadCount]:
        return await self._store.read(reading.count_unread, _reader(caller))

    async def labels(self, caller: Caller) -> list[str]:
        """Those of single items; folders are with what is followed."""
        return await self._store.read(reading.item_label_names, user_of(caller))

    async def mark(self, ids: Sequence[int], marks: Marks, caller: Caller) -> None:
        """What is gone or not for the caller to see is passed over."""
        checked = replace(marks, add_labels=tuple(checked_label(label) for label in marks.add_labels))
        await self._store.write(_mark, _reader(caller), ids, checked)

    async def mark_all(self, stream: Stream, caller: Caller, *, until: datetime | None = None) -> None:
        """Everything of a stream, up to a moment, is read from now on."""
        now = self._clock.now()
        moment = min(until or now, now)
        await self._store.write(reading.mark_stream, _reader(caller), stream, until=moment)

    async def follow(self, target: int | str, caller: Caller) -> Source:
        """Subscribe to a source by its number, or by an address or a name as anybody would paste it.

        What nobody who may be known of has yet is looked at and added, with the caller's own rights.
        """
        if isinstance(target, int):
            await self._subscriptions.add(target, caller)
            return await self._catalog.get(target, caller)
        known = await self.find(target, caller)
        if known is None:
            return await self._add(target, caller)
        await self._subscriptions.add(known.id, caller)
        return known

    async def unfollow(self, source_id: int, caller: Caller) -> None:
        await self._subscriptions.remove(source_id, caller)

    async def find(self, text: str, caller: Caller) -> Source | None:
        """A source at that address which the caller may subscribe to: their own, or a public one."""
        drafts = self._readings_of(text, caller)
        hashes = [sources.identity_hash(kind, self._catalog.identity(kind, config)) for kind, config in drafts]
        found = await self._store.read(sources.find_twins, hashes, owner=user_of(caller))
        return next((found[one] for one in hashes if one in found), None)

    async def arrange(
        self,
        source_id: int,
        caller: Caller,
        *,
        title: str | None = None,
        add: Sequence[str] = (),
        remove: Sequence[str] = (),
    ) -> None:
        """Name a subscription, and put it into folders or take it out of them."""
        labels = [checked_label(label) for label in add]
        name = checked_line(title, "title", most=MAX_NAME, field="t") if title is not None else None
        await self._store.write(_arrange, _reader(caller), source_id, title=name, add=labels, remove=remove)

    async def rename_label(self, label: str, new: str | None, caller: Caller) -> None:
        """Of folders and of items alike; with no new name, it is gone from them."""
        name = checked_label(new) if new is not None else None
        await self._store.write(_rename_label, _reader(caller), label, name)

    async def export_opml(self, caller: Caller) -> AsyncIterator[bytes]:
        """Written as it is sent: others are answered between two parts."""
        writer = list_writer(ListFormat.OPML, title=OPML_TITLE, created_at=self._clock.now())
        followed = by_folder(await self.followed(caller), lambda one: folder_of(one.folders))
        for start in range(0, len(followed), AT_ONCE):
            yield writer.write(_listed(one, caller) for one in followed[start : start + AT_ONCE])
            await asyncio.sleep(0)
        yield writer.finish()

    async def import_opml(self, body: bytes, caller: Caller) -> list[ImportedLine]:
        """As any import, and what was there already is subscribed to."""
        lines = await import_sources(self._catalog, self._parsers, body, caller)
        known = [line.source_id for line in lines if line.result is LineResult.DUPLICATE and line.source_id]
        await self._subscriptions.add_many(known, caller)
        return lines

    def _readings_of(self, text: str, caller: Caller) -> list[tuple[str, dict[str, Any]]]:
        """What it may be by its text alone, the likeliest first."""
        guess = self._resolver.guess(Pasted(text=text), caller)
        address = address_in(text.strip())
        others = [(kind, {"url": address}) for kind in sorted(RESOLVABLE) if address and kind != guess.type]
        return [(guess.type, dict(guess.config)), *others]

    async def _add(self, text: str, caller: Caller) -> Source:
        resolved = await self._resolver.resolve(Pasted(text=text), caller)
        resolved.refuse_missing("Give another address.")
        draft = Draft(type=resolved.type, config=resolved.config, name=resolved.name)
        try:
            return await self._catalog.add(draft, caller)
        except Conflict as twin:
            if twin.existing_id is None:
                raise
            return await self.follow(twin.existing_id, caller)


#: What an address may be refused for, besides the caller's rights.
NOT_FOLLOWED: Final[tuple[type[CatchmentError], ...]] = (InvalidInput, VisitError, NotFound)


def _reader(caller: Caller) -> Reader:
    return Reader(user_id=user_of(caller), sees_all=caller.sees_all)


def _mark(conn: Connection, reader: Reader, ids: Sequence[int], marks: Marks) -> None:
    reading.mark_items(conn, reader, ids, marks)
    if marks.is_starred and reading.count_starred(conn, reader.user_id) > MAX_STARRED:
        raise InvalidInput(f"At most {MAX_STARRED} items are starred: take the star off some first.", field="a")
    if marks.add_labels and reading.count_labelled(conn, reader.user_id) > MAX_LABELLED:
        raise InvalidInput(f"At most {MAX_LABELLED} labels of items are kept: take some off first.", field="a")


def _arrange(
    conn: Connection,
    reader: Reader,
    source_id: int,
    *,
    title: str | None,
    add: Sequence[str],
    remove: Sequence[str],
) -> None:
    mine = next(iter(reading.followed(conn, reader, source_id)), None)
    if mine is None:
        raise NotFound(f"You are not subscribed to source {source_id}.")
    folders = with_folders(mine.folders, add=add, remove=remove) if add or remove else None
    reading.arrange(conn, reader.user_id, source_id, title=title, folders=folders)


def _rename_label(conn: Connection, reader: Reader, label: str, new: str | None) -> None:
    reading.rename_label(conn, reader.user_id, label, new)
    for one in reading.followed(conn, reader):
        if label in one.folders:
            folders = dict.fromkeys(new if folder == label else folder for folder in one.folders)
            kept = [folder for folder in folders if folder is not None]
            reading.arrange(conn, reader.user_id, one.source_id, folders=kept)


def _listed(one: Followed, caller: Caller) -> ListedSource:
    """Of what belongs to somebody else, the address at most."""
    is_own = caller.may_change_what_is_of(one.created_by)
    config = without(one.config, secret_paths(one.config)) if is_own else shown_address(one)
    return ListedSource(type=one.type, config=config, name=one.title, tags=one.folders)


def shown_address(one: Followed) -> dict[str, Any]:
    url = one.config.get("url")
    return {"url": redact_url(url)} if isinstance(url, str) else {}
