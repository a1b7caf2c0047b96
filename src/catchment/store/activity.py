"""Who works on a store at this moment, for whoever would pull it away under them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from datetime import datetime
from itertools import groupby
from operator import attrgetter
from pathlib import Path

from sqlalchemy import inspect
from sqlalchemy.engine import URL

from catchment.domain.run import Run
from catchment.errors import Conflict, DamagedStore
from catchment.processes import is_gone, shown_owner
from catchment.store import runs
from catchment.store.copy import connected, shown
from catchment.store.database import reading_engine


def refuse_while_worked_on(*stores: URL, now: datetime) -> None:
    """Raises Conflict, and names who works on what, while collectors or jobs hold leases in one of the stores."""
    for url in stores:
        working = _who_works(url, now)
        if working:
            raise Conflict(
                f"The store {shown(url)} is being worked on by {_described(working)}, so nothing was done. "
                "Stop that first, or use --while-collecting: what is stored meanwhile is lost then."
            )


def _who_works(url: URL, now: datetime) -> list[Run]:
    if url.get_backend_name() == "sqlite" and not _holds_something(Path(url.database or "")):
        return []
    try:
        with connected(reading_engine(url)) as conn:
            held = runs.list_held(conn, now=now) if inspect(conn).has_table(runs.TABLE_NAME) else []
    except DamagedStore:
        # Nobody can work on that.
        return []
    return [run for run in held if not is_gone(run.owner)]


def _holds_something(file: Path) -> bool:
    return file.is_file() and file.stat().st_size > 0


def _described(working: Iterable[Run]) -> str:
    by_owner = groupby(sorted(working, key=attrgetter("owner")), key=attrgetter("owner"))
    return "; ".join(f"{shown_owner(owner)} ({_kinds(theirs)})" for owner, theirs in by_owner)


def _kinds(working: Iterable[Run]) -> str:
    counts = Counter(run.kind.value for run in working)
    return ", ".join(f"{kind} {count}" if count > 1 else kind for kind, count in sorted(counts.items()))
