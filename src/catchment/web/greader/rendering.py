"""What the Google Reader API answers: items, subscriptions and counts as its clients know them. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any, Final

from catchment.domain.listing import HTML_URL
from catchment.domain.reading import Followed, ItemRef, ReadItem, UnreadCount
from catchment.manage.reading import shown_address
from catchment.parse.html import plain_text
from catchment.publish.feed import EntryState, Feed, FeedEntry, write_atom
from catchment.publish.views import entry_of, within_bounds
from catchment.web.greader.protocol import LABEL, STATE, long_id, microseconds, seconds

#: By this clients tell what their reader did from what the feed says of an entry.
_SCHEME: Final = "http://www.google.com/reader/"
#: So much of the text stands for a title where there is none.
MAX_MADE_TITLE: Final = 100


def feed_id(source_id: int) -> str:
    return f"feed/{source_id}"


def subscription(one: Followed, base_url: str) -> dict[str, Any]:
    # What has no address of its own is told by ours, for clients that want one.
    address = shown_address(one).get("url") or f"{base_url}/greader/reader/atom/{feed_id(one.source_id)}"
    page = one.config.get(HTML_URL)
    return {
        "id": feed_id(one.source_id),
        "title": one.title,
        "categories": [{"id": f"{LABEL}{folder}", "label": folder} for folder in one.folders],
        "sortid": f"{one.source_id:08x}"[-8:],
        "firstitemmsec": str(microseconds(one.since) // 1000),
        "url": address,
        "htmlUrl": page if isinstance(page, str) else address,
        "iconUrl": "",
    }


def tags(followed: Iterable[Followed], labels: Iterable[str]) -> list[dict[str, Any]]:
    folders = sorted({folder for one in followed for folder in one.folders})
    return [
        {"id": f"{STATE}starred"},
        *({"id": f"{LABEL}{folder}", "type": "folder"} for folder in folders),
        *({"id": f"{LABEL}{label}", "type": "tag"} for label in labels if label not in folders),
    ]


def unread_counts(counts: Sequence[UnreadCount]) -> dict[str, Any]:
    """By source, by folder and of all of them."""
    totals: Counter[str] = Counter()
    newest: dict[str, int] = {}
    for one in counts:
        newest_at = microseconds(one.newest_at)
        for name in (feed_id(one.source_id), *(f"{LABEL}{folder}" for folder in one.folders), f"{STATE}reading-list"):
            totals[name] += one.unread
            newest[name] = max(newest.get(name, 0), newest_at)
    told = [
        {"id": name, "count": count, "newestItemTimestampUsec": str(newest[name])} for name, count in totals.items()
    ]
    # Where a client stops counting: we do not.
    return {"max": max(totals.values(), default=0), "unreadcounts": told}


def item_ref(ref: ItemRef) -> dict[str, Any]:
    return {
        "id": str(ref.at.item_id),
        "directStreamIds": [feed_id(ref.source_id)],
        "timestampUsec": str(microseconds(ref.at.fetched_at)),
    }


def item(one: ReadItem, base_url: str) -> dict[str, Any]:
    """There are apps that give up on a whole page for an item without an address or without a title."""
    entry, shown = entry_of(one.shown), one.shown
    address = entry.url or f"{base_url}/items/{one.id}"
    told: dict[str, Any] = {
        "id": long_id(one.id),
        "crawlTimeMsec": str(microseconds(shown.fetched_at) // 1000),
        "timestampUsec": str(microseconds(shown.fetched_at)),
        "published": seconds(entry.published_at),
        "updated": seconds(entry.changed_at),
        "title": _title(entry) or address,
        "author": entry.author,
        "canonical": [{"href": address}],
        "alternate": [{"href": address, "type": "text/html"}],
        "categories": [state.term for state in states(one)],
        "origin": {"streamId": feed_id(shown.source_id), "title": one.source_title, "htmlUrl": ""},
        "summary": {"direction": "ltr", "content": entry.html},
    }
    if entry.enclosures:
        told["enclosure"] = [{"href": file.url, "type": file.type, "length": file.length} for file in entry.enclosures]
    return told


def _title(entry: FeedEntry) -> str:
    """Its own, or the beginning of its text."""
    return entry.title.strip() or plain_text(entry.html, MAX_MADE_TITLE)


def states(one: ReadItem) -> tuple[EntryState, ...]:
    said = {
        "reading-list": True,
        "read": one.is_read,
        "kept-unread": one.is_kept_unread,
        "starred": one.is_starred,
    }
    kept = [(f"{STATE}{name}", name) for name, is_so in said.items() if is_so]
    labels = [(f"{LABEL}{label}", label) for label in dict.fromkeys((*one.folders, *one.labels))]
    return tuple(EntryState(term=term, scheme=_SCHEME, label=label) for term, label in (*kept, *labels))


def atom(title: str, items: Sequence[ReadItem], *, self_url: str, home_url: str) -> bytes:
    shown = ((one, entry_of(one.shown)) for one in items)
    entries = (replace(entry, id=long_id(one.id), title=_title(entry), states=states(one)) for one, entry in shown)
    return write_atom(
        Feed(title=title, description="", home_url=home_url, self_url=self_url, entries=within_bounds(list(entries)))
    )
