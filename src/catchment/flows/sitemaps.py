"""The flows: a site's sitemap into a feed, incrementally on a state that lasts, or in full."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import prefect
from loguru import logger
from prefect import flow, get_run_logger, task
from prefect.cache_policies import NO_CACHE

from catchment.errors import DamagedStore, InvalidInput
from catchment.flows.state import State, deliver, run_on_state, run_without_state, start_over, state_at, with_bucket
from catchment.manage.site_feeds import SiteRun
from catchment.manage.sites import SECTIONS, BadSite, Output, Site, incremental_options, read_sites
from catchment.publish.feed import FeedFormat
from catchment.settings import Settings, load_settings

#: How a channel presents itself where its config says nothing.
CHANNEL: Mapping[str, Any] = {
    "title": "Site Updates",
    "description": "Latest updates from the site",
    "language": "zh-CN",
    "ttl": 60,
}
PAGES: Mapping[str, Any] = {
    "include_patterns": [],
    "exclude_patterns": [],
    "extract_content": True,
    "respect_robots": True,
}
RETRIES = 2
RETRY_SECONDS = [1.0, 5.0]


@task(
    name="Fetch what changed",
    retries=RETRIES,
    retry_delay_seconds=RETRY_SECONDS,
    cache_policy=NO_CACHE,
    persist_result=False,
)
async def fetch_what_changed(site: Site, state: State) -> SiteRun:
    return await run_on_state(site, state)


@task(
    name="Fetch everything",
    retries=RETRIES,
    retry_delay_seconds=RETRY_SECONDS,
    cache_policy=NO_CACHE,
    persist_result=False,
)
async def fetch_everything(site: Site, settings: Settings) -> SiteRun:
    return await run_without_state(site, settings)


@flow(name="Incremental Sitemap to RSS", persist_result=False)
async def incremental_sitemap_to_rss_flow(  # noqa: PLR0917 - callers know it by these
    sitemap_url: str,
    site_name: str,
    channel_config: dict[str, Any],
    enable_incremental: bool = True,
    max_items: int = 50,
    fetch_titles: bool = True,
    incremental_config: dict[str, Any] | None = None,
) -> dict[str, Any]:
    """Fetch what is new or changed since the last run, and give back the whole feed.

    `channel_config` says how the feed looks (title, link, description, language, ttl, self_url), which pages it shows
    (include_patterns, exclude_patterns, extract_content, respect_robots) and where it goes (output_file,
    r2_object_key).
    """
    settings, config = load_settings(), dict(incremental_config or {})
    site = Site(
        sitemap_url=sitemap_url,
        name=site_name,
        channel=_channel(channel_config),
        config={"fetch_titles": fetch_titles, **_pages(channel_config), **incremental_options(config)},
        max_items=max_items,
    )
    run = await _run(site, settings, config) if enable_incremental else await fetch_everything(site, settings)
    output = Output(
        local_file=channel_config.get("output_file") or "", r2_object_key=channel_config.get("r2_object_key") or ""
    )
    return {
        "mode": run.mode,
        "site_name": site_name,
        "new_items": run.tally.inserted,
        "changed_items": run.tally.updated,
        "rss": run.document(FeedFormat.RSS).decode(),
        **await deliver(run, output, settings),
    }


@flow(name="Sitemap to RSS", persist_result=False)
async def sitemap_to_rss_flow(  # noqa: PLR0917 - callers know it by these
    sitemap_url: str,
    channel_config: dict[str, Any],
    output_file: str | None = "rss_feed.xml",
    filter_config: dict[str, Any] | None = None,
    fetch_titles: bool = False,
    extract_content: bool = True,
    max_items: int = 50,
    sort_by_date: bool = True,
    r2_object_key: str | None = None,
    r2_config: dict[str, Any] | None = None,
    upload_method: str = "direct",
) -> dict[str, Any] | None:
    """The full mode: the newest pages of a sitemap as a feed, with nothing remembered. None when there are none.

    Both ways to upload send the same bytes; `upload_method` is there for those who name it.
    """
    if upload_method not in {"direct", "file"}:
        raise InvalidInput(f"upload_method is direct or file; {upload_method!r} is neither.")
    settings = load_settings()
    site = Site(
        sitemap_url=sitemap_url,
        channel=_channel(channel_config),
        config={"fetch_titles": fetch_titles, **_pages({**(filter_config or {}), "extract_content": extract_content})},
        max_items=min(max_items, (filter_config or {}).get("max_items") or max_items),
        sort_by_date=sort_by_date,
        is_incremental=False,
    )
    run = await fetch_everything(site, settings)
    if not run.shown:
        get_run_logger().warning("%s lists no page that is wanted: nothing is written", sitemap_url)
        return None
    output = Output(local_file=output_file or "", r2_object_key=r2_object_key or "")
    domain = str((r2_config or {}).get("custom_domain") or "")
    return await deliver(run, output, with_bucket(settings, r2_config), domain=domain)


async def _run(site: Site, settings: Settings, config: Mapping[str, Any]) -> SiteRun:
    state = state_at(config.get("db_path"), settings)
    try:
        run: SiteRun = await fetch_what_changed(site, state)
    except DamagedStore as error:
        get_run_logger().warning("the state is damaged, so this run is a full one: %s", error)
        return await start_over(site, state, error)
    return run


def _channel(config: Mapping[str, Any]) -> dict[str, Any]:
    said = {key: config[key] for key in SECTIONS["channel_config"] if config.get(key) is not None}
    return {**CHANNEL, **said}


def _pages(config: Mapping[str, Any]) -> dict[str, Any]:
    """Which pages are shown, and how they are read; what nobody says is as usual."""
    return {key: usual if config.get(key) is None else config[key] for key, usual in PAGES.items()}


def deployments(config: str | Path, *, cron: str | None = None) -> list[Any]:
    """A deployment `incremental-rss-{name}` for each site of a YAML that is enabled; `cron` wins over the file's."""
    wanted = []
    for site in read_sites(Path(config).read_bytes()):
        if isinstance(site, BadSite):
            logger.warning("{} is left out: {}", site.name, site.reason)
        elif site.is_enabled:
            wanted.append(_deployment(site, cron or site.schedule))
    if not wanted:
        raise InvalidInput(f"{config} lists no site that could be served.")
    return wanted


def serve(config: str | Path, *, cron: str | None = None) -> None:
    """Run every site of a file when its time has come, until stopped."""
    prefect.serve(*deployments(config, cron=cron))


def _deployment(site: Site, cron: str) -> Any:
    return incremental_sitemap_to_rss_flow.to_deployment(
        name=f"incremental-rss-{site.title}", cron=cron, parameters=parameters_of(site)
    )


def parameters_of(site: Site) -> dict[str, Any]:
    """What the flow is called with."""
    pages = {key: site.config[key] for key, usual in PAGES.items() if site.config[key] != usual}
    state = {"db_path": site.state_db} if site.state_db else {}
    goes_to = {"output_file": site.output.local_file, "r2_object_key": site.output.r2_object_key}
    return {
        "sitemap_url": site.sitemap_url,
        "site_name": site.name,
        "channel_config": {**site.channel, **pages, **{key: where for key, where in goes_to.items() if where}},
        "enable_incremental": site.is_incremental,
        "max_items": site.max_items,
        "fetch_titles": site.config["fetch_titles"],
        "incremental_config": {**incremental_options(site.config), **state},
    }
