"""How often a source is looked at: its own wish, the config table, the environment, `.env`, the type's default."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import timedelta

from catchment.domain.source import Source
from catchment.settings import INTERVAL_PREFIX

DEFAULT_MINUTES: Mapping[str, int] = {
    "twitter_feed": 30,
    "twitter_list": 30,
    "twitter_bookmarks": 60,
    "hackernews": 60,
    "reddit": 60,
    "rss": 240,
    "digest_feed": 240,
    "github_trending": 240,
    "website": 240,
    "custom_api": 120,
    "sitemap": 240,
    "xhs_search": 120,
    "weibo_search": 120,
    "douyin_search": 120,
}
FALLBACK_MINUTES = 240
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

    #: Type to minutes, where somebody set them.
    chosen: Mapping[str, int] = field(default_factory=dict)

    def minutes(self, source_type: str) -> int:
        return self.chosen.get(source_type) or DEFAULT_MINUTES.get(source_type, FALLBACK_MINUTES)

    def of(self, source: Source) -> timedelta:
        return source.own_interval or timedelta(minutes=self.minutes(source.type))

    def by_type(self) -> dict[str, int]:
        """Every type that has a default or a setting, with its minutes."""
        return {name: self.minutes(name) for name in sorted({*DEFAULT_MINUTES, *self.chosen})}


def resolve_intervals(
    *,
    table: Mapping[str, str],
    environment: Mapping[str, str],
    file: Mapping[str, str],
    warn: Callable[[str, str], None],
) -> Intervals:
    """The first usable value in order of precedence wins. `warn(place, value)` hears of each unusable one."""
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
    return Intervals(chosen=chosen)
