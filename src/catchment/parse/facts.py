"""What a page says about itself: in OpenGraph, JSON-LD, meta elements, and marked in its text."""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime
from typing import Final
from urllib.parse import urlsplit

from catchment.parse.dates import parse_loose_date
from catchment.parse.entry import MAX_TITLE, absolute
from catchment.parse.html import plain_text
from catchment.parse.linked_data import LinkedData
from catchment.parse.tree import Element, text_of

# Between the parts of a title. A hyphen inside a word is none, and neither is a colon: it belongs to the sentence.
_SEPARATOR: Final = re.compile(r"\s+[-–—|·•»«]{1,2}\s+|\s*[|｜]\s*|_+")
_PLAIN: Final = re.compile(r"[\W_]+")
_SHORTEST_LABEL: Final = 3


def without_site(title: str, *, sites: Collection[str], headings: Collection[str], url: str) -> str:
    """Without a first or last part that names the site, or without the rest where a heading is the beginning."""
    found = _heading_at_start(title, headings)
    if found:
        return found
    names = {_folded(name) for name in sites} | _labels(url)
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


def _folded(text: str) -> str:
    return _PLAIN.sub("", text).casefold()


_MAX_NAME: Final = 200
_MAX_DESCRIPTION: Final = 2_000
_WEB: Final = ("http://", "https://")
_PUBLISHED: Final = (
    "article:published_time", "og:published_time", "datepublished", "date.published", "dc.date.issued",
    "dcterms.created", "dc.date", "dcterms.date", "parsely-pub-date", "sailthru.date", "publishdate", "publish-date",
    "publication_date", "pubdate", "article.published", "cxenseparse:recs:publishtime", "date", "dc.created",
)  # fmt: skip
_MODIFIED: Final = (
    "article:modified_time", "og:updated_time", "datemodified", "dcterms.modified", "dc.date.modified",
    "last-modified", "lastmod", "modified",
)  # fmt: skip
_AUTHORS: Final = ("author", "article:author", "dc.creator", "dcterms.creator", "parsely-author", "sailthru.author")
_BYLINE: Final = re.compile(r"(?:by|von|par|por|door|di)\s*:?\s+", re.IGNORECASE)
_MARKED_AUTHORS: Final = (
    "//*[@itemprop='author']//*[@itemprop='name']",
    "//*[@itemprop='author']",
    "//a[@rel='author']",
    "//a[contains(@href, '/author/')]",
)
_MARKED_DATES: Final = "//*[@itemprop='datePublished']/@datetime | //time[@pubdate]/@datetime"
#: Times of comments and of other articles come later than that of the article itself.
_TIMES: Final = "//article//time/@datetime | //main//time/@datetime | //header//time/@datetime"
_DATED_ADDRESS: Final = re.compile(r"/((?:19|20)[0-9]{2}[/-][0-9]{1,2}[/-][0-9]{1,2})(?:/|-)")
_LANGUAGE: Final = re.compile(r"[A-Za-z]{2,3}(?:[-_][A-Za-z0-9]{2,8}){0,2}\b")
_MAX_HEADINGS: Final = 3


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


def facts_of(tree: Element, base: str) -> Facts:
    return _FactFinder(tree, base).facts()


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
        said = self._said("og:title", "twitter:title")
        own = [text for title in self._tree.xpath("//head/title") if (text := text_of(title))] + headings
        headline = self._data.text("headline")
        # Where it names something else, it is rather what the page is about.
        agreed = [headline] if any(names_the_same(title, headline) for title in own) else []
        title = plain_text(next(filter(None, [*said, *agreed, *own, headline]), ""), MAX_TITLE)
        sites = [*self._said("og:site_name", "application-name"), *self._data.names("publisher")]
        return without_site(title, sites=sites, headings=headings, url=self._base)

    def _description(self) -> str:
        said = self._said("og:description", "description", "twitter:description", "dc.description")
        return next(filter(None, [*said, self._data.text("description")]), "")

    def _author(self) -> str:
        """A name, not the address of a profile."""
        marked = (text_of(element) for path in _MARKED_AUTHORS for element in self._tree.xpath(path))
        names = [", ".join(self._data.names("author")), *self._said(*_AUTHORS), *marked]
        return next((_BYLINE.sub("", name, count=1) for name in names if name and "://" not in name), "")

    def _published(self) -> datetime | None:
        said = [self._data.text("datePublished", "uploadDate", "dateCreated"), *self._said(*_PUBLISHED)]
        marked = self._tree.xpath(_MARKED_DATES)
        of_address = _DATED_ADDRESS.search(self._base)
        return _first_date(*said, *marked, of_address[1] if of_address else "", *self._tree.xpath(_TIMES)[:1])

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
        for key in ("property", "name", "itemprop", "http-equiv"):
            if (name := meta.get(key)) and (content := meta.get("content").strip()):
                found.setdefault(name.lower(), content)
    return found


def _first_date(*texts: str) -> datetime | None:
    return next((date for text in texts if (date := parse_loose_date(text)) is not None), None)
