"""What there is to watch on a page: its main text, an element somebody chose, or a list of elements."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime

from catchment.errors import ParseError
from catchment.parse.dates import parse_date
from catchment.parse.discovery import title_of
from catchment.parse.entry import MAX_ENTRIES, MAX_TITLE, absolute
from catchment.parse.html import HtmlCleaner, plain_text
from catchment.parse.tree import Element, base_of, html_of, read_tree, select, text_of

#: A title made of the first words of a text.
_SHORT_TITLE = 120
# In this order: what the page itself calls its main part.
_MAIN = ("//main", "//*[@role='main']", "//article", "//body")
_AROUND = frozenset(
    {"nav", "header", "footer", "aside", "dialog", "menu", "button", "select", "relative-time", "time-ago"}
)
_ROLES = frozenset({"navigation", "banner", "contentinfo", "complementary", "search", "dialog", "alert", "timer"})
# Names of what changes by itself beside the text: advertisements, counters, clocks and offers to subscribe.
_NOISE = re.compile(
    r"(?:^|[\s_-])(?:ads?|advert\w*|adsense|sponsor\w*|promo|banner|cookies?|consent|clock|counter|countdown|visitors?"
    r"|sidebar|menu|breadcrumbs?|share|sharing|social|related|recommend\w*|newsletter|subscribe|popup|modal|toolbar"
    r"|weather|ticker|adsbygoogle|adslot|dfp|taboola|outbrain|time-?ago|relative-time|view-?count|page-?views?"
    r"|hit-?counter|online-users?)(?:$|[\s_-])",
    re.IGNORECASE,
)
_HEADINGS = "descendant-or-self::*[self::h1 or self::h2 or self::h3 or self::h4 or self::h5 or self::h6]"
_LINKS = (
    "descendant-or-self::*[self::h1 or self::h2 or self::h3 or self::h4]//a[@href]",
    "descendant-or-self::a[@href]",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Passage:
    """A part of a page, as it is now."""

    title: str
    #: On one line; what makes it another one.
    text: str
    #: Harmless markup.
    html: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ListedLink:
    """One of the elements that a page lists."""

    title: str
    url: str
    text: str
    html: str
    published: datetime | None


@dataclass(frozen=True, slots=True, kw_only=True)
class ListShape:
    """Selectors: which elements are listed, and which part of one is its link and its text."""

    item: str
    link: str | None = None
    text: str | None = None


def read_main(body: bytes, *, url: str, content_type: str = "") -> Passage:
    """The main text of a page: what is left of its main part without what stands around it."""
    tree = read_tree(body, content_type)
    title = title_of(tree)
    main = _main(tree)
    if main is None:
        return Passage(title=title, text="", html="")
    _clear(main)
    return _passage(main, title, base_of(tree, url))


def read_chosen(body: bytes, selector: str, *, url: str, content_type: str = "") -> Passage:
    """What a selector chooses, all of it together."""
    tree = read_tree(body, content_type)
    chosen = _chosen(tree, selector)
    cleaner = HtmlCleaner(base_of(tree, url))
    return Passage(
        title=title_of(tree),
        text=" ".join(filter(None, map(text_of, chosen))),
        html=cleaner.clean("\n".join(map(html_of, chosen))),
    )


def read_listed(
    body: bytes, shape: ListShape, *, url: str, content_type: str = ""
) -> tuple[str, tuple[ListedLink, ...]]:
    """The title of a page, and what it lists."""
    tree = read_tree(body, content_type)
    base = base_of(tree, url)
    cleaner = HtmlCleaner(base)
    listed = (_listed(element, shape, base, cleaner) for element in _chosen(tree, shape.item)[:MAX_ENTRIES])
    return title_of(tree), tuple(one for one in listed if one.text or one.url)


def _chosen(tree: Element, selector: str) -> list[Element]:
    chosen = list(select(tree, selector))
    if not chosen:
        raise ParseError(f"nothing on the page fits the selector {selector!r}; was the page rebuilt?")
    return chosen


def _main(tree: Element) -> Element | None:
    """The first part with text that the page has just one of; several articles are a list of them."""
    for path in _MAIN:
        found = tree.xpath(path)
        if len(found) == 1 and text_of(found[0]):
            return found[0]
    return None


def _clear(main: Element) -> None:
    for element in list(_noise(main)):
        element.drop_tree()


def _noise(main: Element) -> Iterator[Element]:
    """What stands around the text. A frame named after something in it holds most of the text, and stays."""
    most = main.xpath("string-length()") / 2
    for element in main.iterdescendants():
        is_around = element.tag in _AROUND or element.get("role") in _ROLES
        if is_around or (_is_named_noise(element) and element.xpath("string-length()") < most):
            yield element


def _is_named_noise(element: Element) -> bool:
    names = f"{element.get('class', '')} {element.get('id', '')}"
    return element.tag == "form" or _NOISE.search(names) is not None


def _passage(element: Element, title: str, base: str) -> Passage:
    return Passage(title=title, text=text_of(element), html=HtmlCleaner(base).clean(html_of(element)))


def _listed(element: Element, shape: ListShape, base: str, cleaner: HtmlCleaner) -> ListedLink:
    part = _first(element, shape.text) if shape.text else element
    text = text_of(part) if part is not None else ""
    return ListedLink(
        title=_title(element, text),
        url=_link(element, shape, base),
        text=text,
        html=cleaner.clean(html_of(part)) if part is not None else "",
        published=next(filter(None, map(parse_date, element.xpath(".//time/@datetime"))), None),
    )


def _title(element: Element, text: str) -> str:
    headings = (text_of(heading) for heading in element.xpath(_HEADINGS))
    return plain_text(next(filter(None, headings), ""), MAX_TITLE) or plain_text(text, _SHORT_TITLE)


def _link(element: Element, shape: ListShape, base: str) -> str:
    if shape.link:
        link = _first(element, shape.link)
        return absolute(link.get("href", ""), base) if link is not None else ""
    hrefs = (link.get("href") for path in _LINKS for link in element.xpath(path))
    return next((absolute(href, base) for href in hrefs if not href.startswith(("#", "javascript:"))), "")


def _first(element: Element, selector: str) -> Element | None:
    return next(iter(select(element, selector)), None)
