"""Notes as JSON: the one shape in which they leave by the API and come back from whoever drives the workflow."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from enum import StrEnum
from typing import Any, TypeVar
from urllib.parse import urlsplit

from catchment.clock import iso
from catchment.domain.note import Author, Comment, Counts, Note, NoteCard, NoteRef, NoteType, Platform
from catchment.errors import InvalidInput

#: Both are looked up by an index, which holds no more.
MAX_ID = 128
MAX_URL = 2_000
_MAX_COUNT = 2**63 - 1
#: Platforms answer a reply beside it, not below it; anything deeper was not made by us.
_DEEPEST_REPLY = 5

T = TypeVar("T")
E = TypeVar("E", bound=StrEnum)


def note_to_json(note: Note) -> dict[str, Any]:
    return {
        **_ref_to_json(note.ref),
        "note_url": note.url,
        "title": note.title,
        "content": note.content,
        "note_type": note.type.value,
        **_author_to_json(note.author),
        "likes": note.counts.likes,
        "collects": note.counts.collects,
        "comments": note.counts.comments,
        "shares": note.counts.shares,
        "images": [*note.images],
        "video_url": note.video_url,
        "tags": [*note.tags],
        "published_at": _moment_to_json(note.published_at),
        "updated_at": _moment_to_json(note.updated_at),
        "comment_list": [_comment_to_json(comment) for comment in note.comments],
    }


def card_to_json(card: NoteCard) -> dict[str, Any]:
    return {
        **_ref_to_json(card.ref),
        "note_url": card.url,
        "title": card.title,
        "note_type": card.type.value,
        **_author_to_json(card.author),
        "liked_count": card.counts.likes,
        "collected_count": card.counts.collects,
        "comment_count": card.counts.comments,
        "share_count": card.counts.shares,
        "published_at": _moment_to_json(card.published_at),
    }


def note_from_json(given: object) -> Note:
    """The note that `note_to_json` wrote. InvalidInput names the field at fault."""
    fields = _Fields.of(given, "note")
    return Note(
        ref=_ref(fields),
        url=fields.address("note_url"),
        title=fields.text("title"),
        content=fields.text("content"),
        type=fields.choice("note_type", NoteType, NoteType.NORMAL),
        author=_author(fields),
        published_at=fields.moment("published_at"),
        updated_at=fields.moment("updated_at"),
        counts=Counts(
            likes=fields.count("likes"),
            collects=fields.count("collects"),
            comments=fields.count("comments"),
            shares=fields.count("shares"),
        ),
        images=fields.texts("images"),
        video_url=fields.text("video_url") or None,
        tags=fields.texts("tags"),
        comments=_comments(fields, "comment_list"),
    )


def card_from_json(given: object) -> NoteCard:
    """The card that `card_to_json` wrote. InvalidInput names the field at fault."""
    fields = _Fields.of(given, "item")
    return NoteCard(
        ref=_ref(fields),
        url=fields.address("note_url"),
        title=fields.text("title"),
        type=fields.choice("note_type", NoteType, NoteType.NORMAL),
        author=_author(fields),
        counts=Counts(
            likes=fields.count("liked_count"),
            collects=fields.count("collected_count"),
            comments=fields.count("comment_count"),
            shares=fields.count("share_count"),
        ),
        published_at=fields.moment("published_at"),
    )


def _ref_to_json(ref: NoteRef) -> dict[str, Any]:
    """The token and its listing are there only where the platform has such a thing."""
    token = {"xsec_token": ref.token} if ref.token else {}
    listing = {"xsec_source": ref.token_source} if ref.token_source else {}
    return {"note_id": ref.note_id, "platform": ref.platform.value, **token, **listing}


def _author_to_json(author: Author) -> dict[str, Any]:
    return {"author_id": author.id, "author_name": author.name}


def _comment_to_json(comment: Comment) -> dict[str, Any]:
    return {
        "id": comment.id,
        "content": comment.content,
        **_author_to_json(comment.author),
        "created_at": _moment_to_json(comment.created_at),
        "likes": comment.likes,
        "reply_count": comment.reply_count,
        "replies": [_comment_to_json(reply) for reply in comment.replies],
        "images": [*comment.images],
    }


def _moment_to_json(moment: datetime | None) -> str | None:
    return iso(moment, "auto") if moment else None


def _ref(fields: _Fields) -> NoteRef:
    return NoteRef(
        platform=fields.choice("platform", Platform),
        note_id=fields.needed("note_id", MAX_ID),
        token=fields.text("xsec_token") or None,
        token_source=fields.text("xsec_source") or None,
    )


def _author(fields: _Fields) -> Author:
    return Author(id=fields.text("author_id"), name=fields.text("author_name"))


def _comments(fields: _Fields, key: str, depth: int = 0) -> tuple[Comment, ...]:
    return fields.each(key, lambda given, where: _comment(_Fields.of(given, where), depth))


def _comment(fields: _Fields, depth: int) -> Comment:
    if depth > _DEEPEST_REPLY:
        raise fields.wrong("replies", f"replies stand at most {_DEEPEST_REPLY} deep")
    return Comment(
        id=fields.text("id"),
        content=fields.text("content"),
        author=_author(fields),
        created_at=fields.moment("created_at"),
        likes=fields.count("likes"),
        reply_count=fields.count("reply_count") or 0,
        replies=_comments(fields, "replies", depth + 1),
        images=fields.texts("images"),
    )


class _Fields:
    """The fields of one object. A field that is missing or null is as good as empty."""

    def __init__(self, given: Mapping[str, Any], where: str) -> None:
        self._given = given
        self._where = where

    @classmethod
    def of(cls, given: object, where: str) -> _Fields:
        if not isinstance(given, Mapping):
            raise InvalidInput(f"{where} is to be a JSON object.", field=where)
        return cls(given, where)

    def wrong(self, key: str, expected: str) -> InvalidInput:
        field = f"{self._where}.{key}"
        return InvalidInput(f"{field}: {expected}.", field=field)

    def text(self, key: str) -> str:
        return self._checked_text(key, self._given.get(key) or "")

    def needed(self, key: str, most: int) -> str:
        text = self.text(key)
        if not 0 < len(text) <= most:
            raise self.wrong(key, f"text of 1 to {most} characters is needed")
        return text

    def address(self, key: str) -> str:
        text = self.needed(key, MAX_URL)
        if not text.startswith(("http://", "https://")) or not _has_host(text):
            raise self.wrong(key, "an address that begins with http:// or https:// is needed")
        return text

    def choice(self, key: str, kind: type[E], default: E | None = None) -> E:
        given = self._given.get(key)
        if given is None and default is not None:
            return default
        if not isinstance(given, str) or given not in {*kind}:
            raise self.wrong(key, f"one of {', '.join(kind)} is needed")
        return kind(given)

    def count(self, key: str) -> int | None:
        number = self._given.get(key)
        if number is None:
            return None
        if not isinstance(number, int) or isinstance(number, bool) or not 0 <= number <= _MAX_COUNT:
            raise self.wrong(key, "a whole number that is not negative, or null, is needed")
        return number

    def moment(self, key: str) -> datetime | None:
        """A moment without a zone is UTC."""
        text = self.text(key)
        if not text:
            return None
        try:
            moment = datetime.fromisoformat(text)
            return moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)
        except (ValueError, OverflowError) as error:
            raise self.wrong(key, "a moment such as 2026-03-01T12:00:00Z is needed") from error

    def texts(self, key: str) -> tuple[str, ...]:
        return self.each(key, lambda given, _: self._checked_text(key, given))

    def each(self, key: str, read: Callable[[object, str], T]) -> tuple[T, ...]:
        given = self._given.get(key)
        if given is None:
            return ()
        if not isinstance(given, list | tuple):
            raise self.wrong(key, "a list is needed")
        return tuple(read(one, f"{self._where}.{key}[{index}]") for index, one in enumerate(given))

    def _checked_text(self, key: str, value: object) -> str:
        if not isinstance(value, str):
            raise self.wrong(key, "text is needed")
        return value


def _has_host(address: str) -> bool:
    try:
        return bool(urlsplit(address).hostname)
    except ValueError:
        return False
