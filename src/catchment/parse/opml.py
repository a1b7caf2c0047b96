"""OPML: lists of feeds as other readers write them.

Many are written by hand or by careless programs: markup in attributes, bare ampersands, tags that never end. So the
outlines are read one by one, each from its own stretch of the text, and a damaged one costs nothing but itself. There
is no entity to expand and nothing to recurse into.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from html import unescape

from catchment.errors import InvalidInput
from catchment.parse.encoding import as_utf8
from catchment.parse.html import storable

MAX_BYTES = 10 * 1024 * 1024
MAX_DEPTH = 20
MAX_FEEDS = 50_000
_MAX_NAME = 500
_MAX_CATEGORIES = 10_000
_FEED_TYPES = frozenset({"rss", "atom", "feed"})
#: Attributes of our own, which other readers pass over: type, config, public, active.
OWN_PREFIX = "catchment:"
OWN_NAMESPACE = "urn:catchment:opml"
OWN_TYPE = f"{OWN_PREFIX}type"

_ROOT = re.compile(r"<(?:[\w-]{1,64}:)?opml[\s>]", re.IGNORECASE)
# Where an outline starts or ends, and where no outline can go on.
_EDGE = re.compile(r"<(/?)(?:[\w-]{1,64}:)?(outline|body|opml)\b", re.IGNORECASE)
_ATTRIBUTE = re.compile(r"""(?<![\w:.-])([\w:.-]{1,64})\s{0,64}=\s{0,64}(?:"([^"]*)"|'([^']*)')""")
# Only what ends in a semicolon: `?a=1&copy=2` is an address that nobody escaped, not a sign.
_REFERENCE = re.compile(r"&(?:#[0-9]{1,7}|#[xX][0-9a-fA-F]{1,6}|[a-zA-Z][a-zA-Z0-9]{1,30});")


@dataclass(frozen=True, slots=True, kw_only=True)
class FeedOutline:
    """One feed of the list, as it is written there. `url` is "" where the address is missing."""

    url: str
    name: str
    #: The folders it lies in, from the outside in, and its categories.
    tags: tuple[str, ...] = ()
    line: int = 0
    #: The page that the feed belongs to.
    html_url: str = ""
    #: What we wrote there for ourselves, by the name after our prefix.
    own: Mapping[str, str] = field(default_factory=dict)
    #: It lies deeper than `MAX_DEPTH` folders.
    too_deep: bool = False
    #: A sign that neither XML nor HTML knows (`&harbour;`), so that nobody can tell what is meant; "" for none.
    undefined: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Outline:
    """An outline as it stands in the text: its attributes by lower-case name, and whether it ends by itself."""

    fields: dict[str, str]
    line: int
    is_closed: bool
    undefined: str

    @property
    def is_feed(self) -> bool:
        """It has a feed's address, or is meant to have one. A folder may have an empty one."""
        if self.address or OWN_TYPE in self.fields:
            return True
        return self.is_closed and ("xmlurl" in self.fields or self._is_typed)

    @property
    def address(self) -> str:
        """The feed's; some programs call it just url, as others call that of a page."""
        url = self.fields.get("xmlurl", "") or (self.fields.get("url", "") if self._is_typed else "")
        return url.strip()

    @property
    def _is_typed(self) -> bool:
        return self.fields.get("type", "").lower() in _FEED_TYPES

    @property
    def name(self) -> str:
        """What is shown of an outline is its text; some programs write only a title."""
        return _folded(self.fields.get("text", "")) or _folded(self.fields.get("title", ""))


def read_opml(body: bytes) -> list[FeedOutline]:
    """The feeds in the order of the file. Raises InvalidInput when it is no OPML, or too much of it."""
    if len(body) > MAX_BYTES:
        raise InvalidInput(f"The file is larger than {MAX_BYTES // 2**20} MiB; split it.")
    text = _without_comments(as_utf8(body).decode("utf-8", "replace"))
    feeds: list[FeedOutline] = []
    for feed in _feeds(text):
        if len(feeds) >= MAX_FEEDS:
            raise InvalidInput(f"The file lists more than {MAX_FEEDS:,} feeds; split it.")
        feeds.append(feed)
    if not feeds and not _ROOT.search(text):
        raise InvalidInput("This is no OPML: there is neither <opml> nor any feed in it.")
    return feeds


def _without_comments(text: str) -> str:
    """Their lines stay, so that the lines of the rest keep their numbers."""
    head, *parts = text.split("<!--")
    return head + "".join("\n" * comment.count("\n") + rest for comment, _, rest in (p.partition("-->") for p in parts))


def _feeds(text: str) -> Iterator[FeedOutline]:
    #: Names of the outlines that are open; "" for one that is no folder, such as a feed with an end tag.
    path: list[str] = []
    for outline in _outlines(text):
        if outline is None:
            if path:
                path.pop()
            continue
        if outline.is_feed:
            yield _feed(outline, path)
        if not outline.is_closed:
            path.append("" if outline.is_feed else outline.name)


def _outlines(text: str) -> Iterator[_Outline | None]:
    """Every outline in turn; None where one ends."""
    edges = list(_EDGE.finditer(text))
    ends = [*(edge.start() for edge in edges), len(text)][1:]
    line, counted = 1, 0
    for edge, end in zip(edges, ends, strict=True):
        if edge[2].lower() != "outline":
            continue
        if edge[1]:
            yield None
            continue
        line, counted = line + text.count("\n", counted, edge.start()), edge.start()
        stretch = text[edge.end() : end].rstrip()
        yield _Outline(
            fields=_fields(stretch),
            line=line,
            is_closed=stretch.endswith("/>"),
            undefined=next((sign for sign in _REFERENCE.findall(stretch) if unescape(sign) == sign), ""),
        )


def _fields(stretch: str) -> dict[str, str]:
    fields: dict[str, str] = {}
    for name, double, single in _ATTRIBUTE.findall(stretch):
        fields.setdefault(name.lower(), _REFERENCE.sub(lambda found: unescape(found[0]), double or single))
    return fields


def _feed(outline: _Outline, path: list[str]) -> FeedOutline:
    tags = (*filter(None, path[:MAX_DEPTH]), *_categories(outline.fields.get("category", "")))
    return FeedOutline(
        url=outline.address,
        name=outline.name,
        tags=tuple(dict.fromkeys(tags)),
        line=outline.line,
        html_url=outline.fields.get("htmlurl", "").strip(),
        own={
            name.removeprefix(OWN_PREFIX): value
            for name, value in outline.fields.items()
            if name.startswith(OWN_PREFIX)
        },
        too_deep=len(path) > MAX_DEPTH,
        undefined=outline.undefined,
    )


def _categories(text: str) -> list[str]:
    """Split by commas; one that holds a comma itself is in quotes."""
    rows = csv.reader([_folded(text, _MAX_CATEGORIES)], skipinitialspace=True)
    return [category for row in rows for one in row if (category := one.strip())]


def _folded(text: str, limit: int = _MAX_NAME) -> str:
    return " ".join(storable(text).split())[:limit]
