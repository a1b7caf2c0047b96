"""Ampersands that nobody escaped, in documents that are to be XML.

Parsers lose the text around them, or refuse the document. Mended here, one of them costs nothing but itself.
"""

from __future__ import annotations

import re
from html import escape
from html.entities import html5

# One that starts none of the references that every XML parser knows; maybe one of HTML's.
_STRAY = re.compile(
    rb"&(?!(?:amp|lt|gt|quot|apos|#[0-9]{1,7}|#[xX][0-9a-fA-F]{1,6});)(?P<name>[A-Za-z][A-Za-z0-9]{1,31};)?"
)
_CDATA, _CDATA_END = b"<![CDATA[", b"]]>"


def mended(document: bytes) -> bytes:
    """The document with each of them escaped, or with the character that it stands for in HTML."""
    if not _has_strays(document):
        return document
    head, *sections = document.split(_CDATA)
    parts = [_STRAY.sub(_escaped, head)]
    for section in sections:
        inner, end, rest = section.partition(_CDATA_END)
        parts += (_CDATA, inner, end, _STRAY.sub(_escaped, rest))
    return b"".join(parts)


def _has_strays(document: bytes) -> bool:
    """Whether there is one outside CDATA, where HTML's own entities belong."""
    position, begin = document.find(b"&"), 0
    while position >= 0 and (stray := _STRAY.search(document, position)):
        opened = document.rfind(_CDATA, begin, stray.start())
        closed = document.find(_CDATA_END, opened) if opened >= 0 else -1
        if closed < stray.start():
            return True
        position = begin = closed
    return False


def _escaped(stray: re.Match[bytes]) -> bytes:
    name = stray["name"] or b""
    character = html5.get(name.decode("ascii"))
    return b"&amp;" + name if character is None else escape(character, quote=False).encode()
