"""What a stranger sends is read beside the collector, and what takes too long is its own source's failure."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager

import pytest

from catchment.bootstrap import System
from catchment.domain.caller import OPERATOR
from catchment.manage.catalog import Draft
from catchment.store import sources
from feed_site import FeedSite
from stores import on_sqlite_alone

OpenSystem = Callable[..., AbstractAsyncContextManager[System]]

pytestmark = [on_sqlite_alone, pytest.mark.proves("R-19"), pytest.mark.parser_processes]


async def follow(system: System, url: str) -> int:
    return (await system.catalog.add(Draft(type="rss", config={"url": url}, name=url), OPERATOR)).id


async def test_a_document_that_never_ends_is_the_failure_of_its_source_alone(
    open_test_system: OpenSystem, site: FeedSite
):
    async with open_test_system(parsers=1, parse_seconds=1.0) as system:
        async with system.collector.working(grace_seconds=5):
            first = await follow(system, site.feed("a", path="/first"))
            await system.collector.collect_source(first)
            (pid,) = system.parsers.pids
            # To whoever waits for it, a stopped process is one that reads without end.
            os.kill(pid, signal.SIGSTOP)
            endless = await follow(system, site.feed("b", path="/endless"))
            result = await system.collector.collect_source(endless)
            assert result.error == "reading it took longer than 1 s"
            after = await follow(system, site.feed("c", path="/after"))
            assert (await system.collector.collect_source(after)).inserted == 1
            assert pid not in system.parsers.pids
        stored = await system.store.read(sources.get, endless)
        assert stored is not None
        assert stored.fetch_error_count == 1
        assert stored.last_error is not None
        assert stored.last_error.message == "reading it took longer than 1 s"
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)


async def test_nothing_unchanged_is_read_so_no_process_is_there_for_it(open_test_system: OpenSystem, site: FeedSite):
    async with open_test_system() as system, system.collector.working(grace_seconds=5):
        source = await follow(system, site.feed("a"))
        assert system.parsers.pids == []
        await system.collector.collect_source(source)
        assert len(system.parsers.pids) == 1
        await system.parsers.close()
        result = await system.collector.collect_source(source)
        assert result.error is None
