"""A parser process: reads one document after the other, as it is asked on its standard input, a socket.

It ends when that does, and by itself soon after a document took longer than it may: so it never outlives whoever
started it. Signals to stop are not for it, since what is under way is finished first.

A process that reads hostile bytes may come to say anything. What it says is therefore read as data: numbers, texts,
and the few classes that readers return, made as usual; nothing it sends can name anything else.
"""

from __future__ import annotations

import gc
import io
import logging
import os
import pickle
import resource
import signal
import socket
import struct
import sys
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import cache
from importlib import import_module
from typing import Any, Final, NamedTuple

from catchment.errors import CatchmentError

#: By name, so that a process imports what it is asked for and nothing beside it.
READERS: Final = frozenset(
    {
        "catchment.manage.discovery:judge",
        "catchment.manage.discovery:lists_pages",
        "catchment.parse.article:extract",
        "catchment.parse.source_lists:read_listing",
        "catchment.parse.opml:read_opml",
        "catchment.parse.sitemap:read_portion",
        "catchment.sources.custom_api:read_items",
        "catchment.sources.custom_api:read_page",
        "catchment.sources.items:read_items",
        "catchment.sources.github_trending:read_repositories",
        "catchment.sources.reddit:read_listing",
        "catchment.sources.website:read_chosen_parts",
        "catchment.sources.website:read_unknown",
    }
)
#: What makes, besides plain data, what readers return: classes, and one function that makes one of them.
RESULTS: Final = frozenset(
    {
        "catchment.domain.item:Item",
        "catchment.domain.item:reading_of",
        "catchment.domain.listing:BadLine",
        "catchment.domain.listing:ListedSource",
        "catchment.domain.listing:SourceList",
        "catchment.manage.discovery:Discovered",
        "catchment.parse.article:Article",
        "catchment.parse.discovery:Discovery",
        "catchment.parse.opml:FeedOutline",
        "catchment.parse.sitemap:SitemapEntry",
        "catchment.parse.sitemap:Portion",
        "catchment.sources.base:Suggestion",
        "catchment.sources.custom_api:ApiPage",
        "catchment.sources.website:PageReading",
        "datetime:datetime",
        "datetime:timedelta",
        "datetime:timezone",
    }
)


def name_of(function: Callable[..., Any]) -> str | None:
    """The name of a reader; None for a function that is none, such as one of a plug-in."""
    name = f"{getattr(function, '__module__', '')}:{getattr(function, '__qualname__', '')}"
    return name if name in READERS else None


@cache
def reader(name: str) -> Callable[..., Any]:
    if name not in READERS:
        raise LookupError(f"{name!r} reads nothing")
    module, _, function = name.partition(":")
    found: Callable[..., Any] = getattr(import_module(module), function)
    return found


#: What a parser process says when it can be asked.
READY: Final = "ready"
#: The name of an error that is none of ours.
BROKEN: Final = "broken"
#: With which exit code a process ends that has no memory left.
NO_MEMORY_CODE: Final = 12
HEAD: Final = struct.Struct("!I")
#: What a reader returns for the largest document that is accepted is a third of this.
MAX_ANSWER: Final = 32 * 1024 * 1024


class Task(NamedTuple):
    """What a parser process is asked to do."""

    reader: str
    body: bytes
    args: tuple[Any, ...]
    kwargs: dict[str, Any]


class BadMessage(Exception):
    """The other side does not keep to the rules, so it is not to be trusted any further."""


def pack(message: object) -> bytes:
    data = pickle.dumps(message, pickle.HIGHEST_PROTOCOL)
    return HEAD.pack(len(data)) + data


def unpack(data: bytes | bytearray | memoryview) -> Any:
    try:
        return _Unpickler(io.BytesIO(data)).load()
    except Exception as error:
        raise BadMessage(f"an answer that is not one: {error!r}") from error


class Incoming:
    """Puts messages together as their parts arrive."""

    def __init__(self) -> None:
        self._buffer = bytearray()

    def feed(self, data: bytes) -> Iterator[Any]:
        self._buffer += data
        while len(self._buffer) >= HEAD.size:
            (size,) = HEAD.unpack_from(self._buffer)
            if size > MAX_ANSWER:
                raise BadMessage(f"an answer of {size:,} bytes")
            end = HEAD.size + size
            if len(self._buffer) < end:
                return
            message = bytes(memoryview(self._buffer)[HEAD.size : end])
            del self._buffer[:end]
            yield unpack(message)


class _Unpickler(pickle.Unpickler):
    def find_class(self, module: str, name: str) -> Any:
        if f"{module}:{name}" not in RESULTS:
            raise pickle.UnpicklingError(f"{module}:{name} is nothing that a reader returns")
        return super().find_class(module, name)


_SOCKET: Final = 0
#: How much longer than it may a document takes when nobody is there to end it.
_LEEWAY_SECONDS: Final = 2.0
#: What a large document took is not always given back, so the process is. Usually it holds less than half of this.
_WORN_BYTES: Final = 80 * 1024 * 1024
#: Longer than what the system tells of a process.
_LINE: Final = 200
_PASSED_OVER: Final = 64 * 1024
#: What reading makes is no longer needed once it is sent, and goes by itself: cycles are looked for rarely.
_OBJECTS_BETWEEN_LOOKS: Final = 20_000


def main(max_bytes: int, seconds: float) -> None:
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_IGN)
    _limit(resource.RLIMIT_AS, max_bytes)
    _limit(resource.RLIMIT_CORE, 0)
    # Libraries tell of every odd page, which is no event for a log.
    logging.disable(logging.CRITICAL)
    # Imported before it is asked for, so that no document has to wait for it.
    reader("catchment.sources.items:read_items")
    gc.freeze()
    gc.set_threshold(_OBJECTS_BETWEEN_LOOKS, *gc.get_threshold()[1:])
    # Whoever is killed hangs up in the middle, and nobody is left to be told.
    with socket.socket(fileno=_SOCKET) as line, suppress(ConnectionError):
        line.sendall(pack(READY))
        try:
            _serve(line, seconds)
        except MemoryError:
            # At once: whoever sees the line close kills what is left, and the code would be lost.
            os._exit(NO_MEMORY_CODE)


def _serve(line: socket.socket, seconds: float) -> None:
    is_worn = False
    while not is_worn and (task := _receive(line)) is not None:
        signal.setitimer(signal.ITIMER_REAL, seconds + _LEEWAY_SECONDS)
        error, found = _read(task)
        signal.setitimer(signal.ITIMER_REAL, 0)
        is_worn = _resident_bytes() > _WORN_BYTES
        line.sendall(_packed(error, found, is_worn=is_worn))
    _wait_for_end(line)


def _read(task: Task) -> tuple[str, Any]:
    """What the document says, or the name of an error and what it says."""
    try:
        return "", reader(task.reader)(task.body, *task.args, **task.kwargs)
    except CatchmentError as error:
        return type(error).__name__, (str(error), vars(error))
    except MemoryError:
        raise
    except Exception as error:  # noqa: BLE001 - the edge: whatever it is, it is this document's failure only
        return BROKEN, (repr(error), {})


def _packed(error: str, found: object, *, is_worn: bool) -> bytes:
    """The answer; what cannot be sent, such as what is nested too deep, is that document's failure only."""
    try:
        return pack((error, found, is_worn))
    except MemoryError:
        raise
    except Exception as failure:  # noqa: BLE001 - the edge, as above
        return pack((BROKEN, (repr(failure), {}), is_worn))


def _wait_for_end(line: socket.socket) -> None:
    """Whatever was asked for meanwhile is asked of another: to hang up on it might lose the last answer."""
    while line.recv(_PASSED_OVER):
        pass


def _limit(what: int, most: int) -> None:
    # Not every system knows every limit.
    with suppress(ValueError, OSError):
        resource.setrlimit(what, (most, most))


def _receive(line: socket.socket) -> Task | None:
    head = _exactly(line, HEAD.size)
    if head is None:
        return None
    (size,) = HEAD.unpack(head)
    message = _exactly(line, size)
    if message is None:
        return None
    # Whoever asks is trusted.
    return Task(*pickle.loads(message))  # noqa: S301


def _exactly(line: socket.socket, size: int) -> bytearray | None:
    """So many bytes; None when there are no more."""
    data = bytearray(size)
    view, filled = memoryview(data), 0
    while filled < size:
        received = line.recv_into(view[filled:])
        if not received:
            return None
        filled += received
    return data


def _resident_bytes() -> int:
    """What it holds; 0 where the system does not tell. `getrusage` would tell of whoever started it as well."""
    try:
        return int(os.pread(_statm(), _LINE, 0).split()[1]) * resource.getpagesize()
    except OSError:
        return 0


@cache
def _statm() -> int:
    return os.open("/proc/self/statm", os.O_RDONLY)


if __name__ == "__main__":
    main(int(sys.argv[1]), float(sys.argv[2]))
