"""Options: settings in the config table, which take effect at the next tick."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from sqlalchemy import Connection

from catchment.clock import Clock
from catchment.errors import InvalidInput
from catchment.schedule.intervals import DEFAULT_MINUTES, MOST_MINUTES, read_minutes
from catchment.settings import INTERVAL_PREFIX
from catchment.sources.base import Registry
from catchment.store import config
from catchment.store.door import Store


class Options:
    def __init__(self, *, store: Store, registry: Registry, clock: Clock) -> None:
        self._store = store
        self._clock = clock
        self._names = {f"{INTERVAL_PREFIX}{name.upper()}" for name in {*DEFAULT_MINUTES, *registry}}

    async def read(self) -> dict[str, str]:
        return await self._store.read(config.read_config)

    async def change(self, values: Mapping[str, Any]) -> dict[str, str]:
        """Set what has a value, remove what has None; all of it or, at the first mistake, nothing."""
        checked = {self._checked_name(name): _checked_minutes(name, value) for name, value in values.items()}
        return await self._store.write(_change, checked, now=self._clock.now())

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
            f"{name} is a whole number of minutes, 1 to {MOST_MINUTES}; {str(value)[:100]!r} is not.", field=name
        )
    return str(minutes)


def _change(conn: Connection, values: Mapping[str, str | None], *, now: datetime) -> dict[str, str]:
    for name, value in values.items():
        if value is None:
            config.unset_config(conn, name)
        else:
            config.set_config(conn, {name: value}, now=now)
    return config.read_config(conn)
