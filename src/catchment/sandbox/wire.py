"""What goes between the collector and a parser process: messages with their length in front.

A process that reads hostile bytes may come to say anything. What it says is therefore read as data: numbers, texts,
and the few classes that readers return, made by their constructors; nothing it sends can name anything else.
"""

from __future__ import annotations

import io
import pickle
import struct
from collections.abc import Iterator
from typing import Any, Final, NamedTuple

from catchment.sandbox.readers import RESULTS

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
