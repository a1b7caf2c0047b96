"""A visit to a source: what the fetcher brought home, how it ended, and what follows from it."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Any, NamedTuple

from catchment.domain.item import Item
from catchment.domain.rhythm import Rhythm
from catchment.domain.run import Run
from catchment.domain.source import LastError, Moved, NextCheck, PausedBy, Source, Why


@dataclass(frozen=True, slots=True, kw_only=True)
class Fetched:
    """What a fetcher returns. `memory` is handed back to it on the next visit."""

    items: tuple[Item, ...] = ()
    memory: Mapping[str, Any] = field(default_factory=dict)
    #: The other side said, or its body shows, that nothing changed: there is nothing to compare.
    unchanged: bool = False
    #: How long the other side says that its answer holds.
    fresh_for: timedelta | None = None
    #: What the other side calls itself, where it says so.
    title: str = ""
    #: The new address, when the other side says that it moved for good.
    moved_to: str | None = None
    #: The items are the newest of a list that goes on: when none of them is known, some were missed.
    is_window: bool = False
    #: Values that have tables of their own, stored in the same transaction as the items; see `engine/commit.py`.
    records: tuple[object, ...] = ()
    #: Entries that made no sense and were left out.
    left_out: int = 0
    #: What was odd but did not keep the visit from succeeding, each in a sentence; it is logged.
    warnings: tuple[str, ...] = ()
    #: The document was damaged: what it says of an item may be less than what is stored of it.
    is_damaged: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Collected:
    fetched: Fetched


@dataclass(frozen=True, slots=True, kw_only=True)
class Failed:
    message: str
    retry_after: timedelta | None = None
    #: Somebody answered, so the network is there.
    answered: bool = False
    #: The host that no connection could be made to, if that was the trouble.
    unreachable_host: str | None = None
    #: The fault is on our side of the wire, so it is not held against the source.
    ours: bool = False
    #: Nobody else was tried, so that the excuse is no more than a doubt: who was reached of late tells.
    alone: bool = False
    #: The other side says that it is gone for good.
    gone: bool = False


def network_is_down(*, reached: bool, unreachable_hosts: Collection[str | None] = (), surely_ours: bool) -> bool:
    """Whether it is our own network: the one place where that is judged, of a round, a crawl, a source or the whole.

    No host at all could be reached. One dead host alone proves nothing, unless the error says it was us.
    """
    return not reached and (surely_ours or len(unreachable_hosts) > 1)


@dataclass(frozen=True, slots=True, kw_only=True)
class Skipped:
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Postponed:
    """Something that is not its fault stands in the way, such as its host's budget: later, not failed."""

    until: datetime
    why: Why = Why.HOST_BUDGET
    #: For people.
    message: str = ""


Ending = Collected | Failed | Skipped | Postponed


class VisitOutcome(StrEnum):
    """What a visit that was made came to, by the name that it has at every door."""

    OK = "ok"
    FAILED = "failed"
    # No failures of the source: they are in no rate of success.
    NETWORK_AWAY = "network_away"
    OUR_FAULT = "our_fault"

    @classmethod
    def of(cls, *, ok: bool, excuse: str | None) -> VisitOutcome:
        """As it is stored: the excuse of a visit that failed by no fault of its source is its outcome."""
        return cls(excuse) if excuse else cls.OK if ok else cls.FAILED


@dataclass(frozen=True, slots=True, kw_only=True)
class Tally:
    """What a visit stored on its way, before it ended."""

    fetched: int = 0
    inserted: int = 0
    updated: int = 0
    #: Details that could not be fetched.
    failed: int = 0

    def __add__(self, other: Tally) -> Tally:
        return Tally(
            fetched=self.fetched + other.fetched,
            inserted=self.inserted + other.inserted,
            updated=self.updated + other.updated,
            failed=self.failed + other.failed,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Visit:
    """A claimed source and how the visit to it ended."""

    run: Run
    source: Source
    ending: Ending
    tally: Tally = Tally()
    #: Until when the host of the source asks to be left alone.
    host_held_until: datetime | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceState:
    """The part of a source that a visit changes."""

    last_fetched_at: datetime | None
    last_attempt_at: datetime | None
    fetch_count: int
    fetch_error_count: int
    last_error: LastError | None
    is_active: bool
    paused_by: PausedBy | None
    next_check: NextCheck
    memory: Mapping[str, Any]
    rhythm: Rhythm
    moved: Moved | None


class VisitResult(NamedTuple):
    """What a visit came to, for whoever asked for it. A tuple, as they are sent between processes by the thousand."""

    source_id: int
    name: str
    type: str
    fetched: int = 0
    inserted: int = 0
    updated: int = 0
    #: Of what was found, so much could not be fetched.
    failed: int = 0
    error: str | None = None
    #: The error is not held against the source.
    excuse: VisitOutcome | None = None
    skipped: str | None = None
    #: Set when the visit was put off until then.
    postponed_until: datetime | None = None
    postponed_because: str = ""
    postponed_why: Why | None = None
    #: The lease was lost to another worker: nothing was stored.
    fenced: bool = False

    @property
    def was_collected(self) -> bool:
        return not (self.error or self.skipped or self.postponed_until)
