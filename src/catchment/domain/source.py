"""A source: something to collect, its health, and when it is looked at next."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Any

from catchment.domain.options import INTERVAL_KEY, KEEP_DAYS_KEY
from catchment.domain.rhythm import Rhythm

#: Failures in a row after which a source is paused.
FAILURES_UNTIL_PAUSE = 5
#: Visits in a row that must be told the same new address before it is taken for true.
MOVES_UNTIL_ADOPTED = 3
#: Where the address of a source that has one is, in its config.
ADDRESS_KEY = "url"
MAX_NAME = 500
#: Where its config says what the feed of a site tells of the site.
CHANNEL_KEY = "channel"
#: In what is remembered of a watched page: how often in a row it was another; from so many on it always changes.
CHANGES, NOISY_AFTER = "changes", 5


class PausedBy(StrEnum):
    PERSON = "person"
    ERROR = "error"
    #: It is gone for good, it said: nobody knocks again unless somebody resumes it.
    GONE = "gone"
    #: Whoever added it is disabled: it rests until they are not.
    OWNER = "owner"


#: What nothing but a person or its owner's return brings back.
RESTING = frozenset({PausedBy.PERSON, PausedBy.OWNER})


#: For so long a removal can be taken back.
UNDO = timedelta(hours=24)


class SourceStatus(StrEnum):
    OK = "ok"
    PENDING = "pending"
    ERROR = "error"
    PAUSED = "paused"
    NO_FETCHER = "no_fetcher"


class Why(StrEnum):
    """Why a source is looked at when it is."""

    NEW = "new"
    INTERVAL = "interval"
    ADAPTED = "adapted"
    GAP = "gap"
    SERVER_CACHE = "server_cache"
    RETRY_AFTER = "retry_after"
    BACK_OFF = "back_off"
    OFFLINE = "offline"
    #: A fault on our side that says nothing of the network.
    OUR_FAULT = "our_fault"
    #: All turns at its host are given away until then.
    HOST_BUDGET = "host_budget"
    #: Its host asked to be left alone until then.
    HOST_WAIT = "host_wait"
    NO_COOKIE = "no_cookie"
    PROBE = "probe"
    NO_FETCHER = "no_fetcher"


@dataclass(frozen=True, slots=True, kw_only=True)
class NextCheck:
    """When a source is looked at next, and why then. `at` is None for never by itself."""

    at: datetime | None
    why: Why | None


@dataclass(frozen=True, slots=True, kw_only=True)
class LastError:
    message: str
    at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Moved:
    """A new address that the other side gave for good, and how many visits in a row it gave it."""

    to: str
    times: int

    @property
    def is_believed(self) -> bool:
        """One answer may be a mistake; only what is said again and again counts."""
        return self.times >= MOVES_UNTIL_ADOPTED


@dataclass(frozen=True, slots=True, kw_only=True)
class NewSource:
    name: str
    type: str
    config: Mapping[str, Any]
    #: What makes two sources the same one, e.g. `https://example.org/feed`.
    identity: str
    is_public: bool = False
    created_by: int | None = None
    tags: tuple[str, ...] = ()
    #: The host that its visits ask, where that is one and kept to the common pace.
    host: str | None = None

    @property
    def keep_days(self) -> int | None:
        return self.config.get(KEEP_DAYS_KEY)


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    id: int
    name: str
    type: str
    config: Mapping[str, Any]
    identity: str
    is_active: bool = True
    paused_by: PausedBy | None = None
    is_public: bool
    is_deleted: bool = False
    created_by: int | None
    tags: tuple[str, ...]
    created_at: datetime
    updated_at: datetime
    #: The last success.
    last_fetched_at: datetime | None = None
    #: The last try, whatever came of it.
    last_attempt_at: datetime | None = None
    fetch_count: int = 0
    #: Failures in a row.
    fetch_error_count: int = 0
    last_error: LastError | None = None
    next_check: NextCheck
    #: What the fetcher wants to be told on its next visit (validators, cursors); opaque to the engine.
    memory: Mapping[str, Any] = field(default_factory=dict)
    rhythm: Rhythm = field(default_factory=Rhythm)
    moved: Moved | None = None
    #: How often a person changed it.
    version: int = 0
    #: The host that its visits ask.
    host: str | None = None

    @property
    def own_interval(self) -> timedelta | None:
        minutes = self.config.get(INTERVAL_KEY)
        return timedelta(minutes=minutes) if minutes is not None else None

    def is_quiet(self, now: datetime) -> bool:
        """Whether it has been silent for longer than it ever is."""
        quiet_at = self.rhythm.quiet_at()
        return self.is_active and quiet_at is not None and quiet_at <= now

    @property
    def is_elsewhere(self) -> bool:
        """Whether it moved for good, but could not be given its new address."""
        return self.moved is not None and self.moved.is_believed and self.moved.to != self.config.get(ADDRESS_KEY)

    @property
    def is_excused(self) -> bool:
        """Its last visit failed by a fault of ours."""
        return self.next_check.why in {Why.OFFLINE, Why.OUR_FAULT}

    def status(self, *, has_fetcher: bool) -> SourceStatus:
        if not self.is_active:
            return SourceStatus.PAUSED
        if not has_fetcher:
            return SourceStatus.NO_FETCHER
        if self.fetch_error_count > 0:
            return SourceStatus.ERROR
        return SourceStatus.OK if self.last_fetched_at else SourceStatus.PENDING
