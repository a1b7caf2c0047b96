"""HTML pages as trees: any bytes become one, and what a CSS selector chooses in it is found."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import Any, TypeAlias

import lxml.etree  # type: ignore[import-untyped]
import lxml.html  # type: ignore[import-untyped]
from cssselect import SelectorError
from lxml.cssselect import CSSSelector  # type: ignore[import-untyped]

from catchment.errors import BadConfig, ParseError
from catchment.parse.encoding import as_utf8
from catchment.parse.entry import absolute
from catchment.parse.html import CONTROL_BYTES, storable

#: lxml has no types of its own.
Element: TypeAlias = Any

#: Of a longer page the start is read: none that people read is longer, and a tree of it would hold up everybody.
MAX_BYTES = 2 * 1024 * 1024
MAX_SELECTOR_CHARS = 500
_HEAD = 4096
_META_CHARSET = re.compile(rb"<meta[^>]{0,200}?charset\s*+=\s*+[\"']?\s*+([\w.:-]{1,40})", re.IGNORECASE)
# Everything else starts a new line on the screen, so its text does not run into the text before.
_INLINE = re.compile(
    "a|abbr|b|bdi|bdo|big|cite|code|data|del|dfn|em|font|i|ins|kbd|label|mark|q|s|samp|small|span|strike|strong|sub|sup"
    "|time|tt|u|var|wbr"
)
_UNSEEN = frozenset({"script", "style", "template", "noscript", "head", "svg", "iframe", "object"})


def read_tree(body: bytes, content_type: str = "") -> Element:
    """The page as a tree; an empty one where there is no markup at all."""
    said = content_type if "charset" in content_type.lower() else _declared(body)
    document = as_utf8(body[:MAX_BYTES], said).translate(None, CONTROL_BYTES)
    parser = lxml.html.HTMLParser(encoding="utf-8", remove_comments=True, remove_pis=True)
    try:
        return _whole(lxml.html.document_fromstring(document or b"<html></html>", parser=parser))
    except lxml.etree.LxmlError:
        return lxml.html.document_fromstring(b"<html></html>")


def _whole(root: Element) -> Element:
    """With what follows a stray `</html>`, as in a browser: libxml2 begins a second tree there, which nobody sees."""
    for rest in list(root.itersiblings(lxml.etree.Element)):
        body = root.find("body")
        if body is None:
            root.extend(list(rest))
            continue
        for part in rest.iter("html", "head", "body"):
            part.tag = "div"
        body.append(rest)
    return root


def base_of(tree: Element, url: str) -> str:
    """What relative links on the page are relative to."""
    return next((base for href in tree.xpath("//base/@href") if (base := absolute(href, url))), url)


@lru_cache(maxsize=256)
def compile_selector(text: str) -> CSSSelector:
    """A CSS selector that somebody wrote, ready to be used."""
    if len(text) > MAX_SELECTOR_CHARS:
        raise BadConfig(f"A CSS selector has at most {MAX_SELECTOR_CHARS} characters.")
    try:
        selector = CSSSelector(text, translator="html")
        selector(lxml.html.Element("html"))  # some mistakes only show in use
    except (SelectorError, lxml.etree.XPathError, RecursionError, ValueError) as error:
        raise BadConfig(f"{text!r} is no CSS selector that can be used: {error}.") from error
    return selector


def select(tree: Element, selector: str) -> Sequence[Element]:
    """What the selector chooses, in the order of the page."""
    try:
        chosen: Sequence[Element] = compile_selector(selector)(tree)
    except lxml.etree.XPathError as error:
        raise ParseError(f"the selector {selector!r} could not be used on this page: {error}") from error
    return chosen


def text_of(element: Element) -> str:
    """What a reader sees of an element, on one line."""
    return storable(" ".join("".join(_seen(element)).split()))


def html_of(element: Element) -> str:
    """An element as markup, for a cleaner to make harmless."""
    markup: str = lxml.html.tostring(element, encoding="unicode", with_tail=False)
    return markup


def _seen(element: Element) -> Iterator[str]:
    walk = lxml.etree.iterwalk(element, events=("start", "end"))
    for event, node in walk:
        gap = "" if _INLINE.fullmatch(node.tag) else " "
        if event == "end":
            yield gap
            yield (node.tail or "") if node is not element else ""
        elif node.tag in _UNSEEN:
            walk.skip_subtree()
        else:
            yield gap
            yield node.text or ""


def _declared(body: bytes) -> str:
    match = _META_CHARSET.search(body, 0, _HEAD)
    return f"text/html; charset={match[1].decode('ascii', 'replace')}" if match else ""
