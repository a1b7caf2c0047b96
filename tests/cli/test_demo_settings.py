"""What a demo takes of the environment, and what it keeps away from."""

from __future__ import annotations

import signal
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import pytest
from command import Command, Start

from catchment.cli.demo import LEFT_ALONE, demo_settings
from catchment.settings import Settings
from feed_site import FeedSite

USUAL = Settings()
#: What a demo makes more eager, or lets in.
ITS_OWN = {
    "allow_networks",
    "concurrency",
    "tick_seconds",
    "crawl_spacing_seconds",
    "alert_pending_notes",
    "origins",
}


def unlike(value: Any) -> Any:
    match value:
        case bool():
            return not value
        case int() | float():
            return value + 3
        case Path():
            return value / "elsewhere"
        case str():
            return f"{value}-of-mine"
        case _:
            return {"name": "mine"}


def everything_set() -> Settings:
    values = {field.name: unlike(getattr(USUAL, field.name)) for field in fields(Settings)}
    return Settings(**{**values, "database_url": "postgresql://db.mine/catchment"})


@pytest.mark.proves("F-02")
def test_a_demo_goes_by_the_environment_but_for_what_is_real(tmp_path: Path) -> None:
    given = everything_set()
    made = demo_settings(given, folder=tmp_path, speed=1)
    for name in LEFT_ALONE:
        assert getattr(made, name) == getattr(USUAL, name), f"{name} is none of its business"
    for name in {field.name for field in fields(Settings)} - {*LEFT_ALONE, *ITS_OWN}:
        assert getattr(made, name) == getattr(given, name)


@pytest.mark.proves("F-02")
def test_its_store_is_where_the_environment_says_or_gone_afterwards(tmp_path: Path) -> None:
    assert demo_settings(USUAL, folder=tmp_path, speed=1).home == tmp_path
    named = replace(USUAL, home=tmp_path / "mine", is_store_named=True)
    assert demo_settings(named, folder=tmp_path, speed=1).home == named.home


def real_life(site: FeedSite, backups: Path) -> dict[str, str]:
    return {
        "CATCHMENT_BACKUP_HOURS": "24",
        "CATCHMENT_BACKUP_DIR": str(backups),
        "CATCHMENT_BACKUP_KEEP": "1",
        "TWITTER_API_KEY": "a-key-that-costs-money",
        "TWITTER_BASE_URL": site.url("/twitter"),
        "SCRAPER_USERNAMES": "python",
        "FEISHU_APP_ID": "cli_x",
        "FEISHU_APP_SECRET": "a-secret-of-the-app",
        "FEISHU_APP_TOKEN": "bascn",
        "FEISHU_TABLE_ID": "tbl1",
        "FEISHU_BASE_URL": site.url(""),
        "ALERT_WEBHOOK_URL": site.url("/alerts"),
        "AUTO_SUMMARIZATION_ENABLED": "true",
        "AUTO_SUMMARIZATION_URL": site.url("/summarise"),
        "ADMIN_API_KEY": "sesame",
    }


@pytest.mark.docs
@pytest.mark.proves("F-02")
async def test_a_demo_leaves_everything_real_alone(start: Start, site: FeedSite, tmp_path: Path) -> None:
    backups = tmp_path / "backups"
    backups.mkdir()
    real = {f"catchment-2026010{day}-030000.sqlite3" for day in (1, 2)}
    for name in real:
        (backups / name).write_text("a real one")
    process = await start("demo", "--port", "0", "--sites", "2", LOG_LEVEL="DEBUG", **real_life(site, backups))
    await process.says("Catchment is at ")
    await process.says("round over")
    process.signal(signal.SIGTERM)
    assert await process.ends() == 0
    assert {file.name for file in backups.iterdir()} == real
    assert not site.requests


@pytest.mark.proves("F-02")
def test_a_demo_keeps_away_from_a_store_that_was_never_one_of_a_demo(catchment: Command) -> None:
    catchment.json("add", "https://example.org/feed", "--no-check")
    refused = catchment("demo", "--port", "0", "--sites", "1")
    assert refused.exit_code == 1
    assert "none of a demo" in refused.stderr
    assert len(catchment.json("sources", "list")) == 1
