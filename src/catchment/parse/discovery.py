"""What a page says about its site: feeds, sitemaps, and what it is called."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from urllib.parse import urlsplit

from catchment.parse.entry import absolute
from catchment.parse.html import plain_text
from catchment.parse.tree import Element, base_of, read_tree, text_of

MOST_LINKS = 20
MOST_TITLE, MOST_DESCRIPTION = 200, 500
_HEAD = 1024
_FEED_TYPES = frozenset(
    {
        "application/rss+xml",
        "application/atom+xml",
        "application/rdf+xml",
        "application/feed+json",
        "application/rss",
        "application/atom",
        "text/rss+xml",
        "text/atom+xml",
    }
)
# Types that other things have as well: a feed only where the address says so too.
_VAGUE_TYPES = frozenset({"application/xml", "text/xml", "application/json", "text/rss", ""})
_FEED_ADDRESS = re.compile(r"(?:^|[/.?=_-])(?:feeds?|rss2?|atom|rdf|index\.xml)(?:$|[/.?&=_-])", re.IGNORECASE)
_COMMENTS = re.compile(r"comment|kommentar|commentaire|comentario|repl(?:y|ies)|评论|留言|コメント", re.IGNORECASE)
_MARKUP_START = re.compile(rb"\s*(?><\?xml[^>]*\?>\s*|<!--.*?-->\s*)*+<(?:!doctype\s+html|html)[\s>]", re.IGNORECASE)
_SITEMAP_ROOT = re.compile(rb"<(?:[\w-]+:)?(?:urlset|sitemapindex)[\s>]", re.IGNORECASE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Discovery:
    """All addresses are absolute and http or https."""

    title: str = ""
    description: str = ""
    icon: str = ""
    canonical: str = ""
    #: The one to follow first; feeds of comments last.
    feeds: tuple[str, ...] = ()
    sitemaps: tuple[str, ...] = ()


def discover(body: bytes, *, url: str, content_type: str = "") -> Discovery:
    """Read a page for what it says about its site. Nothing is raised, whatever the bytes are."""
    tree = read_tree(body, content_type)
    base = base_of(tree, url)
    return Discovery(
        title=title_of(tree),
        description=plain_text(_meta(tree, "description") or _meta(tree, "og:description"), MOST_DESCRIPTION),
        icon=next(_links(tree, base, {"icon", "apple-touch-icon"}), ""),
        canonical=next(_links(tree, base, {"canonical"}), ""),
        feeds=_feeds(tree, base),
        sitemaps=tuple(dict.fromkeys(_links(tree, base, {"sitemap"})))[:MOST_LINKS],
    )


def title_of(tree: Element) -> str:
    """What the page calls itself, on one line."""
    found = (text_of(title) for title in tree.xpath("//title[not(ancestor::svg)] | //h1"))
    return plain_text(next(filter(None, [_meta(tree, "og:title"), *found]), ""), MOST_TITLE)


def is_page(body: bytes) -> bool:
    """Whether a body begins as HTML pages do. One that does not may be a page all the same."""
    return _MARKUP_START.match(body, 0, _HEAD) is not None


def is_sitemap(body: bytes) -> bool:
    return _SITEMAP_ROOT.search(body, 0, _HEAD) is not None and not is_page(body)


def _feeds(tree: Element, base: str) -> tuple[str, ...]:
    """By rank: feeds of comments last, then as the page has them."""
    found: dict[str, bool] = {}
    for link in _elements(tree, {"alternate", "feed"}):
        address = _web(link.get("href", ""), base)
        if address and _is_feed(link, address):
            found.setdefault(address, _is_of_comments(link, address))
    return tuple(sorted(found, key=found.__getitem__))[:MOST_LINKS]


def _is_feed(link: Element, address: str) -> bool:
    media_type = link.get("type", "").partition(";")[0].strip().lower()
    if media_type in _FEED_TYPES or "feed" in _rels(link):
        return True
    # `alternate` is also how pages name their other languages, and their own JSON.
    parts = urlsplit(address)
    named = _FEED_ADDRESS.search(f"{parts.path}?{parts.query}") is not None
    return media_type in _VAGUE_TYPES and named and not link.get("hreflang")


def _is_of_comments(link: Element, address: str) -> bool:
    parts = urlsplit(address)
    return _COMMENTS.search(f"{link.get('title', '')} {parts.path} {parts.query}") is not None


def _links(tree: Element, base: str, rels: set[str]) -> Iterator[str]:
    for link in _elements(tree, rels):
        if address := _web(link.get("href", ""), base):
            yield address


def _elements(tree: Element, rels: set[str]) -> Iterator[Element]:
    return (link for link in tree.xpath("//link[@rel][@href]") if rels & _rels(link))


def _rels(link: Element) -> set[str]:
    return set(link.get("rel", "").lower().split())


def _meta(tree: Element, name: str) -> str:
    found = tree.xpath("//meta[@name=$name or @property=$name]/@content", name=name)
    return next((text for text in found if text.strip()), "")


def _web(link: str, base: str) -> str:
    """The link where it leads to the web, without its fragment."""
    address = absolute(link, base).partition("#")[0]
    try:
        return address if urlsplit(address).hostname and address.startswith(("http://", "https://")) else ""
    except ValueError:
        return ""
