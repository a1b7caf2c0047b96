"""Live boards: one look at the store for everybody who watches, and news only when there is any."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable, Hashable
from dataclasses import dataclass, field
from typing import Any

from loguru import logger

from catchment.bootstrap import System
from catchment.errors import StoreError
from catchment.store import overview

LOOK_SECONDS = 2.0
#: Who left without a word is noticed by what cannot be sent to them, so something is.
HEARTBEAT_SECONDS = 20.0
#: Without a sign of change a board is read afresh after this many looks: what counts the last 24 hours moves by itself.
LOOKS_UNTIL_AFRESH = 8


@dataclass(slots=True, eq=False)
class _Listener:
    """Somebody who watches; a slow one misses the boards in between, never the latest."""

    view: Hashable
    latest: str | None = None
    news: asyncio.Event = field(default_factory=asyncio.Event)

    def emit_events(self, board: str) -> None:
        if board != self.latest:
            self.latest = board
            self.news.set()


class Live:
    """Looks at the store while somebody listens, and tells each listener what their own board has become."""

    def __init__(
        self,
        system: System,
        read: Callable[[Any], Awaitable[str]],
        *,
        look_seconds: float = LOOK_SECONDS,
        heartbeat_seconds: float = HEARTBEAT_SECONDS,
    ) -> None:
        self._system = system
        self._read = read
        self._look_seconds = look_seconds
        self._heartbeat_seconds = heartbeat_seconds
        self._listeners: set[_Listener] = set()
        self._looking: asyncio.Task[None] | None = None
        self._closed = asyncio.Event()

    async def listen(self, view: Hashable) -> AsyncGenerator[str | None]:
        """The board as it is now, and again whenever it changed, until closed; None for each heartbeat in between."""
        listener = _Listener(view=view)
        listener.emit_events(await self._read(view))
        self._listeners.add(listener)
        self._start()
        try:
            while await self._next(listener):
                is_news = listener.news.is_set()
                listener.news.clear()
                yield listener.latest if is_news else None
        finally:
            self._listeners.discard(listener)
            await self._stop_if_idle()

    async def close(self) -> None:
        """End every stream; those who listen are told by its end."""
        self._closed.set()
        await self._stop()

    @property
    def listeners(self) -> int:
        return len(self._listeners)

    async def _next(self, listener: _Listener) -> bool:
        """Wait for news, but no longer than for a heartbeat; False when closed."""
        waits = [asyncio.ensure_future(listener.news.wait()), asyncio.ensure_future(self._closed.wait())]
        try:
            await asyncio.wait(waits, timeout=self._heartbeat_seconds, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for wait in waits:
                wait.cancel()
        return not self._closed.is_set()

    def _start(self) -> None:
        if (self._looking is None or self._looking.done()) and not self._closed.is_set():
            self._looking = asyncio.create_task(self._look())

    async def _stop_if_idle(self) -> None:
        if not self._listeners:
            await self._stop()

    async def _stop(self) -> None:
        looking, self._looking = self._looking, None
        if looking is not None:
            looking.cancel()
            await asyncio.wait([looking])

    async def _look(self) -> None:
        known: Any = None
        looks = 0
        while True:
            try:
                pulse = await self._system.store.read(overview.pulse)
                if pulse != known or looks >= LOOKS_UNTIL_AFRESH:
                    await self._tell_all()
                    known, looks = pulse, 0
            except StoreError as error:
                logger.error("the dashboard cannot be brought up to date: {}", error)
            except Exception:  # noqa: BLE001 (everybody's dashboard hangs on this: one look may fail, the next goes on)
                logger.exception("the dashboard cannot be brought up to date")
            looks += 1
            await asyncio.sleep(self._look_seconds)

    async def _tell_all(self) -> None:
        """Read each board once, however many look at the same one."""
        for view in {listener.view for listener in self._listeners}:
            board = await self._read(view)
            for listener in [one for one in self._listeners if one.view == view]:
                listener.emit_events(board)
