"""Long answers that are written in parts."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from hashlib import pbkdf2_hmac
from itertools import pairwise

import pytest

from catchment.web.outputs import stream

PARTS = 5


async def parts_that_are_work() -> AsyncIterator[bytes]:
    for number in range(PARTS):
        # Some milliseconds without a turn for anybody else.
        pbkdf2_hmac("sha256", b"part", b"", 20_000)
        yield b"%d" % number


@pytest.mark.proves("S-03")
async def test_whoever_is_answered_beside_a_long_list_has_many_turns_between_two_parts():
    turns = 0

    async def ask_the_store_many_things() -> None:
        nonlocal turns
        while True:
            await asyncio.sleep(0)
            turns += 1

    beside = asyncio.create_task(ask_the_store_many_things())
    response = await stream(parts_that_are_work(), media_type="text/plain")
    counted, body = [], []
    async for part in response.body_iterator:
        counted.append(turns)
        body.append(part)
    beside.cancel()
    assert b"".join(body) == b"01234"
    between = [later - earlier for earlier, later in pairwise(counted[1:])]
    assert min(between) > PARTS, counted
