"""Work that is shared: done once for all who wait, and never older than the asking."""

from __future__ import annotations

import asyncio

import pytest

from catchment.publish.views import Shared


class Counter:
    """Counts how often it is done, and goes on when told."""

    def __init__(self) -> None:
        self.begun = 0
        self.has_begun = asyncio.Event()
        self.go_on = asyncio.Semaphore(0)

    async def __call__(self) -> int:
        self.begun += 1
        number = self.begun
        self.has_begun.set()
        await self.go_on.acquire()
        return number


async def test_those_who_come_while_it_is_under_way_share_the_next_time():
    shared, work = Shared[int](), Counter()
    first = asyncio.create_task(shared.share("a", work))
    await work.has_begun.wait()
    later = [asyncio.create_task(shared.share("a", work)) for _ in range(10)]
    for _ in range(5):
        await asyncio.sleep(0)
    assert work.begun == 1
    work.go_on.release()
    work.go_on.release()
    assert await first == 1
    assert await asyncio.gather(*later) == [2] * 10


async def test_one_who_gives_up_does_not_take_the_others_along_and_other_keys_do_not_wait():
    shared, work, other = Shared[int](), Counter(), Counter()
    one, another = (asyncio.create_task(shared.share("a", work)) for _ in range(2))
    await work.has_begun.wait()
    one.cancel()
    other.go_on.release()
    assert await shared.share("b", other) == 1
    work.go_on.release()
    assert await another == 1


async def test_a_failure_is_told_to_all_and_the_next_time_is_tried_afresh():
    shared = Shared[int]()

    async def fail() -> int:
        raise LookupError

    outcomes = await asyncio.gather(*(shared.share("a", fail) for _ in range(3)), return_exceptions=True)
    assert [type(outcome) for outcome in outcomes] == [LookupError] * 3
    with pytest.raises(LookupError):
        await shared.share("a", fail)
