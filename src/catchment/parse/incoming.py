"""Text out of bytes that arrive in portions: unpacked where they are gzip, and decoded.

Where the portions end makes no difference, and only the start of a document is ever kept.
"""

from __future__ import annotations

import codecs
from collections.abc import Iterator
from typing import Final

from catchment.inflate import GZIP, GZIP_MAGIC, Cap, Inflater
from catchment.parse.encoding import encoding_of_start

_MAX_BYTES: Final = 100 * 1024 * 1024
_MAX_RATIO: Final = 200.0
#: How much of a document is seen before its encoding is settled.
_HEAD_BYTES: Final = 4096


class IncomingText:
    """Raises BadBody for a bomb, and for gzip that is damaged or cut short."""

    def __init__(self) -> None:
        self._gunzip = _Gunzip()
        self._decoder = _Decoder()

    def feed(self, chunk: bytes) -> Iterator[str]:
        return map(self._decoder.feed, self._gunzip.feed(chunk))

    def finish(self) -> Iterator[str]:
        yield from map(self._decoder.feed, self._gunzip.finish())
        yield self._decoder.finish()


class _Gunzip:
    """Tells by the first two bytes, since names and headers lie, and passes on what is not packed."""

    def __init__(self) -> None:
        self._start: bytes | None = b""
        self._inflater: Inflater | None = None
        self._cap = Cap(max_bytes=_MAX_BYTES, max_ratio=_MAX_RATIO)

    def feed(self, chunk: bytes) -> Iterator[bytes]:
        if self._start is not None:
            chunk = self._start + chunk
            if len(chunk) < len(GZIP_MAGIC):
                self._start = chunk
                return
            self._start = None
            self._inflater = Inflater(GZIP) if chunk.startswith(GZIP_MAGIC) else None
        if self._inflater is None:
            yield chunk
        else:
            self._cap.take(chunk)
            yield from map(self._cap.check, self._inflater.feed(chunk))

    def finish(self) -> Iterator[bytes]:
        if self._inflater is not None:
            self._inflater.finish()
        elif self._start:
            yield self._start


class _Decoder:
    def __init__(self) -> None:
        self._head = b""
        self._decoder: codecs.IncrementalDecoder | None = None

    def feed(self, piece: bytes) -> str:
        if self._decoder is not None:
            return self._decoder.decode(piece)
        self._head += piece
        return self._settle().decode(self._head) if len(self._head) >= _HEAD_BYTES else ""

    def finish(self) -> str:
        if self._decoder is None:
            return self._settle().decode(self._head, final=True)
        return self._decoder.decode(b"", final=True)

    def _settle(self) -> codecs.IncrementalDecoder:
        encoding = encoding_of_start(self._head[:_HEAD_BYTES])
        self._decoder = codecs.getincrementaldecoder(encoding)("replace")
        return self._decoder
