"""The table of notes in Bitable: its fields, a note as a record of it, and what a table lacks. Pure."""

from __future__ import annotations

import hashlib
import json
import uuid
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import IntEnum, StrEnum
from typing import Any, Final

from catchment.domain.note import DueNote, Identity

#: A cell takes this many characters.
MAX_CELL: Final = 100_000
KEY, PLATFORM = "idempotency_key", "platform"
#: What the rows of the table are in the words of whoever crawls by keyword.
STATUS: Final = "collected"

Cells = Mapping[str, str | int]


class FieldType(IntEnum):
    """By the numbers that Bitable gives them."""

    TEXT = 1
    NUMBER = 2
    CHOICE = 3
    MOMENT = 5

    @property
    def word(self) -> str:
        return _WORDS[self]


_WORDS = {FieldType.TEXT: "text", FieldType.NUMBER: "number", FieldType.CHOICE: "choice", FieldType.MOMENT: "date"}
#: Types that take the same cells: what is text may be a choice as well.
_FITTING = {
    FieldType.TEXT: {FieldType.TEXT, FieldType.CHOICE},
    FieldType.NUMBER: {FieldType.NUMBER},
    FieldType.MOMENT: {FieldType.MOMENT},
}

FIELDS: Final[Mapping[str, FieldType]] = {
    KEY: FieldType.TEXT,
    PLATFORM: FieldType.TEXT,
    "topic_id": FieldType.TEXT,
    "note_id": FieldType.TEXT,
    "note_url": FieldType.TEXT,
    "published_at": FieldType.MOMENT,
    "title": FieldType.TEXT,
    "content": FieldType.TEXT,
    "note_type": FieldType.TEXT,
    "images": FieldType.TEXT,
    "video_url": FieldType.TEXT,
    "likes": FieldType.NUMBER,
    "collects": FieldType.NUMBER,
    "comments": FieldType.NUMBER,
    "shares": FieldType.NUMBER,
    "author_id": FieldType.TEXT,
    "author_name": FieldType.TEXT,
    "tags": FieldType.TEXT,
    "status": FieldType.TEXT,
    "extracted_at": FieldType.MOMENT,
    "exec_meta": FieldType.TEXT,
    "retry_count": FieldType.NUMBER,
    "last_error_code": FieldType.TEXT,
}


def cells(note: DueNote) -> Cells:
    """The note as a record. What is empty is left out: Bitable tells an empty cell from one with nothing in it."""
    values = {
        KEY: note.idempotency_key,
        PLATFORM: note.platform,
        "topic_id": None if note.topic_id is None else str(note.topic_id),
        "note_id": note.note_id,
        "note_url": note.url,
        "published_at": _millis(note.published_at) if note.published_at else None,
        "title": note.title,
        "content": note.content,
        "note_type": note.note_type,
        "images": "\n".join(note.images),
        "video_url": note.video_url,
        "likes": note.likes,
        "collects": note.collects,
        "comments": note.comments,
        "shares": note.shares,
        "author_id": note.author_id,
        "author_name": note.author_name,
        "tags": ", ".join(note.tags),
        "status": STATUS,
        "extracted_at": _millis(note.extracted_at),
        "exec_meta": json.dumps(dict(note.exec_meta), ensure_ascii=False, sort_keys=True),
        "retry_count": note.retry_count,
        "last_error_code": note.last_error_code,
    }
    return {name: _fitted(value) for name, value in values.items() if value is not None and value != ""}


def _millis(moment: datetime) -> int:
    return round(moment.timestamp() * 1000)


def _fitted(value: str | int) -> str | int:
    return value[:MAX_CELL] if isinstance(value, str) else value


def identity_in(record: Mapping[str, Any]) -> Identity:
    """Of a record as Bitable shows it: a text is plain, or in pieces."""
    return cell_text(record.get(PLATFORM)), cell_text(record.get(KEY))


def cell_text(value: object) -> str:
    if isinstance(value, list):
        return "".join(cell_text(piece.get("text")) for piece in value if isinstance(piece, dict))
    return value if isinstance(value, str) else ""


def batch_token(identities: Iterable[Identity]) -> str:
    """The same for the same records: Bitable takes two creations of one token for one. It wants a UUID of version 4."""
    text = "\n".join(sorted("/".join(identity) for identity in identities))
    return str(uuid.UUID(bytes=hashlib.sha256(text.encode()).digest()[:16], version=4))


class Verdict(StrEnum):
    OK = "ok"
    MISSING = "missing"
    CREATED = "created"
    OTHER_TYPE = "other type"


@dataclass(frozen=True, slots=True, kw_only=True)
class FieldCheck:
    name: str
    wanted: str
    verdict: Verdict


def check_fields(found: Mapping[str, int]) -> list[FieldCheck]:
    """Each field that the table should have, and what became of it there."""
    return [
        FieldCheck(name=name, wanted=wanted.word, verdict=_verdict(wanted, found.get(name)))
        for name, wanted in FIELDS.items()
    ]


def _verdict(wanted: FieldType, found: int | None) -> Verdict:
    if found is None:
        return Verdict.MISSING
    return Verdict.OK if found in _FITTING[wanted] else Verdict.OTHER_TYPE


def faults_told(checks: Sequence[FieldCheck]) -> str:
    """What is wrong with the table and what to do about it; nothing when nothing is."""
    missing = [check.name for check in checks if check.verdict is Verdict.MISSING]
    others = [f"{check.name} ({check.wanted})" for check in checks if check.verdict is Verdict.OTHER_TYPE]
    sentences = []
    if missing:
        sentences.append(f"the table lacks {', '.join(missing)}: run `catchment feishu check --create`")
    if others:
        sentences.append(f"these fields have another type than they should: {', '.join(others)}: change it in Bitable")
    return "; ".join(sentences)
