"""OPML for other readers: every feed with its name, its folder and its categories.

What only we understand stands in attributes of our own namespace, so that a list which comes back is the same list:
the type where it is no feed, the rest of the config, whether it is public or paused.
"""

from __future__ import annotations

import csv
import json
from collections.abc import Iterable, Sequence
from datetime import datetime
from email.utils import format_datetime
from io import StringIO
from typing import Any, TypeAlias

import lxml.etree  # type: ignore[import-untyped]

from catchment.domain.listing import FEED_TYPE, HTML_URL, Listed
from catchment.parse.html import storable
from catchment.parse.opml import OWN_NAMESPACE, OWN_PREFIX

Element: TypeAlias = Any  # lxml brings no types
#: The types whose address is a feed that any reader can follow.
FEED_TYPES = frozenset({FEED_TYPE, "digest_feed"})


def write_opml(sources: Iterable[Listed], *, title: str, created_at: datetime) -> bytes:
    """A source lies in the folder of its first tag; all of its tags are its categories, so that none is lost."""
    opml = lxml.etree.Element("opml", version="2.0", nsmap={OWN_PREFIX.rstrip(":"): OWN_NAMESPACE})
    head = lxml.etree.SubElement(opml, "head")
    lxml.etree.SubElement(head, "title").text = storable(title)
    lxml.etree.SubElement(head, "dateCreated").text = format_datetime(created_at, usegmt=True)
    body = lxml.etree.SubElement(opml, "body")
    folders: dict[str, Element] = {}
    for source in sources:
        _outline(_home(source, body, folders), source)
    written: bytes = lxml.etree.tostring(opml, encoding="utf-8", xml_declaration=True, pretty_print=True)
    return written


def _home(source: Listed, body: Element, folders: dict[str, Element]) -> Element:
    if not source.tags:
        return body
    name = storable(source.tags[0])
    if name not in folders:
        folders[name] = lxml.etree.SubElement(body, "outline", text=name, title=name)
    return folders[name]


def _outline(home: Element, source: Listed) -> None:
    name = storable(source.name)
    outline = lxml.etree.SubElement(home, "outline", text=name, title=name)
    rest = dict(source.config)
    if source.type in FEED_TYPES and isinstance(rest.get("url"), str):
        outline.set("type", "rss")
        outline.set("xmlUrl", storable(rest.pop("url")))
        if isinstance(rest.get(HTML_URL), str):
            outline.set("htmlUrl", storable(rest.pop(HTML_URL)))
    if source.tags:
        outline.set("category", storable(_categories(source.tags)))
    for attribute, value in _own(source, rest):
        outline.set(lxml.etree.QName(OWN_NAMESPACE, attribute), value)


def _own(source: Listed, rest: dict[str, Any]) -> Iterable[tuple[str, str]]:
    """What the attributes that everybody knows do not say."""
    if source.type != FEED_TYPE or "url" in rest:
        yield "type", source.type
    if rest:
        yield "config", json.dumps(rest, sort_keys=True)
    if source.is_public:
        yield "public", "true"
    if source.is_active is not None:
        yield "active", str(source.is_active).lower()


def _categories(tags: Sequence[str]) -> str:
    line = StringIO()
    csv.writer(line, lineterminator="").writerow(tags)
    return line.getvalue()
