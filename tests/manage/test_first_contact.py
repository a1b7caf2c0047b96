"""What was pasted while there was no network, and becomes what it is once there is."""

from __future__ import annotations

import socket
from collections.abc import AsyncIterator
from typing import Any

import pytest

from catchment.bootstrap import System, open_system
from catchment.clock import ManualClock
from catchment.domain.caller import OPERATOR
from catchment.domain.source import Source
from catchment.errors import CatchmentError, NotFound, ParserUnavailable, StoreError
from catchment.manage.catalog import Change, Draft
from catchment.manage.resolve import Pasted, Resolved
from catchment.settings import Settings
from catchment.store import sources
from collecting import collect_one
from feed_site import FeedSite, rss
from stores import on_both_stores, on_sqlite_alone

pytestmark = on_sqlite_alone

HEAD = "<!doctype html><title>Quay</title>"
PAGE = f"{HEAD}<link rel=alternate type=application/rss+xml href=/posts.xml><p>Mind the step"


@pytest.fixture
async def system(store_url: str, clock: ManualClock) -> AsyncIterator[System]:
    settings = Settings(database_url=store_url, allow_networks="127.0.0.1", timeout_seconds=5.0)
    async with open_system(settings, clock=clock) as system:
        yield system


def free_port() -> int:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        port: int = taken.getsockname()[1]
        return port


async def paste(system: System, url: str, name: str = "") -> Source:
    found = await system.resolver.resolve(Pasted(text=url), OPERATOR)
    return await system.catalog.add(Draft(type=found.type, config=found.config, name=name or found.name), OPERATOR)


async def collect(system: System, source: Source) -> Source:
    await collect_one(system, source.id)
    return await system.catalog.get(source.id, OPERATOR)


@pytest.mark.proves("R-39")
@pytest.mark.parametrize("path", ["/", "/feed"], ids=["spelt like a page", "spelt like a feed"])
async def test_a_page_that_was_pasted_offline_becomes_its_feed(system: System, path: str) -> None:
    port = free_port()
    source = await paste(system, f"http://127.0.0.1:{port}{path}")
    assert (await collect(system, source)).last_fetched_at is None, "nobody is there yet"
    async with FeedSite(port=port) as site:
        site.serve(PAGE, path=path)
        feed = site.serve(rss("a", "b", title="Quay feed"), path="/posts.xml")
        found = await collect(system, source)
        assert (found.type, found.config, found.name) == ("rss", {"url": feed}, "Quay feed")
        assert found.last_fetched_at is not None
        hits = sum(site.hits.values())
        await collect(system, found)
        assert sum(site.hits.values()) == hits + 1, "it is looked at anew only once"


@pytest.mark.proves("R-39")
async def test_a_name_that_somebody_gave_it_stays(system: System) -> None:
    port = free_port()
    source = await paste(system, f"http://127.0.0.1:{port}/", name="Mine")
    async with FeedSite(port=port) as site:
        site.serve(PAGE, path="/")
        site.serve(rss("a", title="Quay feed"), path="/posts.xml")
        assert (await collect(system, source)).name == "Mine"


@on_both_stores
@pytest.mark.proves("R-39")
async def test_where_its_feed_is_followed_already_the_page_goes_on_as_it_is(system: System) -> None:
    port = free_port()
    source = await paste(system, f"http://127.0.0.1:{port}/")
    async with FeedSite(port=port) as site:
        site.serve(PAGE, path="/")
        feed = site.serve(rss("a"), path="/posts.xml")
        await system.catalog.add(Draft(type="rss", config={"url": feed}), OPERATOR)
        found = await collect(system, source)
        assert (found.type, found.config) == ("website", {"url": f"http://127.0.0.1:{port}/"})
        assert found.last_error is None


@pytest.mark.proves("R-39")
@pytest.mark.parametrize("error", [ParserUnavailable("none"), StoreError("full"), NotFound("gone"), KeyError("url")])
async def test_whatever_happens_while_it_is_looked_at_it_is_visited_as_it_is(
    system: System, error: Exception, monkeypatch: pytest.MonkeyPatch, log: list[str]
) -> None:
    port = free_port()
    source = await paste(system, f"http://127.0.0.1:{port}/feed")

    async def fail(*_: object) -> None:
        raise error

    monkeypatch.setattr(system.resolver, "resolve", fail)
    async with FeedSite(port=port) as site:
        site.serve(rss("a"), path="/feed")
        found = await collect(system, source)
    assert (found.config, found.last_error) == (source.config, None)
    assert found.last_fetched_at is not None
    level = "WARNING" if isinstance(error, CatchmentError) else "ERROR"
    assert any(line.startswith(f"{level} source {source.id}") and "stays as it is" in line for line in log)


@pytest.mark.proves("R-39")
async def test_what_has_no_address_is_not_marked_to_be_looked_at(system: System) -> None:
    config = {"keyword": "quay", "unresolved": True}
    source = await system.catalog.add(Draft(type="xhs_search", config=config), OPERATOR)
    assert source.config == {"keyword": "quay"}
    changed = await system.catalog.change(source.id, Change(config={"keyword": "pier", "unresolved": True}), OPERATOR)
    assert changed.config == {"keyword": "pier"}


@pytest.mark.proves("R-39")
async def test_what_has_no_address_and_was_marked_before_is_visited_as_it_is(system: System, log: list[str]) -> None:
    source = await system.catalog.add(Draft(type="xhs_search", config={"keyword": "quay"}), OPERATOR)
    await system.store.write(sources.set_config, source, {"keyword": "quay", "unresolved": True})
    assert (await collect(system, source)).type == "xhs_search"
    assert not any("stays as it is" in line for line in log)


@pytest.mark.proves("R-39")
@pytest.mark.parametrize("is_followed", [False, True], ids=["becomes its feed", "its feed is followed"])
async def test_what_somebody_changes_while_it_is_looked_at_stays_as_they_want_it(
    system: System, is_followed: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    port = free_port()
    source = await paste(system, f"http://127.0.0.1:{port}/")
    resolve = system.resolver.resolve

    async with FeedSite(port=port) as site:
        site.serve(PAGE, path="/")
        feed = site.serve(rss("a"), path="/posts.xml")
        theirs = {"url": site.serve(rss("b"), path="/theirs.xml")}
        if is_followed:
            await system.catalog.add(Draft(type="rss", config={"url": feed}), OPERATOR)

        async def resolve_while_it_is_changed(*asked: Any) -> Resolved:
            found = await resolve(*asked)
            await system.catalog.change(source.id, Change(type="rss", config=theirs), OPERATOR)
            return found

        monkeypatch.setattr(system.resolver, "resolve", resolve_while_it_is_changed)
        found = await collect(system, source)
    assert (found.type, found.config) == ("rss", theirs)


@on_both_stores
@pytest.mark.proves("R-39")
async def test_what_nobody_named_is_called_what_it_calls_itself_at_its_first_good_visit(system: System) -> None:
    async with FeedSite() as site:
        url = site.serve("oops", status=500)
        source = await system.catalog.add(Draft(type="rss", config={"url": url}), OPERATOR)
        assert (await collect(system, source)).name == "127.0.0.1"
        site.serve(rss("a", title="Quay &amp; feed"), path="/feed")
        assert (await collect(system, source)).name == "Quay & feed"
        site.serve(rss("a", "b", title="Other feed"), path="/feed")
        assert (await collect(system, source)).name == "Quay & feed", "a name that it has is kept"


@pytest.mark.proves("R-39")
async def test_a_name_that_somebody_gave_before_its_first_visit_stays(system: System) -> None:
    async with FeedSite() as site:
        url = site.serve(rss("a", title="Quay feed"), path="/feed")
        source = await system.catalog.add(Draft(type="rss", config={"url": url}, name="Mine"), OPERATOR)
        assert (await collect(system, source)).name == "Mine"
        await system.catalog.change(source.id, Change(name="127.0.0.1"), OPERATOR)
        assert (await collect(system, source)).name == "127.0.0.1", "whoever names it so means it"
