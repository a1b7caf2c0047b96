"""The words of the Google Reader API, read and written: streams, items, moments and parameters. Pure, but for the body.

Clients put parameters into the query, into a form or into both, and repeat them; here they are one list, the form
first: an address that stands in both was not always escaped in the query.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Annotated, Final
from urllib.parse import parse_qsl

from fastapi import Depends, Request

from catchment.domain.reading import Marks, Position, Stream, StreamKind
from catchment.errors import InvalidInput
from catchment.web.csrf import form_data
from catchment.web.inputs import MAX_ID, check_text, read_timed_cursor, write_cursor

#: Parameters of one request, of which most are the ids of items.
MAX_PARAMETERS: Final = 12_000
#: Items that one request marks.
MAX_IDS: Final = 10_000

STATE: Final = "user/-/state/com.google/"
LABEL: Final = "user/-/label/"
ITEM: Final = "tag:google.com,2005:reader/item/"
_FEED: Final = "feed/"
_USER: Final = re.compile(r"user/[^/]*/(?P<kind>state/com\.google|label)/(?P<name>.+)", re.DOTALL)
_LONG_ID: Final = re.compile(r"(?:.*/)(?P<hex>[0-9a-fA-F]{1,16})", re.DOTALL)
#: As long as a number of 64 bits is in hexadecimal digits; no decimal number begins with a zero.
_PADDED_ID: Final = re.compile(r"0[0-9a-fA-F]{15}")
_DECIMAL: Final = re.compile(r"[0-9]{1,19}")
_BEFORE_1970: Final = re.compile(r"-[0-9]{1,19}")
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND: Final = timedelta(microseconds=1)
#: Clients differ in the unit; each of these is in the year 2001 at the latest, and 5138 at the earliest.
_FROM_MILLISECONDS, _FROM_MICROSECONDS = 10**11, 10**14
_STATES: Final = {
    "reading-list": StreamKind.ALL,
    "read": StreamKind.READ,
    "unread": StreamKind.UNREAD,
    "fresh": StreamKind.UNREAD,
    "kept-unread": StreamKind.KEPT_UNREAD,
    "starred": StreamKind.STARRED,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Parameters:
    pairs: tuple[tuple[str, str], ...]

    def all(self, name: str) -> list[str]:
        return [value for key, value in self.pairs if key == name]

    def first(self, name: str) -> str:
        """Empty where there is none."""
        return next(iter(self.all(name)), "")

    def number(self, name: str) -> int | None:
        text = self.first(name).strip()
        if not text:
            return None
        if not _DECIMAL.fullmatch(text):
            raise InvalidInput(f"{name} is a number.", field=name)
        return int(text)


async def parameters(request: Request) -> Parameters:
    query = str(request.scope["query_string"], "latin-1")
    try:
        # The whole of the two is bounded: by the limits on connections and by the cap on bodies.
        pairs = [*await _form(request), *_pairs(query)]
        return Parameters(pairs=tuple((name, check_text(value)) for name, value in pairs))
    except ValueError as error:
        raise InvalidInput(f"The parameters cannot be read: {error}.") from error


async def _form(request: Request) -> list[tuple[str, str]]:
    kind = request.headers.get("content-type", "")
    if request.method == "POST" and kind.startswith("application/x-www-form-urlencoded"):
        return _pairs((await request.body()).decode("utf-8", "replace"))
    fields = (await form_data(request)).multi_items() if request.method == "POST" else []
    return [(name, value) for name, value in fields if isinstance(value, str)]


def _pairs(text: str) -> list[tuple[str, str]]:
    return parse_qsl(text, keep_blank_values=True, max_num_fields=MAX_PARAMETERS)


TheParameters = Annotated[Parameters, Depends(parameters)]


def is_label(text: str) -> bool:
    found = _USER.fullmatch(text)
    return found is not None and found["kind"] == "label"


def label_of(text: str) -> str:
    """The name in `user/-/label/name`, or the text itself: some clients send the name alone."""
    found = _USER.fullmatch(text)
    return " ".join((found["name"] if found and found["kind"] == "label" else text).split())


def feed_of(text: str) -> int | str:
    """The source that `feed/12` or `feed/https://…` names: by its number or by its address."""
    if not text.startswith(_FEED) or len(text) == len(_FEED):
        raise InvalidInput("A feed is named feed/ and its number, or feed/ and its address.", field="s")
    named = text.removeprefix(_FEED)
    return _checked_id(int(named)) if _DECIMAL.fullmatch(named) else named


def stream_of(text: str) -> Stream:
    """Any stream but a feed. A state that we do not keep is a stream without items; some apps name one by itself."""
    found = _USER.fullmatch(f"{STATE}{text}" if text in _STATES else text)
    if found is None:
        raise InvalidInput("A stream is named feed/…, user/-/state/com.google/… or user/-/label/….", field="s")
    if found["kind"] == "label":
        return Stream(kind=StreamKind.LABEL, label=label_of(text))
    return Stream(kind=_STATES.get(found["name"], StreamKind.NOTHING))


def long_id(item_id: int) -> str:
    return f"{ITEM}{item_id:016x}"


def item_id_of(text: str) -> int:
    """An item by its long name, with or without the zeros, or by its number."""
    if (found := _LONG_ID.fullmatch(text)) or _PADDED_ID.fullmatch(text):
        return _checked_id(int(found["hex"] if found else text, 16))
    if _DECIMAL.fullmatch(text):
        return _checked_id(int(text))
    raise InvalidInput(f"An item is named {ITEM} and 16 hexadecimal digits, or by its number.", field="i")


def item_ids(given: Parameters, *, most: int) -> list[int]:
    named = given.all("i")
    if not 0 < len(named) <= most:
        raise InvalidInput(f"Name 1 to {most} items by i=….", field="i")
    return [item_id_of(one) for one in named]


def _checked_id(number: int) -> int:
    if not 1 <= number <= MAX_ID:
        raise InvalidInput("There is no such number.", field="i")
    return number


def microseconds(moment: datetime) -> int:
    return (moment - _EPOCH) // _MICROSECOND


def seconds(moment: datetime) -> int:
    return microseconds(moment) // 1_000_000


def moment_of(given: Parameters, name: str) -> datetime | None:
    """A moment since 1970 in seconds, milliseconds or microseconds, by its size. An earlier one is none at all."""
    if _BEFORE_1970.fullmatch(given.first(name)):
        return None
    number = given.number(name)
    if number is None or number == 0:
        return None
    unit = 1_000_000 if number < _FROM_MILLISECONDS else 1000 if number < _FROM_MICROSECONDS else 1
    try:
        return _EPOCH + number * unit * _MICROSECOND
    except OverflowError as error:
        raise InvalidInput(f"{name} is no moment that there is.", field=name) from error


def write_continuation(position: Position) -> str:
    return write_cursor(position.item_id, position.fetched_at)


def read_continuation(text: str) -> Position | None:
    if not text:
        return None
    try:
        fetched_at, item_id = read_timed_cursor(text)
    except InvalidInput as error:
        raise InvalidInput("c is none of ours: take the `continuation` of the page before.", field="c") from error
    return Position(fetched_at=fetched_at, item_id=item_id)


def marks_of(added: Iterable[str], removed: Iterable[str]) -> Marks:
    """What `a` and `r` of an edit ask for; states that we do not keep are passed over."""
    added, removed = list(added), list(removed)
    on, off = {_state(one) for one in added}, {_state(one) for one in removed}
    is_read = None
    if "read" in on:
        is_read = True
    elif "read" in off or "kept-unread" in on:
        is_read = False
    is_starred = True if "starred" in on else False if "starred" in off else None
    return Marks(
        is_read=is_read,
        is_starred=is_starred,
        add_labels=tuple(label_of(one) for one in added if is_label(one)),
        remove_labels=tuple(label_of(one) for one in removed if is_label(one)),
    )


def _state(text: str) -> str:
    found = _USER.fullmatch(text)
    return found["name"] if found and found["kind"] != "label" else ""
