"""Sources as files carry them: what OPML, YAML, JSON and packs have in common. Pure."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from datetime import datetime
from enum import StrEnum
from typing import Any

from catchment.domain.caller import Caller
from catchment.domain.confidential import masked
from catchment.domain.options import INTERVAL_KEY, without_options
from catchment.errors import InvalidInput
from catchment.redact import redact_url


class ListFormat(StrEnum):
    OPML = "opml"
    JSON = "json"
    YAML = "yaml"


@dataclass(frozen=True, slots=True, kw_only=True)
class Pack:
    id: int
    #: Its name in addresses and commands.
    slug: str
    name: str
    description: str
    #: Entries such as a file of sources has them, without secrets.
    sources: tuple[Mapping[str, Any], ...]
    is_public: bool
    created_by: int | None
    install_count: int
    created_at: datetime

    def shown(self) -> dict[str, Any]:
        """As API and command line give it out."""
        facts = {field.name: getattr(self, field.name) for field in fields(self)}
        return facts | {"sources": [dict(entry) for entry in self.sources]}

    def is_seen_by(self, caller: Caller) -> bool:
        return self.is_public or caller.sees_all or caller.owns(self.created_by)


MAX_ENTRIES = 50_000
MAX_DEPTH = 20
FEED_TYPE = "rss"
#: The page that a feed belongs to, where a file names it.
HTML_URL = "html_url"
#: Other spellings under which a field may be written.
_SPELLINGS = {
    "isPublic": "is_public",
    "public": "is_public",
    "isActive": "is_active",
    "active": "is_active",
    "fetch_interval_minutes": "interval",
}
_FIELDS = ("name", "type", "url", "config", "tags", "interval", "options", "is_public", "is_active")


@dataclass(frozen=True, slots=True, kw_only=True)
class ListedSource:
    """One source of a file."""

    type: str
    config: Mapping[str, Any]
    name: str = ""
    tags: tuple[str, ...] = ()
    is_public: bool = False
    #: None where the file does not say.
    is_active: bool | None = None
    line: int = 0

    @property
    def address(self) -> str:
        """What a person knows it by: its URL, or else what its type needs, without secrets."""
        url = self.config.get("url")
        if isinstance(url, str):
            return redact_url(url)
        return json.dumps(masked(without_options(self.config)), ensure_ascii=False, sort_keys=True)

    def refused(self, reason: str) -> BadLine:
        return BadLine(line=self.line, name=self.name, address=self.address, reason=reason)


@dataclass(frozen=True, slots=True, kw_only=True)
class BadLine:
    """One entry of a file that cannot be a source, and why."""

    line: int
    reason: str
    name: str = ""
    address: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceList:
    """A file's entries in their order, and what it says of itself."""

    entries: tuple[ListedSource | BadLine, ...]
    name: str = ""
    description: str = ""

    @property
    def bad_lines(self) -> list[BadLine]:
        return [entry for entry in self.entries if isinstance(entry, BadLine)]

    @property
    def sources(self) -> list[ListedSource]:
        return [entry for entry in self.entries if isinstance(entry, ListedSource)]


@dataclass(slots=True)
class LinedList:
    """A list as it stands in a file: its values, and the line on which each begins."""

    values: list[Any] = field(default_factory=list)
    lines: list[int] = field(default_factory=list)


def read_entries(document: LinedList) -> tuple[ListedSource | BadLine, ...]:
    """Each entry by itself: a bad one costs nothing but itself."""
    if len(document.values) > MAX_ENTRIES:
        raise InvalidInput(f"The file lists more than {MAX_ENTRIES:,} sources; split it.")
    return tuple(_entry(value, line) for value, line in zip(document.values, document.lines, strict=True))


def read_listed(value: Any, *, line: int = 0) -> ListedSource:
    """One entry: a mapping, or an address alone. InvalidInput says what is wrong with it."""
    fields = _fields({"url": value} if isinstance(value, str) else value)
    config = _config(fields)
    return ListedSource(
        type=_text(fields, "type") or (FEED_TYPE if "url" in config else _no_type()),
        config=config,
        name=_text(fields, "name"),
        tags=_tags(fields.get("tags")),
        is_public=_flag(fields, "is_public") or False,
        is_active=_flag(fields, "is_active"),
        line=line,
    )


def as_entry(listed: ListedSource) -> dict[str, Any]:
    """The shortest entry that is read as the same again."""
    entry: dict[str, Any] = {"name": listed.name, "type": listed.type, "config": dict(listed.config)}
    if listed.tags:
        entry["tags"] = list(listed.tags)
    if listed.is_public:
        entry["is_public"] = True
    if listed.is_active is not None:
        entry["is_active"] = listed.is_active
    return entry


def _entry(value: Any, line: int) -> ListedSource | BadLine:
    try:
        return read_listed(value, line=line)
    except InvalidInput as error:
        shown = value if isinstance(value, Mapping) else {}
        name, url = shown.get("name"), shown.get("url")
        return BadLine(
            line=line,
            reason=str(error),
            name=name if isinstance(name, str) else "",
            address=redact_url(url) if isinstance(url, str) else "",
        )


def _fields(value: Any) -> dict[str, Any]:
    if not isinstance(value, Mapping):
        raise InvalidInput("An entry is an address, or a mapping with url or type and config.")
    check_plain(value)
    fields: dict[str, Any] = {}
    for written, given in value.items():
        name = _SPELLINGS.get(written, written)
        if name not in _FIELDS:
            raise InvalidInput(f"There is no field {written!r}; there are {', '.join(_FIELDS)}.")
        if name in fields:
            raise InvalidInput(f"{name} is there twice.")
        fields[name] = given
    return fields


def _config(fields: Mapping[str, Any]) -> dict[str, Any]:
    """The type's own keys and the options in one, as they are stored."""
    config: dict[str, Any] = {}
    for name in ("config", "options"):
        for key, value in _mapping(fields, name).items():
            if key in config:
                raise InvalidInput(f"{key} is there twice.")
            config[key] = value
    for name, key in (("url", "url"), ("interval", INTERVAL_KEY)):
        if fields.get(name) is None:
            continue
        if config.get(key, fields[name]) != fields[name]:
            raise InvalidInput(f"{name} is there twice, and not the same.")
        config[key] = fields[name]
    return config


def _mapping(fields: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    """A mapping, for which JSON text is accepted too."""
    value = fields.get(name)
    if isinstance(value, str):
        value = _from_json(value, name)
    if value is None:
        return {}
    if not isinstance(value, Mapping):
        raise InvalidInput(f"{name} is a mapping of names to values.")
    return value


def _from_json(text: str, name: str) -> Any:
    try:
        value = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise InvalidInput(f"{name} is a mapping, or one as JSON; this is neither.") from error
    check_plain(value)
    return value


def _text(fields: Mapping[str, Any], name: str) -> str:
    value = fields.get(name)
    if value is None:
        return ""
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        raise InvalidInput(f"{name} is text; put it in quotes.")
    return str(value).strip()


def _tags(value: Any) -> tuple[str, ...]:
    given = value if isinstance(value, list) else [] if value is None else [value]
    return tuple(filter(None, (_text({"A tag": tag}, "A tag") for tag in given)))


def _flag(fields: Mapping[str, Any], name: str) -> bool | None:
    value = fields.get(name)
    if value is not None and not isinstance(value, bool):
        raise InvalidInput(f"{name} is true or false; {value!r} is neither.")
    return value


def _no_type() -> str:
    raise InvalidInput("It has neither an address (url) nor a type.")


def check_plain(value: Any, depth: int = 0) -> None:
    """Only what JSON and both stores can hold, and nothing nested absurdly deep."""
    if depth > MAX_DEPTH:
        raise InvalidInput(f"It is nested deeper than {MAX_DEPTH} levels.")
    match value:
        case str():
            _check_text(value)
        case float() if not math.isfinite(value):
            raise InvalidInput(f"{value} is no number that can be kept.")
        case Mapping():
            for key, inner in value.items():
                check_plain(key, depth + 1)
                check_plain(inner, depth + 1)
        case list():
            for inner in value:
                check_plain(inner, depth + 1)
        case _:
            pass


def _check_text(text: str) -> None:
    if "\0" in text:
        raise InvalidInput("It holds a NUL character, which cannot be kept.")
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise InvalidInput("It holds broken characters (half a surrogate pair).") from error
