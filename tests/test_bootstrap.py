"""Parts of the system are made when they are asked for."""

from __future__ import annotations

import asyncio
import subprocess
import sys

import pytest

from catchment.bootstrap import open_outside, open_system
from catchment.domain.caller import OPERATOR
from catchment.manage.catalog import Draft
from catchment.settings import Settings
from loopback_site import answer, opened

#: What no command needs that only reads from the store.
HEAVY = (
    "aiohttp",
    "fastapi",
    "pydantic",
    "lxml",
    "jinja2",
    "apscheduler",
    "alembic",
    "sqlalchemy.orm",
    "argon2",
    "trafilatura",
)
#: What somebody who collects feeds comes across at most once an hour, or never.
SELDOM = (
    "pydantic",
    "cryptography",
    *(f"catchment.domain.{name}" for name in ("alert", "candidate", "feed", "note", "tweet")),
    *(f"catchment.store.{name}" for name in ("alerts", "audit_trail", "candidates", "reading")),
)


def loaded_by(*words: str, home: str) -> set[str]:
    """The modules that are there when a command is over."""
    code = (
        "import sys\n"
        "from catchment.cli.main import app\n"
        f"app({list(words)!r}, standalone_mode=False)\n"
        "print(*sys.modules, file=sys.stderr)\n"
    )
    ran = subprocess.run(
        [sys.executable, "-c", code], env={"CATCHMENT_HOME": home}, cwd=home, capture_output=True, text=True, check=True
    )
    return set(ran.stderr.split())


@pytest.mark.proves("S-02")
@pytest.mark.parametrize(
    "words",
    [
        ("status",),
        ("sources", "list"),
        ("items", "list"),
        ("feeds", "list"),
        ("alerts",),
        ("hooks", "list"),
    ],
    ids=" ".join,
)
def test_a_command_that_only_reads_imports_nothing_that_it_does_not_use(sqlite_url, tmp_path, words):
    assert loaded_by(*words, home=str(tmp_path)) & set(HEAVY) == set()


@pytest.mark.proves("S-02")
@pytest.mark.parametrize(
    "words", [("status",), ("sources", "list"), ("sources", "show", "1"), ("why", "1")], ids=" ".join
)
async def test_a_command_that_shows_sources_loads_nothing_that_fetches_them(sqlite_url, tmp_path, words):
    async with open_system(Settings(database_url=sqlite_url)) as system:
        await system.catalog.add(Draft(type="rss", config={"url": "https://a.example/feed"}, name="A"), OPERATOR)
    loaded = await asyncio.to_thread(loaded_by, *words, home=str(tmp_path))
    assert loaded & {*HEAVY, "catchment.sources.rss", "catchment.fetch.client"} == set()


@pytest.mark.proves("S-01", "S-02")
def test_who_collects_loads_nothing_that_a_round_of_feeds_does_not_use(sqlite_url, tmp_path):
    # The first round of the hour also cleans.
    assert set(SELDOM) & loaded_by("collect", home=str(tmp_path))
    assert set(SELDOM) & loaded_by("collect", home=str(tmp_path)) == set()


@pytest.mark.proves("S-02")
def test_who_lists_jobs_loads_nothing_that_does_their_work(sqlite_url, tmp_path):
    loaded = loaded_by("jobs", "list", home=str(tmp_path))
    assert loaded & {"aiohttp", "lxml", "catchment.engine.collector", "catchment.jobs.webhooks"} == set()


@pytest.mark.proves("S-02")
def test_one_command_does_not_import_the_others(sqlite_url, tmp_path):
    loaded = loaded_by("sources", "list", home=str(tmp_path))
    assert {name for name in loaded if name.startswith("catchment.cli.")} == {
        "catchment.cli.main",
        "catchment.cli.console",
        "catchment.cli.session",
        "catchment.cli.sources",
    }


async def test_a_system_has_only_those_parts_that_were_asked_for(sqlite_url):
    async with open_system(Settings(database_url=sqlite_url)) as system:
        assert not {"http", "parsers", "registry", "collector", "jobs"} & vars(system).keys()
        assert system.catalog is system.catalog
        assert "registry" in vars(system)
        assert not {"http", "parsers", "collector"} & vars(system).keys()


async def test_what_was_made_is_closed():
    async with opened() as site:
        site.pages["/"] = answer()
        async with open_outside(Settings(allow_networks="127.0.0.0/8")) as outside:
            await outside.http.get(site.url("/"))
            parsers = outside.parsers
            assert site.visits
        await asyncio.gather(*site.visits)
    assert parsers.is_closed
