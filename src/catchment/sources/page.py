"""A source that is one document at one address: asked for only if it changed, read only if it did."""

from __future__ import annotations

import hashlib
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import replace
from datetime import datetime
from typing import Any, Protocol

from catchment.domain.item import Item, Reading
from catchment.domain.source import ADDRESS_KEY, Source
from catchment.domain.visit import Fetched
from catchment.errors import ParseError
from catchment.fetch.client import Request, Response
from catchment.fetch.freshness import Validators, address_mark, fresh_for
from catchment.redact import redact_url
from catchment.sources.base import Context

#: Raises a VisitError for an answer that is not what was asked for, though it may look like it.
Judge = Callable[[Response, datetime], None]
#: Has an answer read, by whatever way.
DocumentReader = Callable[[Response], Awaitable[Reading]]
#: What is remembered so that the same is not read again.
READ_KEYS = frozenset({"body", "etag", "last_modified", "validated_by"})


class PageReader(Protocol):
    """Pure: bytes to a title and items, or to a whole `Reading` where there is more to say; or a ParseError."""

    def __call__(self, body: bytes, *, url: str, content_type: str) -> tuple[str, tuple[Item, ...]] | Reading: ...


async def visit_page(
    context: Context, request: Request, read: PageReader, *, is_window: bool = False, judge: Judge | None = None
) -> Fetched:
    """One conditional request; what is the same as last time is not read again."""
    return await visit_document(context, request, read_apart(context, read), is_window=is_window, judge=judge)


def read_apart(context: Context, read: PageReader) -> DocumentReader:
    """Have what came read where it holds up nobody who is served."""

    async def document(response: Response) -> Reading:
        found = await context.parsers.read(read, response.body, url=response.url, content_type=response.content_type)
        return Reading(*found)

    return document


async def visit_document(
    context: Context,
    request: Request,
    read: DocumentReader,
    *,
    is_window: bool = False,
    judge: Judge | None = None,
) -> Fetched:
    """As `visit_page`, for whoever has more to do than to read what came."""
    memory = context.source.memory
    if request.validators is None:
        request = replace(request, validators=validators_of(memory))
    response = await context.http.send(request)
    if judge is not None:
        judge(response, context.now)
    fresh = fresh_for(response.headers, context.now)
    moved_to = _new_address(context.source, request, response.permanent_url)
    if response.not_modified:
        if not memory:
            raise ParseError("it answered that nothing changed (HTTP 304), though nothing was ever read of it")
        return Fetched(memory=memory, unchanged=True, fresh_for=fresh, moved_to=moved_to)
    remembered = _remember(request, response)
    if remembered["body"] == memory.get("body"):
        return Fetched(memory=remembered, unchanged=True, fresh_for=fresh, moved_to=moved_to)
    reading = await read(response)
    return Fetched(
        title=reading.title,
        items=reading.items,
        left_out=reading.left_out,
        warnings=reading.warnings,
        is_damaged=reading.is_damaged,
        # By what a part was known the rest would never come.
        memory={} if reading.is_cut_off else remembered,
        fresh_for=fresh,
        moved_to=moved_to,
        is_window=is_window,
    )


def _new_address(source: Source, request: Request, permanent_url: str | None) -> str | None:
    """Where a source moved for good. An address with a secret in it is neither given up nor taken by itself."""
    if permanent_url is None or request.url != source.config.get(ADDRESS_KEY):
        return None
    return None if any(redact_url(url) != url for url in (request.url, permanent_url)) else permanent_url


def validators_of(memory: Mapping[str, Any]) -> Validators:
    """What the last answer was known by."""
    return Validators(
        etag=memory.get("etag"), last_modified=memory.get("last_modified"), given_by=memory.get("validated_by")
    )


def _remember(request: Request, response: Response) -> dict[str, str]:
    validators = Validators.from_headers(response.headers)
    # Processors have instructions for this one, which makes it the quickest by far.
    memory = {"body": hashlib.sha256(response.body).hexdigest()}
    if validators.etag:
        memory["etag"] = validators.etag
    if validators.last_modified:
        memory["last_modified"] = validators.last_modified
    if response.url != request.url:
        memory["validated_by"] = address_mark(response.url)
    return memory
