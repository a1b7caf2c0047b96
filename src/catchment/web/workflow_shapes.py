"""What comes in and goes out where the workflow is driven from outside.

Answers are in the crawler's envelope, and say the same at the top as well, in the words of those who drive it.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, Field

from catchment.domain.candidate import Candidate
from catchment.domain.crawling import Code
from catchment.domain.execution import Execution
from catchment.domain.note import Action, Platform, SortType, TypeNumber
from catchment.domain.run import RunStatus
from catchment.domain.source import Source
from catchment.sources.platforms.search import PLATFORM_OF_TYPE, read_config
from catchment.web.crawler.envelope import Envelope
from catchment.web.crawler.inputs import NoteId
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

    @classmethod
    def of(cls, execution: Execution) -> ExecutionShape:
        return cls.model_validate(execution)


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
    workflow_name: Name


class StepIn(BaseModel):
    execution_id: Name


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
