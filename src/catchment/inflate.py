"""zlib in its wrappings, piece by piece: what is packed may come in any portions and unfold to any size."""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from typing import Final

from catchment.errors import BadBody

GZIP_MAGIC: Final = b"\x1f\x8b"
GZIP: Final = 16 + zlib.MAX_WBITS
ZLIB: Final = zlib.MAX_WBITS
BARE: Final = -zlib.MAX_WBITS
#: The most that is unfolded at once.
PIECE: Final = 256 * 1024
#: The most that is given to zlib at once: at the end of each member it copies what is left, and members may be tiny.
_PORTION: Final = 16 * 1024
#: Below this size the ratio says nothing: a short repetitive text packs very well.
RATIO_FLOOR: Final = 1024 * 1024


class Inflater:
    """Unfolds one stream. gzip may hold several members, one after the other; other padding is passed over."""

    def __init__(self, window: int) -> None:
        self._window = window
        self._inflate = zlib.decompressobj(window)
        self._begun = False
        self._after = b""

    def feed(self, packed: bytes) -> Iterator[bytes]:
        for start in range(0, len(packed), _PORTION):
            yield from self._feed(packed[start : start + _PORTION])

    def _feed(self, packed: bytes) -> Iterator[bytes]:
        packed = self._of_member(packed)
        has_more = bool(packed)
        while has_more:
            piece = self._unfold(packed)
            packed = self._of_member(self._inflate.unused_data) if self._inflate.eof else self._inflate.unconsumed_tail
            has_more = bool(packed) or (len(piece) == PIECE and not self._inflate.eof)
            if piece:
                yield piece

    def finish(self) -> None:
        if self._begun and not self._inflate.eof:
            raise cut_short()

    def _unfold(self, packed: bytes) -> bytes:
        self._begun = True
        try:
            return self._inflate.decompress(packed, PIECE)
        except zlib.error as error:
            raise damaged() from error

    def _of_member(self, packed: bytes) -> bytes:
        """What of it belongs to the member that is open, or to one that follows it."""
        if not self._inflate.eof:
            return packed
        # Two bytes tell whether another follows. They may come one at a time; any others stay here for good.
        following = self._after + packed
        self._after = following[: len(GZIP_MAGIC)]
        if self._after != GZIP_MAGIC:
            return b""
        self._after = b""
        self._inflate = zlib.decompressobj(self._window)
        return following


class Cap:
    """How much one stream may unfold to: so many bytes, and so many times of what was packed."""

    def __init__(self, *, max_bytes: int, max_ratio: float) -> None:
        self._max_bytes = max_bytes
        self._max_ratio = max_ratio
        self._packed = 0
        self._unfolded = 0

    def take(self, packed: bytes) -> None:
        self._packed += len(packed)

    def check(self, piece: bytes) -> bytes:
        self._unfolded += len(piece)
        most = min(self._max_bytes, max(RATIO_FLOOR, int(self._packed * self._max_ratio)))
        if self._unfolded > most:
            raise BadBody(f"the body unfolds to more than {most:,} bytes, the most that is accepted")
        return piece


def cut_short() -> BadBody:
    return BadBody("the compressed body was cut short; it is tried again later")


def damaged() -> BadBody:
    return BadBody("the compressed body is damaged; it is tried again later")
