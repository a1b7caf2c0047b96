"""Items are stored here, whoever brought them: a visit at its end, or a crawl on its way.

What is new or changed is told apart from what is known, stored, and told to whoever listens, in one transaction: that
of the caller, who holds the lease.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import Connection
from sqlalchemy.exc import DBAPIError

from catchment.domain.item import Item, former_key
from catchment.domain.outbox import Topic
from catchment.domain.source import Source
from catchment.engine.decide import (
    NO_NEWS,
    ItemChanges,
    each_once,
    oldest_first,
    sort_items,
    without_harm,
    without_renamed,
)
from catchment.redact import redact_text
from catchment.store import items, outbox

#: What a value that no column can hold leads to: the database refuses it, or it cannot be written for the database.
UNSTORABLE = (DBAPIError, TypeError, ValueError, OverflowError)


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundItems:
    source: Source
    items: Sequence[Item]
    #: Whether some of it may be stored already; where nothing ever was, nobody has to look.
    may_be_known: bool = True
    #: The document was damaged: what is stored is not replaced by less.
    is_damaged: bool = False


def store_items(conn: Connection, found: Sequence[FoundItems], *, now: datetime) -> list[ItemChanges]:
    """Store what is new or changed, with an event for each source that has something new; what that was."""
    changes = [_changes(conn, one) for one in found]
    both = list(zip(found, changes, strict=True))
    items.insert_new(
        conn, [(one.source.id, item) for one, change in both for item in oldest_first(change.new)], now=now
    )
    items.update_changed(conn, [(one.source.id, item) for one, change in both for item in change.changed], now=now)
    if any(change.new for change in changes):
        events = (_event(one.source, change.new) for one, change in both if change.new)
        outbox.emit(conn, Topic.ITEMS_NEW, events, now=now)
    return changes


def why_unstorable(error: Exception) -> str:
    """For people."""
    return redact_text(f"What came cannot be stored: {error.orig if isinstance(error, DBAPIError) else error}")


def _changes(conn: Connection, found: FoundItems) -> ItemChanges:
    if not found.items:
        return NO_NEWS
    source_id, once = found.source.id, each_once(found.items)
    known = items.remembered(conn, source_id, _keys(once)) if found.may_be_known else {}
    changes = sort_items(once, known)
    if found.may_be_known and changes.new and not changes.known:
        changes = without_renamed(changes, items.said(conn, source_id, changes.new))
    if not (found.is_damaged and found.may_be_known):
        return changes
    return without_harm(changes, items.alike(conn, source_id, new=changes.new, changed=changes.changed))


def _keys(found: Sequence[Item]) -> list[str]:
    return list(dict.fromkeys(key for item in found for key in (item.key, former_key(item))))


def _event(source: Source, new: Sequence[Item]) -> dict[str, Any]:
    return {
        "source": {"id": source.id, "name": source.name, "type": source.type},
        "items": [{"key": item.key, "title": item.title, "url": item.url} for item in new],
    }
