"""When the quick reading of a feed is not to be trusted, and the thorough one has to be asked.

Each doubt was met in real feeds: the quick parser does not fail there, it silently loses something.
All of them look for something cheap in the bytes first, because nearly every feed raises none.
"""

from __future__ import annotations

import re

from catchment.parse.fast import Finding

# An ampersand that starts none of the references that every XML parser knows: the text around it gets lost.
_STRAY_AMPERSAND = re.compile(rb"&(?!(?:amp|lt|gt|quot|apos|#[0-9]{1,7}|#[xX][0-9a-fA-F]{1,6});)")
_RSS_ITEM = re.compile(rb"<(?:[\w-]+:)?item[\s>]", re.IGNORECASE)
_ATOM_ENTRY = re.compile(rb"<(?:[\w-]+:)?entry[\s>]", re.IGNORECASE)
# Markup inside the element, where the quick parser reads text up to the first tag only.
_INLINE_MARKUP = re.compile(rb"<(?:[\w-]+:)?(?:title|summary)\s[^>]*xhtml")
_BASE = re.compile(rb"<(?:[\w-]+:)?(?:feed|entry|rss|rdf|channel|item|link)\s[^>]*xml:base", re.IGNORECASE)
_WEB = ("http://", "https://")


def is_doubtful(finding: Finding) -> bool:
    """Whether what was found may be less, or other, than what the document holds."""
    return (
        not finding.entries
        or _has_stray_ampersand(finding.document)
        or _has_more_entries(finding)
        or (finding.is_atom and _INLINE_MARKUP.search(finding.document) is not None)
        or _lacks_a_title(finding)
        or _lacks_a_base(finding)
        or _has_ids_here_and_there(finding)
    )


def _has_stray_ampersand(document: bytes) -> bool:
    """Whether there is one outside CDATA, where HTML's own entities belong."""
    position = 0
    while stray := _STRAY_AMPERSAND.search(document, position):
        opened = document.rfind(b"<![CDATA[", position, stray.start())
        closed = document.find(b"]]>", opened) if opened >= 0 else -1
        if closed < stray.start():
            return True
        position = closed
    return False


def _has_more_entries(finding: Finding) -> bool:
    name, tag = (b"<entry", _ATOM_ENTRY) if finding.is_atom else (b"<item", _RSS_ITEM)
    found = len(finding.entries)
    if finding.document.count(name) <= found:
        return False
    return len(tag.findall(_without_cdata(finding.document))) > found


def _without_cdata(document: bytes) -> bytes:
    head, *sections = document.split(b"<![CDATA[")
    return head + b"".join(section.partition(b"]]>")[2] for section in sections)


def _lacks_a_title(finding: Finding) -> bool:
    """Whether there is a title that only an extension gives."""
    return not all(entry.get("title") for entry in finding.entries) and b"<media:title" in finding.document


def _lacks_a_base(finding: Finding) -> bool:
    """Whether there is a link that only `xml:base` makes whole."""
    if all((entry.get("link") or "").startswith(_WEB) for entry in finding.entries):
        return False
    return _BASE.search(finding.document) is not None


def _has_ids_here_and_there(finding: Finding) -> bool:
    """Whether some entries have an id of their own and others only their link, which look alike."""
    return finding.has_links_as_ids and 0 < finding.ids_given() < len(finding.entries)
