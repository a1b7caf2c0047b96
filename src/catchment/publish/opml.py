"""Lists of sources as files, written as they are read: YAML and JSON, and OPML for other readers.

OPML has every feed with its name, its folder and its categories. What only we understand stands in attributes of our
own namespace, so that a list which comes back is the same list: the type where it is no feed, the rest of the config,
whether it is public or paused.
"""

from __future__ import annotations

import csv
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import ExitStack
from datetime import datetime
from email.utils import format_datetime
from io import BytesIO, StringIO
from typing import Any, Protocol, TypeVar

import lxml.etree  # type: ignore[import-untyped]
import yaml

from catchment.domain.listing import FEED_TYPE, HTML_URL, ListedSource, ListFormat, as_entry
from catchment.parse.html import storable
from catchment.parse.opml import OWN_NAMESPACE, OWN_PREFIX

_DUMPER: Any = getattr(yaml, "CSafeDumper", yaml.SafeDumper)


def write_json(document: Mapping[str, Any]) -> bytes:
    return (json.dumps(document, ensure_ascii=False, indent=2) + "\n").encode()


def write_yaml(document: Any) -> bytes:
    written: bytes = yaml.dump(
        _separate(document), Dumper=_DUMPER, encoding="utf-8", allow_unicode=True, sort_keys=False, width=120
    )
    return written


def _separate(value: Any) -> Any:
    """Copies all the way down: what is there twice would be written as an alias."""
    if isinstance(value, Mapping):
        return {key: _separate(inner) for key, inner in value.items()}
    return [_separate(inner) for inner in value] if isinstance(value, list) else value


T = TypeVar("T")
#: The types whose address is a feed that any reader can follow.
FEED_TYPES = frozenset({FEED_TYPE, "digest_feed"})


class ListWriter(Protocol):
    """Takes sources as they come and gives out bytes; it holds none of them."""

    def write(self, sources: Iterable[ListedSource]) -> bytes: ...

    def finish(self) -> bytes: ...


def list_writer(form: ListFormat, *, title: str, created_at: datetime) -> ListWriter:
    """OPML takes its sources folder by folder (`folder_of`), the others in any order."""
    if form is ListFormat.OPML:
        return _OpmlWriter(title=title, created_at=created_at)
    return _YamlWriter() if form is ListFormat.YAML else _JsonWriter()


def folder_of(tags: Sequence[str]) -> str:
    """A source lies in the folder of its first tag; all of its tags are its categories, so that none is lost."""
    return storable(tags[0]) if tags else ""


def by_folder(listed: Iterable[T], folder: Callable[[T], str]) -> list[T]:
    """What lies together stands together, in the order in which the folders first come."""
    together: dict[str, list[T]] = {}
    for one in listed:
        together.setdefault(folder(one), []).append(one)
    return [one for inside in together.values() for one in inside]


class _YamlWriter:
    def __init__(self) -> None:
        self._is_empty = True

    def write(self, sources: Iterable[ListedSource]) -> bytes:
        entries = [as_entry(one) for one in sources]
        if not entries:
            return b""
        opening, self._is_empty = b"sources:\n" if self._is_empty else b"", False
        return opening + write_yaml(entries)

    def finish(self) -> bytes:
        return b"sources: []\n" if self._is_empty else b""


class _JsonWriter:
    def __init__(self) -> None:
        self._before = '{\n  "sources": [\n'

    def write(self, sources: Iterable[ListedSource]) -> bytes:
        written = ""
        for one in sources:
            entry = json.dumps(as_entry(one), ensure_ascii=False, indent=2)
            written += self._before + "    " + entry.replace("\n", "\n    ")
            self._before = ",\n"
        return written.encode()

    def finish(self) -> bytes:
        return b"\n  ]\n}\n" if self._before == ",\n" else b'{\n  "sources": []\n}\n'


class _OpmlWriter:
    def __init__(self, *, title: str, created_at: datetime) -> None:
        self._written = BytesIO()
        self._open, self._folder = ExitStack(), ExitStack()
        self._folder_name = ""
        self._xml = self._open.enter_context(lxml.etree.xmlfile(self._written, encoding="utf-8"))
        self._xml.write_declaration()
        own = {OWN_PREFIX.rstrip(":"): OWN_NAMESPACE}
        self._open.enter_context(self._xml.element("opml", version="2.0", nsmap=own))
        head = lxml.etree.Element("head")
        lxml.etree.SubElement(head, "title").text = storable(title)
        lxml.etree.SubElement(head, "dateCreated").text = format_datetime(created_at, usegmt=True)
        self._xml.write("\n", head, "\n")
        self._open.enter_context(self._xml.element("body"))

    def write(self, sources: Iterable[ListedSource]) -> bytes:
        for source in sources:
            self._enter(folder_of(source.tags))
            self._xml.write("\n")
            with self._xml.element("outline", _outline(source)):
                pass
        self._xml.flush()
        return self._taken()

    def finish(self) -> bytes:
        self._enter("")
        self._xml.write("\n")
        self._open.close()
        return self._taken() + b"\n"

    def _enter(self, folder: str) -> None:
        if folder == self._folder_name:
            return
        if self._folder_name:
            self._xml.write("\n")
        self._folder.close()
        self._folder_name = folder
        if folder:
            self._xml.write("\n")
            self._folder.enter_context(self._xml.element("outline", text=folder, title=folder))

    def _taken(self) -> bytes:
        written = self._written.getvalue()
        self._written.seek(0)
        self._written.truncate()
        return written


def _outline(source: ListedSource) -> dict[str, str]:
    name = storable(source.name)
    attributes = {"text": name, "title": name}
    rest = dict(source.config)
    if source.type in FEED_TYPES and isinstance(rest.get("url"), str):
        attributes |= {"type": "rss", "xmlUrl": storable(rest.pop("url"))}
        if isinstance(rest.get(HTML_URL), str):
            attributes["htmlUrl"] = storable(rest.pop(HTML_URL))
    if source.tags:
        attributes["category"] = storable(_categories(source.tags))
    return attributes | {f"{{{OWN_NAMESPACE}}}{name}": value for name, value in _own(source, rest)}


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
