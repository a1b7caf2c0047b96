"""Settings as an administrator reads them: what holds, and where it comes from. Secrets are only set or not.

Intervals are changed while it runs.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import Connection

from catchment.clock import Clock
from catchment.domain.audit_trail import deed
from catchment.errors import InvalidInput
from catchment.redact import redact_text
from catchment.schedule.intervals import MAX_MINUTES, read_minutes
from catchment.settings import INTERVAL_PREFIX, Origin, Settings, specs
from catchment.sources.registry import Registry
from catchment.store import audit_trail, config
from catchment.store.database import Store


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


class IntervalSettings:
    """How often sources of a type are looked at, as it is set while the collector runs."""

    def __init__(self, *, store: Store, registry: Registry, clock: Clock) -> None:
        self._store = store
        self._clock = clock
        self._names = {f"{INTERVAL_PREFIX}{name.upper()}" for name in registry}

    async def read(self) -> dict[str, str]:
        return await self._store.read(config.read_config)

    async def change(self, values: Mapping[str, Any]) -> dict[str, str]:
        """Set what has a value, remove what has None; all of it or, at the first mistake, nothing."""
        checked = {self._checked_name(name): _checked_minutes(name, value) for name, value in values.items()}
        now = self._clock.now()
        told = ", ".join(f"{name}: {value or 'default'}" for name, value in checked.items())
        entry = deed("config.change", "intervals", told, now=now)
        return await self._store.write(audit_trail.recorded, entry, _change, checked, now=now)

    def _checked_name(self, name: str) -> str:
        known = name.strip().upper()
        if known not in self._names:
            raise InvalidInput(
                f"There is no option {name[:100]!r}; there are {', '.join(sorted(self._names))}.", field=name[:100]
            )
        return known


def _checked_minutes(name: str, value: Any) -> str | None:
    if value is None:
        return None
    minutes = read_minutes(value)
    if minutes is None:
        raise InvalidInput(
            f"{name} is a whole number of minutes, 1 to {MAX_MINUTES}; {str(value)[:100]!r} is not.", field=name
        )
    return str(minutes)


def _change(conn: Connection, values: Mapping[str, str | None], *, now: datetime) -> dict[str, str]:
    for name, value in values.items():
        if value is None:
            config.unset_config(conn, name)
        else:
            config.set_config(conn, {name: value}, now=now)
    return config.read_config(conn)


def _by_type(table: Mapping[str, str]) -> dict[str, str]:
    named = ((key.upper(), value) for key, value in table.items())
    return {key.removeprefix(INTERVAL_PREFIX).lower(): value for key, value in named if key.startswith(INTERVAL_PREFIX)}


def _shown(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    return redact_text(f"{value:g}" if isinstance(value, float) else str(value))
