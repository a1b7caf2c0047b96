"""RSS, RDF and Atom of every version, out of a tree of XML.

Elements are known by what they mean, whatever their prefix: those of the entry's own namespace, of RSS and of Atom
are one vocabulary, since feeds mix them freely.
"""

from __future__ import annotations

import binascii
import re
from base64 import b64decode
from bisect import insort
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
    has_lines,
    newest,
    size_in_bytes,
)
from catchment.parse.html import one_line, plain_text

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
    "enc": {"enclosure": "enclosure"},
    "media": {"title": "other title", "description": "media text", "group": "media", "content": "media",
              "thumbnail": "media", "category": "category", "keywords": "keywords"},
    "itunes": {"author": "other author", "summary": "other summary", "description": "other summary",
               "subtitle": "subtitle", "title": "other title", "category": "category", "keywords": "keywords"},
    "xhtml": {"body": "content", "div": "content"},
}  # fmt: skip
_FAMILIES: Final = (
    ("purl.org/rss/1.0/modules/content", "content"),
    ("purl.org/rss/1.0/modules/", ""),
    ("purl.org/dc/", "dc"),
    ("dublincore.org/documents/dcmi-namespace", "dc"),
    ("purl.oclc.org/net/rss_2.0/enc", "enc"),
    ("search.yahoo.com/mrss", "media"),
    ("rssboard.org/media-rss", "media"),
    ("podcast-1.0.dtd", "itunes"),
    ("google.com/schemas/play-podcasts", "itunes"),
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
# Which meanings say the same of an entry: those that come first are believed first.
_FIELDS: Final[Mapping[str, Sequence[str]]] = {
    "id": ("id", "guid"),
    "title": ("title", "other title"),
    "author": ("author", "creator", "other author", "managingeditor"),
    "published": ("published", "pubdate", "issued", "created", "date"),
    "updated": ("lastbuilddate", "updated", "modified"),
    "content": ("encoded", "content"),
    "summary": ("description", "summary", "other summary", "media text", "subtitle"),
    **{name: (name,) for name in ("link", "enclosure", "category", "keywords", "media", "item")},
}
#: The field of each meaning, and its rank there.
_RANKED: Final = {name: (field, rank) for field, names in _FIELDS.items() for rank, name in enumerate(names)}
_OF_PODCASTS: Final = _RANKED["other author"]
# Longer than any that is known, and short enough to be remembered.
_LONGEST_NAMESPACE: Final = 200
_PAGE_RELATIONS: Final = frozenset({None, "", "alternate"})
_NO_TEXT: Final[_Text] = (None, "")
_WEB: Final = ("http://", "https://")
_OF_ATOM: Final = frozenset({"feed", "entry"})
_OF_PEOPLE: Final = frozenset({"name", "email", "uri", "url", "homepage"})
_PLAIN: Final = frozenset({"text", "text/plain"})
_OF_FILES: Final = {"resource": "url", "url": "url", "type": "type", "length": "length"}
#: What a file of an entry is, by how its address ends, where nobody says it.
_TYPES: Final = {
    **dict.fromkeys(("jpg", "jpeg"), "image/jpeg"),
    **{ending: f"image/{ending}" for ending in ("png", "gif", "webp", "avif")},
    **{ending: f"video/{ending}" for ending in ("mp4", "webm")},
    "mp3": "audio/mpeg", "m4a": "audio/mp4", "ogg": "audio/ogg", "swf": "application/x-shockwave-flash",
}  # fmt: skip
_ENDING: Final = re.compile(r"[^?#]*\.(\w{3,4})(?:[?#]|$)")
_TYPE: Final = re.compile(r"[\w.+-]+/[\w.+*-]+")
_MEDIA: Final = frozenset({"image", "video", "audio"})
#: Nothing plays it any more.
_FLASH: Final = "application/x-shockwave-flash"
#: Smaller pictures, in pixels, are of whoever wrote it, and so are these, which WordPress gives with every entry.
_ICON: Final = 64
_FACES: Final = "gravatar.com/avatar/"
_MARKUP_TYPES: Final = ("text", "html", "xhtml", "application/xml", "application/xhtml", "application/html")


def is_feed(root: Element) -> bool:
    return _local(root.tag) in _ROOTS | _ENTRIES


def read(root: Element, url: str, *, summaries: bool = True, has_bases: bool = True) -> ParsedFeed:
    """The feed in a tree. `has_bases` says whether `xml:base` may occur in it."""
    channel = next((child for child in root if _local(child.tag) == "channel"), root)
    items = [root] if _local(root.tag) in _ENTRIES else list(_items(root))
    vocabulary = _Vocabulary(_namespace(channel.tag), is_atom=_local(root.tag) == "feed")
    info = vocabulary.fields(channel)
    links = info.get("link", ())
    link = _link(links) or next(filter(None, map(_href, links)), "")
    if has_bases:
        link = _by_own_base(link, links, url)
    base = feed_base(link, url)
    author = _author([one for one in info.get("author", ()) if vocabulary[one.tag] != _OF_PODCASTS])
    reader = _FeedReader(items, author=author, base=base, has_bases=has_bases, summaries=summaries)
    found, cut = reader.read()
    title = _title(info.get("title", ()))
    as_line = one_line if _is_plain(channel, info) else plain_text
    return ParsedFeed(
        title=as_line(title, MAX_TITLE),
        link=absolute(link, url),
        entries=EntryMaker(base, summaries=summaries).make(found),
        cut=cut,
    )


class _Vocabulary(dict[Any, tuple[str, int] | None]):
    """What the elements of one feed say, by their tags, and how early they are believed; each is worked out once."""

    def __init__(self, own_namespace: str, *, is_atom: bool) -> None:
        super().__init__()
        self._own_namespace = own_namespace
        self._own_family = "atom" if is_atom else "feed"

    def __missing__(self, tag: Any) -> tuple[str, int] | None:
        said = self[tag] = _RANKED.get(_NAMES.get(self._family(tag), {}).get(_local(tag), ""))
        return said

    def _family(self, tag: Any) -> str:
        namespace = _namespace(tag)
        known = _family(namespace[:_LONGEST_NAMESPACE])
        if known in {"atom", "feed"} or namespace not in {"", self._own_namespace}:
            return known
        return self._own_family

    def fields(self, element: Element) -> _Fields:
        """The children of an element that say anything, by what they say; what is believed first comes first."""
        found: dict[str, list[Element]] = {}
        for child in element:
            if said := self[child.tag]:
                field, rank = said
                if field not in found:
                    found[field] = [child]
                elif self._rank(found[field][-1]) <= rank:
                    found[field].append(child)
                else:
                    insort(found[field], child, key=self._rank)
        return found

    def _rank(self, element: Element) -> int:
        said = self[element.tag]
        return said[1] if said else 0


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
        said = fields.get
        published, updated = _dates(fields)
        content, body = _richest(said("content", ()))
        # Where none is asked for, a summary only stands in for a content.
        summary, short = _summary(fields) if self._summaries or not body else _NO_TEXT
        links = said("link", ())
        link, base = _link(links), ""
        if self._has_bases:
            text = summary if content is None else content
            link, base = _by_own_base(link, links, self._base), "" if text is None else text.base or ""
        title = _title(said("title", ())) or _media(fields, "title")
        files = self._enclosures(said("enclosure", ()), links)
        return RawEntry(
            _id(item, fields),
            link,
            title,
            _author(said("author", ())) or self._author,
            published,
            updated,
            short,
            body,
            _with_media(files, fields["media"]) if "media" in fields else files,
            _tags(fields) if "category" in fields or "keywords" in fields else (),
            base,
            title if ("<" in title or "&" in title) and _is_plain(item, fields) else "",
            # In text as HTML there is no bracket, and in other HTML it is found at once.
            bool(body) and "<" not in body and _is_content(content) and _is_plain_text(content) and has_lines(body),
        )

    def _enclosures(self, own: Sequence[Element], links: Sequence[Element]) -> Sequence[ParsedEnclosure]:
        linked = [link for link in links if link.get("rel") == "enclosure"]
        if not (own or linked):
            return ()
        files = [*(file if file.get("url") else _as_of_rss_2(file) for file in own), *linked]
        return [self._enclosure(file, url) for file in files if (url := file.get("url") or _href(file))]

    def _enclosure(self, file: Element, url: str) -> ParsedEnclosure:
        if self._has_bases:
            url = _by_own_base(url, [file], self._base)
        return ParsedEnclosure(url, file.get("type") or "", size_in_bytes(file.get("length")))


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
    return _dates(fields)[0], _id(item, fields) or _link(fields.get("link", ()))


def _id(item: Element, fields: _Fields) -> str:
    return _first_text(fields.get("id", ())) or item.get(_ABOUT) or ""


def _link(links: Sequence[Element]) -> str:
    """The page that it stands for: what a `link` holds, else where one of Atom leads to."""
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


def _as_of_rss_2(file: Element) -> Element:
    """A file that says where it is in attributes of other namespaces, or in elements, as those of RSS 1.0 do."""
    for key, value in [*file.attrib.items(), *((one.tag, one.text or "") for one in file.iterdescendants())]:
        if name := _OF_FILES.get(_local(key)):
            file.set(name, value.strip())
    return file


def _author(elements: Iterable[Element]) -> str:
    for element in elements:
        if author := _author_name(element):
            return author
    return ""


def _author_name(element: Element) -> str:
    if not len(element):
        return _text(element)
    said = {_local(one.tag): _text(one) for one in reversed(element)}
    return said.get("name") or said.get("email") or ("" if said.keys() & _OF_PEOPLE else _text(element))


def _dates(fields: _Fields) -> tuple[datetime | None, datetime | None]:
    updated = _first_date(fields.get("updated", ()))
    return _first_date(fields.get("published", ())) or updated, updated


def _first_date(elements: Iterable[Element]) -> datetime | None:
    for element in elements:
        if (text := element.text) and (moment := parse_feed_date(text)):
            return moment
    return None


def _tags(fields: _Fields) -> list[str]:
    # Those of iTunes stand in each other.
    given = fields.get("category", ())
    every = [one for element in given for one in element.iter(element.tag)] if any(map(len, given)) else given
    tags = [tag for one in every if (tag := one.get("term") or one.get("text") or _text(one))]
    for element in fields.get("keywords", ()):
        tags += _text(element).split(",")
    return tags


def _media(fields: _Fields, name: str) -> str:
    """What is said of the first video or picture that anything is said of."""
    return next(
        (text for group in fields.get("media", ()) for one in group.iter(_ANY + name) if (text := _text(one))), ""
    )


def _with_media(files: Sequence[ParsedEnclosure], media: Iterable[Element]) -> list[ParsedEnclosure]:
    """Also what Media RSS attaches: its files, and a thumbnail where there is no other picture."""
    found = list(files)
    thumbnails: list[ParsedEnclosure] = []
    for one in (one for group in media for one in group.iter(_ANY + "content", _ANY + "thumbnail")):
        url = (one.get("url") or "").strip()
        if not url or _FACES in url or 0 < size_in_bytes(one.get("width")) < _ICON:
            continue
        is_thumbnail = _local(one.tag) == "thumbnail"
        kind = _media_type(one.get("type"), url, "image" if is_thumbnail else one.get("medium") or one.get("type"))
        file = ParsedEnclosure(url, kind, size_in_bytes(one.get("fileSize")))
        if kind != _FLASH:
            (thumbnails if is_thumbnail else found).append(file)
    has_picture = any(_media_type(file.type, file.url, None).startswith("image/") for file in found)
    return found if has_picture else found + thumbnails[:1]


def _media_type(said: str | None, url: str, medium: str | None) -> str:
    """What is said, else what its address ends in. What is only known to be a picture is "image/*", as other readers
    have it too.
    """
    if said and (match := _TYPE.match(said.strip())):
        return match[0].lower()
    ending = _ENDING.match(url)
    known = _TYPES.get(ending[1].lower(), "") if ending else ""
    return known if medium not in _MEDIA or known.startswith(f"{medium}/") else f"{medium}/*"


def _title(elements: Iterable[Element]) -> str:
    for element in elements:
        if title := _text(element):
            # Of a single word: it may be in base64.
            return title if " " in title or not element.attrib else _markup(element, element.text or "").strip()
    return ""


def _is_plain(owner: Element, fields: _Fields) -> bool:
    """Whether what looks like markup in a title is none: Atom says so. Where it says nothing, feeds mean HTML."""
    if _local(owner.tag) not in _OF_ATOM:
        return False
    element = next((one for one in fields.get("title", ()) if _text(one)), None)
    return element is not None and _is_plain_text(element) and _namespace(element.tag) == _namespace(owner.tag)


def _is_plain_text(element: Element) -> bool:
    return (element.get("type") or "").lower() in _PLAIN and not len(element)


def _first_text(elements: Iterable[Element]) -> str:
    for element in elements:
        if text := _text(element):
            return text
    return ""


def _text(element: Element) -> str:
    """What an element holds, as HTML where there is markup in it."""
    if len(element):
        return _inner(element).strip()
    return (element.text or "").strip()


def _texts(elements: Iterable[Element]) -> Iterator[_Text]:
    """The texts that say something, as HTML."""
    for element in elements:
        # Asked for once: every time it is made anew of the bytes of the document.
        text = element.text
        if (text and not text.isspace()) or len(element):
            yield element, _markup(element, text or "")


def _richest(elements: Sequence[Element]) -> _Text:
    """What is not plain text, else the first."""
    first = _NO_TEXT
    for text in _texts(elements):
        if len(elements) == 1 or text[0].get("type") not in _PLAIN:
            return text
        first = text if first is _NO_TEXT else first
    return first


def _summary(fields: _Fields) -> _Text:
    return next(_texts(fields.get("summary", ())), None) or (None, _media(fields, "description"))


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
