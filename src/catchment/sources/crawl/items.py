"""From a note to an item, and from what a search shows to a candidate. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from html import escape
from typing import Any

from catchment.domain.candidate import Listed
from catchment.domain.item import Item, make_item
from catchment.domain.note import Note, NoteCard
from catchment.domain.note_json import card_to_json, note_to_json

#: What of a card a candidate is remembered with.
_REMEMBERED = ("title", "author_id", "author_name", "liked_count", "collected_count", "comment_count")
#: What of a note an item's own columns do not hold.
_BESIDES = (
    "platform",
    "note_id",
    "note_type",
    "likes",
    "collects",
    "comments",
    "shares",
    "images",
    "video_url",
    "tags",
    "updated_at",
    "comment_list",
)


def listed_of(card: NoteCard, *, keyword: str, exec_meta: Mapping[str, Any]) -> Listed:
    shown = card_to_json(card)
    facts = {name: shown[name] for name in _REMEMBERED} | {"source_keyword": keyword, "exec_meta": dict(exec_meta)}
    return Listed(card.url, native_id=card.ref.note_id, facts=facts, platform=card.ref.platform.value)


def item_of(note: Note) -> Item:
    shown = note_to_json(note)
    return make_item(
        native_id=note.ref.note_id,
        url=note.url,
        title=note.title or _first_line(note.content),
        author=note.author.name,
        content="".join([*_paragraphs(note.content), *_pictures(note.images)]),
        published_at=note.published_at,
        metadata={name: shown[name] for name in _BESIDES if shown[name] not in (None, [], "")},
    )


def _first_line(content: str) -> str:
    return content.strip().partition("\n")[0][:80]


def _paragraphs(content: str) -> Iterable[str]:
    return (f"<p>{escape(line)}</p>" for line in content.splitlines() if line.strip())


def _pictures(images: Iterable[str]) -> Iterable[str]:
    """Only from the web: an address of any other kind is nothing that a reader should be made to open."""
    of_the_web = (image for image in images if image.startswith(("https://", "http://")))
    return (f'<p><img src="{escape(image)}" alt=""></p>' for image in of_the_web)
