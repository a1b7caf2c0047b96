"""OPML for other readers: every feed with its name, its folder and its categories.

What only we understand stands in attributes of our own namespace, so that a list which comes back is the same list:
the type where it is no feed, the rest of the config, whether it is public or paused.
"""

from __future__ import annotations

import csv
import json
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from email.utils import format_datetime
from io import StringIO
from typing import Any, TypeAlias

import lxml.etree  # type: ignore[import-untyped]
import yaml

from catchment.domain.listing import FEED_TYPE, HTML_URL, ListedSource
from catchment.parse.html import storable
from catchment.parse.opml import OWN_NAMESPACE, OWN_PREFIX

_DUMPER: Any = getattr(yaml, "CSafeDumper", yaml.SafeDumper)


def write_json(document: Mapping[str, Any]) -> bytes:
    return (json.dumps(document, ensure_ascii=False, indent=2) + "\n").encode()


def write_yaml(document: Mapping[str, Any]) -> bytes:
    written: bytes = yaml.dump(
        _separate(document), Dumper=_DUMPER, encoding="utf-8", allow_unicode=True, sort_keys=False, width=120
    )
    return written


def _separate(value: Any) -> Any:
    """Copies all the way down: what is there twice would be written as an alias."""
    if isinstance(value, Mapping):
        return {key: _separate(inner) for key, inner in value.items()}
    return [_separate(inner) for inner in value] if isinstance(value, list) else value


Element: TypeAlias = Any  # lxml brings no types
#: The types whose address is a feed that any reader can follow.
FEED_TYPES = frozenset({FEED_TYPE, "digest_feed"})


def write_opml(sources: Iterable[ListedSource], *, title: str, created_at: datetime) -> bytes:
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


def _home(source: ListedSource, body: Element, folders: dict[str, Element]) -> Element:
    if not source.tags:
        return body
    name = storable(source.tags[0])
    if name not in folders:
        folders[name] = lxml.etree.SubElement(body, "outline", text=name, title=name)
    return folders[name]


def _outline(home: Element, source: ListedSource) -> None:
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


def _own(source: ListedSource, rest: dict[str, Any]) -> Iterable[tuple[str, str]]:
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
