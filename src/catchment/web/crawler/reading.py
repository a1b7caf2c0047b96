"""The crawler's reads: searches and notes, one at a time or in a batch. Nothing that they read is kept."""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated, TypeVar

from fastapi import APIRouter, Query, Response
from pydantic import BaseModel

from catchment.bootstrap import System
from catchment.domain.note import Note, NoteRef, Platform
from catchment.sources.platforms.request import RequestOutcome
from catchment.web.auth import Known, TheSystem
from catchment.web.crawler.batch import BatchOut, NoteRequest, answer_of, status_of, wanted_of
from catchment.web.crawler.envelope import (
    OF_A_READ,
    Envelope,
    EnvelopeRoute,
    ErrorBody,
    ReadFailed,
    TheAsking,
    failures,
)
from catchment.web.crawler.inputs import DetailIn, NoteId, OneNoteIn, SearchIn
from catchment.web.crawler.shapes import CardShape, NoteShape

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
