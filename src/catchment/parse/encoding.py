"""Which characters the bytes of a feed stand for.

Feeds lie about their encoding, and so do servers. What the bytes show by themselves (a byte order mark, UTF-8 but for
a stray byte) is believed first, then the server, then the document; the parsers only ever see UTF-8.
"""

from __future__ import annotations

import codecs
import re
from collections import Counter
from collections.abc import Collection, Iterator
from typing import Final

from catchment.errors import BadBody
from catchment.inflate import GZIP, GZIP_MAGIC, Cap, Inflater

UTF_8 = "utf-8"
_CHINESE = "gb18030"

_HEAD = 1024
_DECLARATION = re.compile(rb"<\?xml[^>]*?\sencoding\s*=\s*[\"']\s*([A-Za-z0-9._:-]{1,40})\s*[\"']", re.IGNORECASE)
_CHARSET = re.compile(r"charset\s*+=\s*+[\"']?\s*+([A-Za-z0-9._:-]{1,40})", re.IGNORECASE)

_MARKS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),  # before UTF-16, whose mark it starts with
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
# The first characters of a document without a mark.
_SHAPES = (
    (re.compile(rb"[<{\s]\0\0\0"), "utf-32-le"),
    (re.compile(rb"\0\0\0[<{\s]"), "utf-32-be"),
    (re.compile(rb"[<{\s]\0[^\0]\0"), "utf-16-le"),
    (re.compile(rb"\0[<{\s]\0[^\0]"), "utf-16-be"),
)
# Names under which people send a larger set of characters; the same list browsers keep.
_SUPERSETS = {
    "ascii": "cp1252",
    "iso8859-1": "cp1252",
    "iso8859-9": "cp1254",
    "iso8859-11": "cp874",
    "tis-620": "cp874",
    "gb2312": _CHINESE,
    "gbk": _CHINESE,
    "big5": "big5hkscs",
    "shift_jis": "cp932",
    "euc_kr": "cp949",
}
# These hide in plain ASCII, so valid UTF-8 proves nothing against them.
_SEVEN_BIT = ("iso2022", "hz")
_STRETCHES = re.compile(rb"(?=\x1b)")
# Codecs of Python that are no text encodings, or that no feed may choose (their decoding can be abused).
_NOT_FOR_FEEDS = ("utf-7", "idna", "punycode", "unicode-escape", "raw-unicode-escape", "undefined", "mbcs", "oem")
# What a server says when nobody told it.
_DEFAULTS_OF_SERVERS = ("cp1252", "utf-8")
# Of what is not ASCII, no more than such a part may be unreadable; more where texts cut by bytes may be short,
# and where hardly anything could be read if it were another encoding.
_MOSTLY, _LARGELY = 20, 4
# What programs of Windows mean by the codes that Unicode keeps for control characters.
_C1 = re.compile(rb"\xc2[\x80-\x9f]")
_WINDOWS = {code: bytes([code]).decode("cp1252", "ignore").encode() for code in range(0x80, 0xA0)}
# Two bytes of these may happen to be a character of UTF-8 as well; a single byte of the others never is.
_MULTIBYTE = ("gb", "big5", "cp932", "cp949", "euc", "shift")
_STRAYS = "catchment.windows"
# Characters beyond U+FFFF in two halves, each as if it were a character, as old Java and databases write emoji.
_HALVES = re.compile(rb"(?:\xed[\xa0-\xbf][\x80-\xbf])+")
# In text of GB18030, where a byte beyond ASCII starts a pair and ASCII is passed over.
_PAIR = re.compile(rb"[\x81-\xfe][\x30-\xfe]")
# The first level of GB2312: 3,755 characters in the order of Pinyin, 99 in 100 of those that anybody writes.
_FIRST_LEVEL = re.compile(rb"[\xb0-\xd7][\xa1-\xfe]")
_CHINESE_SIGNS = re.compile(rb"[\xa1\xa3][\xa1-\xfe]")
# The first bytes of Korean syllables end before; the second half of Pinyin, from `qing` on, does not.
_AFTER_KOREAN = b"\xc9"
# What a pair or two could happen to be.
_TOO_FEW_CHARACTERS = 4


def _read_as_windows(error: UnicodeError) -> tuple[str, int]:
    """How to decode bytes that are not UTF-8 where everything else is."""
    assert isinstance(error, UnicodeDecodeError)
    if halves := _HALVES.match(error.object, error.start):
        text = halves[0].decode(UTF_8, "surrogatepass")
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace"), halves.end()
    return error.object[error.start : error.end].decode("cp1252", "replace"), error.end


codecs.register_error(_STRAYS, _read_as_windows)


def as_utf8(body: bytes, content_type: str = "") -> bytes:
    """The document as UTF-8, declared as such, without mark and leading blanks."""
    return read_as(body, content_type)[0]


def read_as(body: bytes, content_type: str = "") -> tuple[bytes, str]:
    """The same, and by which codec its bytes were read."""
    document, encoding = _read_as(_unpacked(body), content_type)
    return _C1.sub(_windows, document) if b"\xc2" in document else document, encoding


def _unpacked(body: bytes) -> bytes:
    """The document, also of a server that packs it and does not say so; what cannot be unfolded stays as it is."""
    if not body.startswith(GZIP_MAGIC):
        return body
    gunzip = _Gunzip(_MAX_UNPACKED)
    try:
        return b"".join([*gunzip.feed(body), *gunzip.finish()])
    except BadBody:
        return body


def _windows(code: re.Match[bytes]) -> bytes:
    return _WINDOWS[code[0][1]] or code[0]


def _read_as(body: bytes, content_type: str) -> tuple[bytes, str]:
    encoding = _marked(body) or _shaped(body)
    if encoding:
        errors = _STRAYS if encoding == UTF_8 else "replace"
        return _rewritten(body.decode(encoding, errors).removeprefix("\ufeff")), UTF_8
    declared = _declared(body)
    if _is_utf8(body) and not (declared or "").startswith(_SEVEN_BIT):
        return (body if declared == UTF_8 else _redeclared(body)).lstrip(), UTF_8
    text, encoding = _decode(body, _charset(content_type), declared)
    return _rewritten(text), encoding


def encoding_of_start(head: bytes) -> str:
    """The codec for a document of which only the start is known; it passes over a byte order mark."""
    encoding = _marked(head) or _shaped(head)
    if encoding:
        return "utf-8-sig" if encoding == "utf-8" else encoding
    declared = _declared(head) or "utf-8"
    if head.isascii() or declared.startswith(_SEVEN_BIT):
        return declared
    if _starts_as_utf8(head):
        return "utf-8"
    return declared if declared != "utf-8" else "cp1252"


def _starts_as_utf8(head: bytes) -> bool:
    """Whether it is UTF-8, the last character of which may be cut."""
    try:
        codecs.getincrementaldecoder("utf-8")().decode(head)
    except UnicodeDecodeError:
        return False
    return True


def _marked(body: bytes) -> str | None:
    return next((name for mark, name in _MARKS if body.startswith(mark)), None)


def _shaped(body: bytes) -> str | None:
    if b"\0" not in body[:4]:
        return None
    return next((name for shape, name in _SHAPES if shape.match(body)), None)


def _declared(body: bytes) -> str | None:
    match = _DECLARATION.search(body, 0, _HEAD)
    return _known(match[1].decode("ascii")) if match else None


def _charset(content_type: str) -> str | None:
    match = _CHARSET.search(content_type)
    return _known(match[1]) if match else None


def _known(name: str) -> str | None:
    """The codec to use for a name, None for one that nobody knows."""
    try:
        codec = codecs.lookup(name)
        "".encode(codec.name)  # raises for the codecs that do not make text
    except (LookupError, UnicodeError, ValueError):
        return None
    if codec.name.replace("_", "-") in _NOT_FOR_FEEDS or codec.name.startswith(("utf-16", "utf-32")):
        return None  # wide ones show it by their zero bytes, and these bytes did not
    return _SUPERSETS.get(codec.name, codec.name)


def _is_utf8(body: bytes) -> bool:
    try:
        body.decode()
    except UnicodeDecodeError:
        return False
    return True


def _decode(body: bytes, charset: str | None, declared: str | None) -> tuple[str, str]:
    believed = [declared, charset] if charset in _DEFAULTS_OF_SERVERS else [charset, declared]
    if _is_nearly_utf8(body, believed):
        return body.decode(UTF_8, _STRAYS), UTF_8
    if declared in {None, UTF_8} and charset in {None, *_DEFAULTS_OF_SERVERS} and _is_chinese(body):
        return body.decode(_CHINESE), _CHINESE
    for encoding in dict.fromkeys(believed):
        if encoding and encoding != UTF_8:
            text = body.decode(encoding, "replace")
            if not _spoilt(text, _LARGELY if encoding.startswith(_MULTIBYTE) else _MOSTLY):
                return text, encoding
            if encoding.startswith(_SEVEN_BIT) and body.isascii():
                return _in_stretches(body, encoding), encoding
    text = body.decode(UTF_8, "replace")
    return (body.decode("cp1252", "replace"), "cp1252") if _spoilt(text) else (text, UTF_8)


def _is_chinese(body: bytes) -> bool:
    """Whether bytes that are no UTF-8 are GB18030, to judge by themselves: all of them can be read so, and four
    characters in five are common ones.

    In Western text a byte beyond ASCII stands by itself: with the letter after it, it is a rare character, and with a
    blank or a bracket none at all. Of Big5 and Shift_JIS, half of the pairs are rare ones too; EUC-JP is full of kana,
    and Korean has nothing in the second half of Pinyin, where every other Chinese character is.
    """
    try:
        body.decode(_CHINESE)
    except UnicodeDecodeError:
        return False
    pairs = Counter(_PAIR.findall(body))
    common = {pair: often for pair, often in pairs.items() if _FIRST_LEVEL.match(pair)}
    if len(common) < _TOO_FEW_CHARACTERS:
        return False
    written = sum(common.values())
    signs = sum(often for pair, often in pairs.items() if _CHINESE_SIGNS.match(pair))
    late = sum(often for pair, often in common.items() if pair >= _AFTER_KOREAN)
    return 5 * (written + signs) >= 4 * pairs.total() and 10 * late >= written


def _in_stretches(body: bytes, encoding: str) -> str:
    """Each stretch by itself: where one is damaged, the sign that ends it would be taken for half a character."""
    return "".join(stretch.decode(encoding, "replace") for stretch in _STRETCHES.split(body))


def _is_nearly_utf8(body: bytes, believed: Collection[str | None]) -> bool:
    """Whether more of it can be read as UTF-8 than cannot; far more, where what is declared may look alike."""
    whole = _HALVES.sub(b"", body)
    text = whole.decode("utf-8", "surrogateescape")
    strays = len(text) - len(text.encode("utf-8", "ignore").decode())
    read = len(text) - len(text.encode("ascii", "ignore")) - strays
    needed = 4 if any(name and name.startswith(_MULTIBYTE) for name in believed) else 1
    return (strays > 0 or len(whole) < len(body)) and needed * strays <= read


def _spoilt(text: str, part: int = _MOSTLY) -> bool:
    """Whether too much of what is not ASCII could not be read for this to be the right encoding."""
    lost = text.count("\ufffd")
    if not lost:
        return False
    foreign = len(text) - len(text.encode("ascii", "ignore"))
    return lost * part > foreign


def _rewritten(text: str) -> bytes:
    return _redeclared(text.encode("utf-8", "replace")).lstrip()


def _redeclared(body: bytes) -> bytes:
    match = _DECLARATION.search(body, 0, _HEAD)
    return body[: match.start(1)] + b"utf-8" + body[match.end(1) :] if match else body


_MAX_BYTES: Final = 100 * 1024 * 1024
#: Of a document that is read in one go: as much as is fetched of one that is not packed.
_MAX_UNPACKED: Final = 10 * 1024 * 1024
_MAX_RATIO: Final = 200.0
#: How much of a document is seen before its encoding is settled.
_HEAD_BYTES: Final = 4096


class IncomingText:
    """Raises BadBody for a bomb, and for gzip that is damaged or cut short."""

    def __init__(self) -> None:
        self._gunzip = _Gunzip(_MAX_BYTES)
        self._decoder = _Decoder()

    def feed(self, chunk: bytes) -> Iterator[str]:
        return map(self._decoder.feed, self._gunzip.feed(chunk))

    def finish(self) -> Iterator[str]:
        yield from map(self._decoder.feed, self._gunzip.finish())
        yield self._decoder.finish()


class _Gunzip:
    """Tells by the first two bytes, since names and headers lie, and passes on what is not packed."""

    def __init__(self, max_bytes: int) -> None:
        self._start: bytes | None = b""
        self._inflater: Inflater | None = None
        self._cap = Cap(max_bytes=max_bytes, max_ratio=_MAX_RATIO)

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
