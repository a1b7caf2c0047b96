"""The quick way to read a feed: fastfeedparser, with its own ideas of links, ids and dates undone."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from html import escape, unescape
from typing import Any

import fastfeedparser.main

from catchment.parse.dates import iso_date, parse_date
from catchment.parse.entry import (
    MAX_ENTRIES,
    MAX_TITLE,
    Enclosure,
    EntryMaker,
    Feed,
    Found,
    absolute,
    feed_base,
    size_in_bytes,
)
from catchment.parse.html import plain_text

# Its own reading of dates ends in libraries that take milliseconds over each text that is no date, and a feed may have
# tens of thousands of them. It has no option for that.
fastfeedparser.main._parse_date = iso_date  # noqa: SLF001

_Fields = Mapping[str, Any]

_PLAIN = frozenset({"text", "text/plain"})
_NO_CONTENT: _Fields = {"value": "", "type": "", "base": ""}
_PAGE_RELATIONS = frozenset({None, "", "alternate"})
_DATE_TAGS = (b"<pubDate", b"<updated", b"<published", b"date>", b"<modified", b"<issued", b"Date>")
_ATOM_ROOT = re.compile(rb"<(?:[\w-]+:)?feed[\s>]")
_HEAD = 1024
# Where videos have their text; feeds that know of it say so at their root.
_MEDIA_TEXT, _MEDIA = b"<media:description", b"xmlns:media"
# How fastfeedparser makes its excerpts.
_MARKUP = re.compile(r"<[^>]+>")
_EXCERPTED = 2048
_EXCERPT = 512


@dataclass(frozen=True, kw_only=True)
class Finding:
    """What fastfeedparser found in a document."""

    document: bytes
    info: _Fields
    entries: Sequence[_Fields]
    is_atom: bool
    #: There are texts that come with files.
    has_media_texts: bool

    @cached_property
    def has_links_as_ids(self) -> bool:
        """Whether an id is also the link: either the feed says so, or it gives no id."""
        return any(entry.get("id") == entry.get("link") for entry in self.entries)

    @cached_property
    def first_item(self) -> int:
        """Where the entries of RSS begin: what stands before is said of the feed."""
        return 0 if self.is_atom else max(self.document.find(b"<item"), 0)

    def has_markup(self) -> bool:
        """Whether any text is HTML."""
        return any("<" in text for entry in self.entries for text in _written(entry))

    def has_texts(self) -> bool:
        return any(any(_written(entry)) or _media_text(entry) for entry in self.entries)

    @cached_property
    def ids_given(self) -> int:
        """How many entries have an id of their own, roughly: tags quoted in a text count as well."""
        if self.is_atom:
            return self.document.count(b"<id>") - bool(self.info.get("id"))
        return self.document.count(b"<guid") or self.document.count(b":about=")


def find(document: bytes) -> Finding:
    """As bytes, never as text: that might be taken for an address to fetch."""
    has_media_texts = document.find(_MEDIA, 0, 4 * _HEAD) >= 0 and _MEDIA_TEXT in document
    found = fastfeedparser.parse(document, include_media=has_media_texts)
    is_atom = _ATOM_ROOT.search(document, 0, _HEAD) is not None
    return Finding(
        document=document,
        info=found["feed"],
        entries=found["entries"],
        is_atom=is_atom,
        has_media_texts=has_media_texts,
    )


def read(finding: Finding, url: str, *, summaries: bool = True) -> Feed:
    """The feed out of what was found."""
    link = finding.info.get("link") or ""
    base = feed_base(link, url)
    reader = _Reader(finding, summaries=summaries)
    found = [reader.found(entry) for entry in finding.entries[:MAX_ENTRIES]]
    return Feed(
        title=plain_text(finding.info.get("title") or "", MAX_TITLE),
        link=absolute(link, base),
        entries=EntryMaker(base, summaries=summaries).make(found),
    )


class _Reader:
    """Turns what fastfeedparser found of one feed into what its entries are made of."""

    def __init__(self, finding: Finding, *, summaries: bool) -> None:
        self._summaries = summaries
        self._author = finding.info.get("author") or ""
        self._is_atom = finding.is_atom
        # Where a feed gives no dates or ids, fastfeedparser makes dates of ids, and ids of links.
        self._has_dates = any(finding.document.find(tag, finding.first_item) >= 0 for tag in _DATE_TAGS)
        self._has_ids = not finding.has_links_as_ids or finding.ids_given > 0

    def found(self, entry: _Fields) -> Found:
        get = entry.get
        link, entry_id = get("link", ""), get("id", "")
        links, files, tags = get("links", ()), get("enclosures", ()), get("tags")
        published, updated = (get("published"), get("updated")) if self._has_dates else (None, None)
        given = get("content")
        content = given[0] if given else _NO_CONTENT
        summary, text = _texts(get("description", ""), content, self._summaries)
        return Found(
            entry_id if self._has_ids or entry_id != link else "",
            _page(links) if self._is_atom else link,
            get("title", ""),
            get("author") or self._author,
            parse_date(published) if published else None,
            parse_date(updated) if updated else None,
            summary if summary or text else _media_text(entry),
            text,
            _enclosures(files, links) if files or links else (),
            [tag["term"] for tag in tags] if tags else (),
            content.get("base") or "",
        )


def _page(links: Collection[_Fields]) -> str:
    """The page an Atom entry stands for; of several, the first that a browser can open."""
    pages: list[str] = [link["href"] for link in links if link["rel"] in _PAGE_RELATIONS]
    if len(pages) > 1:
        return next((page for page in pages if page.startswith("http")), pages[0])
    return pages[0] if pages else ""


def _texts(summary: str, given: _Fields, summaries: bool) -> tuple[str, str]:
    """Summary and content, each "" where the feed gives none."""
    content: str = given["value"] or ""
    if summary == content or not content or content.isspace():
        return summary, ""
    if given["type"] in _PLAIN:
        content = escape(content, quote=False)
    return ("" if not summaries or _is_made_up(summary, content) else summary), content


def _written(entry: _Fields) -> list[str]:
    """Its texts as they are."""
    return [entry.get("description", ""), *(content["value"] or "" for content in entry.get("content", ()))]


def _media_text(entry: _Fields) -> str:
    """What is said of the first video or picture that anything is said of."""
    return next((media["description"] for media in entry.get("media_content", ()) if media.get("description")), "")


def _is_made_up(summary: str, content: str) -> bool:
    """Whether the summary is how the content begins, as fastfeedparser writes it where a feed gives none."""
    if len(summary) > _EXCERPT:
        return False
    # Tags are looked for up to the last end of one: from every start in vain, that would take long.
    head, end, rest = content[:_EXCERPTED].rpartition(">")
    start = _squeezed(unescape(_MARKUP.sub(" ", head + end) + rest))
    return start.startswith(_squeezed(summary))


def _squeezed(text: str) -> str:
    return "".join(text.split())


def _enclosures(given: Collection[_Fields], links: Collection[_Fields]) -> list[Enclosure]:
    found = [(file.get("url"), file) for file in given]
    found += [(link["href"], link) for link in links if link["rel"] == "enclosure"]
    return [
        Enclosure(url=url, type=file.get("type") or "", length=size_in_bytes(file.get("length")))
        for url, file in found
        if url
    ]
