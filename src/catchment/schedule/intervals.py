"""How often a source is looked at: its own wish, the config table, the environment, `.env`, the type's default."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import timedelta

from catchment.domain.source import Source
from catchment.settings import INTERVAL_PREFIX

#: A year. Anything above is taken for a slip of the keyboard.
MAX_MINUTES = 525_600


def read_minutes(text: object) -> int | None:
    """A positive whole number of minutes, or None for anything else."""
    if isinstance(text, bool) or not isinstance(text, int | str):
        return None
    try:
        minutes = int(text)
    except ValueError:
        return None
    return minutes if 0 < minutes <= MAX_MINUTES else None


@dataclass(frozen=True, slots=True, kw_only=True)
class Intervals:
    """The interval of every type and source, resolved once from all the places it may be set in."""

    #: What each type has by itself.
    default: Callable[[str], int]
    #: Type to minutes, where somebody set them.
    chosen: Mapping[str, int] = field(default_factory=dict)

    def minutes(self, source_type: str) -> int:
        return self.chosen.get(source_type) or self.default(source_type)

    def of(self, source: Source) -> timedelta:
        return source.own_interval or timedelta(minutes=self.minutes(source.type))


def read_chosen(
    *,
    table: Mapping[str, str],
    environment: Mapping[str, str],
    file: Mapping[str, str],
    warn: Callable[[str, str], None],
) -> dict[str, int]:
    """Type to minutes, the first usable value in order of precedence. `warn(place, value)` hears of the unusable."""
    from_table = {
        key.upper().removeprefix(INTERVAL_PREFIX).lower(): value
        for key, value in table.items()
        if key.upper().startswith(INTERVAL_PREFIX)
    }
    chosen: dict[str, int] = {}
    for place, values in (("config table", from_table), ("environment", environment), (".env", file)):
        for source_type, text in values.items():
            minutes = read_minutes(text)
            if minutes is None:
                warn(f"{INTERVAL_PREFIX}{source_type.upper()} ({place})", text)
            else:
                chosen.setdefault(source_type, minutes)
    return chosen
