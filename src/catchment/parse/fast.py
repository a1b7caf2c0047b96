"""The quick way to read a feed: fastfeedparser, with its own ideas of links, ids and dates undone."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from html import escape, unescape
from typing import Any

import fastfeedparser

from catchment.parse.dates import parse_date
from catchment.parse.entry import (
    MAX_ENTRIES,
    MAX_TITLE,
    Enclosure,
    Entry,
    EntryBuilder,
    Feed,
    Texts,
    absolute,
    feed_base,
    size_in_bytes,
)
from catchment.parse.html import plain_text

_Fields = Mapping[str, Any]

_PLAIN = frozenset({"text", "text/plain"})
_PAGE_RELATIONS = frozenset({None, "", "alternate"})
_DATE_TAGS = (b"<pubDate", b"<updated", b"<published", b"date>", b"<modified", b"<issued", b"Date>")
_ATOM_ROOT = re.compile(rb"<(?:[\w-]+:)?feed[\s>]")
_HEAD = 1024
# How fastfeedparser makes its excerpts.
_MARKUP = re.compile(r"<[^>]+>")
_EXCERPTED = 2048
_EXCERPT = 512


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """What fastfeedparser found in a document."""

    document: bytes
    info: _Fields
    entries: Sequence[_Fields]
    is_atom: bool

    def has_links_as_ids(self) -> bool:
        """Whether an id is also the link: either the feed says so, or it gives no id."""
        return any(entry.get("id") == entry.get("link") for entry in self.entries)

    def ids_given(self) -> int:
        """How many entries have an id of their own, roughly: tags quoted in a text count as well."""
        if self.is_atom:
            return self.document.count(b"<id>") - bool(self.info.get("id"))
        return self.document.count(b"<guid") + self.document.count(b":about=")


def find(document: bytes) -> Finding:
    """As bytes, never as text: that might be taken for an address to fetch."""
    found = fastfeedparser.parse(document, include_media=False)
    is_atom = _ATOM_ROOT.search(document, 0, _HEAD) is not None
    return Finding(document=document, info=found["feed"], entries=found["entries"], is_atom=is_atom)


def read(finding: Finding, url: str, *, summaries: bool = True) -> Feed:
    """The feed out of what was found."""
    link = finding.info.get("link") or ""
    base = feed_base(link, url)
    return Feed(
        title=plain_text(finding.info.get("title") or "", MAX_TITLE),
        link=absolute(link, base),
        entries=_Reader(finding, EntryBuilder(base, summaries=summaries), summaries=summaries).entries(),
    )


class _Reader:
    """Turns what was found of one feed into entries."""

    def __init__(self, finding: Finding, builder: EntryBuilder, *, summaries: bool) -> None:
        self._found = finding.entries[:MAX_ENTRIES]
        self._summaries = summaries
        self._builder = builder
        self._author = finding.info.get("author") or ""
        self._is_atom = finding.is_atom
        # Where a feed gives no dates or ids, fastfeedparser makes dates of ids, and ids of links.
        self._has_dates = any(tag in finding.document for tag in _DATE_TAGS)
        self._has_ids = not finding.has_links_as_ids() or finding.ids_given() > 0

    def entries(self) -> tuple[Entry, ...]:
        # All texts first: going back and forth between the sanitiser and this costs a fifth more.
        texts = [self._builder.texts(*_texts(found, summaries=self._summaries)) for found in self._found]
        return tuple(map(self._entry, self._found, texts))

    def _entry(self, found: _Fields, texts: Texts) -> Entry:
        get = found.get
        link = get("link", "")
        entry_id = get("id", "")
        links = get("links", ())
        tags = get("tags")
        return self._builder.build(
            id=entry_id if self._has_ids or entry_id != link else "",
            link=_page(links) if self._is_atom else link,
            title=get("title", ""),
            author=get("author") or self._author,
            published=self._date(get("published")),
            updated=self._date(get("updated")),
            texts=texts,
            enclosures=_enclosures(get("enclosures", ()), links),
            tags=[tag["term"] for tag in tags] if tags else (),
        )

    def _date(self, text: str | None) -> datetime | None:
        return parse_date(text) if text and self._has_dates else None


def _page(links: Collection[_Fields]) -> str:
    """The page an Atom entry stands for; of several, the first that a browser can open."""
    pages: list[str] = [link["href"] for link in links if link["rel"] in _PAGE_RELATIONS]
    if len(pages) > 1:
        return next((page for page in pages if page.startswith("http")), pages[0])
    return pages[0] if pages else ""


def _texts(found: _Fields, *, summaries: bool) -> Texts:
    """Summary and content, each "" where the feed gives none."""
    given = found.get("content")
    summary: str = found.get("description", "")
    if not given:
        return summary, ""
    first = given[0]
    content: str = first["value"] or ""
    if summary == content:
        return summary, ""
    if first["type"] in _PLAIN:
        content = escape(content, quote=False)
    return ("" if not summaries or _is_made_up(summary, content) else summary), content


def _is_made_up(summary: str, content: str) -> bool:
    """Whether the summary is how the content begins, as fastfeedparser writes it where a feed gives none."""
    if len(summary) > _EXCERPT:
        return False
    start = _squeezed(unescape(_MARKUP.sub(" ", content[:_EXCERPTED])))
    return start.startswith(_squeezed(summary))


def _squeezed(text: str) -> str:
    return "".join(text.split())


def _enclosures(given: Collection[_Fields], links: Collection[_Fields]) -> list[Enclosure]:
    if not given and not links:
        return []
    found = [(file.get("url"), file) for file in given]
    found += [(link["href"], link) for link in links if link["rel"] == "enclosure"]
    return [
        Enclosure(url=url, type=file.get("type") or "", length=size_in_bytes(file.get("length")))
        for url, file in found
        if url
    ]
