"""Bodies decoded under a cap: a bomb is refused while it unfolds, a cut one is never taken for whole."""

from __future__ import annotations

import zlib
from typing import Final, Protocol

import brotli  # type: ignore[import-untyped]

from catchment.errors import BadBody

_PIECE: Final = 256 * 1024
_GZIP_MAGIC: Final = b"\x1f\x8b"
_ZLIB_METHOD: Final = 8
#: Below this size the ratio says nothing: a short repetitive text packs very well.
_RATIO_FLOOR: Final = 1024 * 1024


class _Unpacker(Protocol):
    """Gives the next piece, at most about `_PIECE` long; empty when there is no more."""

    def next_piece(self) -> bytes: ...


class _Inflater:
    """zlib in its three wrappings. gzip may hold several members, one after the other."""

    def __init__(self, packed: bytes, *, window: int) -> None:
        self._window = window
        self._rest = packed
        self._inflate = zlib.decompressobj(window)

    def next_piece(self) -> bytes:
        piece = b""
        while not piece and self._has_more():
            piece = self._inflate.decompress(self._rest, _PIECE)
            self._rest = self._inflate.unconsumed_tail
            if not piece and not self._rest and not self._inflate.eof:
                raise BadBody("the compressed body was cut short; it is tried again later")
        return piece

    def _has_more(self) -> bool:
        if not self._inflate.eof:
            return True
        following = self._inflate.unused_data
        if not following.startswith(_GZIP_MAGIC):
            return False
        self._rest = following
        self._inflate = zlib.decompressobj(self._window)
        return True


class _Unbrotli:
    def __init__(self, packed: bytes) -> None:
        self._rest = packed
        self._decompressor = brotli.Decompressor()

    def next_piece(self) -> bytes:
        piece = bytes(self._decompressor.process(self._rest, output_buffer_limit=_PIECE))
        self._rest = b""
        if not piece and not self._decompressor.is_finished():
            raise BadBody("the compressed body was cut short; it is tried again later")
        return piece


def decode(packed: bytes, content_encoding: str, *, max_bytes: int, max_ratio: float) -> bytes:
    """The body without its Content-Encoding; BadBody when it is broken, cut short or too large."""
    names = [name.strip().lower() for name in content_encoding.split(",")]
    body = packed
    for name in reversed(names):
        if name not in {"", "identity"} and body:
            body = _unpack(_unpacker(name, body), _cap(len(body), max_bytes=max_bytes, max_ratio=max_ratio))
    return body


def too_large(max_bytes: int) -> BadBody:
    return BadBody(f"the body is larger than {max_bytes:,} bytes, the most that is read")


def _cap(packed_bytes: int, *, max_bytes: int, max_ratio: float) -> int:
    return min(max_bytes, max(_RATIO_FLOOR, int(packed_bytes * max_ratio)))


def _unpacker(name: str, packed: bytes) -> _Unpacker:
    if name in {"gzip", "x-gzip"}:
        return _Inflater(packed, window=16 + zlib.MAX_WBITS)
    if name == "deflate":
        return _Inflater(packed, window=zlib.MAX_WBITS if _has_zlib_header(packed) else -zlib.MAX_WBITS)
    if name == "br":
        return _Unbrotli(packed)
    raise BadBody(f"the body is encoded as {name[:40]!r}, which was not asked for and cannot be read")


def _has_zlib_header(packed: bytes) -> bool:
    """Deflate should come wrapped in zlib, but some servers send it bare."""
    return packed[0] & 0x0F == _ZLIB_METHOD and int.from_bytes(packed[:2], "big") % 31 == 0


def _unpack(unpacker: _Unpacker, cap: int) -> bytes:
    pieces: list[bytes] = []
    size = 0
    try:
        while piece := unpacker.next_piece():
            size += len(piece)
            if size > cap:
                raise BadBody(f"the body unfolds to more than {cap:,} bytes, the most that is accepted")
            pieces.append(piece)
    except (zlib.error, brotli.error) as error:
        raise BadBody("the compressed body is damaged; it is tried again later") from error
    return pieces[0] if len(pieces) == 1 else b"".join(pieces)
