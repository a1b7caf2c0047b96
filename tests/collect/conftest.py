"""A site to collect from, and ways to collect."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from feed_site import FeedSite


@pytest.fixture
async def site() -> AsyncIterator[FeedSite]:
    async with FeedSite() as site:
        yield site
