"""What goes out: moments in one form everywhere, and models built from our own values."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping, Sequence
from datetime import UTC, datetime
from email.utils import format_datetime, parsedate_to_datetime
from time import monotonic
from typing import Annotated, Any, Final, Literal

from fastapi.responses import StreamingResponse
from pydantic import BaseModel, ConfigDict, Field, PlainSerializer, WithJsonSchema

from catchment.clock import iso


def validators(tag: str, changed_at: datetime) -> dict[str, str]:
    """The headers that a reader sends back. The tag is exact; a time has its seconds only, so the tag goes first."""
    return {"ETag": f'"{tag}"', "Last-Modified": format_datetime(changed_at.astimezone(UTC), usegmt=True)}


def is_same_document(headers: Mapping[str, str], tag: str) -> bool:
    """By its tag alone, for what may become another without a newer date, as when something is removed."""
    known = headers.get("if-none-match")
    return known is not None and is_unchanged({"if-none-match": known}, tag, datetime.min.replace(tzinfo=UTC))


def is_unchanged(headers: Mapping[str, str], tag: str, changed_at: datetime) -> bool:
    known = headers.get("if-none-match")
    if known is not None:
        return known.strip() == "*" or any(_tag_of(one) == tag for one in known.split(","))
    since = _moment(headers.get("if-modified-since", ""))
    return since is not None and changed_at.replace(microsecond=0) <= since


def _tag_of(text: str) -> str:
    """A proxy that compresses may have made it weak, or said so in its name."""
    return text.strip().removeprefix("W/").strip('"').removesuffix("-gzip")


def _moment(text: str) -> datetime | None:
    try:
        moment = parsedate_to_datetime(text)
    except (ValueError, OverflowError):
        return None
    return moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment


Moment = Annotated[
    datetime,
    PlainSerializer(iso, return_type=str),
    WithJsonSchema({"type": "string", "format": "date-time", "examples": ["2026-02-25T10:00:00.000Z"]}),
]


class Out(BaseModel):
    """A body that is filled from one of our own values by attribute."""

    model_config = ConfigDict(from_attributes=True)


#: In seconds: a store that answers slowly is no reason to rest.
_LONGEST_REST: Final = 0.05


async def stream_list(
    pages: AsyncIterator[Sequence[Out]], *, before: bytes = b"", after: bytes = b""
) -> StreamingResponse:
    """A JSON list, written a page at a time: it may be long, and others are answered between two pages. What it stands
    in goes before and after it.
    """

    async def written() -> AsyncIterator[bytes]:
        begin = before + b"["
        async for page in pages:
            yield begin + _joined(page)
            begin = b","
        yield (begin if begin != b"," else b"") + b"]" + after

    return await stream(written(), media_type="application/json")


async def stream(
    parts: AsyncIterator[bytes], *, media_type: str, headers: Mapping[str, str] | None = None
) -> StreamingResponse:
    """The first part is made before anything is sent, so that what goes wrong is told by its own status.

    After each part it rests for half of what that took: whoever is answered beside it asks the store a dozen things,
    and would wait for a whole part before each of them.
    """
    first = await anext(parts, b"")

    async def all_parts() -> AsyncIterator[bytes]:
        yield first
        began = monotonic()
        async for part in parts:
            rest = (monotonic() - began) / 2
            yield part
            await asyncio.sleep(min(rest, _LONGEST_REST))
            began = monotonic()

    return StreamingResponse(all_parts(), media_type=media_type, headers=headers)


def _joined(page: Sequence[Out]) -> bytes:
    return b",".join(one.model_dump_json(exclude_unset=True).encode() for one in page)


class ErrorOut(Out):
    message: str
    at: Moment


class OutstandingOut(Out):
    url: str
    state: Literal["pending", "failed"]
    attempts: int
    error: str | None
    is_given_up: bool


class BacklogOut(Out):
    """Pages that a source listed and that were not collected: how many, and some of them with the reason."""

    pending: int
    failed: int
    listed: list[OutstandingOut]


class Ok(Out):
    ok: bool = Field(default=True, examples=[True])


#: Feeds as the documents of the API show them.
JSON_FEED: Final[dict[str, Any]] = {
    "version": "https://jsonfeed.org/version/1.1",
    "title": "News",
    "items": [{"id": "12", "url": "https://example.org/a", "title": "A title", "content_html": "<p>A text</p>"}],
}
RSS_FEED: Final = '<rss version="2.0"><channel><title>News</title><item><title>A title</title></item></channel></rss>'
ATOM_FEED: Final = (
    '<feed xmlns="http://www.w3.org/2005/Atom"><title>News</title><entry><title>A title</title></entry></feed>'
)
