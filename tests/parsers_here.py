"""Documents read within the test. To start a parser process takes longer than most tests, and few are about it."""

from __future__ import annotations

import pickle
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from catchment.errors import ParserFailed, ParserUnavailable
from catchment.parse import sitemap
from catchment.sandbox import pool, process
from catchment.sandbox.pool import ParserPool
from catchment.sandbox.process import HEAD, Task, pack, unpack


class ParsersHere(ParserPool):
    """Reads by the code of a parser process and sends by its wire, but for the process itself: nothing can be ended."""

    def __init__(self, **limits: Any) -> None:
        super().__init__(**limits)
        #: What a process that is had alone remembers of what it read before.
        self._under_way: dict[str, sitemap.SitemapParser] = {}

    @asynccontextmanager
    async def one_alone(self) -> AsyncIterator[ParserPool]:
        async with self._alone, ParsersHere(size=1) as own:
            yield own

    async def _run(self, task: Task) -> Any:
        if self.is_closed:
            raise ParserUnavailable("nothing is read any more: it is stopping")
        sitemap._under_way = self._under_way
        asked = Task(*pickle.loads(pack(tuple(task))[HEAD.size :]))
        answer = process._packed(*process._read(asked), is_worn=False)
        error, found, _ = unpack(answer[HEAD.size :])
        if not error:
            return found
        message, more = found
        if error not in pool._ERRORS:
            raise ParserFailed(f"reading it went wrong: {message}")
        failure = pool._ERRORS[error](message)
        vars(failure).update(more)
        raise failure
