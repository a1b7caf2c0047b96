"""What the flows do: run a site on the state that it names, start over when that is broken, and deliver the feed."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from loguru import logger

from catchment.bootstrap import open_outside, open_system
from catchment.clock import SystemClock
from catchment.domain.caller import OPERATOR
from catchment.errors import CatchmentError, DamagedStore
from catchment.manage.site_feeds import FULL_FALLBACK, SiteRun, run_in_full
from catchment.manage.sites import Output, Site
from catchment.publish.files import open_bucket, write_if_changed
from catchment.publish.views import format_of
from catchment.settings import Settings, store_url_of
from catchment.store.database import check_soundness, set_aside


@dataclass(frozen=True, slots=True, kw_only=True)
class State:
    """Where a flow remembers what it saw."""

    settings: Settings
    #: It holds nothing but this, so that it may be put aside when it is broken; the main store is nobody's to move.
    is_own: bool


def state_at(place: str | None, settings: Settings) -> State:
    """In the file or database that is named, else where RSS_STATE_DB says, else in the main store."""
    own = place or settings.rss_state_db
    if not own:
        return State(settings=settings, is_own=False)
    return State(settings=replace(settings, database_url=store_url_of(own)), is_own=True)


async def run_on_state(site: Site, state: State) -> SiteRun:
    """Fetch what is new or changed. DamagedStore when the state cannot be read any more."""
    async with open_system(state.settings) as system:
        # In the middle of the work it would be too late: whoever stores something waits for the store to come back.
        await system.store.read(check_soundness)
        async with system.collector.working(grace_seconds=state.settings.stop_seconds):
            return await system.site_feeds.run(site, OPERATOR)


async def run_without_state(site: Site, settings: Settings) -> SiteRun:
    async with open_outside(settings) as outside:
        return await run_in_full(outside.site_lister, site)


async def run_or_start_over(site: Site, state: State) -> SiteRun:
    """Fetch what is new or changed, or everything when the state is broken."""
    try:
        return await run_on_state(site, state)
    except DamagedStore as error:
        return await start_over(site, state, error)


async def start_over(site: Site, state: State, error: DamagedStore) -> SiteRun:
    """The full run that follows a broken state. Where that may be put aside, a new one is begun with it."""
    if not state.is_own:
        logger.warning("{} It is left where it is, and this run is a full one that remembers nothing.", error)
        return replace(await run_without_state(site, state.settings), mode=FULL_FALLBACK)
    kept = await asyncio.to_thread(set_aside, state.settings.store_url(), SystemClock().now())
    logger.warning("{} It is kept as {}, and everything is fetched once, in full.", error, kept)
    everything = replace(site, config={**site.config, "baseline_items": site.max_items})
    return replace(await run_on_state(everything, state), mode=FULL_FALLBACK)


async def deliver(run: SiteRun, output: Output, settings: Settings, *, domain: str = "") -> dict[str, Any]:
    """Write the feed and send it where it should go. A bucket that refuses is told, and costs nothing else."""
    if output.local_file:
        path = Path(output.local_file)
        await asyncio.to_thread(write_if_changed, path, run.document(format_of(path.name)))
    generated = {
        "output_file": output.local_file or None,
        "total_items": len(run.shown),
        "channel_title": run.feed().title,
    }
    if not output.r2_object_key:
        return {"rss_generation": generated}
    return {"rss_generation": generated, "r2_upload": await _upload(run, output.r2_object_key, settings, domain)}


async def _upload(run: SiteRun, key: str, settings: Settings, domain: str) -> dict[str, Any]:
    format_ = format_of(key)
    try:
        async with open_outside(settings) as outside:
            bucket = open_bucket(settings, outside.http, SystemClock())
            url = f"https://{domain}/{key}" if domain else bucket.url(key)
            document = run.document(format_, served_at=url)
            await bucket.put_if_changed(key, document, media_type=format_.media_type)
    except CatchmentError as error:
        return {"success": False, "error": str(error), "object_key": key}
    return {"success": True, "file_url": url}


def with_bucket(settings: Settings, config: Mapping[str, Any] | None) -> Settings:
    """The settings with another bucket: account_id or endpoint, bucket_name, access_key_id, secret_access_key."""
    if not config:
        return settings
    account = config.get("account_id")
    endpoint = config.get("endpoint") or (f"https://{account}.r2.cloudflarestorage.com" if account else "")
    return replace(
        settings,
        s3_endpoint=str(endpoint).rstrip("/"),
        s3_bucket=str(config.get("bucket_name") or ""),
        s3_access_key=str(config.get("access_key_id") or ""),
        s3_secret_key=str(config.get("secret_access_key") or ""),
        s3_region=str(config.get("region") or "auto"),
    )
