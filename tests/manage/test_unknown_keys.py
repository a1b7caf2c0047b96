"""A key in a config that nobody would heed is refused, with the one that is likely meant, at every door."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import pytest
from sqlalchemy import Connection, update

from catchment.bootstrap import System, open_system
from catchment.clock import ManualClock
from catchment.domain.caller import OPERATOR
from catchment.errors import InvalidInput
from catchment.manage.catalog import Change, Draft, Refused
from catchment.manage.import_export import read_sources
from catchment.manage.resolve import Pasted
from catchment.settings import Settings
from catchment.store import tables
from collecting import add, collect_one, stored
from feed_site import FeedSite


@pytest.fixture
async def system(sqlite_url: str, clock: ManualClock) -> AsyncIterator[System]:
    settings = Settings(database_url=sqlite_url, allow_networks="127.0.0.1", twitter_api_key="planted-key")
    async with open_system(settings, clock=clock) as system:
        yield system


MISSPELT: list[tuple[str, dict[str, Any], str]] = [
    ("rss", {"url": "https://example.org/feed", "fetch_interval_minute": 5}, "fetch_interval_minutes"),
    ("rss", {"url": "https://example.org/feed", "filter": {"exclude": []}}, "filters"),
    ("digest_feed", {"url": "https://example.org/feed", "user-agent": "x"}, "user_agent"),
    ("website", {"url": "https://example.org/", "selectors": "h1"}, "selector"),
    ("hackernews", {"min_scores": 5}, "min_score"),
    ("reddit", {"subreddit": "python", "sorts": "new"}, "sort"),
    ("github_trending", {"languages": "rust"}, "language"),
    ("custom_api", {"url": "https://example.org/", "item_path": "a"}, "items_path"),
    ("sitemap", {"url": "https://example.org/", "include_pattern": ["a"]}, "include_patterns"),
    ("twitter_feed", {"handle": "@x", "keyword": ["a"]}, "keywords"),
    ("xhs_search", {"keyword": "x", "comment_limit": 3}, "comments_limit"),
]


@pytest.mark.proves("R-48")
@pytest.mark.parametrize(("kind", "config", "meant"), MISSPELT, ids=[f"{kind} {meant}" for kind, _, meant in MISSPELT])
async def test_the_likely_key_is_named(system: System, kind: str, config: dict[str, Any], meant: str) -> None:
    with pytest.raises(InvalidInput, match=f"did you mean '{meant}'"):
        await system.catalog.add(Draft(type=kind, config=config), OPERATOR)
    [refused] = await system.catalog.add_many([Draft(type=kind, config=config)], OPERATOR)
    assert isinstance(refused, Refused)


@pytest.mark.proves("R-48")
async def test_a_list_on_x_takes_no_keywords_as_it_heeds_none(system: System) -> None:
    config = {"list_url": "https://x.com/i/lists/77", "keywords": ["rain"]}
    with pytest.raises(InvalidInput, match="has no 'keywords'"):
        await system.catalog.add(Draft(type="twitter_list", config=config), OPERATOR)


@pytest.mark.proves("R-48")
async def test_where_none_is_likely_all_are_named(system: System) -> None:
    with pytest.raises(InvalidInput, match="has no 'whatever'; there are url, ") as error:
        await system.catalog.add(Draft(type="rss", config={"url": "https://example.org/", "whatever": 1}), OPERATOR)
    assert error.value.field == "whatever"


@pytest.mark.proves("R-48")
async def test_a_file_that_is_applied_is_refused_with_the_line(system: System) -> None:
    listing = read_sources(b"sources:\n- {type: rss, config: {url: 'https://example.org/feed', keep_day: 3}}\n")
    [bad] = await system.applier.prepare(listing, OPERATOR, prune=False)  # type: ignore[misc]
    assert "did you mean 'keep_days'" in bad.reason


@pytest.mark.proves("R-48")
async def test_what_was_stored_before_goes_on_and_can_be_changed(system: System) -> None:
    async with FeedSite() as site:
        source = await add(system, site.feed("a"))
        old = {**source.config, "of_old": 1}

        def write(conn: Connection) -> None:
            conn.execute(update(tables.sources).where(tables.sources.c.id == source.id).values(config=old))

        await system.store.write(write)
        assert (await collect_one(system, source.id)).error is None
        assert len(await stored(system)) == 1
        changed = await system.catalog.change(source.id, Change(fetch_interval_minutes=30), OPERATOR)
        assert changed.config["of_old"] == 1
        with pytest.raises(InvalidInput, match="has no 'of_new'"):
            await system.catalog.change(source.id, Change(config={**old, "of_new": 1}), OPERATOR)


@pytest.mark.proves("R-48")
@pytest.mark.parametrize(
    ("config", "kind"),
    [
        ({}, "rss"),
        ({"user_agent": "x"}, "rss"),
        ({"ignore_patterns": ["foo"]}, "website"),
        ({"selector": "h1"}, "website"),
        ({"include_patterns": ["/blog/"]}, "sitemap"),
    ],
    ids=str,
)
async def test_a_key_that_only_one_type_knows_says_what_a_page_with_a_feed_is_added_as(
    system: System, config: dict[str, Any], kind: str
) -> None:
    async with FeedSite() as site:
        feed = site.feed("a")
        page = f'<title>A</title><link rel="alternate" type="application/rss+xml" href="{feed}"><h1>Hi</h1>'
        address = site.serve(page, path="/")
        site.serve(f"<urlset><url><loc>{site.url('/blog/1')}</loc></url></urlset>", path="/sitemap.xml")
        pasted = Pasted(text=address, config=config)
        resolved = await system.resolver.resolve(pasted, OPERATOR)
        assert resolved.type == kind
        await system.catalog.add(Draft(type=resolved.type, config=resolved.config, name="a"), OPERATOR)
        guessed = system.resolver.guess(Pasted(text=site.url("/other"), config=config), OPERATOR)
        assert guessed.type == {"rss": "website"}.get(kind, kind)
