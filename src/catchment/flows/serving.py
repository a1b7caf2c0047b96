"""The sites of a file as deployments, each on its own schedule."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import prefect
from loguru import logger

from catchment.errors import InvalidInput
from catchment.flows.sitemaps import PAGES, incremental_sitemap_to_rss_flow
from catchment.manage.sites import BadSite, Site, incremental_options, read_sites


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
