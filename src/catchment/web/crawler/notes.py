"""The crawler's reads: searches and notes, one at a time or in a batch. Nothing that they read is kept."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Annotated, TypeVar

from fastapi import APIRouter, Query, Response
from pydantic import BaseModel, Field

from catchment.bootstrap import System
from catchment.domain.crawl_errors import HANDLING, Code, CrawlError
from catchment.domain.note import Note, NoteRef, Platform
from catchment.sources.platforms.reader import PlatformReader
from catchment.sources.platforms.request import RequestOutcome
from catchment.web.auth import Known, TheSystem
from catchment.web.crawler.envelope import (
    OF_A_READ,
    Asking,
    Envelope,
    EnvelopeRoute,
    ErrorBody,
    ReadFailed,
    TheAsking,
    failures,
)
from catchment.web.crawler.shapes import CardShape, DetailIn, NoteId, NoteShape, OneNoteIn, SearchIn


@dataclass(frozen=True, slots=True, kw_only=True)
class NoteRequest:
    """A note as the caller named it, and which it is, or why it is none."""

    id: str
    ref: NoteRef | None = None
    error: CrawlError | None = None


class BatchItemOut(BaseModel):
    id: str = Field(description="As it was asked for.")
    success: bool
    data: NoteShape | None = None
    error: ErrorBody | None = None
    comments_error: ErrorBody | None = Field(default=None, description="Why the note came without all its comments.")
    cookie_used: str | None = None
    retry_count: int = 0
    latency_ms: int = 0

    @classmethod
    def of(cls, wanted_id: str, outcome: RequestOutcome[Note]) -> BatchItemOut:
        return cls(
            id=wanted_id,
            success=outcome.error is None,
            data=NoteShape.of(outcome.value) if outcome.value else None,
            error=ErrorBody.of(outcome.error) if outcome.error else None,
            comments_error=ErrorBody.of(outcome.comments_error) if outcome.comments_error else None,
            cookie_used=outcome.cookie_used,
            retry_count=outcome.retry_count,
            latency_ms=round(outcome.latency.total_seconds() * 1000),
        )


class Summary(BaseModel):
    total: int
    succeeded: int
    failed: int


class BatchData(BaseModel):
    platform: Platform
    items: list[BatchItemOut]


class BatchOut(Envelope[BatchData]):
    items: list[BatchItemOut]
    summary: Summary


def wanted_of(body: DetailIn, reader: PlatformReader) -> list[NoteRequest]:
    """Each note once, by whichever name it came first; the same with a token is better than without."""
    found: dict[str, NoteRequest] = {}
    for wanted in _all_wanted(body, reader):
        key = wanted.ref.note_id if wanted.ref else wanted.id
        known = found.setdefault(key, wanted)
        if known.ref and not known.ref.token:
            found[key] = replace(known, ref=wanted.ref)
    return [*found.values()]


def answer_of(body: DetailIn, asking: Asking, results: Sequence[tuple[str, RequestOutcome[Note]]]) -> BatchOut:
    items = [BatchItemOut.of(wanted_id, outcome) for wanted_id, outcome in results]
    failed = [item for item in items if not item.success]
    cookies = dict.fromkeys(item.cookie_used for item in items if item.cookie_used)
    return BatchOut(
        success=not failed,
        data=BatchData(platform=body.platform, items=items),
        error=_verdict(items, failed),
        meta=asking.meta(cookie_used=", ".join(cookies) or None, retry_count=sum(item.retry_count for item in items)),
        items=items,
        summary=Summary(total=len(items), succeeded=len(items) - len(failed), failed=len(failed)),
    )


def status_of(answer: BatchOut) -> int:
    return HANDLING[Code(answer.error.code)].status if answer.error else 200


def _all_wanted(body: DetailIn, reader: PlatformReader) -> Iterator[NoteRequest]:
    for given in body.note_ids:
        yield _wanted(body.platform, given, reader)
    for one in body.notes:
        wanted = _wanted(body.platform, one.note_id, reader)
        if wanted.ref and one.xsec_token:
            yield replace(wanted, ref=replace(wanted.ref, token=one.xsec_token, token_source=one.xsec_source or None))
        else:
            yield wanted


def _wanted(platform: Platform, given: str, reader: PlatformReader) -> NoteRequest:
    try:
        return NoteRequest(id=given, ref=reader.ref_of(platform, given))
    except CrawlError as error:
        return NoteRequest(id=given, error=error)


def _verdict(items: Sequence[BatchItemOut], failed: Sequence[BatchItemOut]) -> ErrorBody | None:
    """Nothing where all is well; the code that all of them failed with; else that a part of them failed."""
    errors = [item.error for item in failed if item.error]
    if not errors:
        return None
    again = [item.id for item in failed if item.error and item.error.retryable]
    details = {"failed_ids": again, "not_retryable_ids": [item.id for item in failed if item.id not in again]}
    if len(failed) == len(items) and len({error.code for error in errors}) == 1:
        return errors[0].model_copy(update={"details": {**errors[0].details, **details}})
    message = f"{len(failed)} of {len(items)} notes could not be read."
    return ErrorBody(code=Code.PARTIAL_FAIL, message=message, retryable=bool(again), details=details)


router = APIRouter(prefix="/api", tags=["crawler"], route_class=EnvelopeRoute, responses=failures(*OF_A_READ))

T = TypeVar("T")


class SearchData(BaseModel):
    keyword: str
    platform: Platform
    page: int
    page_size: int
    items: list[CardShape]
    #: Of this page: platforms do not say how many there are in all.
    total: int
    has_more: bool


class NoteOut(Envelope[NoteShape]):
    #: Why the note came without all its comments.
    comments_error: ErrorBody | None = None


@router.post("/search")
async def search(body: SearchIn, system: TheSystem, _caller: Known, asking: TheAsking) -> Envelope[SearchData]:
    """One page of what a platform finds for a keyword."""
    settings = system.settings
    outcome = await system.reader.search(
        body.platform,
        body.search(),
        cookie_name=body.cookie_name,
        within=max(settings.search_timeout, settings.detail_batch_timeout),
    )
    page = _value(outcome)
    items = [CardShape.of(card) for card in page.cards]
    data = SearchData(
        keyword=body.keyword,
        platform=body.platform,
        page=body.page,
        page_size=body.page_size,
        items=items,
        total=len(items),
        has_more=page.has_more,
    )
    return Envelope(data=data, meta=asking.meta(cookie_used=outcome.cookie_used, retry_count=outcome.retry_count))


@router.post("/note/detail", responses=failures(*OF_A_READ, or_else=BatchOut) | {207: {"model": BatchOut}})
async def read_notes(
    body: DetailIn, system: TheSystem, _caller: Known, asking: TheAsking, response: Response
) -> BatchOut:
    """Up to 20 notes, each with its data or its error. 207 when some failed: `failed_ids` are those worth
    asking for again, `not_retryable_ids` the others.
    """
    wanted = wanted_of(body, system.reader)
    answer = answer_of(body, asking, await _read(system, wanted, body))
    response.status_code = status_of(answer)
    return answer


@router.get("/note/{note_id}")
async def read_note(
    note_id: NoteId, query: Annotated[OneNoteIn, Query()], system: TheSystem, _caller: Known, asking: TheAsking
) -> NoteOut:
    """One note by its id; of Xiaohongshu with its token, unless that is known, since a search found it."""
    ref = system.reader.ref_of(query.platform, note_id)
    if query.xsec_token:
        ref = replace(ref, token=query.xsec_token, token_source=query.xsec_source or None)
    outcome = await system.reader.note(
        ref,
        comments_limit=query.comments,
        cookie_name=query.cookie_name,
        within=system.settings.detail_batch_timeout,
    )
    return NoteOut(
        data=NoteShape.of(_value(outcome)),
        meta=asking.meta(cookie_used=outcome.cookie_used, retry_count=outcome.retry_count),
        comments_error=ErrorBody.of(outcome.comments_error) if outcome.comments_error else None,
    )


async def _read(system: System, wanted: list[NoteRequest], body: DetailIn) -> list[tuple[str, RequestOutcome[Note]]]:
    """In the order in which they were asked for."""
    refs = [one.ref for one in wanted if one.ref]
    outcomes = await system.reader.batch(refs, comments_limit=body.comments, cookie_name=body.cookie_name)
    read: dict[NoteRef, RequestOutcome[Note]] = dict(zip(refs, outcomes, strict=True))
    return [(one.id, read[one.ref] if one.ref else RequestOutcome(error=one.error)) for one in wanted]


def _value(outcome: RequestOutcome[T]) -> T:
    if outcome.error is not None:
        raise ReadFailed(outcome.error, cookie_used=outcome.cookie_used, retry_count=outcome.retry_count)
    return outcome.result()
