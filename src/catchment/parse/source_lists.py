"""Lists of sources in YAML or JSON, with the line on which each entry begins.

YAML is read event by event into plain values, so there is nothing that could expand or be executed: aliases and tags
are refused, and only what JSON knows is told apart from text (`no` is a word, not false).
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import yaml

from catchment.domain.listing import MAX_DEPTH, LinedList, SourceList, read_entries
from catchment.errors import InvalidInput

MAX_BYTES = 10 * 1024 * 1024
#: Where a file says more than a list, its sources are under this name.
SOURCES = "sources"
_LOADER: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
# No more than what every version of YAML takes for a number or a word of its own: whatever a writer leaves without
# quotes is read as it was meant.
_INTEGER = re.compile(r"[-+]?(?:0|[1-9][0-9]{0,299})")
_FLOAT = re.compile(r"[-+]?[0-9]{1,300}\.[0-9]{0,300}(?:[eE][-+][0-9]{1,3})?")
_WORDS = {
    **dict.fromkeys(("", "~", "null", "Null", "NULL")),
    **dict.fromkeys(("true", "True", "TRUE"), True),
    **dict.fromkeys(("false", "False", "FALSE"), False),
}
_BLANKS = re.compile(r"[ \t\r\n]*")
_JSON = json.JSONDecoder()


def read_listing(body: bytes) -> SourceList:
    """The entries of a file: a list of them, or a mapping with `sources`. InvalidInput when it is neither."""
    return _listing(_read(body))


def read_document(body: bytes) -> Any:
    """What a file holds, whatever it is: mappings, lists, texts, numbers, true, false and null."""
    return _plain(_read(body))


def _read(body: bytes) -> Any:
    if len(body) > MAX_BYTES:
        raise InvalidInput(f"The file is larger than {MAX_BYTES // 2**20} MiB; split it.")
    try:
        text = body.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise InvalidInput("This is no YAML or JSON: it is not text in UTF-8.") from error
    return _read_json(text) if text.lstrip()[:1] in {"[", "{"} else _read_yaml(text)


def _listing(document: Any) -> SourceList:
    about: Mapping[str, Any] = document if isinstance(document, dict) else {}
    listed = about.get(SOURCES) if about else document
    if not isinstance(listed, LinedList):
        raise InvalidInput(f"This is no list of sources: neither a list nor a mapping with `{SOURCES}`.")
    name, description = (about.get(key) for key in ("name", "description"))
    return SourceList(
        entries=read_entries(LinedList(values=[_plain(one) for one in listed.values], lines=listed.lines)),
        name=name if isinstance(name, str) else "",
        description=description if isinstance(description, str) else "",
    )


def _plain(value: Any) -> Any:
    if isinstance(value, LinedList):
        return [_plain(one) for one in value.values]
    if isinstance(value, dict):
        return {key: _plain(inner) for key, inner in value.items()}
    return value


# JSON


def _read_json(text: str) -> Any:
    try:
        document = json.loads(text)
    except json.JSONDecodeError as error:
        raise InvalidInput(f"Line {error.lineno}: this is no JSON ({error.msg}).") from error
    except (ValueError, RecursionError) as error:
        raise InvalidInput("This JSON is nested too deep, or has a number that is too long.") from error
    start = _after_blanks(text, 0)
    if isinstance(document, list):
        return _lined(text, start, document)
    starts = dict(_members(text, start))
    return {
        key: _lined(text, starts[key], value) if isinstance(value, list) else value for key, value in document.items()
    }


def _lined(text: str, start: int, values: list[Any]) -> LinedList:
    lines, line, counted = [], 1, 0
    for position in _elements(text, start):
        line, counted = line + text.count("\n", counted, position), position
        lines.append(line)
    return LinedList(values=values, lines=lines)


def _elements(text: str, start: int) -> Iterator[int]:
    """Where each element of the array at `start` begins. The text is known to be right."""
    position = _after_blanks(text, start + 1)
    while text[position] != "]":
        yield position
        position = _after_comma(text, _JSON.raw_decode(text, position)[1])


def _members(text: str, start: int) -> Iterator[tuple[str, int]]:
    """The names in the object at `start`, each with where its value begins."""
    position = _after_blanks(text, start + 1)
    while text[position] != "}":
        name, end = _JSON.raw_decode(text, position)
        value = _after_blanks(text, _after_blanks(text, end) + 1)
        yield name, value
        position = _after_comma(text, _JSON.raw_decode(text, value)[1])


def _after_comma(text: str, position: int) -> int:
    position = _after_blanks(text, position)
    return _after_blanks(text, position + 1) if text[position] == "," else position


def _after_blanks(text: str, position: int) -> int:
    blanks = _BLANKS.match(text, position)
    assert blanks is not None  # it matches nothing as well
    return blanks.end()


# YAML


def _read_yaml(text: str) -> Any:
    builder = _ListBuilder()
    try:
        for event in yaml.parse(text, Loader=_LOADER):
            builder.take(event)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        raise InvalidInput(f"Line {mark.line + 1 if mark else 1}: this is no YAML ({error.problem}).") from error
    except (yaml.YAMLError, UnicodeEncodeError) as error:
        raise InvalidInput("This is no YAML: it holds characters that YAML does not know.") from error
    return builder.document


@dataclass(slots=True)
class _Frame:
    """A list or a mapping that is still open, and the key whose value comes next."""

    container: LinedList | dict[str, Any]
    key: str | None = None


@dataclass(slots=True)
class _ListBuilder:
    document: Any = None
    _open: list[_Frame] = field(default_factory=list)
    _documents: int = 0

    def take(self, event: yaml.Event) -> None:
        match event:
            case yaml.AliasEvent():
                raise _refused(event, "aliases (*) are not accepted; write it out")
            case yaml.ScalarEvent():
                self._take_scalar(event)
            case yaml.SequenceStartEvent():
                self._begin(event, LinedList())
            case yaml.MappingStartEvent():
                self._begin(event, {})
            case yaml.SequenceEndEvent() | yaml.MappingEndEvent():
                self._open.pop()
            case yaml.DocumentStartEvent():
                self._documents += 1
                if self._documents > 1:
                    raise _refused(event, "a second document begins here (---); put it in a file of its own")
            case _:
                pass

    def _take_scalar(self, event: yaml.ScalarEvent) -> None:
        _check_tag(event, event.tag if event.implicit == (False, False) else None)
        frame = self._open[-1] if self._open else None
        if frame is None or isinstance(frame.container, LinedList) or frame.key is not None:
            self._put(event, _scalar(event))
        elif event.value in frame.container:
            raise _refused(event, f"{event.value!r} is there twice")
        else:
            frame.key = event.value

    def _begin(self, event: yaml.CollectionStartEvent, container: LinedList | dict[str, Any]) -> None:
        _check_tag(event, event.tag)
        if len(self._open) >= MAX_DEPTH:
            raise _refused(event, f"it is nested deeper than {MAX_DEPTH} levels")
        self._put(event, container)
        self._open.append(_Frame(container=container))

    def _put(self, event: yaml.Event, value: Any) -> None:
        if not self._open:
            self.document = value
            return
        frame = self._open[-1]
        if isinstance(frame.container, LinedList):
            frame.container.values.append(value)
            frame.container.lines.append(_line(event))
        elif frame.key is None:
            raise _refused(event, "a list or a mapping cannot be a key")
        else:
            frame.container[frame.key] = value
            frame.key = None


def _scalar(event: yaml.ScalarEvent) -> Any:
    text: str = event.value
    if event.style:  # in quotes, or a block of text
        return text
    if text in _WORDS:
        return _WORDS[text]
    if _INTEGER.fullmatch(text):
        return int(text)
    return float(text) if _FLOAT.fullmatch(text) else text


def _check_tag(event: yaml.Event, tag: str | None) -> None:
    if tag is not None:
        raise _refused(event, f"tags ({tag}) are not accepted")


def _refused(event: yaml.Event, why: str) -> InvalidInput:
    return InvalidInput(f"Line {_line(event)}: {why}.")


def _line(event: yaml.Event) -> int:
    assert event.start_mark is not None  # the parser gives each its place
    return event.start_mark.line + 1
