"""Telling others of new items: an event in the outbox, in the transaction that stores them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Any

from sqlalchemy import Connection

from catchment.domain.item import Item
from catchment.domain.outbox import Topic
from catchment.domain.source import Source
from catchment.store import outbox

#: A source and what is new of it.
Told = tuple[Source, Sequence[Item]]


def emit_events(conn: Connection, news: Iterable[Told], *, now: datetime) -> None:
    """One event for each source that has something new, to whoever listens."""
    worth_telling = [told for told in news if told[1]]
    if worth_telling:
        outbox.emit(conn, Topic.ITEMS_NEW, (_payload(source, new) for source, new in worth_telling), now=now)


def _payload(source: Source, new: Sequence[Item]) -> dict[str, Any]:
    return {
        "source": {"id": source.id, "name": source.name, "type": source.type},
        "items": [{"key": item.key, "title": item.title, "url": item.url} for item in new],
    }
