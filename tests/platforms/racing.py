"""Processes that race each other: started once, released together round by round."""

from __future__ import annotations

import asyncio
import multiprocessing
import os
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta
from multiprocessing.synchronize import Barrier
from typing import Any

from catchment.clock import SystemClock
from catchment.platforms.workflow import Workflow
from catchment.store.database import open_store

PROCESSES = 50
ROUNDS = 4 if os.environ.get("SLOW") == "short" else 20
PATIENCE_SECONDS = 120

#: What each process does in a round: it is given the workflow, its own number and the round's, and answers something.
Act = Callable[[Workflow, int, int], Awaitable[Any]]

# Forked from one that has imported everything: fifty interpreters that each start by themselves would take a minute.
_FORKS = multiprocessing.get_context("forkserver")
_FORKS.set_forkserver_preload(["catchment.platforms.workflow", "sqlalchemy.dialects.postgresql.psycopg"])


@dataclass(frozen=True, slots=True, kw_only=True)
class Race:
    barrier: Barrier
    answers: Any

    def round(self) -> list[Any]:
        """Release everybody at once, and return what they answered."""
        self.barrier.wait(PATIENCE_SECONDS)
        answers = [self.answers.get(timeout=PATIENCE_SECONDS) for _ in range(PROCESSES)]
        assert not [answer for answer in answers if isinstance(answer, Exception)]
        return answers


@contextmanager
def racing(store_url: str, act: Act) -> Iterator[Race]:
    race = Race(barrier=_FORKS.Barrier(PROCESSES + 1), answers=_FORKS.Queue())
    racers = [_FORKS.Process(target=_run, args=(store_url, act, race, number)) for number in range(PROCESSES)]
    for racer in racers:
        racer.start()
    try:
        yield race
        for racer in racers:
            racer.join(PATIENCE_SECONDS)
        assert [racer.exitcode for racer in racers] == [0] * PROCESSES
    finally:
        for racer in racers:
            racer.kill()
            racer.join()


def _run(store_url: str, act: Act, race: Race, number: int) -> None:
    asyncio.run(_compete(store_url, act, race, number))


async def _compete(store_url: str, act: Act, race: Race, number: int) -> None:
    store = open_store(store_url)
    workflow = Workflow(store=store, clock=SystemClock(), lock_timeout=timedelta(minutes=30))
    for round_ in range(ROUNDS):
        await asyncio.to_thread(race.barrier.wait, PATIENCE_SECONDS)
        race.answers.put(await _answer(act(workflow, number, round_)))
    await store.close()


async def _answer(acting: Awaitable[Any]) -> Any:
    try:
        return await acting
    except Exception as error:  # noqa: BLE001 - the race says who fell
        return RuntimeError(repr(error))


async def take_the_lock(workflow: Workflow, _: int, round_: int) -> str | None:
    begun = await workflow.acquire(f"round-{round_}")
    return begun.execution_id if begun else None


async def claim_records(workflow: Workflow, number: int, round_: int) -> list[int]:
    """Each under a lock of its own, which it keeps: without it the records would be free again."""
    begun = await workflow.acquire(f"racer-{number}-{round_}")
    assert begun is not None
    claimed = await workflow.claim(begun.execution_id, limit=10)
    return [record.id for record in claimed]
