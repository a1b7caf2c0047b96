"""Leases held by this process: who we are, keeping them alive, and freeing those of the dead."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Concatenate, ParamSpec, TypeVar

from loguru import logger
from sqlalchemy import Connection

from catchment.clock import Clock
from catchment.domain.run import Run
from catchment.engine.clock_monitor import not_before
from catchment.errors import LeaseLost, StoreError
from catchment.processes import is_gone, owner_name
from catchment.store import hosts, incidents, runs
from catchment.store.clock_repair import has_leases_ahead, pull_back_leases
from catchment.store.database import Store

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


__all__ = ["LeasePolicy", "keep_leases", "owner_name", "recover"]


@dataclass(frozen=True, slots=True, kw_only=True)
class LeasePolicy:
    """Who holds the leases, and for how long each heartbeat is good."""

    owner: str
    duration: timedelta

    def until(self, now: datetime) -> datetime:
        return now + self.duration

    @property
    def heartbeat_seconds(self) -> float:
        return self.duration.total_seconds() / 3


async def keep_leases(store: Store, policy: LeasePolicy, clock: Clock) -> None:
    """Extend every lease of the owner in time, until cancelled; a store that fails for a moment costs none of them."""
    while True:
        await asyncio.sleep(policy.heartbeat_seconds)
        now = clock.now()
        try:
            await store.write(_heartbeat, owner=policy.owner, now=now, until=policy.until(now))
        except StoreError as error:
            logger.error("the leases of {} cannot be extended: {}", policy.owner, error)


def _heartbeat(conn: Connection, *, owner: str, now: datetime, until: datetime) -> None:
    runs.heartbeat(conn, owner=owner, now=now, until=until)
    hosts.keep(conn, owner=owner, until=until)


async def recover(store: Store, clock: Clock) -> list[Run]:
    """Free what nobody works on any more: expired leases, and those of processes of this machine that are gone."""
    if not await store.read(_needs_recovery, now=clock.now()):
        return []
    recovered = await store.write(_recover, now=clock.now())
    if recovered:
        logger.warning("recovered {} run(s) of workers that are gone", len(recovered))
    return recovered


def _needs_recovery(conn: Connection, *, now: datetime) -> bool:
    """A look before the write, so that an idle tick writes nothing."""
    is_ahead = has_leases_ahead(conn, latest=not_before(now))
    return is_ahead or runs.has_expired(conn, now=now) or bool(_dead(runs.running_owners(conn)))


def _recover(conn: Connection, *, now: datetime) -> list[Run]:
    pull_back_leases(conn, now=now, latest=not_before(now))
    dead = _dead(runs.running_owners(conn))
    hosts.release_owners(conn, dead)
    ended = [*runs.expire(conn, now=now), *runs.expire_owners(conn, dead, now=now)]
    if ended:
        _free_notes(conn, ended, now=now)
    return ended


def _free_notes(conn: Connection, ended: Sequence[Run], *, now: datetime) -> None:
    # Here, as a collector whose fellows are well knows nothing of notes.
    from catchment.store import found_notes

    records = found_notes.reclaim(conn, [run.id for run in ended])
    incidents.record_recovery(conn, executions=0, records=records, now=now)


def _dead(owners: Iterable[str]) -> list[str]:
    return [owner for owner in owners if is_gone(owner)]
