"""What comes in, made safe at the edge: moments, ids, pages, and text that every store can hold."""

from __future__ import annotations

import json
import re
from datetime import UTC, datetime
from typing import Annotated, Any

from fastapi import Path, Query
from pydantic import AfterValidator, BeforeValidator, WithJsonSchema

from catchment.errors import InvalidInput

#: Ids and offsets have 63 bits in both stores.
MOST_ID = 2**63 - 1

# An escaped NUL, but not an escaped backslash before `u0000`.
_NUL_IN_JSON = re.compile(r"(?<!\\)(?:\\\\)*\\u0000")
_PLUS_READ_AS_SPACE = re.compile(r" (?=\d\d:?\d\d$)")


def parse_moment(value: object) -> datetime:
    """ISO 8601, with or without zone; a naive time is UTC. A `+` that a query string turned into a space counts."""
    moment = datetime.fromisoformat(_PLUS_READ_AS_SPACE.sub("+", str(value).strip()))
    if moment.tzinfo is None:
        return moment.replace(tzinfo=UTC)
    try:
        return moment.astimezone(UTC)
    except OverflowError as error:
        raise ValueError("the time is out of range") from error


class BackwardWindow(InvalidInput):
    """A time that ends before it begins, which holds nothing whoever asks."""

    def __init__(self) -> None:
        super().__init__("时间区间无效: since is not before until.", field="since")


def check_window(since: datetime | None, until: datetime | None) -> None:
    if since is not None and until is not None and since >= until:
        raise BackwardWindow


def check_text(text: str) -> str:
    """Only what both stores can keep: no NUL, no half of a surrogate pair."""
    if "\0" in text:
        raise ValueError("a NUL character cannot be kept")
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise ValueError("broken characters cannot be kept") from error
    return text


def check_json(value: Any) -> Any:
    """Only what both stores can keep: no NUL, no half of a surrogate pair, no NaN."""
    try:
        text = json.dumps(value, ensure_ascii=False, allow_nan=False)
        text.encode()
    except (ValueError, RecursionError) as error:
        raise ValueError("this cannot be kept as JSON (NaN, too deep, or broken characters)") from error
    if _NUL_IN_JSON.search(text):
        raise ValueError("a NUL character cannot be kept")
    return value


def read_json_object(value: Any) -> Any:
    """An object, or the same as a JSON string."""
    if not isinstance(value, str):
        return value
    try:
        return json.loads(value)
    except (ValueError, RecursionError) as error:
        raise ValueError('the config is an object, or one as JSON, such as {"url": "https://…"}') from error


Instant = Annotated[datetime, BeforeValidator(parse_moment), WithJsonSchema({"type": "string", "format": "date-time"})]
Text = Annotated[str, AfterValidator(check_text)]
JsonObject = Annotated[dict[str, Any], AfterValidator(check_json)]
#: An object, for which a JSON string is accepted too.
Config = Annotated[
    dict[str, Any],
    BeforeValidator(read_json_object),
    AfterValidator(check_json),
    WithJsonSchema({"anyOf": [{"type": "object"}, {"type": "string", "contentMediaType": "application/json"}]}),
]
PathId = Annotated[int, Path(ge=1, le=MOST_ID)]
Since = Annotated[Instant | None, Query(description="Only what is as new as this; a time without zone is UTC.")]
Offset = Annotated[int, Query(ge=0, le=MOST_ID)]
#: A larger limit than the route's most is lowered to it.
Limit = Annotated[int, Query(ge=1, le=MOST_ID)]
