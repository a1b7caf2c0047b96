from __future__ import annotations

import json
import re
import subprocess
import sys
from asyncio import to_thread
from datetime import timedelta
from pathlib import Path
from typing import Any

import feedparser
import pytest
from command import Command, environment, on_a_terminal
from typer.testing import Result

from damage import damage
from feed_site import FeedSite
from s3_store import ACCESS, REGION, SECRET, S3Store
from sitemap_site import WORDS, SitemapSite
from source_factory import START
from stores import on_both_stores, on_sqlite_alone

pytestmark = on_sqlite_alone

DAY = timedelta(days=1)


@pytest.fixture
def pages(site: FeedSite) -> SitemapSite:
    return SitemapSite(site)


@pytest.fixture(params=["sqlite", "postgres"])
def where(request: pytest.FixtureRequest) -> dict[str, str]:
    """The store of the commands, of either kind."""
    if request.param == "sqlite":
        return {}
    return {"DATABASE_URL": request.getfixturevalue("postgres_url")}


async def run(catchment: Command, *words: str, code: int = 0, **env: str) -> Result:
    done = await catchment.aside("sitemap", *words, **env)
    assert done.exit_code == code, done.stderr
    return done


async def report_of(catchment: Command, *words: str, code: int = 0, **env: str) -> Any:
    return json.loads((await run(catchment, *words, "--json", code=code, **env)).stdout)


def asked(site: FeedSite) -> set[str]:
    """What was asked for since the last time."""
    paths = set(site.hits)
    site.hits.clear()
    return paths


@pytest.mark.proves("R-13")
class TestADamagedState:
    @pytest.mark.parametrize("table", ["", "candidates", "expeditions"])
    async def test_of_the_main_store_costs_a_full_run_and_is_left_where_it_is(
        self, catchment: Command, pages: SitemapSite, table: str
    ) -> None:
        pages.write("/1", START)
        url = pages.publish()
        await run(catchment, url)
        [store] = catchment.home.glob("*.sqlite3")
        if table:
            damage(store, table)
        else:
            store.write_bytes(b"This is no database. " * 500)
        broken = store.read_bytes()
        pages.write("/2", START + DAY)
        report = await report_of(catchment, url)
        assert (report["mode"], report["items"]) == ("full_fallback", 2)
        assert store.read_bytes()[:4096] == broken[:4096]

    @pytest.mark.parametrize("is_main", [True, False])
    async def test_costs_the_sites_of_a_file_a_full_run_each(
        self, catchment: Command, pages: SitemapSite, is_main: bool
    ) -> None:
        pages.write("/1", START)
        place = "" if is_main else "incremental_config: {db_path: rss_incremental.db}"
        config = f"sites:\n  mill:\n    sitemap_url: {pages.publish()}\n    {place}\n"
        (catchment.home / "sites.yaml").write_text(config)
        [site] = (await report_of(catchment, "--config", "sites.yaml"))["sites"]
        assert (site["mode"], site["new"]) == ("incremental", 1)
        store = next(catchment.home.glob("*.sqlite3")) if is_main else catchment.home / "rss_incremental.db"
        store.write_bytes(b"This is no database. " * 500)
        [site] = (await report_of(catchment, "--config", "sites.yaml"))["sites"]
        assert (site["mode"], site["items"]) == ("full_fallback", 1)
        assert bool(list(catchment.home.glob("rss_incremental.db.damaged-*"))) is not is_main


class TestOneSite:
    @pytest.mark.proves("R-12", "G-12")
    async def test_why_says_that_nothing_is_new_and_how_many_pages_could_not_be_collected(
        self, catchment: Command, pages: SitemapSite
    ) -> None:
        pages.write("/1", START)
        pages.write("/gone", START, status=404)
        url = pages.publish()
        await run(catchment, url)
        await run(catchment, url)
        why = json.loads((await catchment.aside("why", "1", "--json")).stdout)["why"]
        assert any("went well and brought nothing new" in sentence for sentence in why)
        assert "1 page could not be collected: `catchment sources show 1` names them, and why." in why

    @pytest.mark.proves("B-10", "B-03", "B-14")
    async def test_a_second_run_without_changes_asks_for_no_page_and_gives_the_same_bytes(
        self, catchment: Command, site: FeedSite, pages: SitemapSite, where: dict[str, str]
    ) -> None:
        for number in range(12):
            pages.write(f"/{number}", START - number * DAY)
        url = pages.publish()
        first = await run(catchment, url, **where)
        assert len(asked(site)) == 12  # ten pages, the sitemap and robots.txt
        again = await run(catchment, url, **where)
        assert asked(site) == {"/sitemap.xml"}
        assert again.stdout_bytes == first.stdout_bytes
        feed = feedparser.parse(first.stdout_bytes)
        assert not feed.bozo
        assert [entry.link for entry in feed.entries] == [site.url(f"/{number}") for number in range(10)]
        assert feed.entries[0].id == site.url("/0")
        assert (feed.feed.title, feed.feed.link) == ("127.0.0.1", site.url(""))

    @on_both_stores
    @pytest.mark.proves("B-22", "B-09", "B-14")
    async def test_a_new_and_a_changed_page_are_all_that_is_fetched_and_rise(
        self, catchment: Command, site: FeedSite, pages: SitemapSite, where: dict[str, str]
    ) -> None:
        for number in range(30):
            pages.write(f"/{number}", START - number * DAY)
        url = pages.publish()
        await run(catchment, url, **where)
        pages.write("/new", START + DAY)
        pages.write("/5", START + 2 * DAY, body=WORDS * 6)
        asked(site)
        result = await run(catchment, url, "--max-items", "3", **where)
        assert asked(site) == {"/sitemap.xml", "/robots.txt", "/new", "/5"}
        links = [entry.link for entry in feedparser.parse(result.stdout_bytes).entries]
        assert links == [site.url(path) for path in ("/5", "/new", "/0")]
        assert "1 new, 1 changed, 3 in the feed" in result.stderr

    @pytest.mark.proves("B-10")
    @pytest.mark.parametrize("format_", ["rss", "atom", "json"])
    async def test_a_file_is_written_in_any_format_and_only_when_it_changed(
        self, catchment: Command, pages: SitemapSite, format_: str
    ) -> None:
        pages.write("/1", START)
        words = (pages.publish(), "--output", "out/feed", "--format", format_, "--site-name", "The Mill")
        first = await report_of(catchment, *words)
        assert (first["written"], first["new"], first["mode"]) == (["out/feed"], 1, "incremental")
        body = (catchment.home / "out/feed").read_bytes()
        assert "The Mill" in (json.loads(body)["title"] if format_ == "json" else feedparser.parse(body).feed.title)
        again = await report_of(catchment, *words)
        assert (again["written"], again["new"]) == ([], 0)
        assert [path.name for path in (catchment.home / "out").iterdir()] == ["feed"]

    async def test_what_is_remembered_is_left_alone_by_the_collector(
        self, catchment: Command, pages: SitemapSite
    ) -> None:
        pages.write("/1", START)
        report = await report_of(catchment, pages.publish())
        assert report["document"].startswith("<?xml")
        shown = await to_thread(catchment.json, "sources", "show", str(report["sourceId"]))
        assert (shown["type"], shown["status"]) == ("sitemap", "paused")

    async def test_a_source_that_is_followed_already_is_used_as_it_is(
        self, catchment: Command, pages: SitemapSite
    ) -> None:
        pages.write("/1", START)
        config = json.dumps({"fetch_titles": False})
        words = ("add", pages.publish(), "--type", "sitemap", "--config", config, "--name", "Mine", "--no-check")
        done = await to_thread(catchment, *words)
        assert done.exit_code == 0, done.stderr
        report = await report_of(catchment, pages.publish())
        shown = await to_thread(catchment.json, "sources", "show", str(report["sourceId"]))
        assert (shown["name"], shown["config"]["fetch_titles"]) == ("Mine", False)
        assert shown["status"] != "paused"

    @pytest.mark.proves("B-11")
    async def test_a_full_run_fetches_everything_each_time_and_remembers_nothing(
        self, catchment: Command, site: FeedSite, pages: SitemapSite
    ) -> None:
        for number in range(4):
            pages.write(f"/{number}", START - number * DAY)
        url = pages.publish()
        bodies = []
        for _ in range(2):
            result = await run(catchment, url, "--full", "--max-items", "3")
            assert {"/0", "/1", "/2"} <= asked(site)
            bodies.append(result.stdout_bytes)
        assert bodies[0] == bodies[1]
        assert await to_thread(catchment.json, "sources", "list") == []

    @pytest.mark.proves("B-11")
    async def test_a_sitemap_that_cannot_be_fetched_is_an_error_and_no_empty_feed(
        self, home: Path, site: FeedSite
    ) -> None:
        # As a process of its own, as every other command has one in some test.
        command = [sys.executable, "-m", "catchment.cli", "sitemap", site.url("/sitemap.xml"), "--output", "feed.xml"]
        done = await to_thread(
            subprocess.run, command, cwd=home, env=environment(home), capture_output=True, check=False
        )
        assert (done.returncode, done.stdout) == (1, b"")
        assert "404" in done.stderr.decode()
        assert not (home / "feed.xml").exists()

    @pytest.mark.proves("R-12")
    async def test_pages_that_failed_are_shown_with_their_source_and_in_the_status(
        self, catchment: Command, site: FeedSite, pages: SitemapSite
    ) -> None:
        pages.write("/1", START)
        pages.write("/bad", START, status=500)
        number = str((await report_of(catchment, pages.publish()))["sourceId"])
        shown = (await to_thread(catchment.json, "sources", "show", number))["pages"]
        assert (shown["pending"], shown["failed"]) == (0, 1)
        assert shown["listed"][0]["url"] == site.url("/bad")
        assert "500" in shown["listed"][0]["error"]
        [row] = (await to_thread(catchment.json, "status"))["sources"]
        assert row["pages"] == shown
        printed = (await to_thread(catchment, "sources", "show", number)).stdout
        assert "0 pending, 1 failed" in printed
        assert "/bad" in printed

    @pytest.mark.proves("R-11")
    async def test_a_sitemap_that_fails_is_asked_by_every_run_and_each_ends_with_an_error(
        self, catchment: Command, site: FeedSite, pages: SitemapSite
    ) -> None:
        pages.write("/1", START)
        url = pages.publish()
        report = await report_of(catchment, url)
        site.serve("no", path="/sitemap.xml", status=503)
        for failures in range(1, 4):
            asked(site)
            result = await run(catchment, url, code=1)
            assert "503" in result.stderr
            assert "/sitemap.xml" in asked(site)
            shown = await to_thread(catchment.json, "sources", "show", str(report["sourceId"]))
            assert (shown["fetch_error_count"], "503" in shown["last_error"]["message"]) == (failures, True)
        pages.write("/2", START + DAY)
        pages.publish()
        assert (await report_of(catchment, url))["new"] == 1

    @pytest.mark.parametrize(
        "words",
        [
            [],
            ["https://example.org", "--config", "sites.yaml"],
            ["https://example.org", "--format", "docx"],
            ["--config", "sites.yaml", "--output", "feed.xml"],
            ["https://example.org", "--max-items", "0"],
        ],
    )
    def test_wrong_usage_is_told_apart_from_failure(self, catchment: Command, words: list[str]) -> None:
        assert catchment("sitemap", *words).exit_code == 2


SITES = """
defaults:
  options: {max_items: 2}
  channel_config: {language: en, ttl: 30}
sites:
  mill:
    sitemap_url: MILL
    schedule: "0 */6 * * *"
    channel_config: {title: The Mill, link: "https://mill.example", self_url: "https://mill.example/feed.xml"}
    output: {local_file: feeds/mill.xml, r2_object_key: mill.atom}
  gone:
    sitemap_url: GONE
  wrong:
    sitemap_url: MILL
    shedule: "* * * * *"
  off:
    enabled: false
    sitemap_url: MILL
    filter_config: {include_patterns: [/1]}
"""


def file_of(home: Path, site: FeedSite, text: str = SITES) -> str:
    filled = text.replace("MILL", site.url("/sitemap.xml")).replace("GONE", site.url("/gone.xml"))
    (home / "sites.yaml").write_text(filled)
    return str(home / "sites.yaml")


def s3_settings(s3: S3Store) -> dict[str, str]:
    return {
        "CATCHMENT_S3_ENDPOINT": s3.url,
        "CATCHMENT_S3_BUCKET": "bucket",
        "CATCHMENT_S3_REGION": REGION,
        "CATCHMENT_S3_ACCESS_KEY": ACCESS,
        "CATCHMENT_S3_SECRET_KEY": SECRET,
    }


class TestTheSitesOfAFile:
    @pytest.mark.proves("B-10", "B-18")
    async def test_each_is_done_by_itself_and_a_bad_one_breaks_nothing(
        self, catchment: Command, site: FeedSite, pages: SitemapSite, where: dict[str, str]
    ) -> None:
        for number in range(4):
            pages.write(f"/{number}", START - number * DAY)
        pages.publish()
        file = file_of(catchment.home, site)
        async with S3Store() as s3:
            settings = {**where, **s3_settings(s3)}
            gone, mill, off, wrong = (await report_of(catchment, "--config", file, code=1, **settings))["sites"]
            assert "404" in gone["error"]
            assert (mill["new"], mill["items"], mill["error"]) == (4, 2, None)
            assert mill["written"] == ["feeds/mill.xml", "mill.atom"]
            assert off["mode"] == "disabled"
            assert "'shedule'" in wrong["error"]
            body, headers = s3.objects["/bucket/mill.atom"]
            assert headers["Content-Type"] == "application/atom+xml"
            assert len(feedparser.parse(body).entries) == 2
            asked(site)
            again = await report_of(catchment, "--config", file, code=1, **settings)
            assert [one["written"] for one in again["sites"]] == [[], [], [], []]
            assert asked(site) == {"/sitemap.xml", "/gone.xml"}
        feed = feedparser.parse((catchment.home / "feeds/mill.xml").read_bytes()).feed
        assert (feed.title, feed.link, feed.language, feed.ttl) == ("The Mill", "https://mill.example", "en", "30")
        assert feed.links[-1].href == "https://mill.example/feed.xml"

    async def test_they_become_sources_that_the_collector_follows_on_their_schedule(
        self, catchment: Command, site: FeedSite, pages: SitemapSite
    ) -> None:
        pages.write("/1", START)
        pages.publish()
        file = file_of(catchment.home, site)
        await run(catchment, "--config", file, code=1)

        async def mill() -> dict[str, object]:
            [found] = [one for one in await to_thread(catchment.json, "sources", "list") if one["name"] == "mill"]
            shown: dict[str, object] = await to_thread(catchment.json, "sources", "show", str(found["id"]))
            return shown

        before = await mill()
        assert before["status"] != "paused"
        config = before["config"]
        assert isinstance(config, dict)
        assert (config["fetch_interval_minutes"], config["baseline_items"]) == (360, 10)
        # Another address and other patterns are the same site still.
        pages.publish("/other.xml")
        changed = SITES.replace("MILL\n    schedule", f"{site.url('/other.xml')}\n    enabled: false\n    schedule")
        changed = changed.replace("enabled: false\n    sched", "options: {fetch_titles: false}\n    sched")
        file_of(catchment.home, site, changed)
        await run(catchment, "--config", file, code=1)
        after = await mill()
        assert after["id"] == before["id"]
        assert isinstance(after["config"], dict)
        assert (after["config"]["url"], after["config"]["fetch_titles"]) == (site.url("/other.xml"), False)
        # One that is disabled is left alone from now on.
        file_of(
            catchment.home,
            site,
            changed.replace(
                "sitemap_url: " + site.url("/other.xml"), "enabled: false\n    sitemap_url: " + site.url("/other.xml")
            ),
        )
        await run(catchment, "--config", file, code=1)
        assert (await mill())["status"] == "paused"

    async def test_people_see_a_table(self, catchment: Command, site: FeedSite, pages: SitemapSite) -> None:
        pages.write("/1", START)
        pages.publish()
        table = (await run(catchment, "--config", file_of(catchment.home, site), code=1)).stdout
        assert re.search(r"off\s+disabled", table)
        assert re.search(r"mill\s+-\s.*CATCHMENT_S3_ENDPOINT", table)
        assert (catchment.home / "feeds/mill.xml").exists()

    @pytest.mark.parametrize(
        "text", ["- a", "sites: [a]", "sites: {a: &x 1, b: *x}", "sites:\n  a: {", "defaults: 1\nsites: {}"]
    )
    def test_a_file_that_lists_no_sites_is_a_clear_error(self, catchment: Command, text: str) -> None:
        result = catchment("sitemap", "--config", "-", stdin=text)
        assert (result.exit_code, result.stdout) == (1, "")
        assert result.stderr.startswith("Error: ")


async def test_a_bar_is_drawn_on_a_terminal(home: Path, site: FeedSite, pages: SitemapSite) -> None:
    pages.write("/1", START)
    screen = await to_thread(on_a_terminal, home, "sitemap", pages.publish())
    assert "Collecting 127.0.0.1" in screen
    assert "</rss>" in screen
