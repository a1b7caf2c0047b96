"""A batch of notes as it is asked for and answered: each with its data or its error, and one verdict over all."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from pydantic import BaseModel, Field

from catchment.domain.crawling import HANDLING, Code, CrawlError
from catchment.domain.note import Note, NoteRef, Platform
from catchment.sources.platforms.reader import PlatformReader
from catchment.sources.platforms.request import RequestOutcome
from catchment.web.crawler.envelope import Asking, Envelope, ErrorBody
from catchment.web.crawler.inputs import DetailIn
from catchment.web.crawler.shapes import NoteShape


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
