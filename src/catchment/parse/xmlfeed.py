"""RSS, RDF and Atom of every version, out of a tree of XML.

Elements are known by what they mean, whatever their prefix: those of the entry's own namespace, of RSS and of Atom
are one vocabulary, since feeds mix them freely.
"""

from __future__ import annotations

import binascii
from base64 import b64decode
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from functools import lru_cache
from html import escape
from typing import Any, Final, TypeAlias

import lxml.etree  # type: ignore[import-untyped]

from catchment.parse.dates import parse_feed_date
from catchment.parse.entry import (
    MAX_TITLE,
    EntryMaker,
    ParsedEnclosure,
    ParsedFeed,
    RawEntry,
    absolute,
    feed_base,
    newest,
    size_in_bytes,
)
from catchment.parse.html import plain_text

#: lxml has no types of its own.
Element: TypeAlias = Any
_Fields: TypeAlias = Mapping[str, Sequence[Element]]
#: An element, or None, and what it says as HTML.
_Text: TypeAlias = tuple[Element, str]

_ROOTS: Final = frozenset({"rss", "feed", "rdf", "channel"})
_CONTAINERS: Final = frozenset({"channel", "items"})
_ENTRIES: Final = frozenset({"item", "entry"})
_ABOUT: Final = "{http://www.w3.org/1999/02/22-rdf-syntax-ns#}about"
_ANY: Final = "{*}"

# What an element means, by the family of its namespace and its name without regard to case.
_FEED_NAMES: Final = {
    name: name
    for name in (
        "guid", "title", "link", "author", "managingeditor", "creator", "category", "enclosure",
        "pubdate", "published", "issued", "created", "date", "lastbuilddate", "updated", "modified",
        "description", "summary", "content", "item",
    )
}  # fmt: skip
_NAMES: Final[Mapping[str, Mapping[str, str]]] = {
    "feed": {**_FEED_NAMES, "fullitem": "content", "body": "content"},
    "atom": {**_FEED_NAMES, "id": "id"},
    "dc": {
        "creator": "creator", "author": "creator", "date": "date", "subject": "category", "title": "other title",
        "description": "other summary", "issued": "issued", "created": "created", "modified": "modified",
    },
    "content": {"encoded": "encoded"},
    "media": {"title": "other title", "description": "media text", "group": "media", "content": "media",
              "category": "category", "keywords": "keywords"},
    "itunes": {"author": "other author", "summary": "other summary", "title": "other title", "category": "category",
               "keywords": "keywords"},
    "xhtml": {"body": "content", "div": "content"},
}  # fmt: skip
_FAMILIES: Final = (
    ("purl.org/rss/1.0/modules/content", "content"),
    ("purl.org/rss/1.0/modules/", ""),
    ("purl.org/dc/", "dc"),
    ("search.yahoo.com/mrss", "media"),
    ("rssboard.org/media-rss", "media"),
    ("podcast-1.0.dtd", "itunes"),
    ("w3.org/1999/xhtml", "xhtml"),
    ("w3.org/2005/atom", "atom"),
    ("purl.org/atom/ns", "atom"),
    ("purl.org/rss/", "feed"),
    ("purl.org/net/rss", "feed"),
    ("userland.com/rss", "feed"),
    ("netscape.com/", "feed"),
    ("harvard.edu/tech/rss", "feed"),
    ("harvard.edu/rss", "feed"),
)
# Where something is said, the first that says it is believed.
_CONTENTS: Final = ("encoded", "content")
_SUMMARIES: Final = ("description", "summary", "other summary", "media text")
_AUTHORS: Final = ("author", "creator", "other author", "managingeditor")
_PUBLICATIONS: Final = ("published", "pubdate", "issued", "created", "date")
_CHANGES: Final = ("lastbuilddate", "updated", "modified")
# Longer than any that is known, and short enough to be remembered.
_LONGEST_NAMESPACE: Final = 200
_PAGE_RELATIONS: Final = frozenset({None, "", "alternate"})
_NO_TEXT: Final[_Text] = (None, "")
_WEB: Final = ("http://", "https://")
_PLAIN: Final = frozenset({"text", "text/plain"})
_MARKUP_TYPES: Final = ("text", "html", "xhtml", "application/xml", "application/xhtml", "application/html")


def is_feed(root: Element) -> bool:
    return _local(root.tag) in _ROOTS | _ENTRIES


def read(root: Element, url: str, *, summaries: bool = True, has_bases: bool = True) -> ParsedFeed:
    """The feed in a tree. `has_bases` says whether `xml:base` may occur in it."""
    channel = next((child for child in root if _local(child.tag) == "channel"), root)
    items = [root] if _local(root.tag) in _ENTRIES else list(_items(root))
    info = _Vocabulary(_namespace(channel.tag), is_atom=_local(root.tag) == "feed").fields(channel)
    link = _link(info) or next(filter(None, map(_href, info.get("link", ()))), "")
    if has_bases:
        link = _by_own_base(link, info.get("link", ()), url)
    base = feed_base(link, url)
    author = _author({**info, "other author": ()})
    reader = _FeedReader(items, author=author, base=base, has_bases=has_bases, summaries=summaries)
    found, cut = reader.read()
    return ParsedFeed(
        title=plain_text(_title(info), MAX_TITLE),
        link=absolute(link, url),
        entries=EntryMaker(base, summaries=summaries).make(found),
        cut=cut,
    )


class _Vocabulary(dict[Any, str]):
    """What the elements of one feed mean, by their tags; each is worked out once."""

    def __init__(self, own_namespace: str, *, is_atom: bool) -> None:
        super().__init__()
        self._own_namespace = own_namespace
        self._own_family = "atom" if is_atom else "feed"

    def __missing__(self, tag: Any) -> str:
        meaning = self[tag] = _NAMES.get(self._family(tag), {}).get(_local(tag), "")
        return meaning

    def _family(self, tag: Any) -> str:
        namespace = _namespace(tag)
        known = _family(namespace[:_LONGEST_NAMESPACE])
        if known in {"atom", "feed"} or namespace not in {"", self._own_namespace}:
            return known
        return self._own_family

    def fields(self, element: Element) -> _Fields:
        """The children of an element that mean anything, by what they mean."""
        found: dict[str, list[Element]] = {}
        for child in element:
            meaning = self[child.tag]
            if meaning in found:
                found[meaning].append(child)
            elif meaning:
                found[meaning] = [child]
        return found


class _FeedReader:
    """Turns the entries of one feed into what they are made of."""

    def __init__(self, items: Sequence[Element], *, author: str, base: str, has_bases: bool, summaries: bool) -> None:
        self._items = items
        self._author = author
        self._base = base
        self._has_bases = has_bases
        self._summaries = summaries

    def read(self) -> tuple[list[RawEntry], int]:
        """The newest entries, and how many others there are."""
        if not self._items:
            return [], 0
        first = self._items[0].tag
        vocabulary = _Vocabulary(_namespace(first), is_atom=_local(first) == "entry")
        every = list(_with_fields(self._items, vocabulary))
        places = newest(len(every), lambda place: _age(*every[place]))
        return [self._found(*every[place]) for place in places], len(every) - len(places)

    def _found(self, item: Element, fields: _Fields) -> RawEntry:
        published, updated = _dates(fields)
        content, body = _richest(_texts(fields, _CONTENTS))
        # Where none is asked for, a summary only stands in for a content.
        summary, short = _summary(fields) if self._summaries or not body else _NO_TEXT
        return RawEntry(
            _id(item, fields),
            self._resolved(fields.get("link", ()), _link(fields)),
            _title(fields) or _media(fields, "title"),
            _author(fields) or self._author,
            published,
            updated,
            short,
            body,
            self._enclosures(fields),
            _tags(fields),
            self._own_base(content if content is not None else summary),
        )

    def _own_base(self, text: Element | None) -> str:
        return text.base or "" if self._has_bases and text is not None else ""

    def _resolved(self, elements: Sequence[Element], link: str) -> str:
        return _by_own_base(link, elements, self._base) if self._has_bases else link

    def _enclosures(self, fields: _Fields) -> Sequence[ParsedEnclosure]:
        links = [link for link in fields.get("link", ()) if link.get("rel") == "enclosure"]
        if not links and "enclosure" not in fields:
            return ()
        files = [(file, file.get("url") or _href(file)) for file in (*fields.get("enclosure", ()), *links)]
        return [
            ParsedEnclosure(self._resolved([file], url), file.get("type") or "", size_in_bytes(file.get("length")))
            for file, url in files
            if url
        ]


def _items(parent: Element) -> Iterator[Element]:
    """The entries in the order of the document, also those that stand beside their channel."""
    for child in parent:
        name = _local(child.tag)
        if name in _ENTRIES:
            yield child
        elif name in _CONTAINERS:
            yield from _items(child)


def _with_fields(items: Iterable[Element], vocabulary: _Vocabulary) -> Iterator[tuple[Element, _Fields]]:
    """Also of those that stand in another one, where some programs put them."""
    for item in items:
        fields = vocabulary.fields(item)
        yield item, fields
        if "item" in fields:
            yield from _with_fields(fields["item"], vocabulary)


def _age(item: Element, fields: _Fields) -> tuple[datetime | None, str]:
    return _dates(fields)[0], _id(item, fields) or _link(fields)


def _id(item: Element, fields: _Fields) -> str:
    return _first_text(fields, ("id", "guid")) or item.get(_ABOUT) or ""


def _link(fields: _Fields) -> str:
    """The page that it stands for: what a `link` holds, else where one of Atom leads to."""
    links = fields.get("link", ())
    for link in links:
        if text := _address(link):
            return text
    pages = [href for link in links if (href := _href(link)) and link.get("rel") in _PAGE_RELATIONS]
    return next((page for page in pages if page.startswith(_WEB)), pages[0] if pages else "")


def _address(link: Element) -> str:
    """What a link holds: its characters, since some hold other links."""
    return ("".join(link.itertext()) if len(link) else link.text or "").strip()


def _href(element: Element) -> str:
    return (element.get("href") or "").strip()


def _by_own_base(link: str, elements: Iterable[Element], base: str) -> str:
    """The link by the base of the element that it is from, where it has one; that may be relative to `base`."""
    if not link:
        return ""
    own = next((one.base for one in elements if link in {_address(one), _href(one)}), None)
    return absolute(link, absolute(own, base)) if own else link


def _author(fields: _Fields) -> str:
    for name in _AUTHORS:
        if name in fields:
            for element in fields[name]:
                if author := _author_name(element):
                    return author
    return ""


def _author_name(element: Element) -> str:
    if not len(element):
        return _text(element)
    return next(filter(None, map(_text, element.iterchildren(_ANY + "name"))), "")


def _dates(fields: _Fields) -> tuple[datetime | None, datetime | None]:
    updated = _first_date(fields, _CHANGES)
    return _first_date(fields, _PUBLICATIONS) or updated, updated


def _first_date(fields: _Fields, names: Iterable[str]) -> datetime | None:
    for name in names:
        if name in fields:
            for element in fields[name]:
                if (text := element.text) and (moment := parse_feed_date(text)):
                    return moment
    return None


def _tags(fields: _Fields) -> list[str]:
    tags = [tag for element in fields.get("category", ()) if (tag := element.get("term") or _text(element))]
    for element in fields.get("keywords", ()):
        tags += _text(element).split(",")
    return tags


def _media(fields: _Fields, name: str) -> str:
    """What is said of the first video or picture that anything is said of."""
    return next(
        (text for group in fields.get("media", ()) for one in group.iter(_ANY + name) if (text := _text(one))), ""
    )


def _title(fields: _Fields) -> str:
    title = _first_text(fields, ("title", "other title"))
    # Of a single word: it may be in base64.
    if not title or " " in title:
        return title
    return next((text.strip() for _, text in _texts(fields, ("title", "other title"))), title)


def _first_text(fields: _Fields, names: Iterable[str]) -> str:
    for name in names:
        if name in fields:
            for element in fields[name]:
                if text := _text(element):
                    return text
    return ""


def _text(element: Element) -> str:
    """What an element holds, as HTML where there is markup in it."""
    if len(element):
        return _inner(element).strip()
    return (element.text or "").strip()


def _texts(fields: _Fields, names: Iterable[str]) -> Iterator[_Text]:
    """The texts that say something, as HTML."""
    for name in names:
        if name in fields:
            for element in fields[name]:
                # Asked for once: every time it is made anew of the bytes of the document.
                text = element.text
                if (text and not text.isspace()) or len(element):
                    yield element, _markup(element, text or "")


def _richest(given: Iterable[_Text]) -> _Text:
    """What is not plain text, else the first."""
    first = _NO_TEXT
    for text in given:
        if text[0].get("type") not in _PLAIN:
            return text
        first = text if first is _NO_TEXT else first
    return first


def _summary(fields: _Fields) -> _Text:
    return next(_texts(fields, _SUMMARIES), None) or (None, _media(fields, "description"))


def _markup(element: Element, text: str) -> str:
    if len(element):
        return _inner(element)
    if not element.attrib:
        return text
    kind = (element.get("type") or "").lower()
    if element.get("mode") == "base64" or not (not kind or kind.startswith(_MARKUP_TYPES) or kind.endswith("xml")):
        text = _decoded(text)
    return escape(text, quote=False) if kind in _PLAIN and _is_content(element) else text


def _is_content(element: Element) -> bool:
    """Summaries are HTML whatever they are said to be."""
    return _local(element.tag) == "content"


def _decoded(text: str) -> str:
    try:
        return b64decode("".join(text.split()), validate=True).decode()
    except (binascii.Error, ValueError):
        return text


def _inner(element: Element) -> str:
    """The markup inside an element, without prefixes."""
    for inner in element.iterdescendants():
        inner.tag = inner.tag.rpartition("}")[2]
    parts = [lxml.etree.tostring(child, encoding="unicode", method="html") for child in element]
    return escape(element.text or "", quote=False) + "".join(parts)


def _local(tag: Any) -> str:
    return tag.rpartition("}")[2].lower() if isinstance(tag, str) else ""


def _namespace(tag: Any) -> str:
    return tag[1:].rpartition("}")[0] if isinstance(tag, str) else ""


@lru_cache(maxsize=256)
def _family(namespace: str) -> str:
    """Feeds declare the same few again and again."""
    folded = namespace.lower()
    return next((family for part, family in _FAMILIES if part in folded), "")
