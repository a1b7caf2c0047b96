from __future__ import annotations

from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta

import aiohttp
import pytest

from catchment.clock import ManualClock

START = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)


@pytest.fixture
def clock() -> ManualClock:
    """A minute into the world, so that the last change is over a second old."""
    return ManualClock(START + timedelta(minutes=1))


@pytest.fixture
async def visitor() -> AsyncIterator[aiohttp.ClientSession]:
    async with aiohttp.ClientSession(auto_decompress=False, timeout=aiohttp.ClientTimeout(total=20)) as session:
        yield session
