"""The article on a page: what it says, who wrote it and when, out of any bytes that claim to be one."""

from __future__ import annotations

import json
import logging
import re
import warnings
from collections.abc import Collection, Iterable, Iterator
from dataclasses import asdict, dataclass
from datetime import datetime
from itertools import islice
from typing import Any, Final
from unicodedata import normalize
from urllib.parse import urlsplit

from catchment.parse.dates import parse_loose_date
from catchment.parse.entry import MAX_TITLE, absolute
from catchment.parse.html import HtmlCleaner, plain_text
from catchment.parse.tree import Element, base_of, html_of, read_tree, text_of

#: Whoever writes more than this into a page writes for somebody else.
_MAX_CHARS: Final = 500_000
_MAX_OBJECTS: Final = 500
# Some hide it from browsers that are long gone.
_WRAPPING: Final = re.compile(r"\s*(?://)?\s*(?:<!\[CDATA\[|<!--)?\s*")
_DECODER: Final = json.JSONDecoder(strict=False)
_ARTICLES: Final = ("Article", "Posting", "Report", "Recipe", "Review", "Podcast", "Episode", "VideoObject")
_PAGES: Final = ("WebPage", "ItemPage", "AboutPage")


class LinkedData:
    """The object that stands for the page: an article if there is one. Every answer is "" where it does not say."""

    def __init__(self, scripts: Iterable[str]) -> None:
        objects = [found for script in scripts for found in _objects(script)]
        self._by_id = {str(found["@id"]): found for found in reversed(objects) if "@id" in found and len(found) > 1}
        self._object = _first_of(objects, _ARTICLES) or _first_of(objects, _PAGES) or {}

    def text(self, *names: str) -> str:
        return next((text for name in names if (text := self._text(self._object.get(name)))), "")

    def names(self, name: str) -> list[str]:
        """Of persons or organisations, which are given as names, as objects, or as references to objects."""
        value = self._object.get(name)
        found = (self._text(person) for person in (value if isinstance(value, list) else [value]))
        return list(dict.fromkeys(filter(None, found)))

    def _text(self, value: Any) -> str:
        if isinstance(value, list):
            return next((text for part in value if (text := self._text(part))), "")
        if isinstance(value, dict):
            value = self._by_id.get(str(value.get("@id")), value)
            value = next((value[key] for key in ("name", "url", "contentUrl", "@value") if value.get(key)), "")
        return value.strip() if isinstance(value, str) else ""


def _objects(script: str) -> Iterator[dict[str, Any]]:
    """Every object in it, outer ones first."""
    try:
        # Reads one value and leaves what follows it, which closes the wrapping.
        value, _ = _DECODER.raw_decode(script[:_MAX_CHARS], _start_of(script))
    except (ValueError, RecursionError):
        return
    waiting = [value]
    for _ in range(_MAX_OBJECTS):
        if not waiting:
            return
        value = waiting.pop(0)
        if isinstance(value, dict):
            yield value
            waiting += (inner for inner in value.values() if isinstance(inner, dict | list))
        elif isinstance(value, list):
            waiting += value


def _start_of(script: str) -> int:
    wrapping = _WRAPPING.match(script)
    return wrapping.end() if wrapping else 0


def _first_of(objects: list[dict[str, Any]], kinds: tuple[str, ...]) -> dict[str, Any] | None:
    return next((found for found in objects if _kind(found).endswith(kinds)), None)


def _kind(found: dict[str, Any]) -> str:
    kind = found.get("@type", "")
    return str(kind[0] if isinstance(kind, list) and kind else kind)


_BLOCKS = ("h1", "h2", "h3", "h4", "h5", "h6", "p")
_SOFT_HYPHEN = "\u00ad"


@dataclass(frozen=True, slots=True, kw_only=True)
class Facts:
    """Texts are plain, "" where the page says nothing; dates are UTC, links absolute."""

    title: str
    description: str
    author: str
    published: datetime | None
    modified: datetime | None
    image: str
    canonical: str
    language: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Article(Facts):
    #: The main text alone, a line for each paragraph.
    text: str
    #: The same as harmless markup.
    html: str


def extract(html: bytes, url: str, content_type: str = "") -> Article:
    tree = read_tree(html, content_type)
    base = base_of(tree, url)
    facts = _FactFinder(tree, base).facts()
    content = _main_content(tree, base)
    _drop_title(content, facts.title)
    return Article(text=_paragraphs(content), html=HtmlCleaner(base).clean(html_of(content)), **asdict(facts))


def _main_content(tree: Element, base: str) -> Element:
    """What is left of the page without its surroundings, as a body of plain HTML; an empty one where nothing is."""
    # Imported where it is needed: it takes a third of a second, and most commands never read a page.
    from trafilatura.core import bare_extraction
    from trafilatura.htmlprocessing import convert_to_html
    from trafilatura.settings import Document

    # It warns of every page without text, which is no event for a log.
    logging.getLogger("trafilatura").setLevel(logging.CRITICAL)
    # It reads this mark of its own later on; what a page says there is no word that it knows.
    for marked in tree.iter("hi"):
        marked.attrib.pop("rend", None)
    found = bare_extraction(
        tree,
        url=base,
        output_format="html",
        include_comments=False,
        include_links=True,
        include_images=True,
        include_formatting=True,
    )
    return convert_to_html(found.body)[0] if isinstance(found, Document) else read_tree(b"")


def _drop_title(content: Element, title: str) -> None:
    """Take out the heading at its beginning that says once more what the page is called."""
    first = next((block for block in content.iter(*_BLOCKS) if text_of(block)), None)
    if first is None or first is content or not is_same_title(text_of(first), title):
        return
    # What follows it within the same element stays.
    before, parent = first.getprevious(), first.getparent()
    if before is not None:
        before.tail = (before.tail or "") + (first.tail or "")
    else:
        parent.text = (parent.text or "") + (first.tail or "")
    parent.remove(first)


def _paragraphs(content: Element) -> str:
    texts = [content.text or ""]
    for block in content:
        texts += [text_of(block), block.tail or ""]
    # Soft hyphens only say where a word may be broken; whoever searches for it does not type them.
    lines = (" ".join(text.replace(_SOFT_HYPHEN, "").split()) for text in texts)
    return normalize("NFC", "\n".join(filter(None, lines)))


# Between the parts of a title. A hyphen inside a word is none, unless the word is Chinese, and neither is a colon: it
# belongs to the sentence.
_SEPARATOR: Final = re.compile(r"\s+[-–—|·•»«›‹]{1,2}\s+|\s*[|｜]\s*|_+|(?<=[”\u3001-\u9fff\uff01-\uff5e])-")
_PLAIN: Final = re.compile(r"[\W_]+")
_SHORTEST_LABEL: Final = 3


def without_site(title: str, *, sites: Collection[str], headings: Collection[str], url: str) -> str:
    """Without a first or last part that names the site, or without the rest where a heading is the beginning."""
    names = {_folded(name) for name in sites} | _labels(url)
    # What every page of a site is called counts on the first of them alone.
    common = set() if _is_first_page(url) else names
    found = _heading_at_start(title, [heading for heading in headings if _folded(heading) not in common])
    if found:
        return found
    separators = list(_SEPARATOR.finditer(title))
    if not separators:
        return title
    first, last = separators[0], separators[-1]
    if _folded(title[last.end() :]) in names:
        return without_site(title[: last.start()], sites=sites, headings=(), url=url)
    if _folded(title[: first.start()]) in names:
        return title[first.end() :]
    return title


def is_same_title(one: str, other: str) -> bool:
    """However they are written."""
    return bool(other) and _folded(one) == _folded(other)


def names_the_same(one: str, other: str) -> bool:
    """Whether one of two titles is a part of the other, however they are written."""
    first, second = _folded(one), _folded(other)
    return bool(first and second) and (first in second or second in first)


def _heading_at_start(title: str, headings: Collection[str]) -> str:
    """The heading that the title begins with, if a separator follows it there."""
    for heading in headings:
        if title.startswith(heading) and _SEPARATOR.match(title, len(heading)):
            return heading
    return ""


def _labels(url: str) -> set[str]:
    """What the site may be called after its address: `example` and `example.org` of www.example.org."""
    try:
        host = (urlsplit(url).hostname or "").removeprefix("www.")
    except ValueError:  # a bracket that opens no IPv6 address
        return set()
    names = {host, host.partition(".")[0], host.rpartition(".")[0]}
    return {_folded(name) for name in names if len(name) >= _SHORTEST_LABEL}


def _is_first_page(url: str) -> bool:
    try:
        return not urlsplit(url).path.strip("/")
    except ValueError:
        return False


def _folded(text: str) -> str:
    return _PLAIN.sub("", text).casefold()


_MAX_NAME: Final = 200
_MAX_DESCRIPTION: Final = 2_000
_WEB: Final = ("http://", "https://")
_PUBLISHED: Final = (
    "article:published_time", "og:published_time", "datepublished", "date.published", "dc.date.issued",
    "dcterms.created", "dc.date", "dcterms.date", "parsely-pub-date", "sailthru.date", "publishdate", "publish-date",
    "publication_date", "pubdate", "article.published", "cxenseparse:recs:publishtime", "date", "dc.created",
    "firstpublishedtime", "dateupdate",
)  # fmt: skip
_MODIFIED: Final = (
    "article:modified_time", "og:updated_time", "datemodified", "dcterms.modified", "dc.date.modified",
    "last-modified", "lastmod", "modified",
)  # fmt: skip
_AUTHORS: Final = (
    "author", "article:author", "dc.creator", "dc:creator", "dcterms.creator", "parsely-author", "sailthru.author",
)  # fmt: skip
_BYLINE: Final = re.compile(
    r"\A(?:(?:(?:written|posted|published|view all posts)\s+)?(?:by|von|par|por|door|di)\s*:?\s+|作者\s*[:：]\s*)",
    re.IGNORECASE,
)
_MARKED_AUTHORS: Final = (
    "//*[@itemprop='author']//*[@itemprop='name']",
    "//*[@itemprop='author']",
    "//a[@rel='author']",
    "//a[contains(@href, '/author/')]",
)
#: Behind a name: `(https://example.org/)`, `<ann@example.org>`.
_CONTACT: Final = re.compile(r"\s*[(<][^()<>]{0,200}(?:://|@)[^()<>]{0,200}[)>]")
#: Where names stand on pages that mark none: `byline`, `ArticleByline`, `entry-author`. Those of comments are others'.
_SHOWN_AUTHORS: Final = (
    "//*[contains(@class, 'yline') or contains(@class, 'uthor')]"
    "[not(ancestor-or-self::*[contains(@class, 'omment') or contains(@id, 'omment')])]"
)
_MAX_BYLINES, _MAX_PIECES = 50, 8
_WORD_OF_NAME: Final = r"[A-Z\u00c0-\u00de\u0100-\u04ff][\w.'’-]*"
_NAME: Final = rf"{_WORD_OF_NAME}(?: (?:(?:al|bin|da|de|del|den|der|di|la|le|van|von) )*{_WORD_OF_NAME}){{1,3}}"
_NAMES: Final = re.compile(rf"{_NAME}(?:(?:,? (?:and|et|und|y) |, | & ){_NAME})*")
_MARKED_DATES: Final = "//*[@itemprop='datePublished']/@datetime | //time[@pubdate]/@datetime"
#: Times of comments and of other articles come later than that of the article itself.
_TIMES: Final = "//article//time/@datetime | //main//time/@datetime | //header//time/@datetime"
_DATED_ADDRESS: Final = re.compile(r"/((?:19|20)[0-9]{2}[/-][0-9]{1,2}[/-][0-9]{1,2})(?:/|-)")
_LANGUAGE: Final = re.compile(r"[A-Za-z]{2,3}(?:[-_][A-Za-z0-9]{2,8}){0,2}\b")
_MAX_HEADINGS: Final = 3


class _FactFinder:
    def __init__(self, tree: Element, base: str) -> None:
        self._tree = tree
        self._base = base
        self._meta = _meta_of(tree)
        self._data = LinkedData(tree.xpath("//script[@type='application/ld+json']/text()"))

    def facts(self) -> Facts:
        return Facts(
            title=self._title(),
            description=plain_text(self._description(), _MAX_DESCRIPTION),
            author=plain_text(self._author(), _MAX_NAME),
            published=self._published(),
            modified=_first_date(self._data.text("dateModified"), *self._said(*_MODIFIED)),
            image=self._link(*self._said("og:image", "og:image:url", "twitter:image"), self._data.text("image")),
            canonical=self._link(*self._tree.xpath("//link[@rel='canonical']/@href"), *self._said("og:url")),
            language=self._language(),
        )

    def _said(self, *names: str) -> list[str]:
        return [self._meta[name] for name in names if name in self._meta]

    def _title(self) -> str:
        headings = [text for heading in self._tree.xpath("//h1")[:_MAX_HEADINGS] if (text := text_of(heading))]
        said = self._said("og:title", "twitter:title", "parsely-title", "dc.title", "dc:title")
        own = [text for title in self._tree.xpath("//head/title") if (text := text_of(title))] + headings
        headline = self._data.text("headline")
        # Where it names something else, it is rather what the page is about.
        agreed = [headline] if any(names_the_same(title, headline) for title in own) else []
        common = set() if _is_first_page(self._base) else _labels(self._base)
        named = sorted(filter(None, [*said, *agreed, *own, headline]), key=lambda name: _folded(name) in common)
        title = plain_text(next(iter(named), ""), MAX_TITLE)
        # A quotation mark of its own ended the attribute: `content="He said "no" to it"`.
        title = next((heading for heading in headings if heading.startswith((f'{title}"', f'{title} "'))), title)
        sites = [*self._said("og:site_name", "application-name"), *self._data.names("publisher")]
        return without_site(title, sites=sites, headings=headings, url=self._base)

    def _description(self) -> str:
        said = self._said("og:description", "description", "twitter:description", "dc.description", "dc:description")
        return next(filter(None, [*said, self._data.text("description")]), "")

    def _author(self) -> str:
        """A name, not the address of a profile."""
        marked = (text_of(element) for path in _MARKED_AUTHORS for element in self._tree.xpath(path))
        names = [", ".join(self._data.names("author")), *self._said(*_AUTHORS), *marked]
        names = [" ".join(name[: 4 * _MAX_NAME].split()) for name in names]
        bare = (_CONTACT.sub("", _BYLINE.sub("", name)) for name in names)
        said = (name for name in bare if "://" not in name and any(map(str.isalpha, name)))
        return next(said, "") or self._shown_author()

    def _shown_author(self) -> str:
        """The one that stands on the page; where there are several, they are those of several articles."""
        shown = {name for element in self._tree.xpath(_SHOWN_AUTHORS)[:_MAX_BYLINES] if (name := _name_in(element))}
        return shown.pop() if len(shown) == 1 else ""

    def _published(self) -> datetime | None:
        said = [self._data.text("datePublished", "uploadDate", "dateCreated"), *self._said(*_PUBLISHED)]
        marked = self._tree.xpath(_MARKED_DATES)
        of_address = _DATED_ADDRESS.search(self._base)
        times = [*marked, of_address[1] if of_address else "", *self._tree.xpath(_TIMES)[:1]]
        return _first_date(*said, *times) or _shown_date(self._tree)

    def _language(self) -> str:
        said = [self._tree.get("lang", ""), *self._said("og:locale", "content-language"), self._data.text("inLanguage")]
        found = (_LANGUAGE.match(name.strip()) for name in said)
        return next((match[0].replace("_", "-").lower() for match in found if match), "")

    def _link(self, *candidates: str) -> str:
        links = (absolute(link, self._base) for link in candidates)
        return next((link for link in links if link.startswith(_WEB)), "")


def _meta_of(tree: Element) -> dict[str, str]:
    """What the meta elements say, by their names in lower case; the first of a name counts."""
    found: dict[str, str] = {}
    for meta in tree.xpath("//meta[@content]"):
        if content := meta.get("content").strip():
            # Of properties there may be several in one attribute.
            names = [*meta.get("property", "").split(), *map(meta.get, ("name", "itemprop", "http-equiv"))]
            for name in filter(None, names):
                found.setdefault(name.lower(), content)
    return found


def _name_in(element: Element) -> str:
    """Of "By Ann Lee", with a date or a job behind it or not."""
    pieces = [piece for text in islice(element.itertext(), _MAX_PIECES) if (piece := " ".join(text.split()))]
    byline = _BYLINE.match(f"{pieces[0]} ") if pieces else None
    if byline is None:
        return ""
    names = _NAMES.match(pieces[0][byline.end() :] or "".join(pieces[1:2]))
    return names[0] if names else ""


def _shown_date(tree: Element) -> datetime | None:
    """The day that stands on the page for its readers alone: beside "published on", or where dates stand."""
    # Imported where it is needed, as trafilatura is, which brings it.
    from htmldate import find_date

    # What it cannot read is no event for a log, and of zones that it does not know it need not warn.
    logging.getLogger("htmldate").setLevel(logging.CRITICAL)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            shown = find_date(tree, original_date=True, extensive_search=False)
        except (ValueError, OverflowError):  # an offset of weeks
            return None
    return parse_loose_date(shown or "")


def _first_date(*texts: str) -> datetime | None:
    return next((date for text in texts if (date := parse_loose_date(text)) is not None), None)
