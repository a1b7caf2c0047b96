"""Hosts: which are at home, and of those that several sources share, what one asked for and how far its turns are given
away. Pure.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from ipaddress import ip_address
from typing import NamedTuple

from catchment.domain.source import NextCheck, Why

#: Who has to wait longer for a turn is put off until then, rather than queued.
HORIZON = timedelta(seconds=30)


_NAMES_AT_HOME = (".localhost", ".local", ".lan", ".home", ".internal", ".home.arpa")


def is_at_home(host: str | None) -> bool:
    """Whether it is on this machine or in its own network, by its name alone; what has no host is elsewhere."""
    if not host:
        return False
    try:
        return not ip_address(host).is_global
    except ValueError:
        return "." not in host or host.endswith(_NAMES_AT_HOME)


def shows_the_way(answered: str | None, wanted: str | None) -> bool:
    """Whether the network is there for a host when another one answered: one at home says nothing of the outside."""
    return is_at_home(wanted) or not is_at_home(answered)


class DueSource(NamedTuple):
    """A source that is due, with what there is to know of its host, if it shares one."""

    id: int
    #: It was put off to this moment because of its host: it is its turn.
    had_to_wait: bool = False
    host: str | None = None
    #: Until when the host asked to be left alone.
    held_until: datetime | None = None
    #: Until when its turns are given away.
    booked_until: datetime | None = None
    type: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class HostUse:
    """What is known of a host to whoever looks after it, for whoever does next."""

    host: str
    #: When the requests of the last minute started, in seconds since 1970.
    starts: Sequence[float] = ()
    #: The seconds between requests that its robots.txt asks for; None where nobody has read it.
    crawl_delay: float | None = None


@dataclass(slots=True, kw_only=True)
class Seating:
    """Which of the due sources can be visited now, and what becomes of the others."""

    now: list[DueSource] = field(default_factory=list)
    later: list[tuple[DueSource, NextCheck]] = field(default_factory=list)
    #: By host, until when its turns are given away by this.
    booked: dict[str, datetime] = field(default_factory=dict)

    @property
    def turns(self) -> set[datetime]:
        """When those have their turns that wait for one."""
        return {check.at for _, check in self.later if check.why is Why.HOST_BUDGET and check.at}

    def without(self, hosts: Collection[str]) -> Seating:
        """As if nothing were due there."""
        return Seating(
            now=[one for one in self.now if one.host not in hosts],
            later=[(one, check) for one, check in self.later if one.host not in hosts],
            booked={host: until for host, until in self.booked.items() if host not in hosts},
        )


def seat(
    due: Iterable[DueSource],
    *,
    now: datetime,
    waits: Callable[[str, int], Sequence[float]],
    step: Callable[[str], float],
) -> Seating:
    """Give each source that shares its host a turn there.

    `waits` tells of a host the seconds until each of its next so many turns, `step` those between turns that are given
    away beyond.
    """
    due, seating = list(due), Seating()
    for host, sources in _by_host(due).items():
        held_until = sources[0].held_until if host else None
        if host is None:
            seating.now += sources
        elif held_until is not None and held_until > now:
            seating.later += [(one, NextCheck(at=held_until, why=Why.HOST_WAIT)) for one in sources]
        else:
            _seat_at(host, sources, seating, now=now, waits=waits, step=timedelta(seconds=step(host)))
    chosen = {one.id for one in seating.now}
    # In the order of urgency again, whatever their hosts.
    seating.now = [one for one in due if one.id in chosen]
    return seating


def _by_host(due: Iterable[DueSource]) -> Mapping[str | None, list[DueSource]]:
    found: dict[str | None, list[DueSource]] = defaultdict(list)
    for one in due:
        found[one.host].append(one)
    return found


def _seat_at(
    host: str,
    sources: Sequence[DueSource],
    seating: Seating,
    *,
    now: datetime,
    waits: Callable[[str, int], Sequence[float]],
    step: timedelta,
) -> None:
    """Those whose turn it is go first; while turns are given away, whoever comes anew waits behind them."""
    booked_until = max(sources[0].booked_until or now, now)
    expected = [one for one in sources if one.had_to_wait]
    others = [one for one in sources if not one.had_to_wait]
    candidates = expected if booked_until > now else [*expected, *others]
    seconds = waits(host, len(candidates))
    room = sum(timedelta(seconds=wait) <= HORIZON for wait in seconds)
    seating.now += candidates[:room]
    too_many = candidates[room:] + (others if booked_until > now else [])
    if not too_many:
        return
    first = now + timedelta(seconds=seconds[room]) if room < len(seconds) else booked_until
    turn = max(first, booked_until)
    for number, one in enumerate(too_many):
        seating.later.append((one, NextCheck(at=turn + number * step, why=Why.HOST_BUDGET)))
    seating.booked[host] = turn + len(too_many) * step
