"""Bodies decoded under a cap: a bomb is refused while it unfolds, a cut one is never taken for whole.

One that is larger than anybody wants to hold is read as it arrives.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import chain
from typing import Final, Protocol, Self

import brotli  # type: ignore[import-untyped]

from catchment.errors import BadBody
from catchment.fetch.connections import Reply
from catchment.inflate import BARE, GZIP, PIECE, ZLIB, Cap, Inflater, cut_short, damaged

_ZLIB_METHOD: Final = 8
_ZLIB_HEADER_BYTES: Final = 2


class _Unpacker(Protocol):
    """Gives pieces at most about `PIECE` long; `finish` raises BadBody when the end was not among them."""

    def feed(self, packed: bytes) -> Iterator[bytes]: ...

    def finish(self) -> None: ...


class _Deflated:
    """Deflate should come wrapped in zlib, but some servers send it bare; its first bytes tell."""

    def __init__(self) -> None:
        self._head = b""
        self._inflater: Inflater | None = None

    def feed(self, packed: bytes) -> Iterator[bytes]:
        if self._inflater is None:
            packed = self._head = self._head + packed
            if len(packed) < _ZLIB_HEADER_BYTES:
                return
            self._inflater = Inflater(ZLIB if _has_zlib_header(packed) else BARE)
        yield from self._inflater.feed(packed)

    def finish(self) -> None:
        if self._inflater is not None:
            self._inflater.finish()
        elif self._head:
            raise cut_short()


class _Unbrotli:
    def __init__(self) -> None:
        self._decompressor = brotli.Decompressor()
        self._begun = False

    def feed(self, packed: bytes) -> Iterator[bytes]:
        self._begun = self._begun or bool(packed)
        piece = self._unpack(packed)
        while piece:
            yield piece
            piece = self._unpack(b"")

    def finish(self) -> None:
        if self._begun and not self._decompressor.is_finished():
            raise cut_short()

    def _unpack(self, packed: bytes) -> bytes:
        try:
            return bytes(self._decompressor.process(packed, output_buffer_limit=PIECE))
        except brotli.error as error:
            raise damaged() from error


class _Stage:
    """One encoding, undone under a cap of its own: packing twice must not hide a bomb."""

    def __init__(self, unpacker: _Unpacker, cap: Cap) -> None:
        self._unpacker = unpacker
        self._cap = cap
        self.finish = unpacker.finish

    def unpack(self, portions: Iterable[bytes]) -> Iterator[bytes]:
        for packed in portions:
            self._cap.take(packed)
            yield from map(self._cap.check, self._unpacker.feed(packed))


class Decoder:
    """Takes a body in portions and undoes its Content-Encoding; BadBody when it is broken or too large."""

    def __init__(self, content_encoding: str, *, max_bytes: int, max_ratio: float) -> None:
        names = (name.strip().lower() for name in reversed(content_encoding.split(",")))
        self._names = [name for name in names if name not in {"", "identity"}]
        self._max_bytes = max_bytes
        self._max_ratio = max_ratio
        self._taken = 0
        # Made when they are needed: a body that is empty may claim any encoding.
        self._stages: list[_Stage] = []

    def feed(self, packed: bytes) -> Iterator[bytes]:
        if not self._taken:
            self._stages = [self._stage(name) for name in self._names]
        self._taken += len(packed)
        if self._taken > self._max_bytes:
            raise too_large(self._max_bytes)
        pieces = iter((packed,))
        for stage in self._stages:
            pieces = stage.unpack(pieces)
        return pieces

    def finish(self) -> None:
        for stage in self._stages:
            stage.finish()

    def _stage(self, name: str) -> _Stage:
        return _Stage(_unpacker(name), Cap(max_bytes=self._max_bytes, max_ratio=self._max_ratio))


def decode(packed: bytes, content_encoding: str, *, max_bytes: int, max_ratio: float) -> bytes:
    """A body that is there as a whole, without its Content-Encoding."""
    if not packed:
        return b""
    decoder = Decoder(content_encoding, max_bytes=max_bytes, max_ratio=max_ratio)
    pieces = list(decoder.feed(packed))
    decoder.finish()
    return pieces[0] if len(pieces) == 1 else b"".join(pieces)


def too_large(max_bytes: int) -> BadBody:
    return BadBody(f"the body is larger than {max_bytes:,} bytes, the most that is read")


def _unpacker(name: str) -> _Unpacker:
    if name in {"gzip", "x-gzip"}:
        return Inflater(GZIP)
    if name == "deflate":
        return _Deflated()
    if name == "br":
        return _Unbrotli()
    raise BadBody(f"the body is encoded as {name[:40]!r}, which was not asked for and cannot be read")


def _has_zlib_header(packed: bytes) -> bool:
    return packed[0] & 0x0F == _ZLIB_METHOD and int.from_bytes(packed[:2], "big") % 31 == 0


_NOT_MODIFIED: Final = 304


@dataclass(frozen=True, slots=True, kw_only=True)
class Head:
    """What an answer says before its body."""

    status: int
    #: Where the answer came from, after all redirects.
    url: str
    headers: Mapping[str, str]
    #: The new address, when every hop on the way to it was a permanent one.
    permanent_url: str | None = None

    @property
    def not_modified(self) -> bool:
        return self.status == _NOT_MODIFIED

    @property
    def content_type(self) -> str:
        """What it is said to be; "" where nothing is said."""
        return self.headers.get("Content-Type", "")


class Arriving:
    """The decoded pieces of one body, each given once."""

    def __init__(self, reply: Reply, decoder: Decoder) -> None:
        self._reply = reply
        self._decoder = decoder
        self._pieces: Iterator[bytes] = iter(())

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> bytes:
        while (piece := next(self._pieces, None)) is None:
            packed = await self._reply.read()
            if not packed:
                self._decoder.finish()
                raise StopAsyncIteration
            self._pieces = self._decoder.feed(packed)
        return piece

    async def peek(self, size: int) -> bytes:
        """The start of the body, about so long, which is given again afterwards."""
        seen: list[bytes] = []
        while sum(map(len, seen)) < size and (piece := await anext(self, None)) is not None:
            seen.append(piece)
        self._pieces = chain(seen, self._pieces)
        return b"".join(seen)


@dataclass(frozen=True, slots=True, kw_only=True)
class StreamedResponse(Head):
    """An answer whose body is still to come: `async for piece in stream`, once, while its context is open."""

    body: Arriving

    def __aiter__(self) -> Arriving:
        return self.body
