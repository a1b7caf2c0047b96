"""Work that many want at once, done once for all of them."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any, Generic, TypeVar
from weakref import WeakValueDictionary

T = TypeVar("T")


class Shared(Generic[T]):
    """Whoever comes while the work is under way waits for the next time, which all who waited share. So nobody is given
    what was found before they asked.
    """

    def __init__(self) -> None:
        self._next: dict[str, asyncio.Task[T]] = {}
        self._turns: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()

    async def share(self, key: str, work: Callable[[], Coroutine[Any, Any, T]]) -> T:
        task = self._next.get(key)
        if task is None:
            task = self._next[key] = asyncio.create_task(self._work(key, work))
        # One who gives up must not take the others along.
        return await asyncio.shield(task)

    async def _work(self, key: str, work: Callable[[], Coroutine[Any, Any, T]]) -> T:
        turn = self._turns.setdefault(key, asyncio.Lock())
        async with turn:
            del self._next[key]
            return await work()
