"""OPML for other readers: every feed with its name, its folder and its categories."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from email.utils import format_datetime
from io import StringIO
from typing import Any, TypeAlias

import lxml.etree  # type: ignore[import-untyped]

from catchment.parse.html import storable

Element: TypeAlias = Any  # lxml brings no types


@dataclass(frozen=True, slots=True, kw_only=True)
class OpmlFeed:
    name: str
    url: str
    tags: tuple[str, ...] = ()


def write_opml(feeds: Iterable[OpmlFeed], *, title: str, created_at: datetime) -> bytes:
    """A feed lies in the folder of its first tag; all of its tags are its categories, so that none is lost."""
    opml = lxml.etree.Element("opml", version="2.0")
    head = lxml.etree.SubElement(opml, "head")
    lxml.etree.SubElement(head, "title").text = storable(title)
    lxml.etree.SubElement(head, "dateCreated").text = format_datetime(created_at, usegmt=True)
    body = lxml.etree.SubElement(opml, "body")
    folders: dict[str, Element] = {}
    for feed in feeds:
        _outline(_home(feed, body, folders), feed)
    written: bytes = lxml.etree.tostring(opml, encoding="utf-8", xml_declaration=True, pretty_print=True)
    return written


def _home(feed: OpmlFeed, body: Element, folders: dict[str, Element]) -> Element:
    if not feed.tags:
        return body
    name = storable(feed.tags[0])
    if name not in folders:
        folders[name] = lxml.etree.SubElement(body, "outline", text=name, title=name)
    return folders[name]


def _outline(home: Element, feed: OpmlFeed) -> None:
    name = storable(feed.name)
    outline = lxml.etree.SubElement(home, "outline", type="rss", text=name, title=name, xmlUrl=storable(feed.url))
    if feed.tags:
        outline.set("category", storable(_categories(feed.tags)))


def _categories(tags: Sequence[str]) -> str:
    line = StringIO()
    csv.writer(line, lineterminator="").writerow(tags)
    return line.getvalue()
