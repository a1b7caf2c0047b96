"""The flows under a real Prefect, against a real site on loopback and on both stores."""

from __future__ import annotations

import asyncio
import inspect
import os
import subprocess
import sys
from contextlib import asynccontextmanager
from datetime import timedelta
from functools import partial

import feedparser
import pytest
from prefect.client.orchestration import get_client
from prefect.exceptions import ObjectNotFound
from prefect.settings import get_current_settings

from catchment.errors import InvalidInput, VisitError
from catchment.flows.sitemaps import (
    deployments,
    fetch_what_changed,
    incremental_sitemap_to_rss_flow,
    sitemap_to_rss_flow,
)
from eventually import eventually
from s3_store import ACCESS, REGION, SECRET, S3Store
from sitemap_site import WORDS
from source_factory import START

DAY = timedelta(days=1)
DEPLOYMENT = "Incremental Sitemap to RSS/incremental-rss-mill"

pytestmark = [
    pytest.mark.usefixtures("prefect_server", "settings"),
    # Prefect leaves its sockets to the garbage collector.
    pytest.mark.filterwarnings("ignore"),
]


@pytest.fixture
def settings(monkeypatch, tmp_path):
    """What the flows read: the environment of a machine that may fetch from itself."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("CATCHMENT_HOME", str(tmp_path))
    monkeypatch.setenv("CATCHMENT_ALLOW_NETWORKS", "127.0.0.1")
    monkeypatch.delenv("DATABASE_URL", raising=False)


@pytest.fixture
def quickly():
    """Retries without the wait."""
    from catchment.flows import sitemaps

    before = [(one, one.retry_delay_seconds) for one in (sitemaps.fetch_what_changed, sitemaps.fetch_everything)]
    for one, _ in before:
        one.retry_delay_seconds = 0
    yield
    for one, seconds in before:
        one.retry_delay_seconds = seconds


def links(answer):
    return [entry.link for entry in feedparser.parse(answer["rss"]).entries]


class TestTheIncrementalFlow:
    @pytest.mark.proves("B-18")
    def test_it_has_the_name_and_the_parameters_that_callers_know(self):
        assert incremental_sitemap_to_rss_flow.name == "Incremental Sitemap to RSS"
        assert list(inspect.signature(incremental_sitemap_to_rss_flow.fn).parameters) == [
            "sitemap_url",
            "site_name",
            "channel_config",
            "enable_incremental",
            "max_items",
            "fetch_titles",
            "incremental_config",
        ]

    @pytest.mark.proves("B-12", "B-10", "B-17")
    async def test_its_state_survives_between_runs(self, site, pages, store_url, tmp_path):
        for number in range(6):
            pages.write(f"/{number}", START - number * DAY)
        given = {
            "sitemap_url": pages.publish(),
            "site_name": "mill",
            "channel_config": {"title": "The Mill", "output_file": "out/mill.xml"},
            "max_items": 20,
            "incremental_config": {"db_path": store_url, "baseline_items": 4},
        }
        first = await incremental_sitemap_to_rss_flow(**given)
        assert (first["mode"], first["new_items"]) == ("incremental", 4)
        assert links(first) == [site.url(f"/{number}") for number in range(4)]
        assert first["rss_generation"] == {"output_file": "out/mill.xml", "total_items": 4, "channel_title": "The Mill"}
        assert (tmp_path / "out/mill.xml").read_text() == first["rss"]
        site.hits.clear()
        again = await incremental_sitemap_to_rss_flow(**given)
        assert (again["rss"], set(site.hits)) == (first["rss"], {"/sitemap.xml"})
        pages.write("/new", START + DAY)
        pages.write("/2", START + 2 * DAY, body=WORDS * 6)
        third = await incremental_sitemap_to_rss_flow(**given)
        assert (third["new_items"], third["changed_items"]) == (1, 1)
        assert links(third)[:3] == [site.url(path) for path in ("/2", "/new", "/0")]

    @pytest.mark.proves("B-11", "B-18")
    async def test_without_increments_it_is_the_full_mode(self, site, pages):
        for number in range(3):
            pages.write(f"/{number}", START - number * DAY)
        answer = await incremental_sitemap_to_rss_flow(
            pages.publish(), "mill", {}, enable_incremental=False, max_items=2, fetch_titles=False
        )
        assert (answer["mode"], links(answer)) == ("full", [site.url("/0"), site.url("/1")])
        assert set(site.hits) == {"/sitemap.xml"}
        channel = feedparser.parse(answer["rss"]).feed
        assert (channel.title, channel.language, channel.ttl) == ("Site Updates", "zh-CN", "60")

    @pytest.mark.proves("R-11")
    async def test_a_sitemap_that_worked_once_and_then_fails_fails_every_run(self, site, pages, quickly):
        pages.write("/1", START)
        url = pages.publish()
        await incremental_sitemap_to_rss_flow(url, "mill", {})
        site.serve("no", path="/sitemap.xml", status=500)
        for _ in range(2):
            site.hits.clear()
            with pytest.raises(VisitError, match="500"):
                await incremental_sitemap_to_rss_flow(url, "mill", {})
            assert site.hits["/sitemap.xml"] == 3
        pages.write("/2", START)
        pages.publish()
        assert (await incremental_sitemap_to_rss_flow(url, "mill", {}))["new_items"] == 1

    @pytest.mark.proves("B-19", "B-11")
    async def test_a_site_that_is_down_is_tried_twice_more_and_then_an_error(self, site, pages, quickly):
        url = site.serve("no", path="/sitemap.xml", status=404)
        with pytest.raises(VisitError, match="404"):
            await incremental_sitemap_to_rss_flow(url, "mill", {})
        assert site.hits["/sitemap.xml"] == 3

    @pytest.mark.proves("B-07", "B-19")
    @pytest.mark.parametrize("where", ["everywhere", "behind its first pages"])
    async def test_a_damaged_state_is_retried_then_kept_aside_and_everything_is_fetched(
        self, site, pages, quickly, tmp_path, log, where
    ):
        for number in range(30):
            pages.write(f"/{number}", START - number * DAY)
        state = tmp_path / "state.db"
        given = {
            "sitemap_url": pages.publish(),
            "site_name": "mill",
            "channel_config": {},
            "max_items": 20,
            "incremental_config": {"db_path": str(state), "baseline_items": 3},
        }
        await incremental_sitemap_to_rss_flow(**given)
        content = state.read_bytes()
        kept = 0 if where == "everywhere" else len(content) // 2
        state.write_bytes(content[:kept] + b"\xff" * (len(content) - kept))
        answer = await incremental_sitemap_to_rss_flow(**given)
        assert answer["mode"] == "full_fallback"
        assert links(answer) == [site.url(f"/{number}") for number in range(20)]
        [aside] = [path for path in tmp_path.iterdir() if ".damaged-" in path.name and path.stat().st_size > 40_000]
        assert [line for line in log if line.startswith("WARNING") and aside.name in line]
        assert await attempts(fetch_what_changed.name) == 3
        # What follows is incremental again, and says the same.
        site.hits.clear()
        after = await incremental_sitemap_to_rss_flow(**given)
        assert (after["mode"], after["rss"], set(site.hits)) == ("incremental", answer["rss"], {"/sitemap.xml"})

    @pytest.mark.proves("B-07")
    async def test_a_damaged_main_store_is_left_alone_and_the_run_is_a_full_one(
        self, site, pages, quickly, tmp_path, log
    ):
        pages.write("/1", START)
        store = tmp_path / "catchment.sqlite3"
        store.write_bytes(b"no database at all" * 1000)
        answer = await incremental_sitemap_to_rss_flow(pages.publish(), "mill", {})
        assert (answer["mode"], links(answer)) == ("full_fallback", [site.url("/1")])
        assert store.read_bytes() == b"no database at all" * 1000
        assert [line for line in log if line.startswith("WARNING") and "left where it is" in line]


async def attempts(task_name):
    """How often the latest run of a task was begun."""
    async with get_client() as client:
        runs = [run for run in await client.read_task_runs() if run.name.startswith(task_name)]
        return max(runs, key=lambda run: run.created).run_count


class TestTheFullFlow:
    @pytest.mark.proves("B-20")
    async def test_it_writes_the_newest_and_says_what_it_wrote(self, site, pages, tmp_path):
        for number in range(4):
            pages.write(f"/blog/{number}", START - number * DAY)
        pages.write("/about", START)
        filters = {"include_patterns": ["/blog/"], "exclude_patterns": ["/3"], "max_items": 2}
        given = dict(filters)
        answer = await sitemap_to_rss_flow(pages.publish(), {"title": "Blog"}, filter_config=given)
        assert answer == {"rss_generation": {"output_file": "rss_feed.xml", "total_items": 2, "channel_title": "Blog"}}
        entries = feedparser.parse((tmp_path / "rss_feed.xml").read_bytes()).entries
        assert [(entry.link, entry.title) for entry in entries] == [
            (site.url("/blog/0"), "Blog - 0"),
            (site.url("/blog/1"), "Blog - 1"),
        ]
        assert given == filters

    @pytest.mark.proves("B-20")
    async def test_it_keeps_the_order_of_the_sitemap_when_told_to(self, site, pages, tmp_path):
        for number in (2, 0, 1):
            pages.write(f"/{number}", START - number * DAY)
        await sitemap_to_rss_flow(pages.publish(), {}, sort_by_date=False, max_items=2)
        entries = feedparser.parse((tmp_path / "rss_feed.xml").read_bytes()).entries
        assert [entry.link for entry in entries] == [site.url("/2"), site.url("/0")]

    @pytest.mark.proves("B-20")
    async def test_of_an_empty_sitemap_it_writes_nothing(self, pages, tmp_path):
        assert await sitemap_to_rss_flow(pages.publish(), {}) is None
        assert not (tmp_path / "rss_feed.xml").exists()

    @pytest.mark.proves("B-20")
    async def test_it_uploads_to_a_bucket_and_tells_when_that_failed(self, pages):
        pages.write("/1", START)
        async with S3Store() as s3:
            bucket = {
                "endpoint": s3.url,
                "bucket_name": "bucket",
                "access_key_id": ACCESS,
                "secret_access_key": SECRET,
                "region": REGION,
                "custom_domain": "feeds.example",
            }
            given = {"channel_config": {}, "output_file": None, "r2_object_key": "mill.xml", "r2_config": bucket}
            sent = await sitemap_to_rss_flow(pages.publish(), **given)
            assert sent["r2_upload"] == {"success": True, "file_url": "https://feeds.example/mill.xml"}
            assert s3.objects["/bucket/mill.xml"][1]["Content-Type"] == "application/rss+xml"
            given["r2_config"] = {**bucket, "secret_access_key": "wrong"}
            refused = (await sitemap_to_rss_flow(pages.publish(), **given))["r2_upload"]
        assert (refused["success"], refused["object_key"]) == (False, "mill.xml")
        assert "403" in refused["error"]


SITES = """
sites:
  mill:
    sitemap_url: https://mill.example/sitemap.xml
    channel_config: {title: The Mill}
  harbour:
    sitemap_url: https://harbour.example/
    schedule: "30 6 * * *"
    filter_config: {include_patterns: [/news/]}
    options: {max_items: 5, fetch_titles: false}
    output: {local_file: harbour.xml, r2_object_key: harbour.xml}
  off: {enabled: false, sitemap_url: "https://off.example/"}
  wrong: {sitemap: "https://wrong.example/"}
"""


class TestServing:
    @pytest.mark.proves("B-18", "B-12")
    def test_every_enabled_site_of_a_file_is_a_deployment(self, tmp_path, log):
        file = tmp_path / "sites.yaml"
        file.write_text(SITES)
        mill, harbour = deployments(file)
        assert (mill.name, mill.flow_name) == ("incremental-rss-mill", "Incremental Sitemap to RSS")
        assert crons(mill) == ["0 */2 * * *"]
        assert (mill.parameters["max_items"], mill.parameters["fetch_titles"]) == (20, True)
        assert (harbour.name, crons(harbour)) == ("incremental-rss-harbour", ["30 6 * * *"])
        assert harbour.parameters["channel_config"] == {
            "include_patterns": ["/news/"],
            "output_file": "harbour.xml",
            "r2_object_key": "harbour.xml",
        }
        assert (harbour.parameters["max_items"], harbour.parameters["fetch_titles"]) == (5, False)
        assert [line for line in log if "wrong is left out" in line]
        assert [crons(one) for one in deployments(file, cron="5 * * * *")] == [["5 * * * *"]] * 2

    @pytest.mark.proves("B-12", "B-18")
    async def test_what_is_served_runs_when_its_time_has_come(self, site, pages, tmp_path):
        pages.write("/1", START)
        text = f"sites:\n  mill:\n    sitemap_url: {pages.publish()}\n    output: {{local_file: {tmp_path}/mill.xml}}\n"
        (tmp_path / "sites.yaml").write_text(text)
        async with served(tmp_path), get_client() as client:
            deployment = await eventually(partial(find, client, DEPLOYMENT), look_seconds=0.2)
            assert [one.schedule.cron for one in deployment.schedules] == ["0 */2 * * *"]
            begun = await client.create_flow_run_from_deployment(deployment.id)

            async def ended():
                run = await client.read_flow_run(begun.id)
                return run.state if run.state.is_final() else None

            assert (await eventually(ended, look_seconds=0.2)).is_completed()
        assert [entry.link for entry in feedparser.parse((tmp_path / "mill.xml").read_bytes()).entries] == [
            site.url("/1")
        ]

    def test_a_file_without_a_site_is_refused(self, tmp_path):
        (tmp_path / "sites.yaml").write_text("sites: {}")
        with pytest.raises(InvalidInput):
            deployments(tmp_path / "sites.yaml")


@asynccontextmanager
async def served(folder):
    """`python -m catchment.flows`, until the end of the block."""
    server = get_current_settings().api.url
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        "-m",
        "catchment.flows",
        "sites.yaml",
        cwd=folder,
        env={**os.environ, "PREFECT_API_URL": server, "PREFECT_RUNNER_POLL_FREQUENCY": "1"},
    )
    try:
        yield
    finally:
        process.terminate()
        await process.wait()


async def find(client, name):
    try:
        return await client.read_deployment_by_name(name)
    except ObjectNotFound:
        return None


def crons(deployment):
    return [one.schedule.cron for one in deployment.schedules]


def test_the_flows_need_neither_the_web_nor_the_command_line():
    text = (
        "import sys\n"
        "for name in ('catchment.web', 'catchment.cli'): sys.modules[name] = None\n"
        "import catchment.flows.sitemaps, catchment.flows.sitemaps\n"
    )
    subprocess.run([sys.executable, "-c", text], check=True)
