"""How far the exploration of each source is: its rounds, the documents that list its candidates, and cleaning up."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import Connection, Integer, Row, Select, bindparam, delete, func, insert, select, update

from catchment.domain.candidate import (
    Candidate,
    CandidatePolicy,
    CrawlRound,
    CrawlTarget,
    KnownListing,
    Listing,
    Settled,
    is_believable_loss,
    is_cleanup_due,
    is_doubtful,
)
from catchment.domain.item import short_hash
from catchment.redact import redact_url
from catchment.store import candidates as found
from catchment.store.candidates import SEEN_AT, WITH_LISTINGS
from catchment.store.tables import candidates, crawls, listings
from catchment.store.types import as_row, read_row


def begin_round(
    conn: Connection, source_id: int, where: CrawlTarget, *, now: datetime, resume_since: datetime
) -> CrawlRound:
    """Go on with the round that is under way, unless nobody did since `resume_since`; else begin one."""
    before = get(conn, source_id)
    if before is not None and before.where.identity != where.identity:
        forget(conn, source_id)
        before = None
    if before is None:
        begun = {**as_row(where), "source_id": source_id, "round_began_at": now}
        conn.execute(insert(crawls), {**begun, "created_at": now, "updated_at": now})
    elif not before.is_under_way or before.updated_at < resume_since:
        save(conn, source_id, {**as_row(where), "round_began_at": now, "listed_at": None}, now=now)
    else:
        save(conn, source_id, as_row(where), now=now)
    return _round(conn.execute(_GET, {"source": source_id}).one())


def get(conn: Connection, source_id: int) -> CrawlRound | None:
    row = conn.execute(_GET, {"source": source_id}).one_or_none()
    return _round(row) if row else None


def find(conn: Connection, site_name: str) -> tuple[int, CrawlRound] | None:
    """By the name of the site; of several with one name, the first."""
    row = conn.execute(
        select(crawls).where(crawls.c.site_name == site_name).order_by(crawls.c.source_id).limit(1)
    ).one_or_none()
    return (row.source_id, _round(row)) if row else None


def list_ids(conn: Connection) -> list[int]:
    return list(conn.execute(select(crawls.c.source_id).order_by(crawls.c.source_id)).scalars())


def save(conn: Connection, source_id: int, values: Mapping[str, Any], *, now: datetime) -> None:
    conn.execute(update(crawls).where(crawls.c.source_id == source_id).values(**values, updated_at=now))


def forget(conn: Connection, source_id: int) -> None:
    """Start afresh, as after a new address."""
    for table in (candidates, listings, crawls):
        conn.execute(delete(table).where(table.c.source_id == source_id))


def list_listings(conn: Connection, source_id: int, *, round_began_at: datetime) -> dict[bytes, KnownListing]:
    """The documents that were read to their end, by the hash of their address, which may hold a secret."""
    rows = conn.execute(select(listings).where(listings.c.source_id == source_id, listings.c.read_at.is_not(None)))
    return {
        row.key: KnownListing(listing=_listing(row), read_at=row.read_at, is_done=row.seen_at >= round_began_at)
        for row in rows
    }


def open_listing(conn: Connection, source_id: int, url: str, *, now: datetime) -> int:
    """The number of a document; one that was never read is noted. Nothing about it changes until it is read."""
    key = short_hash(url)
    known = select(listings.c.id).where(listings.c.source_id == source_id, listings.c.key == key)
    number: int | None = conn.execute(known).scalar_one_or_none()
    if number is None:
        row = {"source_id": source_id, "key": key, "url": redact_url(url), "seen_at": now}
        number = int(conn.execute(insert(listings).returning(listings.c.id), row).scalar_one())
    return number


def close_listing(conn: Connection, source_id: int, listing: Listing, *, now: datetime) -> None:
    """It was read to its end: what it lists was noted as seen `now`, and what it no longer lists was not."""
    number = open_listing(conn, source_id, listing.url, now=now)
    known = update(listings).where(listings.c.id == number)
    conn.execute(known.values(**as_row(listing) | {"url": redact_url(listing.url)}, read_at=now, seen_at=now))


def vouch(conn: Connection, source_id: int, url: str, *, now: datetime) -> None:
    """A document is as it was, or could not be read: whatever it listed counts as listed still."""
    known = update(listings).where(listings.c.source_id == source_id, listings.c.key == short_hash(url))
    conn.execute(known.values(url=redact_url(url), seen_at=now))


def settle(conn: Connection, source_id: int, policy: CandidatePolicy, *, now: datetime) -> Settled:
    """The listing of this round is complete: say what vanished, what is doubted, and what is to be tried again."""
    state = _round(conn.execute(_GET, {"source": source_id}).one())
    began = state.round_began_at
    settled = _weigh(conn, source_id, began, policy, is_first=state.baseline_at is None)
    if settled.vanished and settled.vanished_believed:
        conn.execute(
            update(candidates)
            .where(candidates.c.id.in_(_vanished(source_id, began).scalar_subquery()))
            .values(deleted_at=now)
        )
    values: dict[str, Any] = {"listed_at": now}
    if state.baseline_at is None:
        values["baseline_at"] = now
        if policy.baseline_items is not None:
            found.set_baseline(conn, source_id, policy.baseline_items)
    if not settled.doubted:
        values["doubted_since"] = None
        found.believe(conn, source_id)
    elif state.doubted_since is None:
        values["doubted_since"] = now
    if policy.retry_failed:
        found.retry_failed(conn, source_id, most_attempts=policy.most_attempts)
    save(conn, source_id, values, now=now)
    return settled


def take_to_recheck(conn: Connection, source_id: int, *, now: datetime) -> list[Candidate]:
    """The next share of what no lastmod tells about; the one after it comes the next time."""
    before = conn.execute(select(crawls.c.rechecked_to).where(crawls.c.source_id == source_id)).scalar_one()
    chosen, reached = found.next_to_recheck(conn, source_id, after_id=before)
    save(conn, source_id, {"rechecked_to": reached}, now=now)
    return chosen


def end_round(conn: Connection, source_id: int, policy: CandidatePolicy, *, now: datetime) -> None:
    """Everything that was pending was tried: clean up if it is time, and be done."""
    state = _round(conn.execute(_GET, {"source": source_id}).one())
    if is_cleanup_due(state.last_cleanup_at, now, policy):
        clean(conn, source_id, policy, now=now)
    save(conn, source_id, {"listed_at": None, "last_run_at": now}, now=now)


def clean(conn: Connection, source_id: int, policy: CandidatePolicy, *, now: datetime) -> int:
    """Forget what is no longer listed and too old, or too much. What the latest listing named always stays."""
    listed_since = _round(conn.execute(_GET, {"source": source_id}).one()).round_began_at
    gone = _unlisted(source_id, listed_since)
    too_old = min(listed_since, now - timedelta(days=policy.max_history_days))
    removed = _remove(conn, _unlisted(source_id, too_old))
    left = conn.execute(select(func.count()).select_from(gone.subquery())).scalar_one()
    if left > policy.most_rows:
        # Processed ones first, and of those the longest unseen.
        order = (candidates.c.state != 1, SEEN_AT, candidates.c.id)
        removed += _remove(conn, gone.order_by(*order).limit(left - policy.most_rows))
    conn.execute(delete(listings).where(listings.c.source_id == source_id, listings.c.seen_at < too_old))
    save(conn, source_id, {"last_cleanup_at": now}, now=now)
    return removed


_GET = select(crawls).where(crawls.c.source_id == bindparam("source", type_=Integer))


def _weigh(conn: Connection, source_id: int, began: datetime, policy: CandidatePolicy, *, is_first: bool) -> Settled:
    known, changed = conn.execute(
        select(
            func.count().filter(candidates.c.first_seen < began, candidates.c.deleted_at.is_(None)),
            func.count().filter(candidates.c.state == 0, candidates.c.is_doubted),
        ).where(candidates.c.source_id == source_id)
    ).one()
    lost = select(func.count()).select_from(_vanished(source_id, began).subquery())
    vanished = conn.execute(lost).scalar_one() if policy.is_complete else 0
    return Settled(
        known=known,
        vanished=vanished,
        vanished_believed=is_believable_loss(vanished=vanished, known=known),
        changed=changed,
        doubted=not is_first and is_doubtful(changed=changed, known=known),
    )


def _unlisted(source_id: int, since: datetime) -> Select[Any]:
    return (
        select(candidates.c.id).select_from(WITH_LISTINGS).where(candidates.c.source_id == source_id, since > SEEN_AT)
    )


def _vanished(source_id: int, began: datetime) -> Select[Any]:
    return _unlisted(source_id, began).where(candidates.c.deleted_at.is_(None))


def _remove(conn: Connection, which: Select[Any]) -> int:
    return conn.execute(delete(candidates).where(candidates.c.id.in_(which.scalar_subquery()))).rowcount


def _round(row: Row[Any]) -> CrawlRound:
    return read_row(CrawlRound, row, where=read_row(CrawlTarget, row))


def _listing(row: Row[Any]) -> Listing:
    return read_row(Listing, row)
