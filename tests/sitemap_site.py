"""A web site with a sitemap on a real socket, whose pages a test edits."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from hashlib import blake2b
from html import escape

from aiohttp import web

from feed_site import FeedSite

WORDS = "The river rose by a hand's breadth overnight, and the weir held well enough to keep the mill dry. "


@dataclass
class Sheet:
    """A page of the site."""

    title: str
    lastmod: datetime | None
    body: str = WORDS * 5
    status: int = 200


@dataclass
class SitemapSite:
    """Serves `/sitemap.xml` and the pages listed in it, through a site that counts its visitors."""

    wire: FeedSite
    sheets: dict[str, Sheet] = field(default_factory=dict)

    def write(self, path: str, lastmod: datetime | None = None, *, body: str = WORDS * 5, status: int = 200) -> None:
        """Put up a page, or change it."""
        self.sheets[path] = Sheet(title=f"Page {path}", lastmod=lastmod, body=body, status=status)

        async def answer(_: web.Request) -> web.StreamResponse:
            sheet = self.sheets[path]
            return web.Response(text=page(sheet), status=sheet.status, content_type="text/html")

        self.wire.script(answer, path=path)

    def publish(self, path: str = "/sitemap.xml", *, only: str = "", etag: bool = False) -> str:
        """Serve a sitemap of all pages, or of those below `only`; returns its address."""

        async def answer(request: web.Request) -> web.StreamResponse:
            text = urlset(self.wire, {where: sheet for where, sheet in self.sheets.items() if where.startswith(only)})
            tag = f'"{blake2b(text.encode()).hexdigest()[:16]}"'
            headers = {"ETag": tag} if etag else {}
            if etag and request.headers.get("If-None-Match") == tag:
                return web.Response(status=304, headers=headers)
            return web.Response(text=text, content_type="text/xml", headers=headers)

        return self.wire.script(answer, path=path)

    def index(self, children: dict[str, datetime | None], path: str = "/sitemap.xml") -> str:
        entries = "".join(_entry("sitemap", self.wire.url(child), lastmod) for child, lastmod in children.items())
        space = "http://www.sitemaps.org/schemas/sitemap/0.9"
        return self.wire.serve(f'<sitemapindex xmlns="{space}">{entries}</sitemapindex>', path=path)


def page(sheet: Sheet) -> str:
    return (
        f"<!doctype html><html lang='en'><head><title>{escape(sheet.title)}</title>"
        f"<meta name='description' content='About {escape(sheet.title)}'></head>"
        f"<body><article><h1>{escape(sheet.title)}</h1><p>{sheet.body}</p></article></body></html>"
    )


def urlset(wire: FeedSite, sheets: dict[str, Sheet]) -> str:
    entries = "".join(_entry("url", wire.url(path), sheet.lastmod) for path, sheet in sheets.items())
    return f'<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">{entries}</urlset>'


def _entry(name: str, url: str, lastmod: datetime | None) -> str:
    date = f"<lastmod>{lastmod.isoformat()}</lastmod>" if lastmod else ""
    return f"<{name}><loc>{escape(url)}</loc>{date}</{name}>"
