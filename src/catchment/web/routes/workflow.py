"""The workflow for whoever drives it from outside: its lock, its records, and the one way to write notes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any, Literal, TypeVar

from fastapi import APIRouter, Query
from pydantic import BaseModel, BeforeValidator, Field

from catchment.domain.candidate import Candidate, CandidateState
from catchment.domain.crawl_errors import Code, CrawlError
from catchment.domain.execution import ALREADY_RUNNING, Result, trace_in
from catchment.domain.note import Action, Crawled, NoteCard, Platform, SortType, TypeNumber
from catchment.domain.note_json import card_from_json, note_from_json
from catchment.domain.run import RunStatus
from catchment.domain.source import Source
from catchment.errors import InvalidInput
from catchment.redact import redact_text
from catchment.sources.platforms.search import PLATFORM_OF_TYPE, item_of, listed_of, read_config
from catchment.web.auth import SERVICE_ONLY, TheSystem
from catchment.web.crawler.envelope import Asking, Envelope, EnvelopeRoute, TheAsking, failures
from catchment.web.crawler.shapes import NoteId
from catchment.web.inputs import MAX_ID, JsonObject, Text
from catchment.web.outputs import Moment, Out

MAX_BATCH, MAX_REPORTED = 100, 100
MAX_MESSAGE = 500

Name = Annotated[Text, Field(min_length=1, max_length=100)]


class Keyword(BaseModel):
    source_id: int
    platform: Platform
    keyword: str
    sort_type: SortType
    note_type: TypeNumber
    pages: int
    comments_limit: int

    @classmethod
    def of(cls, source: Source) -> Keyword:
        config = read_config(source.config)
        return cls(
            source_id=source.id,
            platform=PLATFORM_OF_TYPE[source.type],
            keyword=config.keyword,
            sort_type=config.sort_type,
            note_type=config.note_type,
            pages=config.pages,
            comments_limit=config.comments,
        )


class Keywords(BaseModel):
    sources: list[Keyword]


class Lock(BaseModel):
    """Either the lock with the ids that go with it, or why there is none."""

    locked: bool
    execution_id: str | None = None
    trace_id: str | None = None
    reason: str | None = None


class Alive(BaseModel):
    alive: bool = True


class Reported(BaseModel):
    added: int
    known: int


class Record(BaseModel):
    id: int
    note_id: str
    platform: Platform
    note_url: str
    source_keyword: str
    retry_count: int
    source_id: int

    @classmethod
    def of(cls, candidate: Candidate) -> Record:
        listed = candidate.listed
        assert listed.platform is not None, "only notes are claimed here"
        return cls(
            id=candidate.id,
            note_id=listed.native_id,
            platform=Platform(listed.platform),
            note_url=listed.url,
            source_keyword=(listed.facts or {}).get("source_keyword", ""),
            retry_count=candidate.attempts,
            source_id=candidate.source_id,
        )


class Claimed(BaseModel):
    records: list[Record]
    locked_count: int


class Committed(BaseModel):
    action: Action
    id: int
    existing_id: int | None = Field(default=None, description="The note that was there already.")


class GivenUp(BaseModel):
    status: Literal["pending", "failed"]
    retry_count: int


class Released(BaseModel):
    released: bool = True
    items_processed: int
    items_failed: int


class Recovered(Out):
    executions: int
    records: int


class ExecutionShape(Out):
    workflow_name: str
    execution_id: str
    trace_id: str
    status: RunStatus
    started_at: Moment
    heartbeat_at: Moment
    completed_at: Moment | None
    items_processed: int
    items_failed: int
    error_summary: str | None


class Executions(BaseModel):
    executions: list[ExecutionShape]


class KeywordsOut(Keywords, Envelope[Keywords]):
    pass


class ExecutionsOut(Executions, Envelope[Executions]):
    pass


class LockOut(Lock, Envelope[Lock]):
    pass


class AliveOut(Alive, Envelope[Alive]):
    pass


class ReportedOut(Reported, Envelope[Reported]):
    pass


class ClaimedOut(Claimed, Envelope[Claimed]):
    pass


class CommittedOut(Committed, Envelope[Committed]):
    pass


class GivenUpOut(GivenUp, Envelope[GivenUp]):
    pass


class ReleasedOut(Released, Envelope[Released]):
    pass


class RecoveredOut(Recovered, Envelope[Recovered]):
    pass


class LockIn(BaseModel):
    workflow_name: Name = Field(examples=["media_crawler"])


class StepIn(BaseModel):
    execution_id: Name = Field(examples=["20270101-060000-3f1c"])


class ReportIn(StepIn):
    source_id: int = Field(ge=1, le=MAX_ID)
    items: list[JsonObject] = Field(max_length=MAX_REPORTED, description="As `/api/search` gives them.")


class ClaimIn(StepIn):
    batch_size: int | None = Field(default=None, ge=1, le=MAX_BATCH, description="BATCH_SIZE where it is not said.")
    platform: Platform | None = None


class CommitIn(StepIn):
    note: JsonObject = Field(description="As `/api/note/detail` gives it.")
    meta: JsonObject = Field(default={}, description="What else is to be remembered of how it was come by.")


class ErrorIn(BaseModel):
    code: Code
    message: Text = Field(default="", max_length=MAX_MESSAGE)


def _read_error(given: Any) -> Any:
    return {"code": given} if isinstance(given, str) else given


class FailIn(StepIn):
    note_id: NoteId
    platform: Platform | None = Field(default=None, description="Where several platforms know a note of this id.")
    error: Annotated[ErrorIn, BeforeValidator(_read_error)] = Field(description="Or its code alone.")


class ReleaseIn(StepIn):
    status: Literal["completed", "failed"] = "completed"
    error_summary: Text | None = Field(default=None, max_length=MAX_MESSAGE)


router = APIRouter(
    prefix="/api/workflow",
    tags=["workflow"],
    route_class=EnvelopeRoute,
    dependencies=[SERVICE_ONLY],
    responses=failures(400, 401, 403, 413, 503),
)

MAX_SHOWN = 500
_OF_AN_EXECUTION = failures(400, 401, 403, 409, 413, 503)
_OF_A_SOURCE = failures(400, 401, 403, 404, 409, 413, 503)


A = TypeVar("A", bound=Envelope[Any])


def _said(out: type[A], data: BaseModel, asking: Asking) -> A:
    return out(**dict(data), data=data, meta=asking.meta())


@router.get("/keywords")
async def list_keywords(system: TheSystem, asking: TheAsking) -> KeywordsOut:
    """The keyword sources that are active: what there is to search for."""
    keywords = Keywords(sources=[Keyword.of(source) for source in await system.crawl.keywords()])
    return _said(KeywordsOut, keywords, asking)


@router.get("/executions")
async def list_executions(
    system: TheSystem,
    asking: TheAsking,
    workflow_name: Annotated[Name | None, Query()] = None,
    limit: Annotated[int, Query(ge=1, le=MAX_SHOWN)] = 50,
) -> ExecutionsOut:
    """Executions, the latest first."""
    found = await system.workflow.latest(workflow_name=workflow_name, limit=limit)
    return _said(ExecutionsOut, Executions(executions=[ExecutionShape.model_validate(one) for one in found]), asking)


@router.post("/lock")
async def acquire(body: LockIn, system: TheSystem, asking: TheAsking) -> LockOut:
    """Take the lock of a workflow. That somebody else holds it is an answer, not an error."""
    begun = await system.workflow.acquire(body.workflow_name)
    if begun is None:
        return _said(LockOut, Lock(locked=False, reason=ALREADY_RUNNING), asking)
    lock = Lock(locked=True, execution_id=begun.execution_id, trace_id=begun.trace_id)
    return _said(LockOut, lock, asking)


@router.post("/heartbeat", responses=_OF_AN_EXECUTION)
async def heartbeat(body: StepIn, system: TheSystem, asking: TheAsking) -> AliveOut:
    """Keep the lock for another LOCK_TIMEOUT_MINUTES; 409 once it is lost, as with every step below."""
    await system.workflow.heartbeat(body.execution_id)
    return _said(AliveOut, Alive(), asking)


@router.post("/candidates", responses=_OF_A_SOURCE)
async def report(body: ReportIn, system: TheSystem, asking: TheAsking) -> ReportedOut:
    """Report what a search found for a keyword source: notes of its platform, or none of them is taken."""
    source = await system.crawl.keyword(body.source_id)
    keyword, exec_meta = read_config(source.config).keyword, _exec_meta(asking)
    cards = [card_from_json(item) for item in body.items]
    _check_platform(cards, source)
    found = [listed_of(card, keyword=keyword, exec_meta=exec_meta) for card in cards]
    reported = await system.workflow.report(body.execution_id, source.id, found)
    return _said(ReportedOut, Reported(added=reported.added, known=reported.known), asking)


@router.post("/claim", responses=_OF_AN_EXECUTION)
async def claim(body: ClaimIn, system: TheSystem, asking: TheAsking) -> ClaimedOut:
    """Lock records that are pending, those first that have waited longest."""
    limit = body.batch_size or system.settings.batch_size
    claimed = await system.workflow.claim(body.execution_id, limit=limit, platform=body.platform)
    records = [Record.of(one) for one in claimed]
    return _said(ClaimedOut, Claimed(records=records, locked_count=len(records)), asking)


@router.post("/commit", responses=_OF_AN_EXECUTION)
async def commit(body: CommitIn, system: TheSystem, asking: TheAsking) -> CommittedOut:
    """Write the note of a record that is locked. A note that is there already is skipped, and its record freed."""
    note = note_from_json(body.note)
    crawled = Crawled(note=note, how={**body.meta, **_exec_meta(asking)})
    written = await system.workflow.write(body.execution_id, crawled, item_of(note))
    existing = written.id if written.action is Action.SKIPPED else None
    return _said(CommittedOut, Committed(action=written.action, id=written.id, existing_id=existing), asking)


@router.post("/fail", responses=_OF_AN_EXECUTION)
async def fail(body: FailIn, system: TheSystem, asking: TheAsking) -> GivenUpOut:
    """Free a record that could not be fetched: pending again, or failed once that was often enough."""
    error = CrawlError(body.error.code, redact_text(body.error.message))
    given_up = await system.workflow.give_up(body.execution_id, body.note_id, error, platform=body.platform)
    status: Literal["pending", "failed"] = "failed" if given_up.state is CandidateState.FAILED else "pending"
    return _said(GivenUpOut, GivenUp(status=status, retry_count=given_up.retry_count), asking)


@router.post("/release", responses=_OF_AN_EXECUTION)
async def release(body: ReleaseIn, system: TheSystem, asking: TheAsking) -> ReleasedOut:
    """End the execution; records that it still holds go back untried."""
    summary = redact_text(body.error_summary) if body.error_summary else None
    result = Result(status=RunStatus(body.status), error_summary=summary)
    ended = await system.workflow.release(body.execution_id, result)
    done = Released(items_processed=ended.items_processed, items_failed=ended.items_failed)
    return _said(ReleasedOut, done, asking)


@router.post("/recover")
async def recover(system: TheSystem, asking: TheAsking) -> RecoveredOut:
    """Free the locks of executions without a heartbeat, now rather than at the next RECOVERY_INTERVAL_MINUTES."""
    return _said(RecoveredOut, Recovered.model_validate(await system.workflow.recover()), asking)


def _check_platform(cards: Sequence[NoteCard], source: Source) -> None:
    wanted = PLATFORM_OF_TYPE[source.type]
    for number, card in enumerate(cards):
        if card.ref.platform is not wanted:
            raise InvalidInput(
                f"Source {source.id} searches {wanted}, and this note is of {card.ref.platform}; nothing was taken.",
                field=f"items[{number}].platform",
            )


def _exec_meta(asking: Asking) -> dict[str, str | None]:
    """Whoever asks names the trace and the step in X-Request-ID; both go with what is written."""
    trace_id = trace_in(asking.id)
    return {"request_id": asking.id, "workflow_trace_id": trace_id, "crawled_at": asking.at.isoformat()}
