"""Tags and text out of markup that comes in portions and may be broken anywhere.

No document is refused and nothing is looked up: what is no tag is text, and only the references that everybody
knows are resolved. What is kept between portions is bounded, and where they end makes no difference.
"""

from __future__ import annotations

import re
from html import unescape
from typing import Final, NamedTuple

#: A tag longer than this is text.
_LONGEST_TAG: Final = 32_768

_MARKUP: Final = re.compile(
    r"<(?:(?P<slash>/?)(?P<name>[A-Za-z_][^\s<>/]*+)(?P<rest>[^<>]*+)>|(?P<section>!--|!\[CDATA\[)|[!?][^<>]*+>)"
)
_SECTION_ENDS: Final = {"!--": "-->", "![CDATA[": "]]>"}
_ROW: Final = re.compile("<+")
_BRACKET: Final = re.compile("[<>]")
_ATTRIBUTE: Final = re.compile(r"""(?<![^\s="'/])([^\s="'/]++)\s*+=\s*+(?:"([^"]*)"|'([^']*)')""")
# With its semicolon only: in a link, `&copy=1` is no sign of copyright.
_REFERENCE: Final = re.compile(r"&(?:#[0-9]{1,7}|#[xX][0-9a-fA-F]{1,6}|[A-Za-z][A-Za-z0-9]{1,31});")


class Start(NamedTuple):
    #: As written, in lower case; a prefix is part of it.
    name: str
    rest: str

    @property
    def is_empty(self) -> bool:
        return self.rest.endswith("/")

    def attributes(self) -> dict[str, str]:
        return {name.lower(): resolved(one or other) for name, one, other in _ATTRIBUTE.findall(self.rest)}


class End(NamedTuple):
    name: str


#: Text is as written and may come in pieces.
Token = Start | End | str


class Scanner:
    def __init__(self) -> None:
        self._buffer = ""
        self._at = 0
        #: How the comment or CDATA section ends that is open; "" when none is.
        self._section_end = ""
        self._is_comment = False

    def feed(self, text: str) -> None:
        self._buffer = self._buffer[self._at :] + text
        self._at = 0

    def take(self, pattern: re.Pattern[str]) -> re.Match[str] | None:
        """What comes next, if it is just this: a short cut past all the tokens in it."""
        found = None if self._section_end else pattern.match(self._buffer, self._at)
        if found is not None:
            self._at = found.end()
        return found

    def next(self) -> Token | None:
        """The next token, or None when more is needed to tell."""
        if self._section_end:
            return self._in_section()
        bracket = self._buffer.find("<", self._at)
        if bracket == self._at:
            return self._markup(bracket)
        return self._up_to(bracket if bracket >= 0 else len(self._buffer))

    def _markup(self, bracket: int) -> Token | None:
        found = _MARKUP.match(self._buffer, bracket)
        if found is None or found.end() - bracket > _LONGEST_TAG:
            return self._up_to(_stray_end(self._buffer, bracket)) if self._is_stray(bracket) else None
        self._at = found.end()
        slash, name, rest, section = found.groups()
        if name:
            return End(name.lower()) if slash else Start(name.lower(), rest)
        if section:
            self._section_end = _SECTION_ENDS[section]
            self._is_comment = section == "!--"
        return ""

    def _is_stray(self, bracket: int) -> bool:
        """Whether it is settled that no tag starts here; else the rest of it may follow."""
        if len(self._buffer) - bracket > _LONGEST_TAG:
            return True
        return _BRACKET.search(self._buffer, bracket + 1) is not None

    def _in_section(self) -> Token | None:
        end = self._buffer.find(self._section_end, self._at)
        if end < 0:
            # The end itself may be cut in two.
            inner = self._up_to(max(self._at, len(self._buffer) - len(self._section_end) + 1))
        else:
            inner = self._buffer[self._at : end]
            self._at = end + len(self._section_end)
            self._section_end = ""
        return "" if inner and self._is_comment else inner

    def _up_to(self, position: int) -> str | None:
        text = self._buffer[self._at : position]
        self._at = position
        return text or None


def _stray_end(buffer: str, bracket: int) -> int:
    """Of brackets in a row only the last can start a tag."""
    row = _ROW.match(buffer, bracket)
    return max(bracket + 1, row.end() - 1) if row else bracket + 1


def resolved(text: str) -> str:
    """The text with its character references resolved; a stray ampersand is one."""
    return _REFERENCE.sub(_character, text) if "&" in text else text


def _character(reference: re.Match[str]) -> str:
    return unescape(reference[0])
