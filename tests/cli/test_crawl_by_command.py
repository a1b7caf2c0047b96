from __future__ import annotations

import json
from asyncio import to_thread
from collections.abc import AsyncIterator, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from command import Command, Start

from catchment.bootstrap import open_system
from catchment.domain.execution import MEDIA_CRAWLER
from catchment.settings import Settings
from catchment.simulator.server import SimulatedWeb
from catchment.simulator.services.xhs import XhsService
from catchment.simulator.world import World
from planted import MARKER, cookie_file, planted_cookie


@pytest.fixture
async def environment() -> AsyncIterator[Mapping[str, str]]:
    """Where a simulated Xiaohongshu is, and all that it takes to crawl it."""
    world = World(seed=1, sites=1, started_at=datetime.now(UTC))
    service = XhsService(world)
    places = {"/api/sns": service, "/explore": service, "/website-login": service}
    async with SimulatedWeb(world, hosts=0, now=lambda: datetime.now(UTC), places=places) as web:
        yield {
            "XHS_BASE_URL": web.url(""),
            "XHS_WEB_URL": web.url(""),
            "CATCHMENT_ALLOW_NETWORKS": "127.0.0.1",
            "COOKIE_MASTER_KEY": "a test passphrase of more than 32 characters",
            "CRAWL_SPACING_SECONDS": "0",
        }


@pytest.mark.proves("E-14", "E-07")
async def test_from_a_cookie_in_a_file_to_notes_in_the_store(
    catchment: Command, environment: Mapping[str, str], tmp_path: Path
) -> None:
    async def run(*words: str) -> Any:
        return await to_thread(catchment.json, *words, **environment)

    async def crawl() -> str:
        result = await catchment.aside("crawl", "run", "--platform", "xhs", **environment)
        assert result.exit_code == 0
        assert ": completed, " in result.output
        return result.output

    handed_over = str(cookie_file(tmp_path, planted_cookie()))
    await run("cookies", "add", "--name", "account_01", "--platform", "xhs", "--file", handed_over)
    await to_thread(catchment, "add", "咖啡", "--type", "xhs_search", **environment)
    said = await crawl()
    items = await run("items", "list", "--limit", "0")
    (execution,) = await run("crawl", "executions")
    assert (execution["status"], execution["items_processed"]) == ("completed", len(items))
    assert items
    said += await crawl()
    latest, _ = await run("crawl", "executions")
    assert latest["items_processed"] < len(items), "what was collected is not read again"
    assert MARKER not in said


@pytest.mark.proves("E-03", "E-22")
async def test_a_crawl_that_does_not_get_the_lock_says_so_in_one_line_and_is_no_failure(
    catchment: Command, start: Start, environment: Mapping[str, str]
) -> None:
    await to_thread(catchment, "add", "咖啡", "--type", "xhs_search", **environment)
    async with open_system(Settings(database_url=f"sqlite:///{catchment.home / 'catchment.sqlite3'}")) as system:
        await system.workflow.acquire(MEDIA_CRAWLER)
    process = await start("crawl", "run", "--json", **environment)
    told = json.loads(await process.says("locked"))
    assert told == {"locked": False, "execution_id": None, "processed": 0, "failed": 0, "reason": "已有执行在运行"}
    assert await process.ends() == 0


@pytest.mark.proves("E-13")
async def test_a_search_and_a_note_are_shown_and_not_kept(
    catchment: Command, environment: Mapping[str, str], tmp_path: Path
) -> None:
    async def run(*words: str) -> Any:
        return await to_thread(catchment.json, *words, **environment)

    handed_over = str(cookie_file(tmp_path, planted_cookie()))
    await run("cookies", "add", "--name", "account_01", "--platform", "xhs", "--file", handed_over)
    found = await run("crawl", "search", "咖啡", "--platform", "xhs")
    card = found["items"][0]
    note = await run("crawl", "detail", card["note_url"], "--platform", "xhs", "--comments", "5")
    assert (note["note_id"], note["title"]) == (card["note_id"], card["title"])
    assert note["comment_list"]
    assert await run("items", "list") == []


def test_a_crawl_without_a_keyword_source_says_how_to_add_one(catchment: Command) -> None:
    result = catchment("crawl", "run")
    assert result.exit_code == 1
    assert "--type xhs_search" in result.stderr


def test_there_is_nothing_to_recover_where_nobody_fell_silent(catchment: Command) -> None:
    assert catchment.json("crawl", "recover") == {"executions": 0, "records": 0}


@pytest.mark.proves("E-15")
def test_the_files_for_n8n_are_written_for_the_address_that_is_named(catchment: Command, home: Path) -> None:
    written = catchment.json("crawl", "n8n", "--out", str(home / "n8n"), "--url", "http://127.0.0.1:9000")
    assert [Path(path).name for path in written] == ["media-crawler.json", "lock-recovery.json", "cookie-check.json"]
    assert all("http://127.0.0.1:9000" in Path(path).read_text(encoding="utf-8") for path in written)
