"""What a page says about its site: feeds, sitemaps, and what it is called."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from html import unescape
from urllib.parse import urlsplit

from catchment.parse.entry import absolute
from catchment.parse.html import plain_text
from catchment.parse.tree import Element, base_of, read_tree, text_of

MAX_LINKS = 20
MAX_TITLE, MAX_DESCRIPTION = 200, 500
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
# A commentary is no comment.
_COMMENTS = re.compile(
    r"(?:comment|kommentare?|commentaire|comentario)s?(?![a-z])|repl(?:y|ies)|评论|留言|コメント", re.IGNORECASE
)
_TITLE_OF_COMMENTS = re.compile(
    r"\s*(?:comments (?:on|for)|kommentare (?:zu|für)|commentaires (?:sur|pour)|comentarios (?:en|sobre|para))\b"
    r"|.{0,80}的评论",
    re.IGNORECASE,
)
_FEED_FILE = re.compile(
    r"(?:/feed|/rss|/atom|(?:feed|rss|atom|index)\.(?:xml|rss|atom|json)|\.rss|\.atom)/?\Z", re.IGNORECASE
)
_FEED_WORDS = re.compile(
    r"(?:subscribe (?:to |via |by |with )?)?(?:our |the )?"
    r"(?:(?:rss|atom)(?:[ -]?(?:2\.0|feeds?))?|(?:json |web ?|news ?)?feeds?)|RSS ?订阅",
    re.IGNORECASE,
)
_FEED_TITLE = re.compile(r"\b(?:rss|atom|feed)\b|订阅", re.IGNORECASE)
_FEED_SCHEME = re.compile(r"\s*+feed:(?://)?(?P<secure>https?:)?", re.IGNORECASE)
#: A page that loads itself anew after a while is only up to date.
MAX_REFRESH_SECONDS = 10
_REFRESH_BYTES = 32 * 1024
_META = re.compile(rb"<meta\s[^<>]{1,2000}+>", re.IGNORECASE)
_IS_REFRESH = re.compile(rb"http-equiv\s{0,5}=\s{0,5}[\"']?refresh\b", re.IGNORECASE)
# What browsers take for no markup. What is never closed goes on to the end: so nothing is looked through twice.
_NO_MARKUP = re.compile(
    rb"<!--(?:-?>|.*?(?:--!?>|\Z))"
    rb"|<(script|noscript|style|textarea|title|template|iframe|xmp)(?=[\s/>]).*?(?:</\1|\Z)",
    re.IGNORECASE | re.DOTALL,
)
# A feed or a sitemap, or JSON: what looks like a page's tags is in the text of an entry.
_DATA_START = re.compile(
    rb"(?:\xef\xbb\xbf)?\s*+(?:\{\s*+\"|\[\s*+[\[{\"]"
    rb"|(?:<[?!][^>]*+>\s*+)*<(?:[\w-]{1,50}:)?(?:rss|feed|rdf|urlset|sitemapindex)[\s>])",
    re.IGNORECASE,
)
_REFRESH = re.compile(
    r"content\s{0,5}=\s{0,5}[\"']?\s{0,20}(?P<seconds>\d{1,4})(?:\.\d{0,9})?\s{0,20}[;,]\s{0,20}"
    r"(?:url\s{0,5}=\s{0,5})?[\"']?(?P<url>[^\"'>]{1,2000})",
    re.IGNORECASE,
)
_MARKUP_START = re.compile(
    rb"\s*+(?:(?:<\?xml[^>]*\?>|<!--(?:(?!-->).)*-->)\s*+)*<(?:!doctype\s+html|html)[\s>]", re.IGNORECASE
)
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
    #: Those of them that are feeds of comments, which say nothing of the site's news.
    comment_feeds: tuple[str, ...] = ()
    #: What plain links to the same site may lead to: nobody says for sure that these are feeds.
    linked_feeds: tuple[str, ...] = ()
    sitemaps: tuple[str, ...] = ()

    @property
    def news_feeds(self) -> tuple[str, ...]:
        return tuple(feed for feed in self.feeds if feed not in self.comment_feeds)


def discover(body: bytes, *, url: str, content_type: str = "") -> Discovery:
    """Read a page for what it says about its site. Nothing is raised, whatever the bytes are."""
    tree = read_tree(body, content_type)
    base = base_of(tree, url)
    found = _feeds(tree, base)
    return Discovery(
        title=title_of(tree),
        description=plain_text(_meta(tree, "description") or _meta(tree, "og:description"), MAX_DESCRIPTION),
        icon=next(_links(tree, base, {"icon", "apple-touch-icon"}), ""),
        canonical=next(_links(tree, base, {"canonical"}), ""),
        feeds=tuple(sorted(found, key=found.__getitem__))[:MAX_LINKS],
        comment_feeds=tuple(feed for feed, is_of_comments in found.items() if is_of_comments),
        linked_feeds=_linked_feeds(tree, base, found),
        sitemaps=tuple(dict.fromkeys(_links(tree, base, {"sitemap"})))[:MAX_LINKS],
    )


def title_of(tree: Element) -> str:
    """What the page calls itself, on one line."""
    found = (text_of(title) for title in tree.xpath("//title[not(ancestor::svg)] | //h1"))
    return plain_text(next(filter(None, [_meta(tree, "og:title"), *found]), ""), MAX_TITLE)


def is_page(body: bytes) -> bool:
    """Whether a body begins as HTML pages do. One that does not may be a page all the same."""
    return _MARKUP_START.match(body, 0, _HEAD) is not None


def is_sitemap(body: bytes) -> bool:
    return _SITEMAP_ROOT.search(body, 0, _HEAD) is not None and not is_page(body)


def is_title_of_comments(title: str) -> bool:
    """Whether a feed calls itself one of comments."""
    return _TITLE_OF_COMMENTS.match(title) is not None


def refresh_of(body: bytes, url: str, *asked: str) -> str:
    """Where a page sends every browser at once, "" where it does not, or only back to what was asked for."""
    markup = _NO_MARKUP.sub(b"", body[:_REFRESH_BYTES])
    for tag in () if _DATA_START.match(markup) else _META.findall(markup):
        found = _REFRESH.search(tag.decode("utf-8", "replace")) if _IS_REFRESH.search(tag) else None
        if found and int(found["seconds"]) <= MAX_REFRESH_SECONDS:
            target = _web(unescape(found["url"]).strip(), url)
            return "" if any(_is_same_place(target, one) for one in (url, *asked)) else target
    return ""


def _is_same_place(target: str, url: str) -> bool:
    """A page may send browsers on to its safe address; one that names its unsafe one means itself."""
    there, here = urlsplit(target), urlsplit(url)
    places = [(one.netloc.lower(), one.path or "/", one.query) for one in (there, here)]
    return places[0] == places[1] and there.scheme in {here.scheme, "http"}


def _linked_feeds(tree: Element, base: str, named: Collection[str]) -> tuple[str, ...]:
    found: dict[str, None] = {}
    for link in tree.xpath("//a[@href]"):
        address = _feed_address(link, base)
        if not address or address in named or not _is_same_site(address, base):
            continue
        if _says_feed(link, address) and not _is_of_comments(link, address):
            found[address] = None
    return tuple(found)[:MAX_LINKS]


def _says_feed(link: Element, address: str) -> bool:
    """By its address or by a word for it, which may be that of a picture."""
    if _FEED_FILE.search(urlsplit(address).path) or _FEED_SCHEME.match(link.get("href", "")):
        return True
    words = text_of(link) or " ".join(link.xpath("img/@alt"))
    return any(
        _FEED_WORDS.fullmatch(said.strip()) for said in (words, link.get("title", ""), link.get("aria-label", ""))
    )


def _is_same_site(address: str, base: str) -> bool:
    hosts = [(urlsplit(one).hostname or "").removeprefix("www.") for one in (address, base)]
    return hosts[0] == hosts[1] or hosts[0].endswith(f".{hosts[1]}")


def _feeds(tree: Element, base: str) -> dict[str, bool]:
    """Each with whether it is one of comments, as the page has them."""
    found: dict[str, bool] = {}
    for link in _elements(tree, {"alternate", "feed"}):
        address = _feed_address(link, base)
        if address and _is_feed(link, address):
            found.setdefault(address, _is_of_comments(link, address))
    return found


def _is_feed(link: Element, address: str) -> bool:
    media_type = link.get("type", "").partition(";")[0].strip().lower().replace("/x-", "/").replace("/x.", "/")
    if media_type in _FEED_TYPES or "feed" in _rels(link):
        return True
    # `alternate` is also how pages name their other languages, and their own JSON.
    parts = urlsplit(address)
    named = _FEED_ADDRESS.search(f"{parts.path}?{parts.query}") or _FEED_TITLE.search(link.get("title", ""))
    return media_type in _VAGUE_TYPES and named is not None and not link.get("hreflang")


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


def _feed_address(link: Element, base: str) -> str:
    """`feed:` is how pages ask for a program that reads feeds."""
    href = link.get("href", "")
    return _web(_FEED_SCHEME.sub(lambda scheme: scheme["secure"] or "http://", href, count=1), base)


def _web(link: str, base: str) -> str:
    """The link where it leads to the web, without its fragment."""
    address = absolute(link, base).partition("#")[0]
    try:
        return address if urlsplit(address).hostname and address.startswith(("http://", "https://")) else ""
    except ValueError:
        return ""
