"""Whether a store can be written: found out by writing a little, and by what writes failed of late."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import datetime
from enum import StrEnum
from time import monotonic as system_monotonic
from typing import TYPE_CHECKING

from sqlalchemy import Connection

from catchment.errors import FullStore, ReadOnlyStore, StoreError
from catchment.store import jobs

if TYPE_CHECKING:
    from catchment.store.database import Store

#: Strangers may ask for the health, but not have us write as often as they like.
FRESH_SECONDS = 1.0
#: A look is small, and may find room where what has to be stored finds none; that is tried again every second.
FAILING_SECONDS = 5.0
#: A look that has to wait for a long transaction tells nothing.
PATIENCE_SECONDS = 3.0
_NAME = "write check"


class WriteTrouble(StrEnum):
    FULL = "full"
    READ_ONLY = "read_only"
    FAILING = "failing"


class WriteCheck:
    def __init__(self, store: Store, *, monotonic: Callable[[], float] = system_monotonic) -> None:
        self._store = store
        self._monotonic = monotonic
        self._looked_at: float | None = None
        self._failed_at: float | None = None
        self._trouble = WriteTrouble.FULL

    @contextmanager
    def watching(self) -> Iterator[None]:
        """Around every write: one that found no room is remembered."""
        try:
            yield
        except (FullStore, ReadOnlyStore) as error:
            self._failed_at = self._monotonic()
            self._trouble = WriteTrouble.FULL if isinstance(error, FullStore) else WriteTrouble.READ_ONLY
            raise

    async def trouble(self, now: datetime) -> WriteTrouble | None:
        """What keeps the store from being written; None while nothing does."""
        if self._is_recent(self._failed_at, FAILING_SECONDS):
            return self._trouble
        if self._is_recent(self._looked_at, FRESH_SECONDS):
            return None
        return await self._look(now)

    async def _look(self, now: datetime) -> WriteTrouble | None:
        self._looked_at = self._monotonic()
        try:
            async with asyncio.timeout(PATIENCE_SECONDS):
                await self._store.write(_write_a_little, now=now)
        except TimeoutError:
            return None
        except (FullStore, ReadOnlyStore):
            return self._trouble
        except StoreError:
            # Whether it is away for longer than a moment is seen at the next look.
            self._looked_at = None
            return WriteTrouble.FAILING
        return None

    def _is_recent(self, at: float | None, seconds: float) -> bool:
        return at is not None and self._monotonic() - at < seconds


def _write_a_little(conn: Connection, *, now: datetime) -> None:
    """A row that comes and goes in one transaction: it is written, and nothing is left of it."""
    jobs.ensure(conn, _NAME, due_at=now)
    jobs.remove(conn, _NAME)
