"""Source types of other packages, found by their entry points."""

from __future__ import annotations

from collections.abc import Callable
from importlib.metadata import EntryPoint, entry_points

from catchment.sources.base import SourceType

GROUP = "catchment.sources"


def installed_fetchers(complain: Callable[[str], None]) -> list[SourceType]:
    """One fetcher for each entry point; one that cannot be loaded is complained about and left out."""
    loaded = [_load(point, complain) for point in sorted(entry_points(group=GROUP), key=lambda point: point.name)]
    return [fetcher for fetcher in loaded if fetcher is not None]


def _load(point: EntryPoint, complain: Callable[[str], None]) -> SourceType | None:
    try:
        fetcher: SourceType = point.load()()
    except Exception as error:  # noqa: BLE001 - the edge: whatever a stranger's package does at import, ours goes on
        complain(f"the source type {point.name!r} ({point.value}) cannot be loaded: {error!r}")
        return None
    return fetcher
