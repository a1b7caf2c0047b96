"""Whatever happens to notes, in whatever order, their states are those that the document allows."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import timedelta
from itertools import count

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sqlalchemy import text

from catchment.clock import ManualClock
from catchment.domain.candidate import NOTE_RETRIES
from catchment.domain.crawl_errors import Code, CrawlError
from catchment.domain.execution import Result
from catchment.errors import Conflict, LeaseLost
from catchment.platforms.workflow import Workflow
from catchment.sources.platforms.search import item_of
from catchment.store.database import Store
from crawl_notes import LOCK_TIMEOUT, add_keyword, crawled, listed, note, ref
from examples import at_most

NOTES = 4
#: Two executions at once, under locks of their own, and each with all steps that there are.
WHO = st.sampled_from(["first", "second"])
WHICH = st.integers(min_value=1, max_value=NOTES)
STEPS = st.one_of(
    st.tuples(st.sampled_from(["begin", "report", "claim", "heartbeat", "release"]), WHO, st.just(0)),
    st.tuples(st.sampled_from(["write", "give up", "refuse"]), WHO, WHICH),
    st.tuples(st.sampled_from(["recover", "ten minutes", "an hour"]), st.just(""), st.just(0)),
)
#: From where a note may get where in one step. What was collected or has failed stays that.
ALLOWED = {
    ("pending", "pending"),
    ("pending", "processing"),
    ("processing", "processing"),
    ("processing", "pending"),
    ("processing", "collected"),
    ("processing", "failed"),
    ("collected", "collected"),
    ("failed", "failed"),
}
_examples = count(1)


@dataclass
class History:
    store: Store
    clock: ManualClock
    workflow: Workflow
    source_id: int
    #: Every example has notes and workflows of its own.
    base: int
    executions: dict[str, str] = field(default_factory=dict)

    async def do(self, what: str, who: str, which: int) -> None:
        execution, number = self.executions.get(who, "exec-0-nobody"), self.base + which
        match what:
            case "begin":
                if begun := await self.workflow.acquire(f"{who}-{self.base}"):
                    self.executions[who] = begun.execution_id
            case "report":
                await self.workflow.report(
                    execution, self.source_id, listed(*range(self.base + 1, self.base + NOTES + 1))
                )
            case "claim":
                await self.workflow.claim(execution, limit=2)
            case "heartbeat":
                await self.workflow.heartbeat(execution)
            case "release":
                await self.workflow.release(execution, Result())
            case "write":
                await self.workflow.write(execution, crawled(number), item_of(note(number)))
            case "give up":
                await self.workflow.give_up(execution, ref(number).note_id, CrawlError(Code.TIMEOUT_ERROR, "Too long."))
            case "refuse":
                await self.workflow.give_up(execution, ref(number).note_id, CrawlError(Code.NOT_FOUND, "Gone."))
            case "recover":
                await self.workflow.recover()
            case "ten minutes":
                self.clock.advance(timedelta(minutes=10))
            case "an hour":
                self.clock.advance(timedelta(hours=1))

    async def notes(self) -> dict[str, dict[str, object]]:
        ids = ", ".join(f"'{ref(self.base + which).note_id}'" for which in range(1, NOTES + 1))
        query = text(f"SELECT * FROM tbl_candidate WHERE note_id IN ({ids})")
        rows = await self.store.read(lambda conn: [dict(row) for row in conn.execute(query).mappings()])
        return {str(row["note_id"]): row for row in rows}


def check(before: dict[str, dict[str, object]], after: dict[str, dict[str, object]]) -> None:
    for note_id, row in after.items():
        assert (row["processing_lock"] is not None) == (row["status"] == "processing")
        assert (row["locked_at"] is not None) == (row["processing_lock"] is not None)
        assert 0 <= row["retry_count"] <= NOTE_RETRIES
        if note_id in before:
            assert (before[note_id]["status"], row["status"]) in ALLOWED


@pytest.mark.proves("E-11", "E-05")
@settings(max_examples=at_most(30), deadline=None, suppress_health_check=list(HealthCheck))
@given(steps=st.lists(STEPS, max_size=40))
async def test_the_invariants_of_candidates_hold_through_every_history(store, clock, steps):
    base = 100 * next(_examples)
    history = History(
        store=store,
        clock=clock,
        workflow=Workflow(store=store, clock=clock, lock_timeout=LOCK_TIMEOUT),
        source_id=(await add_keyword(store, clock, f"coffee {base}")).id,
        base=base,
    )
    before: dict[str, dict[str, object]] = {}
    for step in [("begin", "first", 0), ("report", "first", 0), *steps]:
        try:
            await history.do(*step)
        except (LeaseLost, Conflict):
            assert await history.notes() == before, "what is refused changes nothing"
        after = await history.notes()
        check(before, after)
        before = after
    written = await store.read(lambda conn: conn.execute(text("SELECT note_id FROM notes")).scalars().all())
    collected = {note_id for note_id, row in before.items() if row["status"] == "collected"}
    assert collected <= set(written)
