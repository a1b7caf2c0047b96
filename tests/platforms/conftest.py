"""A workflow on either store, with a keyword source to find notes for."""

from __future__ import annotations

import pytest

from catchment.clock import ManualClock
from catchment.domain.source import Source
from catchment.platforms.workflow import Workflow
from catchment.store.database import Store
from crawl_notes import LOCK_TIMEOUT, add_keyword


@pytest.fixture
def workflow(store: Store, clock: ManualClock) -> Workflow:
    return Workflow(store=store, clock=clock, lock_timeout=LOCK_TIMEOUT)


@pytest.fixture
async def source(store: Store, clock: ManualClock) -> Source:
    return await add_keyword(store, clock, "coffee")
