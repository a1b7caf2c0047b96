"""The store as a run may write to it: only while the run holds its lease."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Concatenate, ParamSpec, TypeVar

from sqlalchemy import Connection

from catchment.errors import LeaseLost
from catchment.store import runs
from catchment.store.door import Store

P = ParamSpec("P")
T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class FencedStore:
    store: Store
    run_id: int

    async def write(self, change: Callable[Concatenate[Connection, P], T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Run `change` in one transaction, or raise LeaseLost when the run was taken over."""
        return await self.store.write(lambda conn: _fenced(conn, self.run_id, lambda: change(conn, *args, **kwargs)))

    async def read(self, query: Callable[Concatenate[Connection, P], T], *args: P.args, **kwargs: P.kwargs) -> T:
        return await self.store.read(query, *args, **kwargs)


def _fenced(conn: Connection, run_id: int, change: Callable[[], T]) -> T:
    if not runs.holds(conn, run_id):
        raise LeaseLost("Another worker took the work over; what this one found is dropped.")
    return change()
