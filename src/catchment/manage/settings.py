"""Settings as an administrator reads them: what holds, and where it comes from. Secrets are only set or not."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from catchment.redact import redact_text
from catchment.schedule.intervals import read_minutes
from catchment.settings import INTERVAL_PREFIX, Origin, Settings, specs
from catchment.sources.registry import Registry


@dataclass(frozen=True, slots=True, kw_only=True)
class ShownSetting:
    name: str
    #: Empty where nothing is set, and for every secret.
    value: str
    origin: Origin
    help: str
    is_secret: bool
    is_set: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class ShownInterval:
    """How often sources of a type are looked at, unless they have an interval of their own."""

    source_type: str
    minutes: int
    origin: Origin

    @property
    def name(self) -> str:
        return f"{INTERVAL_PREFIX}{self.source_type.upper()}"


def list_settings(settings: Settings) -> list[ShownSetting]:
    """What somebody set first, by where; then the rest; by name."""
    shown = [
        ShownSetting(
            name=spec.names[0],
            value="" if spec.secret else _shown(getattr(settings, field)),
            origin=settings.origins.get(field, Origin.DEFAULT),
            help=spec.help,
            is_secret=spec.secret,
            is_set=bool(getattr(settings, field)),
        )
        for field, spec, _ in specs()
    ]
    return sorted(shown, key=lambda one: (list(Origin).index(one.origin), one.name))


def list_intervals(settings: Settings, table: Mapping[str, str], registry: Registry) -> list[ShownInterval]:
    """One for each type; the first usable value of the places holds, as it does for the collector."""
    places = (
        (Origin.DATABASE, _by_type(table)),
        (Origin.ENVIRONMENT, settings.intervals_from_environment),
        (Origin.FILE, settings.intervals_from_file),
    )
    found = []
    for source_type in sorted(registry):
        usable = ((origin, read_minutes(values.get(source_type))) for origin, values in places)
        chosen = next(((origin, minutes) for origin, minutes in usable if minutes), None)
        origin, minutes = chosen or (Origin.DEFAULT, registry.default_minutes(source_type))
        found.append(ShownInterval(source_type=source_type, minutes=minutes, origin=origin))
    return found


def _by_type(table: Mapping[str, str]) -> dict[str, str]:
    named = ((key.upper(), value) for key, value in table.items())
    return {key.removeprefix(INTERVAL_PREFIX).lower(): value for key, value in named if key.startswith(INTERVAL_PREFIX)}


def _shown(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    return redact_text(f"{value:g}" if isinstance(value, float) else str(value))
