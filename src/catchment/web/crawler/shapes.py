"""Notes as the crawler's answers describe them: the JSON of `domain/note_json.py`, spelt out for OpenAPI."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict, Field

from catchment.domain.note import Note, NoteCard, NoteType, Platform
from catchment.domain.note_json import card_to_json, note_to_json

_NOT_SAID = "Null where the platform does not say."


class Shape(BaseModel):
    # A field that is there and not here would be one that nobody was told of.
    model_config = ConfigDict(extra="forbid")


class Found(Shape):
    note_id: str
    platform: Platform
    note_url: str
    xsec_token: str | None = Field(default=None, description="What Xiaohongshu shows the note for.")
    xsec_source: str | None = None
    title: str
    note_type: NoteType
    author_id: str = Field(description="A hash, unless CATCHMENT_KEEP_AUTHORS is set.")
    author_name: str = Field(description="Masked, unless CATCHMENT_KEEP_AUTHORS is set.")
    published_at: str | None


class CardShape(Found):
    liked_count: int | None = Field(description=_NOT_SAID)
    collected_count: int | None
    comment_count: int | None
    share_count: int | None

    @classmethod
    def of(cls, card: NoteCard) -> CardShape:
        return cls.model_validate(card_to_json(card))


class CommentShape(Shape):
    id: str
    content: str
    author_id: str
    author_name: str
    created_at: str | None
    likes: int | None
    reply_count: int
    replies: list[CommentShape]
    images: list[str]


class NoteShape(Found):
    content: str
    likes: int | None = Field(description=_NOT_SAID)
    collects: int | None
    comments: int | None = Field(description="How many there are; those that were read are in comment_list.")
    shares: int | None
    images: list[str]
    video_url: str | None
    tags: list[str]
    updated_at: str | None
    comment_list: list[CommentShape]

    @classmethod
    def of(cls, note: Note) -> NoteShape:
        return cls.model_validate(note_to_json(note))
