"""The state manager of sitemaps, as its document describes it."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

import pytest

from catchment.domain.candidate import CandidatePolicy, Listed
from catchment.manage.sitemaps import IncrementalStateManager
from catchment.settings import Settings
from source_factory import START
from stores import on_both_stores, on_sqlite_alone

pytestmark = on_sqlite_alone

DAY = timedelta(days=1)


def entries(*urls, lastmod=START):
    return [Listed(url, lastmod) for url in urls]


@pytest.fixture
async def manager(store_url, clock):
    async with IncrementalStateManager(store_url, settings=Settings(), clock=clock) as manager:
        yield manager


@pytest.fixture
async def begun(manager, clock):
    """A manager that knows a site with one URL."""
    await manager.detect("blog", entries("/old"), sitemap_url="https://example.org/sitemap.xml")
    await manager.mark_urls_processed("blog", ["/old"])
    clock.advance(DAY)
    return manager


@pytest.mark.proves("B-13", "B-16")
async def test_new_urls_are_to_be_processed_until_they_are_marked(begun):
    found = await begun.detect("blog", entries("/old", "/new"))
    assert (found.new_urls, found.pending_urls, found.skipped_urls) == (["/new"], [], ["/old"])
    assert (found.total_to_process, found.mode) == (1, "incremental")
    again = await begun.detect("blog", entries("/old", "/new"))
    assert (again.new_urls, again.pending_urls) == ([], ["/new"])
    await begun.mark_urls_processed("blog", ["/new"])
    assert await begun.detect_new_urls("blog", entries("/old", "/new")) == []


@pytest.mark.proves("R-14")
async def test_urls_that_differ_in_their_fragment_are_one(begun):
    assert await begun.detect_new_urls("blog", entries("/old#a", "/new#a", "/new#b", "/new")) == ["/new#a"]
    await begun.mark_urls_processed("blog", ["/new"])
    assert await begun.detect_new_urls("blog", entries("/old", "/new#c")) == []


@pytest.mark.proves("R-13")
async def test_moments_without_a_time_zone_are_utc(begun, clock):
    naive = clock.now().replace(tzinfo=None)
    assert await begun.detect_new_urls("blog", entries("/old", lastmod=naive - 2 * DAY)) == []
    assert await begun.detect_new_urls("blog", entries("/old", lastmod=naive)) == ["/old"]
    found = await begun.detect("blog", [*entries("/old", lastmod=naive), *entries("/new", lastmod=clock.now())])
    assert found.new_urls == ["/new"]


@pytest.mark.proves("B-03", "B-16")
async def test_a_changed_url_is_to_be_processed_again(begun, clock):
    assert await begun.detect_new_urls("blog", entries("/old", lastmod=clock.now())) == ["/old"]


@pytest.mark.proves("B-04", "B-16")
async def test_a_failed_url_is_given_five_attempts(begun, clock):
    current = entries("/old", "/bad")
    attempts = 0
    while "/bad" in await begun.detect_new_urls("blog", current):
        attempts += 1
        await begun.mark_urls_processed("blog", ["/bad"], success=False)
        clock.advance(DAY)
    assert attempts == 5


@pytest.mark.proves("B-05")
async def test_the_first_sitemap_gives_its_newest_and_the_rest_counts_as_processed(manager):
    listed = [Listed(f"/{number}", START - number * DAY) for number in range(2500)]
    found = await manager.detect("blog", listed)
    assert found.new_urls == [f"/{number}" for number in range(10)]
    assert len(found.skipped_urls) == 2490


@pytest.mark.proves("B-13", "B-15", "B-16")
async def test_the_state_of_a_site_is_told(begun):
    state = await begun.get_site_state("blog")
    assert (state.site_name, state.sitemap_url) == ("blog", "https://example.org/sitemap.xml")
    assert state.last_run == START
    await begun.detect("blog", entries("/old"))
    assert (await begun.get_site_state("blog")).sitemap_url == "https://example.org/sitemap.xml"
    unknown = await begun.get_site_state("nobody's")
    assert (unknown.sitemap_url, unknown.last_run) == ("", None)


@on_both_stores
@pytest.mark.proves("B-08", "B-13")
async def test_cleaning_up_forgets_what_is_old_and_nothing_of_the_latest_run(begun, clock):
    await begun.detect("blog", entries("/old", "/a", "/b"))
    clock.advance(DAY)
    await begun.detect("blog", entries("/a", "/b"))
    clock.advance(40 * DAY)
    assert await begun.cleanup_old_states(days_to_keep=60) == 0
    assert await begun.cleanup_old_states() == 1
    assert (await begun.detect("blog", entries("/a", "/b"))).new_urls == []


@pytest.mark.proves("B-11")
async def test_a_sitemap_that_lost_most_of_itself_is_warned_about(begun, clock, log):
    await begun.detect("blog", entries("/old", "/a", "/b"))
    clock.advance(DAY)
    await begun.detect("blog", entries("/a"))
    assert [line for line in log if line.startswith("WARNING") and "2 of 3" in line]


@pytest.mark.proves("B-17")
async def test_the_state_lives_in_the_file_that_is_named_or_else_in_the_main_store(tmp_path, clock):
    main, named, by_setting = (tmp_path / name for name in ("main.db", "named.db", "setting.db"))
    settings = Settings(database_url=f"sqlite:///{main}")
    for db_path, set_, file in (
        (None, settings, main),
        (named, settings, named),
        (None, Settings(database_url=settings.database_url, rss_state_db=str(by_setting)), by_setting),
    ):
        async with IncrementalStateManager(db_path, settings=set_, clock=clock) as manager:
            await manager.detect("blog", entries("/1"))
        assert file.exists()


def damage(path: Path) -> None:
    """Overwrite everything but the header, as a bad disk does."""
    content = path.read_bytes()
    path.write_bytes(content[:100] + b"\xff" * (len(content) - 100))


@pytest.mark.proves("B-07")
@pytest.mark.parametrize("harm", [damage, lambda path: path.write_bytes(b"no database at all" * 100)])
async def test_a_damaged_state_is_kept_aside_and_everything_is_processed_once(tmp_path, clock, log, harm):
    path = tmp_path / "state.db"
    policy = CandidatePolicy(baseline_items=1)
    current = entries("/1", "/2", "/3")
    async with IncrementalStateManager(path, settings=Settings(), clock=clock, policy=policy) as manager:
        await manager.detect("blog", current)
    harm(path)
    async with IncrementalStateManager(path, settings=Settings(), clock=clock, policy=policy) as manager:
        found = await manager.detect("blog", current)
        assert (found.mode, found.new_urls) == ("full_fallback", ["/1", "/2", "/3"])
        await manager.mark_urls_processed("blog", found.new_urls)
        assert await manager.detect_new_urls("blog", current) == []
    assert len(list(tmp_path.glob("state.db.damaged-*"))) >= 1
    assert [line for line in log if line.startswith("WARNING") and "damaged" in line]


@pytest.mark.proves("B-07", "R-13")
async def test_a_damaged_state_stops_no_step_of_a_run_and_is_lost_only_where_everything_is_processed(
    tmp_path, clock, log
):
    path, current = tmp_path / "state.db", entries("/1", "/2", "/3")
    path.write_bytes(b"no database at all" * 100)
    policy = CandidatePolicy(baseline_items=1)
    async with IncrementalStateManager(path, settings=Settings(), clock=clock, policy=policy) as manager:
        assert (await manager.get_site_state("blog")).last_run is None
        await manager.mark_urls_processed("blog", ["/1"])
        assert await manager.cleanup_old_states() == 0
    assert list(tmp_path.iterdir()) == [path]
    async with IncrementalStateManager(path, settings=Settings(), clock=clock, policy=policy) as manager:
        assert await manager.detect_new_urls("blog", current) == ["/1", "/2", "/3"]
    assert len([line for line in log if line.startswith("WARNING") and "is damaged" in line]) == 4


@pytest.mark.proves("B-07", "R-13")
async def test_a_damaged_main_store_is_left_where_it_is_and_everything_is_processed(tmp_path, clock, log):
    path = tmp_path / "main.db"
    path.write_bytes(b"no database at all" * 100)
    async with IncrementalStateManager(settings=Settings(database_url=f"sqlite:///{path}"), clock=clock) as manager:
        found = await manager.detect("blog", entries("/1", "/2"))
        await manager.mark_urls_processed("blog", found.new_urls)
    assert (found.mode, found.new_urls, found.total_to_process) == ("full_fallback", ["/1", "/2"], 2)
    assert list(tmp_path.iterdir()) == [path]
    assert [line for line in log if line.startswith("WARNING") and "not a database. It is left" in line]
