"""Candidates in the store: noted as they are listed, claimed in one statement, marked with what came of them.

Listings come by the hundred thousand, so they are noted in stretches of about a thousand, each in a transaction of its
own.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Any, NamedTuple

from sqlalchemy import (
    ColumnElement,
    Connection,
    Integer,
    Row,
    Select,
    Update,
    and_,
    bindparam,
    case,
    exists,
    false,
    func,
    or_,
    select,
    text,
    true,
    update,
)

from catchment.domain.candidate import (
    Backlog,
    Candidate,
    CandidatePolicy,
    CandidateState,
    Judged,
    Known,
    Listed,
    Outstanding,
    after_failure,
    by_key,
    count_to_recheck,
    judge,
)
from catchment.store.bulk import BulkInsert, BulkUpdate
from catchment.store.tables import candidates, listings, runs, sources
from catchment.store.types import Json, among, read_row

#: Errors are for people to read.
MAX_MESSAGE = 500
#: Rows that one statement changes at most.
PART = 10_000

# Spelled out rather than bound, as in `store/runs.py`.
_IS_RUNNING: ColumnElement[bool] = runs.c.status == text("'running'")
IS_PENDING: ColumnElement[bool] = candidates.c.state == text("0")
_IS_PROCESSED: ColumnElement[bool] = candidates.c.state == text("1")
_IS_FAILED: ColumnElement[bool] = candidates.c.state == text("2")

#: When a candidate was last listed: a listing that is as it was when read vouches for all that it listed then.
SEEN_AT: ColumnElement[datetime] = case(
    (candidates.c.last_seen >= listings.c.read_at, listings.c.seen_at), else_=candidates.c.last_seen
)
WITH_LISTINGS = candidates.outerjoin(listings, listings.c.id == candidates.c.listing_id)


class CandidateFailure(NamedTuple):
    """What came of a candidate that could not be collected."""

    candidate: Candidate
    message: str
    code: str | None = None
    #: Another try would not help.
    is_final: bool = False
    #: It says nothing about the candidate, so that no try is counted.
    is_blameless: bool = False

    def verdict(self) -> tuple[CandidateState, int]:
        """The state that the candidate is in now, and its attempts."""
        return after_failure(self.candidate, is_final=self.is_final, is_blameless=self.is_blameless)


def record_listed(
    conn: Connection,
    source_id: int,
    listed: Sequence[Listed],
    *,
    listing_id: int | None,
    now: datetime,
) -> Judged:
    """Take in a stretch of a listing, and say what of it is new or changed.

    What changed is doubted until the listing is complete and shows that not everything did.
    """
    each = by_key(listed)
    judged = judge(each, _known(conn, source_id, list(each)), now)
    _insert(
        conn,
        [(key, one.native_id, one.url, one.lastmod, one.facts, one.platform) for key, one in judged.new],
        source_id=source_id,
        state=CandidateState.PENDING,
        is_doubted=False,
        listing_id=listing_id,
        first_seen=now,
        last_seen=now,
        attempts=0,
    )
    _change(conn, [_changed_row(known, one, listing_id, now) for known, one in judged.changed])
    _bring_notes_up_to_date(conn, source_id, listed)
    if judged.same:
        same = {"ids": [known.id for known in judged.same], "b_listing": listing_id, "b_now": now}
        conn.execute(_SEE_AGAIN, same)
    return judged


def claim(
    conn: Connection, source_id: int, run_id: int, *, limit: int, now: datetime, doubted: bool = False
) -> list[Candidate]:
    """Claim pending candidates for a run, in one statement; nothing for a run that lost its lease.

    What a run claimed is its own until it ends, whatever comes of it. Doubted ones are claimed apart, those first
    whose detail can be compared with an earlier one.
    """
    statement = _CLAIM_DOUBTED if doubted else _CLAIM
    rows = conn.execute(statement, {"source": source_id, "run": run_id, "most": limit, "now": now}).all()
    return sorted((read_candidate(row) for row in rows), key=lambda candidate: candidate.id)


class CollectedCandidate(NamedTuple):
    """A candidate, the face of its detail, and what that is known by."""

    candidate: Candidate
    fingerprint: bytes
    etag: str | None = None
    last_modified: str | None = None


def next_to_recheck(conn: Connection, source_id: int, *, after_id: int) -> tuple[list[Candidate], int]:
    """The next share of what no lastmod tells about, and where it ends; after the last one comes the first."""
    is_mine = (candidates.c.source_id == source_id, _IS_PROCESSED)
    known = conn.execute(select(func.count()).where(*is_mine)).scalar_one()
    part = select(candidates.c.id).where(*is_mine, candidates.c.id > after_id).order_by(candidates.c.id).limit(PART)
    last_id: int | None = conn.execute(select(func.max(part.subquery().c.id))).scalar_one()
    if last_id is None:
        return next_to_recheck(conn, source_id, after_id=0) if after_id else ([], 0)
    share = count_to_recheck(known)
    wanted = (candidates.c.id > after_id, candidates.c.id <= last_id, candidates.c.lastmod.is_(None))
    is_there = (candidates.c.deleted_at.is_(None), candidates.c.platform.is_(None))
    found = select(candidates).where(*is_mine, *wanted, *is_there).order_by(candidates.c.id).limit(share)
    chosen = [read_candidate(row) for row in conn.execute(found)]
    return chosen, chosen[-1].id if len(chosen) == share else last_id


def mark_collected(conn: Connection, collected: Iterable[CollectedCandidate], *, now: datetime) -> None:
    """Mark what was collected.

    A page may change and be tried anew, so that its tries are forgotten. A note is collected once: what that took is
    told with it.
    """
    pages, found = list[tuple[Any, ...]](), list[tuple[Any, ...]]()
    for one, fingerprint, etag, last_modified in collected:
        row = (one.id, CandidateState.PROCESSED, False, now, fingerprint, None)
        if one.listed.platform is None:
            pages.append((*row, 0, None, None, etag, last_modified))
        else:
            found.append(row)
    _mark_page(conn, pages)
    _mark_note(conn, found)


def mark_failed(conn: Connection, failures: Iterable[CandidateFailure]) -> None:
    _mark_failed(conn, [_failed_row(one) for one in failures])


def mark_keys(conn: Connection, source_id: int, keys: Sequence[bytes], *, error: str | None, now: datetime) -> None:
    """As somebody else says who fetched them: collected, or failed with an error."""
    marked = _of(source_id, candidates.c.key.in_(keys))
    if error is None:
        done = {"state": CandidateState.PROCESSED, "collected_at": now, "attempts": 0}
        conn.execute(marked.values(**done, is_doubted=False, last_error=None))
    else:
        failed = {"state": CandidateState.FAILED, "attempts": candidates.c.attempts + 1}
        conn.execute(marked.values(**failed, is_doubted=False, last_error=error[:MAX_MESSAGE]))


def pending_keys(conn: Connection, source_id: int, keys: Sequence[bytes]) -> set[bytes]:
    """Those of the keys that are to be collected."""
    pending = select(candidates.c.key).where(candidates.c.source_id == source_id, IS_PENDING)
    return {bytes(key) for key in conn.execute(pending.where(candidates.c.key.in_(keys))).scalars()}


def backlogs(conn: Connection, source_ids: Sequence[int], *, most: int) -> dict[int, Backlog]:
    """What each of the sources listed and was not collected: counted, and `most` of it."""
    if not source_ids:
        return {}
    asked = {"sources": source_ids, "most": most}
    counted = {source_id: counts for source_id, *counts in conn.execute(_COUNT_OUTSTANDING, asked)}
    listed: dict[int, list[Outstanding]] = defaultdict(list)
    for row in conn.execute(_OUTSTANDING, asked):
        listed[row.source_id].append(_outstanding(row))
    found = {}
    for source_id in source_ids:
        pending, failed = counted.get(source_id, (0, 0))
        found[source_id] = Backlog(pending=pending, failed=failed, listed=tuple(listed[source_id]))
    return found


def believe(conn: Connection, source_id: int) -> None:
    """What was doubted is to be collected like the rest."""
    conn.execute(_of(source_id, IS_PENDING, candidates.c.is_doubted).values(is_doubted=False))


def dismiss(conn: Connection, source_id: int) -> None:
    """What was doubted did not change after all."""
    doubted = _of(source_id, IS_PENDING, candidates.c.is_doubted)
    conn.execute(doubted.values(is_doubted=False, state=CandidateState.PROCESSED))


def retry_failed(conn: Connection, source_id: int, *, most_attempts: int) -> None:
    """Make pending again what failed, unless it failed too often or is gone."""
    failed = _of(source_id, _IS_FAILED, candidates.c.attempts < most_attempts, candidates.c.deleted_at.is_(None))
    conn.execute(failed.values(state=CandidateState.PENDING))


def set_baseline(conn: Connection, source_id: int, newest: int) -> None:
    """Of everything listed so far only the newest are to be collected; the rest counts as processed."""
    last_id: int | None = 0
    while last_id is not None:
        last_id = _process_some(conn, source_id, after_id=last_id)
    chosen = (
        select(candidates.c.id)
        .where(
            candidates.c.source_id == source_id, candidates.c.collected_at.is_(None), candidates.c.deleted_at.is_(None)
        )
        .order_by(candidates.c.lastmod.desc().nulls_last(), candidates.c.id)
        .limit(newest)
    )
    conn.execute(
        update(candidates).where(candidates.c.id.in_(chosen.scalar_subquery())).values(state=CandidateState.PENDING)
    )


def _process_some(conn: Connection, source_id: int, *, after_id: int) -> int | None:
    """Count a part of what is pending as processed, and return where it ended: one statement for all of it would hold
    in memory what it needs to undo itself.
    """
    of_source = (candidates.c.source_id == source_id, candidates.c.id > after_id)
    part = select(candidates.c.id).where(*of_source).order_by(candidates.c.id).limit(PART).subquery()
    last_id: int | None = conn.execute(select(func.max(part.c.id))).scalar_one()
    if last_id is not None:
        some = _of(source_id, IS_PENDING, candidates.c.id > after_id, candidates.c.id <= last_id)
        conn.execute(some.values(state=CandidateState.PROCESSED, is_doubted=False))
    return last_id


_insert = BulkInsert(
    candidates,
    varying=["key", "native_id", "url", "lastmod", "facts", "platform"],
    same=["source_id", "state", "is_doubted", "listing_id", "first_seen", "last_seen", "attempts"],
    # A note that another source found is that one's.
    or_ignore=True,
)
_change = BulkUpdate(
    candidates, "state", "is_doubted", "lastmod", "facts", "listing_id", "last_seen", "deleted_at", "attempts"
)
_COLLECTED = ("state", "is_doubted", "collected_at", "fingerprint", "claimed_at")
_mark_page = BulkUpdate(
    candidates, *_COLLECTED, "attempts", "last_error", "last_error_code", "etag", "last_modified"
)  # fmt: skip
_mark_note = BulkUpdate(candidates, *_COLLECTED)
_mark_failed = BulkUpdate(
    candidates, "state", "is_doubted", "attempts", "last_error", "last_error_code", "claimed_at"
)  # fmt: skip

_KNOWN = select(
    candidates.c.key,
    candidates.c.id,
    candidates.c.lastmod,
    func.coalesce(candidates.c.collected_at, candidates.c.first_seen, type_=candidates.c.first_seen.type).label(
        "looked_at"
    ),
    and_(~_IS_PROCESSED, ~candidates.c.is_doubted).label("is_awaited"),
).where(candidates.c.source_id == bindparam("source"), candidates.c.key.in_(bindparam("keys", expanding=True)))

_SEE_AGAIN = (
    update(candidates)
    .where(candidates.c.id.in_(bindparam("ids", expanding=True)))
    .values(listing_id=bindparam("b_listing"), last_seen=bindparam("b_now"), deleted_at=None)
)


#: The candidates that a claim chooses from.
MINE = candidates.alias("mine")


def claiming(chosen: Select[Any]) -> Update:
    """Fenced by the run: one that was taken over claims nothing.

    PostgreSQL shows a statement the runs of the moment it began, but each candidate as it is when it is locked. One
    that changed hands in between is left alone: whether its new holder runs cannot be seen.
    """
    picked = chosen.cte("picked")
    is_as_seen = candidates.c.claimed_by.is_not_distinct_from(picked.c.claimed_by)
    holds = exists().where(runs.c.id == bindparam("run"), _IS_RUNNING)
    statement = update(candidates).where(candidates.c.id == picked.c.id, is_as_seen, holds)
    return statement.values(claimed_by=bindparam("run"), claimed_at=bindparam("now")).returning(*candidates.c)


def claimable(*conditions: ColumnElement[bool]) -> Select[Any]:
    """Pending, and nobody holds it. What a run tried in vain may be tried by others, not by itself again."""
    is_held = or_(MINE.c.claimed_at.is_not(None), MINE.c.claimed_by == bindparam("run"))
    taken = and_(exists().where(runs.c.id == MINE.c.claimed_by, _IS_RUNNING), is_held)
    return (
        select(MINE.c.id, MINE.c.claimed_by)
        .where(*conditions, MINE.c.state == text("0"), MINE.c.deleted_at.is_(None), ~taken)
        .limit(bindparam("most", type_=Integer))
        .with_for_update(skip_locked=True, of=MINE)
    )


_OF_SOURCE = MINE.c.source_id == bindparam("source")
_CLAIM = claiming(claimable(_OF_SOURCE, MINE.c.is_doubted == false()).order_by(MINE.c.id))
_CLAIM_DOUBTED = claiming(
    claimable(_OF_SOURCE, MINE.c.is_doubted == true()).order_by(
        MINE.c.fingerprint.is_not(None).desc(), MINE.c.collected_at, MINE.c.id
    )
)


#: Nobody works for it any more.
_IS_ORPHANED = exists().where(
    sources.c.id == candidates.c.source_id, or_(sources.c.is_deleted.is_(True), sources.c.is_active.is_(False))
)
#: Where a note is seen may change with each listing, as what shows it does; the keyword that found it stays. One that
#: nobody works for any more is collected by whoever finds it again.
_BRING_UP_TO_DATE = (
    update(candidates)
    .where(candidates.c.platform == bindparam("b_platform"), candidates.c.native_id == bindparam("b_note"), IS_PENDING)
    .values(
        url=bindparam("b_url"),
        facts=case(
            (or_(candidates.c.source_id == bindparam("b_source"), _IS_ORPHANED), bindparam("b_facts", type_=Json)),
            else_=candidates.c.facts,
        ),
        source_id=case((_IS_ORPHANED, bindparam("b_source")), else_=candidates.c.source_id),
    )
)


def _bring_notes_up_to_date(conn: Connection, source_id: int, listed: Sequence[Listed]) -> None:
    found = [
        {
            "b_platform": one.platform,
            "b_note": one.native_id,
            "b_url": one.url,
            "b_facts": one.facts,
            "b_source": source_id,
        }
        for one in listed
        if one.platform is not None
    ]
    if found:
        conn.execute(_BRING_UP_TO_DATE, found)


_IS_OUTSTANDING = (
    among(candidates.c.source_id, "sources"),
    candidates.c.state.in_([CandidateState.PENDING, CandidateState.FAILED]),
    candidates.c.deleted_at.is_(None),
)
_COUNT_OUTSTANDING = (
    select(candidates.c.source_id, func.count().filter(IS_PENDING), func.count().filter(_IS_FAILED))
    .where(*_IS_OUTSTANDING)
    .group_by(candidates.c.source_id)
)
# Not what it was found by, which nobody is shown.
_SHOWN = ("source_id", "url", "state", "attempts", "last_error", "platform")
_RANKED = (
    select(
        *(candidates.c[name] for name in _SHOWN),
        func.row_number()
        .over(partition_by=candidates.c.source_id, order_by=(candidates.c.state.desc(), candidates.c.id))
        .label("rank"),
    )
    .where(*_IS_OUTSTANDING)
    .subquery()
)
_OUTSTANDING = (
    select(_RANKED, sources.c.config)
    .join(sources, sources.c.id == _RANKED.c.source_id)
    .where(_RANKED.c.rank <= bindparam("most", type_=Integer))
    .order_by(_RANKED.c.source_id, _RANKED.c.rank)
)


_USUAL = CandidatePolicy()


def _outstanding(row: Row[Any]) -> Outstanding:
    state = CandidateState(row.state)
    is_tried_again = (
        row.platform is None
        and row.attempts < _USUAL.most_attempts
        and row.config.get("retry_failed_urls") is not False
    )
    return Outstanding(
        url=row.url,
        state=state.name.lower(),
        attempts=row.attempts,
        error=row.last_error,
        is_given_up=state is CandidateState.FAILED and not is_tried_again,
    )


def _known(conn: Connection, source_id: int, keys: Sequence[bytes]) -> dict[bytes, Known]:
    rows = conn.execute(_KNOWN, {"source": source_id, "keys": keys}).all()
    return {bytes(key): Known(*known) for key, *known in rows}


def _changed_row(known: Known, listed: Listed, listing_id: int | None, now: datetime) -> tuple[Any, ...]:
    """In the order of the columns of `_change`, the id first."""
    pending = CandidateState.PENDING
    return (known.id, pending, not known.is_awaited, listed.lastmod, listed.facts, listing_id, now, None, 0)


def _failed_row(failure: CandidateFailure) -> tuple[Any, ...]:
    """In the order of the columns of `_mark_failed`, the id first."""
    state, attempts = failure.verdict()
    return (failure.candidate.id, state, False, attempts, failure.message[:MAX_MESSAGE], failure.code, None)


def _of(source_id: int, *conditions: ColumnElement[bool]) -> Update:
    return update(candidates).where(candidates.c.source_id == source_id, *conditions)


def read_candidate(row: Row[Any]) -> Candidate:
    listed = Listed(row.url, row.lastmod, row.native_id, row.facts, row.platform)
    fingerprint = bytes(row.fingerprint) if row.fingerprint is not None else None
    return read_row(Candidate, row, listed=listed, fingerprint=fingerprint)
