"""The article on a page: what it says, who wrote it and when, out of any bytes that claim to be one."""

from __future__ import annotations

import logging
from dataclasses import dataclass
from datetime import datetime
from unicodedata import normalize

from catchment.parse.facts import facts_of, is_same_title
from catchment.parse.html import HtmlCleaner
from catchment.parse.tree import Element, base_of, html_of, read_tree, text_of

_BLOCKS = ("h1", "h2", "h3", "h4", "h5", "h6", "p")
_SOFT_HYPHEN = "\u00ad"


@dataclass(frozen=True, slots=True, kw_only=True)
class Article:
    """Texts are "" where the page says nothing, dates UTC, links absolute."""

    title: str
    description: str
    #: The main text alone, a line for each paragraph.
    text: str
    #: The same as harmless markup.
    html: str
    author: str
    published: datetime | None
    modified: datetime | None
    image: str
    canonical: str
    language: str


def extract(html: bytes, url: str, content_type: str = "") -> Article:
    tree = read_tree(html, content_type)
    base = base_of(tree, url)
    facts = facts_of(tree, base)
    content = _main_content(tree, base)
    _drop_title(content, facts.title)
    return Article(
        title=facts.title,
        description=facts.description,
        text=_paragraphs(content),
        html=HtmlCleaner(base).clean(html_of(content)),
        author=facts.author,
        published=facts.published,
        modified=facts.modified,
        image=facts.image,
        canonical=facts.canonical,
        language=facts.language,
    )


def _main_content(tree: Element, base: str) -> Element:
    """What is left of the page without its surroundings, as a body of plain HTML; an empty one where nothing is."""
    # Imported where it is needed: it takes a third of a second, and most commands never read a page.
    from trafilatura.core import bare_extraction
    from trafilatura.htmlprocessing import convert_to_html
    from trafilatura.settings import Document

    # It warns of every page without text, which is no event for a log.
    logging.getLogger("trafilatura").setLevel(logging.CRITICAL)
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
