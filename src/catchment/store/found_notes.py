"""Notes among the candidates: claimed whichever source found them, held by one run, taken back from the dead."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from sqlalchemy import Connection, String, bindparam, case, exists, false, func, or_, select, update

from catchment.domain.candidate import NOTE_RETRIES, Candidate, CandidateState
from catchment.store.candidates import IS_PENDING, MINE, claimable, claiming, read_candidate
from catchment.store.tables import candidates, sources
from catchment.store.types import read_one


def claim(conn: Connection, run_id: int, *, platform: str | None, limit: int, now: datetime) -> list[Candidate]:
    """Claim pending notes of whichever source found them, those first that have waited longest."""
    chosen = {"on_platform": platform, "run": run_id, "most": limit, "now": now}
    rows = conn.execute(_CLAIM, chosen).all()
    return [read_candidate(row) for row in sorted(rows, key=lambda row: (row.first_seen, row.id))]


def held_by(conn: Connection, run_id: int, note_id: str, *, platform: str | None) -> Candidate | None:
    """The candidate for a note, if this run claimed it and it was not tried since; of the first platform, where none is
    named.
    """
    mine = (candidates.c.claimed_by == run_id, candidates.c.claimed_at.is_not(None), IS_PENDING)
    wanted = select(candidates).where(candidates.c.native_id == note_id, candidates.c.platform.is_not(None), *mine)
    if platform is not None:
        wanted = wanted.where(candidates.c.platform == platform)
    return read_one(conn, wanted.order_by(candidates.c.id).limit(1), read_candidate)


def count(conn: Connection, source_id: int) -> int:
    return conn.execute(
        select(func.count()).where(candidates.c.source_id == source_id, candidates.c.platform.is_not(None))
    ).scalar_one()


def reclaim(conn: Connection, run_ids: Sequence[int]) -> int:
    """Take notes back from runs that timed out, which counts as a failed try; says how many."""
    return conn.execute(_RECLAIM, {"runs": run_ids}).rowcount if run_ids else 0


def address_of(conn: Connection, platform: str, note_id: str) -> str | None:
    """The address under which a note was found, with whatever it takes to see it."""
    found = select(candidates.c.url).where(candidates.c.platform == platform, candidates.c.native_id == note_id)
    return conn.execute(found).scalar_one_or_none()


_PLATFORM = bindparam("on_platform", type_=String)
_CLAIM = claiming(
    claimable(
        MINE.c.platform.is_not(None),
        or_(_PLATFORM.is_(None), MINE.c.platform == _PLATFORM),
        exists().where(sources.c.id == MINE.c.source_id, sources.c.is_deleted == false()),
    ).order_by(MINE.c.first_seen, MINE.c.id)
)
_IS_WORN_OUT = candidates.c.attempts >= NOTE_RETRIES
_RECLAIM = (
    update(candidates)
    .where(
        candidates.c.claimed_by.in_(bindparam("runs", expanding=True)),
        candidates.c.platform.is_not(None),
        candidates.c.claimed_at.is_not(None),
        IS_PENDING,
    )
    .values(
        state=case((_IS_WORN_OUT, int(CandidateState.FAILED)), else_=int(CandidateState.PENDING)),
        attempts=candidates.c.attempts + case((_IS_WORN_OUT, 0), else_=1),
        claimed_at=None,
        last_error_code="LOCK_TIMEOUT",
        last_error="Whoever was to fetch it was not heard of any more.",
    )
)
