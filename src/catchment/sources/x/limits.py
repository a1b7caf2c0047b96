"""How many tweets to ask for next, from what the last fetches brought. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from catchment.domain.tweet import FetchStats

EMPTY_UNTIL_LEAST = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class LimitRules:
    default: int = 100
    least: int = 10
    most: int = 300
    #: The weight of the latest fetch in the smoothed rate.
    alpha: float = 0.3
    margin: float = 1.2


def next_limit(stats: FetchStats | None, rules: LimitRules) -> int:
    """Twice as many after a fetch that was all new, few after nothing three times, else what is expected to be new."""
    if stats is None or not stats.total_fetches:
        return rules.default
    if 0 < stats.last_new_count == stats.last_fetched_count:
        return _within(stats.last_fetched_count * 2, rules)
    if stats.consecutive_empty_fetches >= EMPTY_UNTIL_LEAST:
        return rules.least
    if stats.avg_new_rate > 0 and stats.last_new_count > 0:
        return _within(int(stats.last_new_count / stats.avg_new_rate * rules.margin), rules)
    return rules.default


def stats_after(
    stats: FetchStats | None, *, username: str, fetched: int, new: int, at: datetime, alpha: float
) -> FetchStats:
    """The statistics once a fetch succeeded. One that fetched nothing says nothing about the rate."""
    return FetchStats(
        username=username,
        last_fetch_at=at,
        last_fetched_count=fetched,
        last_new_count=new,
        total_fetches=(stats.total_fetches if stats else 0) + 1,
        avg_new_rate=_rate(stats, fetched, new, alpha),
        consecutive_empty_fetches=0 if new else (stats.consecutive_empty_fetches if stats else 0) + 1,
    )


def _rate(stats: FetchStats | None, fetched: int, new: int, alpha: float) -> float:
    if not fetched:
        return stats.avg_new_rate if stats else 0.0
    rate = new / fetched
    return rate if stats is None else min(1.0, alpha * rate + (1 - alpha) * stats.avg_new_rate)


def _within(limit: int, rules: LimitRules) -> int:
    return max(rules.least, min(limit, rules.most))
