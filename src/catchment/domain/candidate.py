"""A candidate: something discovered whose detail is still to be fetched; claimed, tried, collected or failed.

Here are the values and the rules: what a listing means for what is known, when a site is not believed, and what counts
as gone. Pure.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from enum import IntEnum
from typing import Any, NamedTuple

from catchment.domain.item import short_hash

#: A date further ahead than any time zone explains says nothing.
MAX_AHEAD = timedelta(days=1)
#: So many at least, and such a share of what is known: then "all of it changed" is doubted.
DOUBTED_FROM, DOUBTED_SHARE = 20, 0.9
#: Of those that were looked at, such a share the same: then it was not true.
UNTRUE_SHARE = 0.8
#: More than this share of what is known gone at once is rather a fault of the listing.
VANISHED_SHARE = 0.5
#: Pages that no lastmod tells about are asked for again: such a part of all pages at a visit, and no more than so many.
RECHECK_VISITS, MAX_RECHECKED = 5, 50


class CandidateState(IntEnum):
    PENDING = 0
    PROCESSED = 1
    FAILED = 2


#: After so many tries again a note that fails has failed for good.
NOTE_RETRIES = 3


class Listed(NamedTuple):
    """What a listing says of one candidate. A tuple, as they come by the hundred thousand."""

    url: str
    lastmod: datetime | None = None
    #: What makes it one and the same within its source, where that is not its URL.
    native_id: str = ""
    #: What else the listing tells of it, such as a title; the detail is made with its help.
    facts: Mapping[str, Any] | None = None
    #: Where a note is from: there its id is unique, whichever source lists it.
    platform: str | None = None

    @property
    def key(self) -> bytes:
        """A fragment is a place on a page, and no other page."""
        return short_hash(self.native_id or self.url.partition("#")[0])


class Known(NamedTuple):
    """What is remembered of a candidate that is listed again."""

    id: int
    lastmod: datetime | None
    #: When its detail was last fetched, or it was first seen.
    looked_at: datetime
    #: Its detail is still to be fetched, and nobody doubts that.
    is_awaited: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """A candidate that was claimed to be collected."""

    id: int
    source_id: int
    listed: Listed
    #: How often fetching it failed since it last changed.
    attempts: int
    #: The face of its detail when that was last fetched.
    fingerprint: bytes | None
    #: Its lastmod came with those of everything else: its detail tells whether it is to be believed.
    is_doubted: bool
    #: What its detail was known by then.
    etag: str | None = None
    last_modified: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class CandidatePolicy:
    """How the candidates of one source are treated."""

    #: False is the full mode: whatever is listed, cut to `max_items`, without remembering anything.
    incremental: bool = True
    max_items: int = 50
    #: How many of the first listing are collected; None is all of them.
    baseline_items: int | None = 10
    #: What is listed is all there is, so that what is missing is gone.
    is_complete: bool = True
    retry_failed: bool = True
    #: What no lastmod tells about is asked for again, some at each visit.
    rechecks: bool = False
    most_attempts: int = 5
    #: How many details are fetched at once.
    at_once: int = 4
    max_history_days: int = 30
    #: So many that are no longer listed are remembered.
    most_rows: int = 1000
    cleanup_interval_days: int = 7


@dataclass(frozen=True, slots=True, kw_only=True)
class Outstanding:
    """A candidate that is not collected, and why."""

    url: str
    #: `pending` or `failed`.
    state: str
    attempts: int
    #: What came of the last try; None while there was none.
    error: str | None
    #: It is not tried again until it changes.
    is_given_up: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Backlog:
    """What a source listed and was not collected: how much, and some of it, failed ones first."""

    pending: int = 0
    failed: int = 0
    listed: tuple[Outstanding, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Listing:
    """A document that lists candidates, and what is needed to ask for it only if it changed."""

    url: str
    #: What the document above it said of it.
    lastmod: datetime | None = None
    etag: str | None = None
    last_modified: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class KnownListing:
    """A document as it was last read to its end."""

    listing: Listing
    read_at: datetime
    #: It was looked at in this round already.
    is_done: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class ListingPage:
    """A stretch of a document, as it was read; long documents come in many."""

    url: str
    listed: Sequence[Listed]


@dataclass(frozen=True, slots=True, kw_only=True)
class ListingRead:
    """A document was read to its end, so that what it does not list is not in it."""

    listing: Listing


@dataclass(frozen=True, slots=True, kw_only=True)
class Unchanged:
    """A document is as it was, or could not be read: whatever it listed counts as listed still."""

    url: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ListingWarning:
    """Something that whoever runs this should know, and that stops nothing."""

    message: str


#: What exploring gives, document by document.
Told = ListingPage | ListingRead | Unchanged | ListingWarning


@dataclass(frozen=True, slots=True, kw_only=True)
class CrawlTarget:
    #: What is explored: when that changes, everything starts afresh.
    identity: str
    #: What the place is called, and where it is.
    site_name: str
    address: str


@dataclass(frozen=True, slots=True, kw_only=True)
class CrawlRound:
    """How far the exploration of a source is. A round lists everything and then collects what is pending; it may take
    several visits, as the host's budget allows.
    """

    where: CrawlTarget
    #: The latest round: whatever was seen since then is listed.
    round_began_at: datetime
    #: When the listing of the round that is under way was complete.
    listed_at: datetime | None
    #: When the first listing was complete: until then nothing is news.
    baseline_at: datetime | None
    #: Since when the site's lastmod is not believed.
    doubted_since: datetime | None
    #: The end of the last round.
    last_run_at: datetime | None
    last_cleanup_at: datetime | None
    #: When somebody last went on with it.
    updated_at: datetime

    @property
    def is_under_way(self) -> bool:
        return self.last_run_at is None or self.last_run_at < self.round_began_at


@dataclass(slots=True, kw_only=True)
class Judged:
    """A stretch of a listing, sorted by what it means."""

    new: list[tuple[bytes, Listed]] = field(default_factory=list)
    changed: list[tuple[Known, Listed]] = field(default_factory=list)
    same: list[Known] = field(default_factory=list)


@dataclass(frozen=True, slots=True, kw_only=True)
class Settled:
    """What a complete listing came to."""

    known: int
    vanished: int
    #: The vanished were marked as deleted; False when there were too many to believe it.
    vanished_believed: bool
    changed: int
    #: Everything is said to have changed, which is looked into first.
    doubted: bool


def by_key(listed: Iterable[Listed]) -> dict[bytes, Listed]:
    """Each once: of two with one key the last stands."""
    return {one.key: one for one in listed}


def judge(listed: Mapping[bytes, Listed], known: Mapping[bytes, Known], now: datetime) -> Judged:
    """New is what nobody knows; changed what has a newer lastmod; the rest is the same, also what is back again."""
    judged = Judged()
    for key, one in listed.items():
        lastmod = credible(one.lastmod, now)
        before = known.get(key)
        if before is None:
            judged.new.append((key, one._replace(lastmod=lastmod)))
        elif lastmod is not None and lastmod > (before.lastmod or before.looked_at):
            judged.changed.append((before, one._replace(lastmod=lastmod)))
        else:
            judged.same.append(before)
    return judged


def credible(lastmod: datetime | None, now: datetime) -> datetime | None:
    """A date in the future would hide every later change."""
    return lastmod if lastmod is not None and lastmod <= now + MAX_AHEAD else None


def is_doubtful(*, changed: int, known: int) -> bool:
    """Nearly everything changed at once, which sites say that stamp each page with today."""
    return changed >= DOUBTED_FROM and changed >= DOUBTED_SHARE * known


def is_untrue(*, same: int, different: int) -> bool:
    """Whether the lastmods that were looked into were wrong. Nothing to compare is no proof of change."""
    return same >= UNTRUE_SHARE * (same + different)


def is_believable_loss(*, vanished: int, known: int) -> bool:
    return vanished <= VANISHED_SHARE * known


def count_to_recheck(known: int) -> int:
    """How many are asked for again at one visit, so that all are in a few of them, or in as many as it takes."""
    return min(MAX_RECHECKED, -(-known // RECHECK_VISITS))


def is_cleanup_due(last: datetime | None, now: datetime, policy: CandidatePolicy) -> bool:
    return last is None or now - last >= timedelta(days=policy.cleanup_interval_days)


def after_failure(
    candidate: Candidate, *, is_final: bool = False, is_blameless: bool = False
) -> tuple[CandidateState, int]:
    """The state and the attempts of a candidate that failed once more.

    A page waits for the next listing, which gives it another chance or not. A note goes back to the others until it was
    tried again often enough, or at once when another try would not help. One that was not to blame, since there was no
    cookie to read it with, goes back as if it had not been tried.
    """
    if candidate.listed.platform is None:
        return CandidateState.FAILED, candidate.attempts + 1
    if is_blameless:
        return CandidateState.PENDING, candidate.attempts
    if is_final or candidate.attempts >= NOTE_RETRIES:
        return CandidateState.FAILED, candidate.attempts
    return CandidateState.PENDING, candidate.attempts + 1
