"""The contract of a platform: what one cookie can read there. Everything that goes wrong is a CrawlError."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from typing import Protocol

from catchment.domain.note import Comment, Note, NoteRef, Search, SearchPage
from catchment.domain.note import Platform as PlatformName
from catchment.fetch.client import Request, Response


class Sender(Protocol):
    """The way out: the one HTTP client, or a source's own manner of using it."""

    async def send(self, request: Request) -> Response: ...


class PlatformClient(Protocol):
    @property
    def name(self) -> PlatformName: ...

    @property
    def needs_token(self) -> bool:
        """Whether a note is shown only to whoever brings the token of the listing that named it."""
        ...

    def ref_of(self, given: str) -> NoteRef | None:
        """The note that an id or an address of a note's page stands for; None when it is neither."""
        ...

    def url_of(self, ref: NoteRef) -> str:
        """Where people see the note."""
        ...

    async def search(self, http: Sender, cookie: str, search: Search) -> SearchPage: ...

    async def detail(self, http: Sender, cookie: str, ref: NoteRef) -> Note:
        """The note without its comments."""
        ...

    def comments(self, http: Sender, cookie: str, ref: NoteRef, *, limit: int) -> AsyncIterator[tuple[Comment, ...]]:
        """The first comments, each once and with the replies that came along; page by page until there are `limit`."""
        ...

    async def is_valid(self, http: Sender, cookie: str) -> bool:
        """Whether the platform takes the cookie for somebody who is logged in."""
        ...


Platforms = Mapping[PlatformName, PlatformClient]
