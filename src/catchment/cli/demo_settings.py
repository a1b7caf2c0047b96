"""The settings of the demo: those of `up`, made eager, pointed at the simulated web, kept off what is real. Pure."""

from __future__ import annotations

import secrets
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from catchment.settings import Settings
    from catchment.simulator.server import SimulatedWeb

#: What would cost money, tell others, or take the place of something real. It has its default in a demo.
LEFT_ALONE: Final = (
    "backup_hours",
    "backup_folder",
    "backup_keep",
    "twitter_api_key",
    "scraper_usernames",
    "feishu_app_id",
    "feishu_app_secret",
    "feishu_app_token",
    "feishu_table_id",
    "summarization_enabled",
    "summarization_url",
    # The store of the demo is known to this process alone.
    "processes",
)
#: Eager enough that one sees it live.
CONCURRENCY = 20
TICK_SECONDS = 1.0
CRAWL_SPACING_SECONDS = 0.02
#: What a demo takes for a backlog of notes.
MOST_PENDING = 20


def demo_settings(given: Settings, *, folder: Path, speed: float) -> Settings:
    """What a demo works by; its store is in the folder, unless the environment names another place."""
    from catchment.settings import Settings
    from catchment.simulator.addresses import NETWORKS

    usual = Settings()
    return replace(
        given,
        **{name: getattr(usual, name) for name in LEFT_ALONE},
        home=given.home if given.is_store_named else folder,
        allow_networks=",".join(filter(None, (given.allow_networks, *NETWORKS))),
        concurrency=max(given.concurrency, CONCURRENCY),
        tick_seconds=min(given.tick_seconds, TICK_SECONDS),
        cookie_master_key=given.cookie_master_key or secrets.token_urlsafe(32),
        crawl_spacing_seconds=min(given.crawl_spacing_seconds, CRAWL_SPACING_SECONDS),
        alert_pending_notes=min(given.alert_pending_notes, MOST_PENDING),
        alert_success_minutes=given.alert_success_minutes / max(speed, 1),
        alert_pending_minutes=given.alert_pending_minutes / max(speed, 1),
    )


def pointed_at(web: SimulatedWeb, settings: Settings) -> Settings:
    """The services of the outside are asked for in the simulated web, and nobody outside is told of alerts."""
    root = web.url("")
    return replace(
        settings,
        hackernews_base_url=root,
        reddit_base_url=root,
        github_base_url=root,
        xhs_base_url=root,
        xhs_site_url=root,
        weibo_base_url=root,
        alert_webhook_url=web.url("/inbox"),
        alert_webhook_format="json",
    )
