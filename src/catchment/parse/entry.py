"""What a feed says, in one shape whatever its format was, and safe to store and to show."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime
from functools import lru_cache
from hashlib import sha256
from typing import NamedTuple
from urllib.parse import urljoin, urlsplit

from catchment.parse.html import HtmlCleaner, plain_text, storable

MAX_ENTRIES = 500
MAX_TITLE = 500
_MAX_NAME = 200
_MAX_ID = 2_048
_MAX_URL = 8_192
_MAX_ATTACHED = 50

_WEB = ("http://", "https://")
# What a reader may follow from a list of items; `javascript:` and its kin must never be one click away.
_FOLLOWED = (*_WEB, "ftp://", "gemini://", "gopher://", "magnet:")
# The summary and the content of an entry.
Texts = tuple[str, str]
_NO_LINE_BREAKS = str.maketrans("", "", "\t\r\n")
# No URL holds these as they are; escaped, they cannot end an attribute wherever the link is shown.
_ESCAPED = str.maketrans({"<": "%3C", ">": "%3E", '"': "%22"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Enclosure:
    """A file that belongs to an entry. `length` is what the feed claims, in bytes; 0 when unsaid."""

    url: str
    type: str = ""
    length: int = 0


class Entry(NamedTuple):
    """One entry. Texts are "" where the feed says nothing; dates are UTC.

    `title` and `author` are plain text, `summary` and `content` sanitised HTML. A feed that gives only one
    of the two gives it as both, as the same string. `id` is the feed's own: an entry without one has "".
    """

    id: str
    link: str
    title: str
    author: str
    published: datetime | None
    updated: datetime | None
    summary: str
    content: str
    enclosures: tuple[Enclosure, ...]
    tags: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Feed:
    title: str
    link: str
    entries: tuple[Entry, ...]


class EntryBuilder:
    """Makes entries of one feed out of what its parser found, resolving links against `base`."""

    def __init__(self, base: str, *, summaries: bool) -> None:
        self._base = base
        self._summaries = summaries
        self._clean = HtmlCleaner(base).clean

    def texts(self, summary: str, content: str) -> Texts:
        """Both sanitised; an empty one, or a summary that is not wanted, takes the other's text."""
        body = self._clean(content or summary)
        if self._summaries and summary and content and summary != content:
            return self._clean(summary), body
        return body, body

    def build(
        self,
        *,
        id: str,  # noqa: A002 - the field's name everywhere else
        link: str,
        title: str,
        author: str,
        published: datetime | None,
        updated: datetime | None,
        texts: Texts,
        enclosures: Collection[Enclosure],
        tags: Collection[str],
    ) -> Entry:
        entry_id = _identity(id)
        return Entry(
            id=entry_id,
            link=absolute(link, self._base) or (entry_id if entry_id.startswith(_WEB) else ""),
            title=plain_text(title, MAX_TITLE),
            author=_name(author),
            published=published,
            updated=updated,
            summary=texts[0],
            content=texts[1],
            enclosures=self._attached(enclosures) if enclosures else (),
            tags=_names(tags) if tags else (),
        )

    def _attached(self, enclosures: Collection[Enclosure]) -> tuple[Enclosure, ...]:
        found: dict[str, Enclosure] = {}
        for given in enclosures:
            if url := absolute(given.url, self._base):
                kind = plain_text(given.type, _MAX_NAME)
                found.setdefault(url, Enclosure(url=url, type=kind, length=given.length))
        return tuple(found.values())[:_MAX_ATTACHED]


def absolute(link: str, base: str) -> str:
    """The link as an address to follow, or "" where it is none."""
    if not link:
        return ""
    if not link.isprintable():
        link = storable(link).translate(_NO_LINE_BREAKS)
    link = link.strip()
    if "<" in link or ">" in link or '"' in link:
        link = link.translate(_ESCAPED)
    if not link.startswith(_FOLLOWED):
        link = _joined(base, link)
    return link if len(link) <= _MAX_URL else ""


def size_in_bytes(value: object) -> int:
    """What a feed claims as the length of a file; nonsense and unlikely sizes are 0."""
    text = str(value).strip()
    return int(text) if text.isascii() and text.isdigit() and len(text) <= len("999_999_999_999") else 0


def feed_base(link: str, url: str) -> str:
    """What relative links of a feed are relative to, where the feed itself does not say it."""
    return next((base for base in (absolute(link, url), url) if base.startswith(_WEB)), "")


def _joined(base: str, link: str) -> str:
    try:
        joined = urljoin(base, link)
        is_relative = not base and not urlsplit(joined).scheme
    except ValueError:  # such as a bracket that opens no IPv6 address
        return ""
    return joined if is_relative or joined.lower().startswith(_FOLLOWED) else ""


def _identity(given: str) -> str:
    entry_id = (given if given.isprintable() else storable(given)).strip()
    if len(entry_id) > _MAX_ID:
        # Cut ids might collide, and databases do not index them whole.
        return "sha256:" + sha256(entry_id.encode()).hexdigest()
    return entry_id


def _names(tags: Collection[str]) -> tuple[str, ...]:
    folded = dict.fromkeys(map(_name, tags))
    folded.pop("", None)
    return tuple(folded)[:_MAX_ATTACHED]


def _name(text: str) -> str:
    return _short_name(text) if len(text) <= _MAX_NAME else plain_text(text, _MAX_NAME)


@lru_cache(maxsize=4096)
def _short_name(text: str) -> str:
    """Authors and tags are the same again and again."""
    return plain_text(text, _MAX_NAME)
