"""Without a network it is the network that is told of, at every door, and no source."""

from __future__ import annotations

import errno
import socket
from collections.abc import AsyncIterator, Sequence
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from loguru import logger

from catchment.bootstrap import System, open_system
from catchment.clock import ManualClock
from catchment.domain.caller import OPERATOR
from catchment.domain.source import SourceStatus
from catchment.domain.visit import VisitOutcome
from catchment.errors import Conflict, ParserUnavailable
from catchment.fetch import connections
from catchment.manage.catalog import Draft
from catchment.monitor.status import Language, StatusSnapshot, View
from catchment.monitor.why import explain
from catchment.settings import Settings
from catchment.sources import rss
from catchment.store import fetch_log
from catchment.store.fetch_log import LogLine
from catchment.web.dashboard import Board, read_board
from collecting import add, collect
from feed_site import FeedSite
from stores import on_both_stores, on_sqlite_alone

pytestmark = on_sqlite_alone

VIEW = View(caller=OPERATOR)


@pytest.fixture
async def system(store_url: str, clock: ManualClock) -> AsyncIterator[System]:
    settings = Settings(database_url=store_url, allow_networks="127.0.0.0/8", timeout_seconds=5.0)
    async with open_system(settings, clock=clock) as system:
        yield system


def closed_port() -> int:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        port: int = taken.getsockname()[1]
        return port


async def taken(system: System) -> StatusSnapshot:
    return await system.snapshot(VIEW)


async def board_of(system: System, view: View) -> Board:
    viewer = await system.viewer(view)
    return await read_board(system, viewer, await viewer.snapshot())


@pytest.mark.proves("R-41")
async def test_when_nobody_can_be_reached_the_network_is_away_and_no_source_fails(
    system: System, clock: ManualClock
) -> None:
    port = closed_port()
    for host in ("127.0.0.2", "127.0.0.3"):
        await add(system, f"http://{host}:{port}/feed")
    await collect(system)
    found = await taken(system)
    assert found.collector.network_away
    assert {source.status for source in found.sources} == {SourceStatus.PENDING}
    assert {source.last_error for source in found.sources} == {None}
    assert all("network" in source.next_check_reason for source in found.sources)
    for language, label in ((Language.ENGLISH, "Network"), (Language.CHINESE, "网络")):
        board = await board_of(system, View(caller=OPERATOR, language=language))
        assert label in [tile.label for tile in board.tiles]
        assert {row.error for row in board.sources} == {""}

    clock.advance(timedelta(minutes=1))
    async with FeedSite() as site:
        await add(system, site.feed("a"))
        await collect(system)
        assert not (await taken(system)).collector.network_away, "somebody was reached"


@on_both_stores
@pytest.mark.proves("R-41")
async def test_visits_without_a_network_are_in_no_rate_of_success_before_and_after_their_hour_is_counted(
    system: System, clock: ManualClock
) -> None:
    port = closed_port()
    away = [await add(system, f"http://{host}:{port}/feed") for host in ("127.0.0.2", "127.0.0.3")]
    await collect(system)

    async def counts() -> tuple[int, int, int, float | None]:
        stats = (await taken(system)).stats
        return stats.fetches_24h, stats.errors_24h, stats.excused_24h, stats.success_rate_24h

    assert await counts() == (0, 0, 2, None)
    board = await board_of(system, View(caller=OPERATOR))
    [tile] = [tile for tile in board.tiles if tile.key == "success"]
    assert (tile.value, "2 not counted: the network was away" in tile.note) == ("–", True)
    async with FeedSite() as site:
        await add(system, site.feed("a"))
        clock.advance(timedelta(minutes=1))
        await collect(system)
        assert await counts() == (1, 0, 2, 1.0), "who answers is collected"
    clock.advance(timedelta(hours=1, minutes=10))
    while await system.store.write(fetch_log.count_an_hour, now=clock.now()):
        pass
    assert await counts() == (1, 0, 2, 1.0)
    [visit] = await system.history.visits(away[0].id, OPERATOR)
    assert (visit.ok, visit.outcome) == (False, "network_away")
    today = (await system.history.days(away[0].id, OPERATOR))[-1]
    assert (today.visits, today.failed, today.excused) == (0, 0, 1)


@pytest.mark.proves("R-20", "R-41")
async def test_running_out_of_descriptors_is_our_fault_though_others_are_reached(
    system: System, clock: ManualClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    dialled = connections._dialled

    async def one_too_many(protocol: Any, addresses: Sequence[str], *more: Any) -> Any:
        if addresses[0] == "127.0.0.2":
            raise OSError(errno.EMFILE, "Too many open files")
        return await dialled(protocol, addresses, *more)

    monkeypatch.setattr(connections, "_dialled", one_too_many)
    async with FeedSite() as site:
        kept_out = await add(system, f"http://127.0.0.2:{closed_port()}/feed")
        await add(system, site.feed("a"))
        for _ in range(6):
            await collect(system)
            clock.advance(timedelta(hours=5))
    found = await taken(system)
    assert (found.stats.errors_24h, found.stats.failing_sources, found.stats.paused_by_error) == (0, 0, 0)
    assert not found.collector.network_away
    [*_, visit] = await system.history.visits(kept_out.id, OPERATOR)
    assert (visit.outcome, "ulimit -n" in (visit.error or "")) == ("our_fault", True)


@pytest.mark.proves("R-41")
async def test_a_fault_of_ours_that_is_not_of_the_network_does_not_say_that_the_network_is_away(
    system: System, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def unread(*_: Any, **__: Any) -> None:
        raise ParserUnavailable("no process that reads documents can be started (-9)")

    told: list[str] = []
    handler = logger.add(lambda message: told.append(message.record["message"]))
    async with FeedSite() as site:
        source = await add(system, site.feed("a"))
        monkeypatch.setattr(rss, "visit_page", unread)
        await collect(system)
    logger.remove(handler)
    found = await taken(system)
    [seen] = found.sources
    assert not found.collector.network_away
    assert (seen.status, seen.last_error) == (SourceStatus.PENDING, None)
    assert seen.next_check_reason == "a fault on our side kept it from being fetched; tried again soon"
    [line] = [line for line in told if line.startswith(f"source {source.id} ")]
    assert "not counted, as the fault is on our side: no process that reads" in line


@pytest.mark.proves("R-41", "A-11")
async def test_somebody_at_home_who_answers_says_nothing_of_the_outside(system: System, clock: ManualClock) -> None:
    port = closed_port()
    async with FeedSite() as site:
        await add(system, site.feed("a"))
        for name in ("one.invalid", "two.invalid"):
            await add(system, f"http://{name}:{port}/feed")
        for _ in range(6):
            await collect(system)
            found = await taken(system)
            assert found.collector.network_away
            assert found.stats.paused_by_error == 0
            assert [source.last_error for source in found.sources] == [None] * 3
            clock.advance(timedelta(hours=5))
        await add(system, f"http://127.0.0.9:{port}/feed")
        await collect(system)
        assert (await taken(system)).stats.errors_24h, "who cannot be reached at home is to blame while others can"


@pytest.mark.proves("R-41")
async def test_a_source_of_x_says_which_key_it_lacks(system: System) -> None:
    await system.catalog.add(Draft(type="twitter_feed", config={"handle": "@ada"}), OPERATOR)
    [source] = (await taken(system)).sources
    assert (source.status, source.next_check_reason) == (SourceStatus.NO_FETCHER, "it needs a key: set TWITTER_API_KEY")
    for language, status in ((Language.ENGLISH, "no key"), (Language.CHINESE, "缺少密钥")):
        board = await board_of(system, View(caller=OPERATOR, language=language))
        assert [row.status for row in board.sources] == [status]
    with pytest.raises(Conflict, match="set TWITTER_API_KEY"):
        await system.visits.start(source.id, OPERATOR)


@pytest.mark.proves("R-41")
async def test_why_says_of_a_visit_without_a_network_that_it_does_not_count(system: System, clock: ManualClock) -> None:
    port = closed_port()
    source, _ = [await add(system, f"http://{host}:{port}/feed") for host in ("127.0.0.2", "127.0.0.3")]
    await collect(system)
    source = await system.catalog.get(source.id, OPERATOR)
    health = (await system.viewer(VIEW)).describe(source)
    visits = await system.history.visits(source.id, OPERATOR, limit=1)
    for language, counted in ((Language.ENGLISH, "in a row"), (Language.CHINESE, "连续失败")):
        said = " ".join(explain(source, health, visits, now=clock.now(), network_away=True, language=language))
        assert counted not in said
    failed = next(one for one in explain(source, health, visits, now=clock.now()) if "failed: " in one)
    assert failed.endswith(". That is not counted against the source.")


@pytest.mark.proves("R-41")
@pytest.mark.parametrize("language", Language)
async def test_why_blames_the_network_only_for_a_visit_that_it_prevented(
    system: System, clock: ManualClock, language: Language
) -> None:
    source = await add(system, f"http://127.0.0.2:{closed_port()}/feed")
    health = (await system.viewer(VIEW)).describe(source)
    line = LogLine(source_id=source.id, started_at=clock.now(), finished_at=clock.now(), ok=False, error="HTTP 410")
    for visits, is_blamed in (([], True), ([replace(line, excuse=VisitOutcome.NETWORK_AWAY)], True), ([line], False)):
        said = explain(source, health, visits, now=clock.now(), network_away=True, language=language)
        assert any("The network is away" in one or "网络不通" in one for one in said) == is_blamed
