"""What a feed says, in one shape whatever its format was, and safe to store and to show."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import lru_cache
from hashlib import sha256
from itertools import pairwise
from typing import Any, NamedTuple
from urllib.parse import urljoin, urlsplit

from catchment.parse.html import HtmlCleaner, one_line, plain_text, plain_texts, storable, with_line_breaks

MAX_ENTRIES = 500
MAX_TITLE = 500
_MAX_NAME = 200
_MAX_ID = 2_048
_MAX_URL = 8_192
_MAX_ATTACHED = 50

_WEB = ("http://", "https://")
# What a reader may follow from a list of items; `javascript:` and its kin must never be one click away.
_FOLLOWED = (*_WEB, "ftp://", "gemini://", "gopher://", "magnet:")
_DIGITS = re.compile("[0-9]+")
_NO_LINE_BREAKS = str.maketrans("", "", "\t\r\n")
# What is left of a section that was closed once too often; no id or link has it.
_DEBRIS = "]]>"
# No URL holds these as they are; escaped, they cannot end an attribute wherever the link is shown.
_ESCAPED = str.maketrans({"<": "%3C", ">": "%3E", '"': "%22"})


class ParsedEnclosure(NamedTuple):
    """A file that belongs to an entry. `length` is what the feed claims, in bytes; 0 when unsaid."""

    url: str
    type: str = ""
    length: int = 0


class ParsedEntry(NamedTuple):
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
    enclosures: tuple[ParsedEnclosure, ...]
    tags: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ParsedFeed:
    title: str
    link: str
    entries: tuple[ParsedEntry, ...]
    #: Entries that make no sense.
    left_out: int = 0
    #: How many entries were cut: there are more than are taken at once, and these are the oldest.
    cut: int = 0
    #: Something in the document could not be read as it was meant: texts may be less than what was written.
    is_damaged: bool = False
    #: And its end is not there.
    is_cut_off: bool = False
    #: The codec by which its bytes were read.
    encoding: str = "utf-8"


class RawEntry(NamedTuple):
    """One entry as its parser found it: nothing of it is clean, and its links may be relative."""

    id: str
    link: str
    title: str
    author: str
    published: datetime | None
    updated: datetime | None
    #: As HTML, like the content; "" where the feed gives none.
    summary: str
    content: str
    enclosures: Collection[ParsedEnclosure] = ()
    tags: Collection[str] = ()
    #: What the links in its texts are relative to; "" where it is what the document's are.
    base: str = ""
    #: Its title, where something in it looks like markup and is none.
    plain_title: str = ""
    #: Its content is several lines of text, in which markup is escaped.
    has_plain_lines: bool = False


class EntryMaker:
    """Makes entries of what was found in one document, whose links are relative to `base`.

    It goes by field rather than by entry: nearly always one look at all the titles, or all the links, says that
    nothing has to be done about any of them.
    """

    def __init__(self, base: str, *, summaries: bool) -> None:
        self._base = base
        self._summaries = summaries
        self._cleaner = HtmlCleaner(base)
        #: By the base of their own that some entries have.
        self._cleaners: dict[str, HtmlCleaner] = {"": self._cleaner}

    def make(self, found: Sequence[RawEntry]) -> tuple[ParsedEntry, ...]:
        if not found:
            return ()
        ids, links, titles, authors, published, updated, summaries, contents, files, tags, bases, plain, lined = zip(
            *found, strict=True
        )
        own_ids = _identities(ids)
        pages = self._pages(links, own_ids)
        names = plain_texts(titles, MAX_TITLE)
        if any(plain) or any(lined):
            # What has neither is known by its words: if these were read otherwise, it would come once more.
            known = [bool(own or page) for own, page in zip(own_ids, pages, strict=True)]
            names = [
                one_line(title, MAX_TITLE) if title and is_known else name
                for name, title, is_known in zip(names, plain, known, strict=True)
            ]
            contents = tuple(
                with_line_breaks(content) if is_lined and is_known else content
                for content, is_lined, is_known in zip(contents, lined, known, strict=True)
            )
        columns = (
            own_ids,
            pages,
            names,
            map(_name, authors),
            published,
            updated,
            *self._texts(summaries, contents, bases),
            [self._attached(some) if some else () for some in files],
            [_names(some) if some else () for some in tags],
        )
        return tuple(map(ParsedEntry._make, zip(*columns, strict=True)))

    def _texts(
        self, summaries: Sequence[str], contents: Sequence[str], bases: Sequence[str]
    ) -> tuple[Sequence[str], Sequence[str]]:
        """Both sanitised; an empty one, or a summary that is not wanted, takes the other's text."""
        given = list(zip(summaries, contents, strict=True))
        bodies = self._cleaned([content or summary for summary, content in given], bases)
        if not self._summaries:
            return bodies, bodies
        own = [summary if content and summary != content else "" for summary, content in given]
        return [text or body for text, body in zip(self._cleaned(own, bases), bodies, strict=True)], bodies

    def _cleaned(self, texts: Sequence[str], bases: Sequence[str]) -> Sequence[str]:
        if not any(bases):
            return self._cleaner.clean_all(texts)
        return [self._cleaner_for(base).clean(text) for text, base in zip(texts, bases, strict=True)]

    def _cleaner_for(self, base: str) -> HtmlCleaner:
        if base not in self._cleaners:
            self._cleaners[base] = HtmlCleaner(absolute(base, self._base))
        return self._cleaners[base]

    def _pages(self, links: Sequence[str], ids: Sequence[str]) -> list[str]:
        """The page of each entry; without a link, the id is one where it is an address."""
        pages = _absolutes(links, self._base)
        if "&amp;" in "".join(pages):
            # Escaped once too often. What has no id is known by its page: read otherwise, it would come once more.
            pages = [page.replace("&amp;", "&") if own else page for page, own in zip(pages, ids, strict=True)]
        if all(pages):
            return pages
        return [page or (own if own.startswith(_WEB) else "") for page, own in zip(pages, ids, strict=True)]

    def _attached(self, enclosures: Collection[ParsedEnclosure]) -> tuple[ParsedEnclosure, ...]:
        found: dict[str, ParsedEnclosure] = {}
        for given in enclosures:
            if url := absolute(given.url, self._base):
                kind = plain_text(given.type, _MAX_NAME)
                found.setdefault(url, ParsedEnclosure(url=url, type=kind, length=given.length))
        return tuple(found.values())[:_MAX_ATTACHED]


def newest(count: int, describe: Callable[[int], tuple[datetime | None, str]]) -> Sequence[int]:
    """The places of the newest entries, in their order. `describe` gives the date of an entry, and its id or link.

    Where there are no dates the first are the newest, unless their numbers grow.
    """
    if count <= MAX_ENTRIES:
        return range(count)
    dates, names = zip(*map(describe, range(count)), strict=True)
    moments = _filled(dates)
    grows = _grows(moments) if any(dates) else _grows([_number(name) for name in names])
    ranks = [(moment, place if grows else -place) for place, moment in enumerate(moments)]
    kept = sorted(range(count), key=ranks.__getitem__, reverse=True)[:MAX_ENTRIES]
    return sorted(kept)


def _filled(dates: Sequence[datetime | None]) -> list[datetime]:
    """One without a date is as old as the one before it."""
    last = next(filter(None, dates), datetime.min.replace(tzinfo=UTC))
    filled = []
    for date in dates:
        last = date or last
        filled.append(last)
    return filled


def _grows(values: Sequence[Any]) -> bool:
    """Whether they mostly go up."""
    pairs = list(pairwise(values))
    return bool(sum(a < b for a, b in pairs) > 2 * sum(a > b for a, b in pairs))


def _number(name: str) -> int:
    """The last number in an id or a link."""
    digits = _DIGITS.findall(name[-_MAX_NAME:])
    return int(digits[-1]) if digits else 0


def absolute(link: str, base: str) -> str:
    """The link as an address to follow, or "" where it is none."""
    if not link:
        return ""
    if not _is_tidy(link):
        link = _tidied(link)
    if not link.startswith(_FOLLOWED):
        link = _joined(base, link)
    return link if len(link) <= _MAX_URL else ""


def has_lines(text: str) -> bool:
    """Whether it has more than one."""
    return "\n" in text.strip() or "\r" in text.strip()


def size_in_bytes(value: object) -> int:
    """What a feed claims as the length of a file; nonsense and unlikely sizes are 0."""
    text = str(value).strip()
    return int(text) if text.isascii() and text.isdigit() and len(text) <= len("999_999_999_999") else 0


def feed_base(link: str, url: str) -> str:
    """What relative links of a feed are relative to, where the feed itself does not say it."""
    return next((base for base in (absolute(link, url), url) if base.startswith(_WEB)), "")


def _absolutes(links: Sequence[str], base: str) -> list[str]:
    if _is_tidy("".join(links)) and max(map(len, links)) <= _MAX_URL:
        return [link if link.startswith(_FOLLOWED) else absolute(link, base) for link in links]
    return [absolute(link, base) for link in links]


def _is_tidy(link: str) -> bool:
    return link.isprintable() and not (" " in link or "<" in link or ">" in link or '"' in link)


def _tidied(link: str) -> str:
    return storable(link).replace(_DEBRIS, "").translate(_NO_LINE_BREAKS).strip().translate(_ESCAPED)


def _joined(base: str, link: str) -> str:
    try:
        joined = urljoin(base, link)
        is_relative = not base and not urlsplit(joined).scheme
    except ValueError:  # such as a bracket that opens no IPv6 address
        return ""
    return joined if is_relative or joined.lower().startswith(_FOLLOWED) else ""


def _identities(given: Sequence[str]) -> list[str]:
    every = "".join(given)
    if every.isprintable() and _DEBRIS not in every and max(map(len, given)) <= _MAX_ID:
        return [entry_id.strip() for entry_id in given]
    return [_identity(entry_id) for entry_id in given]


def _identity(given: str) -> str:
    entry_id = storable(given).replace(_DEBRIS, "").strip()
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
