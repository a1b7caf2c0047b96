"""When the quick reading of a feed is not to be trusted, and the thorough one has to be asked.

Each doubt was met in real feeds: the quick parser does not fail there, it silently loses something.
All of them look for something cheap in the bytes first, because nearly every feed raises none.
"""

from __future__ import annotations

import re

from catchment.parse.fast import Finding

_RSS_ITEM = re.compile(rb"<(?:[\w-]+:)?item[\s>]", re.IGNORECASE)
_ATOM_ENTRY = re.compile(rb"<(?:[\w-]+:)?entry[\s>]", re.IGNORECASE)
# Markup inside the element, where the quick parser reads text up to the first tag only.
_INLINE_MARKUP = re.compile(rb"<(?:[\w-]+:)?(?:title|summary)\s[^<>]*xhtml")
_MARKUP_IN_DESCRIPTION = re.compile(rb"<description(?:\s[^<>]*+)?(?<!/)>[^<]*+<[a-zA-Z]")
_MARKUP_IN_CONTENT = re.compile(rb"<(?:summary|content)(?:\s[^<>]*+)?(?<!/)>[^<]*+<[a-zA-Z]")
_BASE = re.compile(rb"<(?:[\w-]+:)?(?:feed|entry|rss|rdf|channel|item|link)\s[^<>]*xml:base", re.IGNORECASE)
_DATE_END = re.compile(
    rb"</(?:[\w-]+:)?(?:pubDate|published|issued|date|lastBuildDate|updated|modified)\s*>", re.IGNORECASE
)
_WEB = ("http://", "https://")
#: Only of links: an `enclosure` of RSS is read whole.
_SIZE_OF_LINK = re.compile(rb"<(?:atom:)?link\s[^<>]{0,2000}?\slength=")


def is_doubtful(finding: Finding) -> bool:
    """Whether what was found may be less, or other, than what the document holds."""
    return (
        not finding.entries
        or _has_more_entries(finding)
        or _has_markup_as_it_is(finding)
        or _lacks_contents(finding)
        or (finding.has_media_texts and not finding.has_texts())
        or _lacks_a_title(finding)
        or _lacks_what_atom_says(finding)
        or _lacks_a_base(finding)
        or _has_ids_here_and_there(finding)
        or _may_have_dates_of_ids(finding)
    )


def _has_more_entries(finding: Finding) -> bool:
    name, tag = (b"<entry", _ATOM_ENTRY) if finding.is_atom else (b"<item", _RSS_ITEM)
    found = len(finding.entries)
    if finding.document.count(name) <= found:
        return False
    return len(tag.findall(_without_cdata(finding.document))) > found


def _without_cdata(document: bytes) -> bytes:
    head, *sections = document.split(b"<![CDATA[")
    return head + b"".join(section.partition(b"]]>")[2] for section in sections)


def _has_markup_as_it_is(finding: Finding) -> bool:
    """Whether there is markup in a text that was neither escaped nor, as in XHTML, kept."""
    document = finding.document
    if not finding.is_atom:
        return _MARKUP_IN_DESCRIPTION.search(document) is not None
    if b"xhtml" in document and _INLINE_MARKUP.search(document) is not None:
        return True
    return not finding.has_markup() and _MARKUP_IN_CONTENT.search(document) is not None


def _lacks_contents(finding: Finding) -> bool:
    """Whether there are contents of which none was read, as in RDF."""
    if finding.is_atom or any("content" in entry for entry in finding.entries):
        return False
    return b"<content:encoded" in finding.document


def _lacks_a_title(finding: Finding) -> bool:
    """Whether there is a title that only an extension gives."""
    return not all(entry.get("title") for entry in finding.entries) and b"<media:title" in finding.document


def _lacks_what_atom_says(finding: Finding) -> bool:
    """Whether there is the size of a linked file, or in RSS the date of Atom beside its own, which nobody read."""
    document = finding.document
    if not finding.is_atom and b"<atom:published" in document:
        return True
    return b'rel="enclosure"' in document and _SIZE_OF_LINK.search(document) is not None


def _lacks_a_base(finding: Finding) -> bool:
    """Whether there is a link that only `xml:base` makes whole."""
    if all((entry.get("link") or "").startswith(_WEB) for entry in finding.entries):
        return False
    return _BASE.search(finding.document) is not None


def _has_ids_here_and_there(finding: Finding) -> bool:
    """Whether some entries have an id of their own and others only their link, which look alike."""
    return finding.has_links_as_ids and 0 < finding.ids_given < len(finding.entries)


def _may_have_dates_of_ids(finding: Finding) -> bool:
    """Whether an entry has no date although others do, and an id of which one may have been made."""
    if finding.is_atom:
        return False
    document, first, wanted = finding.document, finding.first_item, len(finding.entries)
    if document.count(b"</pubDate>", first) >= wanted:
        return False
    if all((entry.get("id") or "").startswith(_WEB) for entry in finding.entries):
        return False
    return 0 < len(_DATE_END.findall(document, first)) < wanted
