"""A large site with a sitemap, of which every part can be asked to change, fail or lie."""

from __future__ import annotations

import gzip
from collections import Counter
from collections.abc import Iterable, Iterator
from datetime import datetime, timedelta
from html import escape
from http import HTTPStatus
from random import Random

from catchment.simulator.messages import Answer, Headers, IncomingRequest, Place, not_found, page
from catchment.simulator.words import LANGUAGES, Writer

PACKED = ("Content-Type", "application/gzip")
XML = ("Content-Type", "application/xml; charset=utf-8")
NAMESPACE = 'xmlns="http://www.sitemaps.org/schemas/sitemap/0.9"'
BETWEEN_PAGES = timedelta(minutes=10)


class SitemapSite:
    """Everything below `prefix`, and the host's robots.txt; `places()` is what a SimulatedWeb takes."""

    def __init__(
        self,
        *,
        pages: int,
        started_at: datetime,
        prefix: str = "/paper",
        pages_a_sitemap: int = 10_000,
        packed: bool = True,
        validators: bool = True,
        lying: bool = False,
        forbidden: Iterable[str] = (),
    ) -> None:
        self.prefix = prefix
        self._started_at = started_at
        self._published = pages
        self._pages_a_sitemap = pages_a_sitemap
        self._packed = packed
        self._validators = validators
        #: Says that everything changed just now, as careless sites do.
        self._lying = lying
        self._forbidden = tuple(forbidden)
        self._added: list[datetime] = []
        self._changes: dict[int, list[datetime]] = {}
        self._removed: set[int] = set()
        self._failing: set[int] = set()
        self._versions: Counter[int] = Counter()

    def places(self) -> dict[str, Place]:
        return {self.prefix: self, "/robots.txt": self.robots}

    @property
    def sitemap_path(self) -> str:
        return f"{self.prefix}/sitemap.xml"

    def sitemap_path_of(self, place: int) -> str:
        """Where the sitemap of one part is: the first lists the oldest pages."""
        return f"{self.prefix}/maps/{place}.xml{'.gz' if self._packed else ''}"

    def path(self, number: int) -> str:
        return f"{self.prefix}/pages/{number}.html"

    def numbers(self) -> Iterator[int]:
        """The pages that are listed."""
        return (number for number in range(self._count()) if number not in self._removed)

    def add(self, count: int, at: datetime) -> range:
        added = range(self._count(), self._count() + count)
        self._added += [at] * count
        self._touch(added)
        return added

    def change(self, *numbers: int, at: datetime) -> None:
        self._touch(numbers)
        for number in numbers:
            self._changes.setdefault(number, []).append(at)

    def remove(self, *numbers: int) -> None:
        self._touch(numbers)
        self._removed.update(numbers)

    def bring_back(self, *numbers: int) -> None:
        self._touch(numbers)
        self._removed.difference_update(numbers)

    def fail(self, *numbers: int) -> None:
        """From now on these pages are in trouble, though they are still listed."""
        self._failing.update(numbers)

    def mend(self) -> None:
        self._failing.clear()

    def __call__(self, request: IncomingRequest) -> Answer:
        match request.path.removeprefix(self.prefix).split("/"):
            case ["", "sitemap.xml"]:
                return self._index(request)
            case ["", "maps", name]:
                return self._sitemap(name, request)
            case ["", "pages", name]:
                return self._page(name.removesuffix(".html"), request)
        return not_found(request)

    def robots(self, request: IncomingRequest) -> Answer:
        rules = "".join(f"Disallow: {path}\n" for path in self._forbidden)
        text = f"User-agent: *\n{rules}\nSitemap: {_host(request)}{self.sitemap_path}\n"
        return Answer(headers=(("Content-Type", "text/plain"),), body=text.encode())

    def _count(self) -> int:
        return self._published + len(self._added)

    def _touch(self, numbers: Iterable[int]) -> None:
        self._versions.update(number // self._pages_a_sitemap for number in numbers)

    def _dated(self, number: int) -> datetime:
        """When a page was published."""
        if number >= self._published:
            return self._added[number - self._published]
        return self._started_at - BETWEEN_PAGES * (self._published - number)

    def _lastmod(self, number: int, at: datetime) -> datetime:
        if self._lying:
            return at
        return self._changes[number][-1] if number in self._changes else self._dated(number)

    def _part(self, place: int) -> range:
        return range(place * self._pages_a_sitemap, min(self._count(), (place + 1) * self._pages_a_sitemap))

    def _index(self, request: IncomingRequest) -> Answer:
        tag = f'"index-{self._count()}-{self._versions.total()}"'
        if self._is_known(tag, request):
            return _not_modified(tag)
        places = range(-(-self._count() // self._pages_a_sitemap))
        rows = "".join(
            f"<sitemap><loc>{_host(request)}{self.sitemap_path_of(place)}</loc>"
            f"<lastmod>{self._lastmod_of_part(place, request.at).isoformat()}</lastmod></sitemap>\n"
            for place in places
        )
        body = f'<?xml version="1.0" encoding="UTF-8"?>\n<sitemapindex {NAMESPACE}>\n{rows}</sitemapindex>'
        return self._answer(body.encode(), tag, packed=False)

    def _lastmod_of_part(self, place: int, at: datetime) -> datetime:
        part = self._part(place)
        changed = (self._lastmod(number, at) for number in self._changes if number in part)
        return max([self._lastmod(part[-1], at), *changed])

    def _sitemap(self, name: str, request: IncomingRequest) -> Answer:
        place = name.partition(".")[0]
        if not place.isdecimal() or not self._part(int(place)):
            return not_found(request)
        part = self._part(int(place))
        tag = f'"{place}-{len(part)}-{self._versions[int(place)]}"'
        if self._is_known(tag, request):
            return _not_modified(tag)
        host = _host(request)
        rows = "".join(
            f"<url><loc>{host}{self.path(number)}</loc>"
            f"<lastmod>{self._lastmod(number, request.at).isoformat()}</lastmod></url>\n"
            for number in part
            if number not in self._removed
        )
        body = f'<?xml version="1.0" encoding="UTF-8"?>\n<urlset {NAMESPACE}>\n{rows}</urlset>'
        return self._answer(body.encode(), tag, packed=self._packed)

    def _is_known(self, tag: str, request: IncomingRequest) -> bool:
        return self._validators and not self._lying and request.headers.get("if-none-match") == tag

    def _answer(self, body: bytes, tag: str, *, packed: bool) -> Answer:
        validators: Headers = (("ETag", tag),) if self._validators and not self._lying else ()
        kind = PACKED if packed else XML
        return Answer(headers=(kind, *validators), body=gzip.compress(body, 6, mtime=0) if packed else body)

    def _page(self, name: str, request: IncomingRequest) -> Answer:
        number = int(name) if name.isdecimal() else -1
        if not 0 <= number < self._count() or number in self._removed:
            return not_found(request)
        if number in self._failing:
            return page("<title>Trouble</title>", status=HTTPStatus.INTERNAL_SERVER_ERROR)
        return page(self._article(number, request))

    def _article(self, number: int, request: IncomingRequest) -> str:
        writer = Writer(LANGUAGES["en"], Random(f"{self.prefix}/{number}"))
        changes = self._changes.get(number, [])
        title = escape(writer.title() + (f" (edition {len(changes) + 1})" if changes else ""))
        link = f"{_host(request)}{self.path(number)}"
        return (
            f'<!doctype html><html lang="en"><head><title>{title} | The Paper</title>'
            f'<link rel="canonical" href="{link}"><meta property="og:site_name" content="The Paper">'
            f'<meta property="og:title" content="{title}"><meta name="author" content="{escape(writer.author())}">'
            f'<meta property="article:published_time" content="{self._dated(number).isoformat()}">'
            f'<meta property="article:modified_time" content="{self._lastmod(number, request.at).isoformat()}">'
            f'</head><body><nav><a href="/">Home</a> <a href="/about">About</a></nav><article><h1>{title}</h1>'
            f"{writer.body(link)}</article><footer>The Paper, all rights reserved</footer></body></html>"
        )


def _not_modified(tag: str) -> Answer:
    return Answer(status=HTTPStatus.NOT_MODIFIED, headers=(("ETag", tag),))


def _host(request: IncomingRequest) -> str:
    return f"http://{request.headers.get('host', '127.0.0.1')}"
