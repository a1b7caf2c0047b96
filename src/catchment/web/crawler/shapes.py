"""Notes as the crawler's answers describe them: the JSON of `domain/note_json.py`, spelt out for OpenAPI."""

from __future__ import annotations

from typing import Annotated, Final, Self

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, StringConstraints, model_validator

from catchment.domain.note import Note, NoteCard, NoteType, Platform, Search, SortType, TypeNumber
from catchment.domain.note_json import MAX_ID, MAX_URL, card_to_json, note_to_json
from catchment.manage.cookies import MAX_NAME
from catchment.web.inputs import check_text

MAX_NOTES: Final = 20
MAX_COMMENTS: Final = 200

Keyword = Annotated[
    str, StringConstraints(strip_whitespace=True, min_length=1, max_length=100), AfterValidator(check_text)
]
NoteId = Annotated[str, StringConstraints(min_length=1, max_length=MAX_ID), AfterValidator(check_text)]
#: An id, or the address of the note's page, with or without words around it.
IdOrUrl = Annotated[str, StringConstraints(min_length=1, max_length=MAX_URL), AfterValidator(check_text)]
Token = Annotated[str, StringConstraints(max_length=500), AfterValidator(check_text)]
CookieName = Annotated[str, StringConstraints(min_length=1, max_length=MAX_NAME), AfterValidator(check_text)]


class SearchIn(BaseModel):
    platform: Platform
    keyword: Keyword = Field(examples=["手冲咖啡"])
    cookie_name: CookieName | None = None
    page: int = Field(default=1, ge=1, le=100)
    page_size: int = Field(default=20, ge=1, le=50)
    sort_type: SortType = SortType.GENERAL
    note_type: TypeNumber = TypeNumber.ANY

    def search(self) -> Search:
        return Search(
            keyword=self.keyword,
            page=self.page,
            page_size=self.page_size,
            sort=self.sort_type.sort,
            type=self.note_type.type,
        )


class TokenIn(BaseModel):
    note_id: NoteId
    xsec_token: Token | None = None
    xsec_source: Token | None = None


class NoteIn(BaseModel):
    """How notes are to be read."""

    platform: Platform
    cookie_name: CookieName | None = None
    get_comments: bool = True
    comments_limit: int = Field(default=50, ge=0, le=MAX_COMMENTS)

    @property
    def comments(self) -> int:
        return self.comments_limit if self.get_comments else 0


class OneNoteIn(NoteIn):
    xsec_token: Token | None = Field(default=None, description="What Xiaohongshu shows the note for.")
    xsec_source: Token | None = None


class DetailIn(NoteIn):
    note_ids: list[IdOrUrl] = Field(default=[], max_length=MAX_NOTES, description="Ids, or addresses of notes.")
    notes: list[TokenIn] = Field(default=[], max_length=MAX_NOTES, description="Ids with the token that shows them.")

    @model_validator(mode="after")
    def _some_but_not_too_many(self) -> Self:
        if not 1 <= len(self.note_ids) + len(self.notes) <= MAX_NOTES:
            raise ValueError(f"1 to {MAX_NOTES} notes are asked for in one go, by note_ids or notes")
        return self


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
