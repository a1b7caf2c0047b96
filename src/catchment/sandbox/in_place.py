"""Small feeds, read where they arrive: by a process that collects and does nothing else.

To send a document to a parser process and to take back what is in it costs a fifth of collecting it. A collector that
serves nobody reads it itself, for a moment: what is not read by then is given up and read apart. What cannot even be
given up makes it fall silent: then whoever forked it ends it, and has the rest collected with everything read apart.
"""

from __future__ import annotations

import signal
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager, suppress
from typing import Concatenate, Final, ParamSpec, TypeVar

from catchment.errors import CatchmentError, ParserFailed
from catchment.inflate import GZIP_MAGIC
from catchment.sandbox.pool import ParserPool, Parsers, unbound
from catchment.sandbox.process import name_of

P = ParamSpec("P")
T = TypeVar("T")
FEED_READERS: Final = frozenset({"catchment.sources.items:read_items"})
#: A usual one takes a millisecond or two; of more than this some take longer than a moment in one piece.
MAX_FEED_BYTES: Final = 64 * 1024
MOMENT_SECONDS: Final = 0.1


class ParsersInPlace(ParserPool):
    """Whatever is no small feed, or is of a source that is not well, goes to parser processes as usual.

    Made in the main thread: from then on the alarm of the process is its own.
    """

    def __init__(self, *, size: int, seconds: float) -> None:
        super().__init__(size=size, seconds=seconds)
        self._in_place = _InPlace(self)

    def for_source(self, *, is_well: bool) -> Parsers:
        # Where it did harm here, it failed when it was read apart.
        return self._in_place if is_well else self


class _InPlace:
    def __init__(self, apart: ParserPool) -> None:
        self._apart = apart
        self._is_reading = False
        signal.signal(signal.SIGALRM, self._give_up)

    def one_alone(self) -> AbstractAsyncContextManager[ParserPool]:
        return self._apart.one_alone()

    async def read(self, read: Callable[Concatenate[bytes, P], T], body: bytes, *args: P.args, **kwargs: P.kwargs) -> T:
        is_small = len(body) <= MAX_FEED_BYTES and not body.startswith(GZIP_MAGIC)
        if is_small and name_of(unbound(read)[0]) in FEED_READERS:
            with suppress(_TakesLong):
                return self._read_here(lambda body: read(body, *args, **kwargs), body)
        return await self._apart.read(read, body, *args, **kwargs)

    def _read_here(self, read: Callable[[bytes], T], body: bytes) -> T:
        self._is_reading = True
        try:
            signal.setitimer(signal.ITIMER_REAL, MOMENT_SECONDS)
            return read(body)
        except CatchmentError:
            raise
        except Exception as error:
            raise ParserFailed(f"reading it went wrong: {error!r}") from error
        finally:
            self._is_reading = False
            signal.setitimer(signal.ITIMER_REAL, 0)

    def _give_up(self, *_: object) -> None:
        if self._is_reading:
            raise _TakesLong


class _TakesLong(BaseException):
    """No error, for which somebody who reads might take it: raised in the middle of whatever is read."""
