"""Sitemaps of any kind, read as they arrive: what is held does not grow with them.

A sitemap may be XML, a feed or plain text, packed or not. A broken entry spoils itself only.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from datetime import datetime
from typing import Final, NamedTuple, Protocol
from urllib.parse import urlsplit

from catchment.errors import ParseError
from catchment.parse.dates import parse_loose_date
from catchment.parse.encoding import IncomingText
from catchment.parse.entry import MAX_TITLE, absolute
from catchment.parse.html import plain_text
from catchment.parse.wellformed import Scanner, Start, resolved

_WEB: Final = ("http://", "https://")
_SCHEMES: Final = ("http", "https")
#: An address of which nothing but its host need be looked at, as nearly all are.
_PLAIN_HOST: Final = re.compile(r"https?://[\w.-]+(?:[/?#]|\Z)", re.IGNORECASE | re.ASCII)
#: A field or a line that is longer holds no link.
_LONGEST: Final = 16_384
_LINE_END: Final = re.compile(r"[\r\n]")
_BLANK: Final = " \t\r\n\0\ufeff"
#: Blanks, and whole lines that neither are an address nor hold markup.
_JUNK: Final = re.compile(
    rf"[{_BLANK}]*+(?:(?!https?://)[^<\r\n]{{1,{_LONGEST - 1}}}+[\r\n][{_BLANK}]*+)*", re.IGNORECASE
)

#: Which elements are entries, by the root of the document.
_ENTRIES: Final = {
    "urlset": ("url", "sitemap"),
    "sitemapindex": ("sitemap", "url"),
    "rss": ("item",),
    "rdf": ("item",),
    "feed": ("entry",),
}
#: Of these nothing but entries is expected; a feed says something of itself as well.
_OF_ADDRESSES: Final = frozenset({"urlset", "sitemapindex"})
_OF_PAGES: Final = frozenset({"html", "head", "body"})
# The first of them that says something counts. Extensions are told by the prefixes that nearly everybody gives them.
_LINKS: Final = ("loc", "link", "guid", "id")
_DATES: Final = (
    "lastmod", "updated", "pubdate", "dc:date", "published", "news:publication_date", "video:publication_date",
)  # fmt: skip
_TITLES: Final = ("title", "news:title", "video:title", "image:title")
_FIELDS: Final = frozenset({*_LINKS, *_DATES, *_TITLES})
#: Of those who give them others, by what their names hold.
_EXTENSIONS: Final = {"/sitemap-news/": "news", "/sitemap-video/": "video", "/sitemap-image/": "image", "/dc/": "dc"}
_MAX_PREFIXES: Final = 20
#: These may be links, or any other name of an entry.
_NAMES: Final = frozenset({"guid", "id"})


_USUAL: Final = re.compile(
    r"\s*<url>\s*<loc>(?P<loc>[^<&]{1,2048})</loc>\s*(?:<lastmod>(?P<lastmod>[^<&]{0,64})</lastmod>\s*)?"
    r"(?:<changefreq>[^<]{0,64}</changefreq>\s*)?(?:<priority>[^<]{0,64}</priority>\s*)?</url>"
)


class SitemapEntry(NamedTuple):
    url: str
    #: UTC; None where it is not said or makes no sense.
    lastmod: datetime | None
    is_sitemap: bool
    title: str = ""


class SitemapParser:
    """Takes a sitemap in portions and gives each entry as soon as it is complete.

    Both methods raise ParseError for what is no sitemap, and BadBody for what is badly packed.
    """

    def __init__(self, url: str) -> None:
        self._url = url
        self._incoming = IncomingText()
        self._opening = ""
        self._reader: _PortionReader | None = None

    @property
    def is_whole(self) -> bool:
        """Whether the document came to its end. What a cut one does not list may still be there."""
        return self._reader is not None and self._reader.is_whole

    def feed(self, chunk: bytes) -> list[SitemapEntry]:
        return self._read(self._incoming.feed(chunk))

    def close(self) -> list[SitemapEntry]:
        entries = self._read(self._incoming.finish())
        if self._reader is None:
            entries += self._begin(is_all=True)
        if self._reader is None:
            raise ParseError(f"{self._url} is no sitemap: it is neither XML nor a list of addresses; check the URL")
        return [*entries, *self._reader.finish()]

    def _read(self, texts: Iterable[str]) -> list[SitemapEntry]:
        entries: list[SitemapEntry] = []
        for text in texts:
            if self._reader is not None:
                entries += self._reader.feed(text)
            else:
                self._opening += text
                entries += self._begin()
        return entries

    def _begin(self, *, is_all: bool = False) -> Iterator[SitemapEntry]:
        """Settle on how to read it, once enough of it is there to tell."""
        kind, self._opening = _kind_of(self._opening, is_all=is_all)
        if kind is None:
            return iter(())
        self._reader = kind(self._url)
        return self._reader.feed(self._opening)


class _PortionReader(Protocol):
    is_whole: bool

    def __init__(self, url: str) -> None: ...

    def feed(self, text: str) -> Iterator[SitemapEntry]: ...

    def finish(self) -> Iterator[SitemapEntry]: ...


def _kind_of(opening: str, *, is_all: bool) -> tuple[type[_PortionReader] | None, str]:
    """The kind of a document, None while it is open, and the text to go on with: lines of junk are dropped."""
    start = _after_junk(opening, 0)
    while start < len(opening):
        end = _end_of_line(opening, start, is_all=is_all)
        bracket = opening.find("<", start, end)
        if bracket >= 0 and (end is not None or bracket == start):
            return _Markup, opening[bracket:]
        if end is None:
            break
        if opening[start : start + len("https://")].lower().startswith(_WEB):
            return _Lines, opening[start:]
        start = _after_junk(opening, end)
    return None, opening[start:]


def _after_junk(text: str, start: int) -> int:
    junk = _JUNK.match(text, start)
    return junk.end() if junk else start


def _end_of_line(text: str, start: int, *, is_all: bool) -> int | None:
    """None while it is not there. A line without any end is cut somewhere."""
    end = _LINE_END.search(text, start, start + _LONGEST)
    if end is not None:
        return end.start()
    return min(start + _LONGEST, len(text)) if is_all or len(text) - start >= _LONGEST else None


class _Lines:
    """One address a line."""

    is_whole = True

    def __init__(self, url: str) -> None:
        self._url = url
        self._rest = ""

    def feed(self, text: str) -> Iterator[SitemapEntry]:
        *lines, rest = _LINE_END.split(self._rest + text)
        # Of a line that is too long to hold an address, no more is kept than tells so.
        self._rest = rest[: _LONGEST + 1]
        return self._entries(lines)

    def finish(self) -> Iterator[SitemapEntry]:
        return self._entries([self._rest])

    def _entries(self, lines: list[str]) -> Iterator[SitemapEntry]:
        for line in lines:
            link = line.strip(_BLANK)
            url = _address(link, self._url) if link.lower().startswith(_WEB) and len(line) <= _LONGEST else ""
            if url:
                yield SitemapEntry(url, None, is_sitemap=False)


class _Markup:
    """XML, well-formed or not: sitemaps, indexes of them, and feeds that serve as one."""

    def __init__(self, url: str) -> None:
        self.is_whole = False
        self._url = url
        self._scanner = Scanner()
        self._root = ""
        self._entry_names: frozenset[str] = frozenset()
        self._lists_addresses = False
        #: There is something in it that is an entry, or stands where only entries do.
        self._saw_entry = False
        self._given = 0
        # The entry that is open: the name of its element, the prefix of its own fields, and what they say.
        self._entry = ""
        self._prefix = ""
        #: The usual prefixes of extensions that have others here.
        self._usual: dict[str, str] = {}
        self._fields: dict[str, str] = {}
        # The field that is open.
        self._field = ""
        self._text = ""

    def feed(self, text: str) -> Iterator[SitemapEntry]:
        self._scanner.feed(text)
        while True:
            if self._is_between_urls():
                yield from self._usual_entries()
            token = self._scanner.next()
            if token is None:
                return
            if isinstance(token, str):
                self._add(token)
            elif (entry := self._start(token) if isinstance(token, Start) else self._end(token.name)) is not None:
                self._given += 1
                yield entry

    def finish(self) -> Iterator[SitemapEntry]:
        if not self._root:
            raise ParseError(f"{self._url} is no sitemap: nothing in it belongs to one; check the URL")
        # What was cut off in its midst is another address, or another date.
        self._field = self._text = ""
        last = self._end_entry()
        if last is not None:
            yield last
        elif not self._given and (self._saw_entry or not self.is_whole):
            raise ParseError(f"{self._url} is a broken sitemap: no address in it can be read")

    def _is_between_urls(self) -> bool:
        return not self._entry and "url" in self._entry_names

    def _usual_entries(self) -> Iterator[SitemapEntry]:
        """Entries written as nearly all are, taken in one go; the first that is not is left where it is."""
        while (found := self._scanner.take(_USUAL)) is not None:
            self._saw_entry = True
            fields = {name: text for name, given in found.groupdict().items() if (text := (given or "").strip(_BLANK))}
            entry = self._entry_of(fields, is_sitemap=False)
            if entry is not None:
                self._given += 1
                yield entry

    def _add(self, text: str) -> None:
        if self._field and len(self._text) < _LONGEST:
            self._text += text

    def _start(self, tag: Start) -> SitemapEntry | None:
        if not self._root:
            self._open(tag)
        elif tag.name in self._entry_names:
            return self._start_entry(tag)
        elif self._entry:
            self._start_field(tag)
        elif self._lists_addresses:
            self._saw_entry = True
        return None

    def _end(self, name: str) -> SitemapEntry | None:
        if self._field and self._name_of_field(name) == self._field:
            self._end_field()
        elif name in self._entry_names:
            self._saw_entry = True
            return self._end_entry() if name == self._entry else None
        elif name == self._root:
            self.is_whole = True
            return self._end_entry()
        return None

    def _open(self, tag: Start) -> None:
        self._declare(tag)
        prefix, colon, name = tag.name.rpartition(":")
        if name in _OF_PAGES:
            raise ParseError(f"{self._url} gives a web page instead of a sitemap; check the URL")
        if name in _ENTRIES:
            self._root = tag.name
            self._entry_names = frozenset(own + entry for entry in _ENTRIES[name] for own in ("", prefix + colon))
            self._lists_addresses = name in _OF_ADDRESSES
            self.is_whole = tag.is_empty
        else:
            self._saw_entry = True

    def _start_entry(self, tag: Start) -> SitemapEntry | None:
        """What was never closed ends where the next begins."""
        finished = self._end_entry()
        self._saw_entry = True
        self._entry = "" if tag.is_empty else tag.name
        self._prefix = tag.name[: tag.name.rfind(":") + 1]
        return finished

    def _start_field(self, tag: Start) -> None:
        self._declare(tag)
        name = self._name_of_field(tag.name)
        if name not in _FIELDS:
            return
        self._end_field()
        if name == "link" and tag.rest.strip("/ "):
            self._keep(name, _linked_page(tag))
        self._field = "" if tag.is_empty else name

    def _declare(self, tag: Start) -> None:
        if len(self._usual) > _MAX_PREFIXES:
            return
        for name, namespace in tag.attributes().items() if "xmlns:" in tag.rest else ():
            for part, usual in _EXTENSIONS.items():
                if name.startswith("xmlns:") and part in namespace:
                    self._usual[name.removeprefix("xmlns:")] = usual

    def _name_of_field(self, written: str) -> str:
        name = written.removeprefix(self._prefix)
        prefix, colon, own = name.partition(":")
        return f"{self._usual.get(prefix, prefix)}:{own}" if colon else name

    def _end_field(self) -> None:
        if self._field and len(self._text) < _LONGEST:
            self._keep(self._field, resolved(self._text).strip(_BLANK))
        self._field = self._text = ""

    def _keep(self, name: str, value: str) -> None:
        if value:
            self._fields.setdefault(name, value)

    def _end_entry(self) -> SitemapEntry | None:
        if not self._entry:
            return None
        self._end_field()
        fields, is_sitemap = self._fields, self._entry.endswith("sitemap")
        self._fields, self._entry = {}, ""
        return self._entry_of(fields, is_sitemap=is_sitemap)

    def _entry_of(self, fields: dict[str, str], *, is_sitemap: bool) -> SitemapEntry | None:
        url = next(filter(None, (self._link(fields, name) for name in _LINKS)), "")
        return SitemapEntry(url, _date(fields), is_sitemap, _title(fields)) if url else None

    def _link(self, fields: dict[str, str], name: str) -> str:
        link = fields.get(name, "")
        if name in _NAMES and not link.lower().startswith(_WEB):
            return ""
        return _address(link, self._url)


def _address(link: str, base: str) -> str:
    """The page or sitemap that a link leads to, "" where it leads nowhere that could be asked. A fragment is a place on
    a page, and no other page.
    """
    url = absolute(link, base).partition("#")[0]
    return url if _PLAIN_HOST.match(url) or _has_host(url) else ""


def _has_host(url: str) -> bool:
    try:
        parts = urlsplit(url)
        return parts.scheme in _SCHEMES and bool(parts.hostname) and parts.port != 0
    except ValueError:  # a bracket that opens no IPv6 address, or a port that is none
        return False


def _linked_page(tag: Start) -> str:
    """The page that a link of Atom leads to."""
    attributes = tag.attributes()
    return attributes.get("href", "") if attributes.get("rel", "alternate") == "alternate" else ""


def _date(fields: dict[str, str]) -> datetime | None:
    dates = (parse_loose_date(fields[name]) for name in _DATES if name in fields)
    return next((date for date in dates if date is not None), None)


def _title(fields: dict[str, str]) -> str:
    return next((plain_text(fields[name], MAX_TITLE) for name in _TITLES if name in fields), "")


_under_way: dict[str, SitemapParser] = {}


class Portion(NamedTuple):
    """What a portion brought."""

    entries: list[SitemapEntry]
    #: Of the last portion: whether the document came to its end.
    is_whole: bool


def read_portion(portion: bytes, *, url: str, is_first: bool, is_last: bool) -> Portion:
    """Whatever was begun before is over with the first portion of another document."""
    if is_first:
        _under_way.clear()
        _under_way[url] = SitemapParser(url)
    parser = _under_way.get(url)
    if parser is None:
        raise ParseError(f"the process that read the start of {url} is gone; it is read again at the next visit")
    entries = parser.feed(portion)
    if is_last:
        del _under_way[url]
        entries += parser.close()
    return Portion(entries, parser.is_whole)
