from __future__ import annotations

import asyncio
import heapq
from collections.abc import Callable
from itertools import count, pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from catchment.fetch.pacing import Deferred, HostPace, PacePolicy, Pacer

pytestmark = pytest.mark.proves("A-34")

policies = st.builds(
    PacePolicy,
    concurrency=st.integers(1, 5),
    spacing_seconds=st.floats(0, 5),
    budget_per_minute=st.integers(1, 8),
)


@given(policy=policies, arrivals=st.lists(st.floats(0, 30), max_size=40))
def test_starts_keep_their_distance_and_their_budget(policy: PacePolicy, arrivals: list[float]) -> None:
    pace = HostPace(policy)
    starts: list[float] = []
    now = 0.0
    for gap in arrivals:
        now = pace.earliest(now + gap)
        pace.started(now)
        starts.append(now)
    assert all(later - earlier >= policy.spacing_seconds - 1e-9 for earlier, later in pairwise(starts))
    budget = policy.budget_per_minute
    assert all(later - earlier >= 60 - 1e-9 for earlier, later in zip(starts, starts[budget:], strict=False))


@given(policy=policies, starts=st.integers(0, 10), ahead=st.integers(0, 10))
def test_who_waits_behind_others_is_told_the_time_it_will_be(policy: PacePolicy, starts: int, ahead: int) -> None:
    pace = HostPace(policy)
    for _ in range(starts):
        pace.started(pace.earliest(0.0))
    promised = pace.earliest(0.0, ahead=ahead)
    for _ in range(ahead):
        pace.started(pace.earliest(0.0))
    assert pace.earliest(0.0) == promised


class ManualTimeline:
    """Time that stands still until it is moved, and then wakes whoever asked to be."""

    def __init__(self) -> None:
        self._now = 0.0
        self._order = count()
        self._alarms: list[tuple[float, int, asyncio.TimerHandle]] = []

    def time(self) -> float:
        return self._now

    def call_at(self, when: float, callback: Callable[[], None], /) -> asyncio.TimerHandle:
        handle = asyncio.TimerHandle(when, callback, (), asyncio.get_running_loop())
        heapq.heappush(self._alarms, (when, next(self._order), handle))
        return handle

    async def advance(self, seconds: float) -> None:
        end = self._now + seconds
        await settled()
        while self._alarms and self._alarms[0][0] <= end:
            self._now, _, handle = heapq.heappop(self._alarms)
            if not handle.cancelled():
                handle._run()
            await settled()
        self._now = end


async def settled() -> None:
    for _ in range(20):
        await asyncio.sleep(0)


class Visitors:
    """Requests that take their turn, note when, and stay until they are let go."""

    def __init__(self, pacer: Pacer, timeline: ManualTimeline) -> None:
        self._pacer = pacer
        self._timeline = timeline
        self.started: list[tuple[str, float]] = []
        self.done = asyncio.Event()

    async def visit(self, name: str, host: str = "a.example", patience: float | None = None) -> None:
        async with self._pacer.slot(host, patience=patience):
            self.started.append((name, self._timeline.time()))
            await self.done.wait()


@pytest.fixture
def timeline() -> ManualTimeline:
    return ManualTimeline()


def visitors(timeline: ManualTimeline, **policy: float) -> Visitors:
    return Visitors(Pacer(PacePolicy(**policy), timeline=lambda: timeline), timeline)


async def test_requests_to_one_host_are_spaced_and_served_in_order(timeline: ManualTimeline) -> None:
    here = visitors(timeline, spacing_seconds=0.25, concurrency=10)
    tasks = [asyncio.create_task(here.visit(name)) for name in "abcd"]
    await timeline.advance(10)
    assert here.started == [("a", 0.0), ("b", 0.25), ("c", 0.5), ("d", 0.75)]
    here.done.set()
    await asyncio.gather(*tasks)


async def test_no_more_than_the_cap_are_in_flight(timeline: ManualTimeline) -> None:
    here = visitors(timeline, spacing_seconds=0, concurrency=2)
    tasks = [asyncio.create_task(here.visit(name)) for name in "abc"]
    await timeline.advance(100)
    assert [name for name, _ in here.started] == ["a", "b"]
    here.done.set()
    await asyncio.gather(*tasks)
    assert [name for name, _ in here.started] == ["a", "b", "c"]


async def test_what_is_over_budget_starts_a_minute_later(timeline: ManualTimeline) -> None:
    here = visitors(timeline, spacing_seconds=0, concurrency=9, budget_per_minute=3)
    here.done.set()
    tasks = [asyncio.create_task(here.visit(name)) for name in "abcd"]
    await timeline.advance(59)
    assert len(here.started) == 3
    await timeline.advance(1)
    assert here.started[-1] == ("d", 60.0)
    await asyncio.gather(*tasks)


async def test_hosts_do_not_wait_for_each_other(timeline: ManualTimeline) -> None:
    here = visitors(timeline, spacing_seconds=60, concurrency=1, budget_per_minute=1)
    here.done.set()
    await asyncio.gather(*(here.visit("x", host=f"{number}.example") for number in range(50)))
    assert {when for _, when in here.started} == {0.0}


async def test_who_has_no_patience_is_told_when_to_come_back(timeline: ManualTimeline) -> None:
    here = visitors(timeline, spacing_seconds=10, concurrency=9)
    here.done.set()
    waiting = [asyncio.create_task(here.visit(name)) for name in "abc"]
    await settled()
    with pytest.raises(Deferred) as later:
        await here.visit("d", patience=25)
    assert later.value.seconds == 30
    await timeline.advance(30)
    await asyncio.gather(*waiting)
    await here.visit("e", patience=0)
    assert here.started[-1] == ("e", 30.0)


async def test_patience_also_ends_when_those_in_flight_do_not_come_back(timeline: ManualTimeline) -> None:
    here = visitors(timeline, spacing_seconds=0, concurrency=1)
    stuck = asyncio.create_task(here.visit("stuck"))
    await settled()
    with pytest.raises(Deferred) as later:
        await here.visit("next", patience=0.01)
    assert later.value.seconds > 0
    here.done.set()
    await stuck
    await here.visit("last", patience=0.01)


async def test_who_is_cancelled_while_waiting_leaves_the_place_to_the_next(timeline: ManualTimeline) -> None:
    here = visitors(timeline, spacing_seconds=0, concurrency=1)
    first, second, third = (asyncio.create_task(here.visit(name)) for name in "abc")
    await settled()
    second.cancel()
    here.done.set()
    await asyncio.gather(first, third)
    assert [name for name, _ in here.started] == ["a", "c"]
    assert second.cancelled()


async def test_who_is_cancelled_as_a_place_gets_free_does_not_take_it(timeline: ManualTimeline) -> None:
    here = visitors(timeline, spacing_seconds=0, concurrency=1)
    first, second, third = (asyncio.create_task(here.visit(name)) for name in "abc")
    await settled()
    here.done.set()  # the first leaves before the second learns that it was cancelled
    second.cancel()
    await asyncio.gather(first, third)
    assert [name for name, _ in here.started] == ["a", "c"]


async def test_who_is_cancelled_between_being_called_and_coming_gives_the_place_back(
    timeline: ManualTimeline,
) -> None:
    pacer = Pacer(PacePolicy(spacing_seconds=0, concurrency=1), timeline=lambda: timeline)
    here = Visitors(pacer, timeline)
    here.done.set()
    async with pacer.slot("a.example"):
        called = asyncio.create_task(here.visit("called"))
        await settled()
    called.cancel()
    await here.visit("next", patience=1)
    assert here.started == [("next", 0.0)]


async def test_who_is_cancelled_in_flight_gives_the_place_back(timeline: ManualTimeline) -> None:
    here = visitors(timeline, spacing_seconds=0, concurrency=1)
    first, second = (asyncio.create_task(here.visit(name)) for name in "ab")
    await settled()
    first.cancel()
    await settled()
    assert [name for name, _ in here.started] == ["a", "b"]
    here.done.set()
    await second


async def test_idle_hosts_are_forgotten(timeline: ManualTimeline) -> None:
    pacer = Pacer(PacePolicy(), timeline=lambda: timeline)
    for number in range(5000):
        async with pacer.slot(f"{number}.example"):
            pass
        timeline._now += 1.0
    assert len(pacer) < 200


async def test_a_remembered_host_keeps_its_budget_among_thousands_of_others(timeline: ManualTimeline) -> None:
    pacer = Pacer(PacePolicy(budget_per_minute=1), timeline=lambda: timeline)
    async with pacer.slot("a.example"):
        pass
    for number in range(1000):
        async with pacer.slot(f"{number}.example"):
            pass
    with pytest.raises(Deferred):
        async with pacer.slot("a.example", patience=1):
            pass
