"""The workflows of n8n as files, ready to be imported."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

from catchment.publish.bucket import write_if_changed
from catchment.publish.n8n.crawl import crawl_workflow
from catchment.publish.n8n.upkeep import cookie_check_workflow, recovery_workflow
from catchment.publish.n8n.workflow import Workflow

DEFAULT_URL = "http://127.0.0.1:8767"

_FILES: Mapping[str, Callable[[str], Workflow]] = {
    "media-crawler.json": crawl_workflow,
    "lock-recovery.json": recovery_workflow,
    "cookie-check.json": cookie_check_workflow,
}


def write_workflows(directory: Path, base_url: str = DEFAULT_URL) -> tuple[Path, ...]:
    """All of them, for a Catchment at this address unless n8n's environment names another; answers their paths."""
    paths = tuple(directory / name for name in _FILES)
    for path, workflow in zip(paths, _FILES.values(), strict=True):
        write_if_changed(path, workflow(base_url.rstrip("/")).to_json().encode())
    return paths
