"""What there is to watch on a page: its main text, an element somebody chose, or a list of elements.

Words that change by themselves, such as how long ago something was, are left out of what is compared.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from catchment.errors import ParseError
from catchment.parse.dates import parse_date
from catchment.parse.discovery import title_of
from catchment.parse.entry import MAX_ENTRIES, MAX_TITLE, absolute
from catchment.parse.html import HtmlCleaner, plain_text
from catchment.parse.tree import Element, base_of, html_of, read_tree, select, text_of

_UNITS: Final = (
    r"(?:s|secs?|seconds?|m|mins?|minutes?|h|hrs?|hours?|d|days?|w|weeks?|months?|y|yrs?|years?"
    r"|sekunden?|minuten?|stunden?|tag(?:en)?|wochen?|secondes?|heures?|jours?|segundos?|minutos?|horas?|d[ií]as?)"
)
_CLOCK: Final = r"\d{1,2}[:：]\d{2}(?:[:：]\d{2})?(?:\s?[ap]\.?m\b\.?)?"
_DATE: Final = (
    r"(?:\w{2,12},?\s)?(?:\d{4}[-/.年]\s?\d{1,2}[-/.月]\s?\d{1,2}日?|\d{1,2}[./]\d{1,2}[./]\d{2,4}"
    r"|\d{1,2}\.?\s\w{3,10},?\s\d{4}|\w{3,10}\s\d{1,2},?\s\d{4})"
)
_MOMENT: Final = rf"(?:{_DATE}(?:,?\s?(?:at\s|um\s|T)?{_CLOCK})?|{_CLOCK})"
#: After these words stands when the page was made or looked at.
_MADE: Final = (
    r"(?:\b(?:updated|modified|refreshed|generated|rendered|retrieved|as of|current time|local time|time now|time is"
    r"|now|today is|aktualisiert|stand|mis à jour|actualizado)|更新(?:于|於|时间|時間)?|现在(?:时间)?|当前时间|今天是?)"
)
_COUNT: Final = r"\d[\d.,']{0,15}+\s?[kKmM万千]?\+?"
_LOOKED_AT: Final = (
    r"(?:views?|visitors?|visits|readers|reads|hits|likes|shares|followers|downloads|users online|online now|watching"
    r"|comments?|replies|Aufrufe|Besucher|Leser|Kommentare|vues|commentaires|visitas|comentarios)\b"
    r"|次(?:浏览|阅读|访问|播放|观看|下载)|人(?:阅读|浏览|在看|看过|在线|点赞)|[条則则]评论|个赞"
)
_COUNTERS: Final = (
    r"(?:\b(?:views|visitors|visits|page ?views|reads|hits|likes|users online|visitor number)"
    r"|阅读[量数]?|浏览(?:量|次数)?|访问(?:量|次数)?|点击[量数]?|播放量?|在线(?:人数)?)"
)
_AGES: Final = (
    rf"\b(?:\d{{1,4}}|an?|one|a few)\s?{_UNITS}\sago\b",
    rf"\b(?:vor|il y a|hace)\s(?:\d{{1,4}}|eine[rm]|une?|una)\s{_UNITS}\b",
    r"\bjust now\b",
    r"\d{1,4}\s?(?:秒钟?|分钟?|小时|小時|時間|天|日|周|週間|个月|ヶ月|年)前",
    r"刚刚|剛剛",
)
_MOMENTS: Final = (
    rf"{_MADE}(?:\s(?:is|on|at|am|um|le))?\s?[:：]?\s?{_MOMENT}",
    r"\b\d{1,2}:\d{2}:\d{2}(?:\.\d{1,9})?(?:\s?[ap]\.?m\b\.?)?",
)
_COUNTS: Final = (rf"(?<!\w){_COUNT}\s?(?:{_LOOKED_AT})", rf"{_COUNTERS}\s?[:：]?\s?{_COUNT}")
#: What it took to make the page.
_EFFORTS: Final = (
    r"\b(?:generated|rendered|loaded|executed|created) in \d{1,6}(?:\.\d{1,9})?\s?(?:ms|milliseconds|s|sec|seconds)\b",
    r"\b\d{1,6} (?:(?:SQL|database|DB) )?queries\b",
)
_VOLATILE: Final = re.compile("|".join((*_AGES, *_MOMENTS, *_COUNTS, *_EFFORTS)), re.IGNORECASE)
#: Characters in which such words are looked for; what is longer is data rather than something to read.
MAX_SEARCHED = 300_000


def steady(text: str) -> str:
    """The text without such words, on one line."""
    return " ".join((_VOLATILE.sub("", text[:MAX_SEARCHED]) + text[MAX_SEARCHED:]).split())


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
