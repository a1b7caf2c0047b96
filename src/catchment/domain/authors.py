"""Who writes notes, made unrecognisable: ids hashed, so that one author's notes still belong together; names masked."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from dataclasses import replace

from catchment.domain.note import Author, Comment, Note, NoteCard, SearchPage

_HASH_LENGTH = 16
#: A name this short would still be readable between its first and its last letter.
_SHORT = 2


def hidden_author(author: Author) -> Author:
    return Author(id=hashed_id(author.id), name=masked_name(author.name))


def hashed_id(author_id: str) -> str:
    """Of nobody it stays nobody."""
    digest = hashlib.sha256(author_id.encode("utf-8", "surrogatepass")).hexdigest()
    return digest[:_HASH_LENGTH] if author_id else ""


def masked_name(name: str) -> str:
    if not name:
        return ""
    if len(name) <= _SHORT:
        return "*" if len(name) == 1 else f"{name[0]}*"
    return f"{name[0]}***{name[-1]}"


def without_authors(note: Note) -> Note:
    return replace(note, author=hidden_author(note.author), comments=comments_without_authors(note.comments))


def comments_without_authors(comments: Iterable[Comment]) -> tuple[Comment, ...]:
    return tuple(_hidden_comment(comment) for comment in comments)


def cards_without_authors(page: SearchPage) -> SearchPage:
    return replace(page, cards=tuple(_hidden_card(card) for card in page.cards))


def _hidden_card(card: NoteCard) -> NoteCard:
    return replace(card, author=hidden_author(card.author))


def _hidden_comment(comment: Comment) -> Comment:
    return replace(comment, author=hidden_author(comment.author), replies=comments_without_authors(comment.replies))
