"""Bodies decoded under a cap: a bomb is refused while it unfolds, a cut one is never taken for whole."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final, Protocol

import brotli  # type: ignore[import-untyped]

from catchment.errors import BadBody
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
