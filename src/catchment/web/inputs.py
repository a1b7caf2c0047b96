"""What comes in, made safe at the edge: moments, ids, pages, and text that every store can hold."""

from __future__ import annotations

import base64
import json
import re
from datetime import UTC, datetime
from typing import Annotated, Any, ClassVar
from urllib.parse import urlencode, urlsplit

from fastapi import Path, Query, Request
from pydantic import (
    AfterValidator,
    AliasChoices,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    WithJsonSchema,
    model_validator,
)
from starlette.types import Scope

from catchment.bootstrap import System
from catchment.domain.item import is_storable
from catchment.errors import InvalidInput
from catchment.settings.spec import refuse_unknown

SIGN_IN = "/signin"


def base_url(request: Request) -> str:
    """For addresses that leave the server, without a slash at the end."""
    return (_public_url(request) or str(request.base_url)).rstrip("/")


def is_own_origin(request: Request, origin: str) -> bool:
    """Whether its pages are ours. A proxy may ask by a name of its own, so the public one counts too."""
    host = _host_of(origin)
    return host != "" and host in {request.headers.get("host", "").lower(), _host_of(_public_url(request))}


def link(request: Request, path: str, /, **query: object) -> str:
    """The address of a page of ours, below the sub-path that a proxy may have given us. What is empty is left out."""
    told = urlencode({name: str(value) for name, value in query.items() if value not in {None, ""}})
    return f"{request.scope.get('root_path', '').rstrip('/')}{path}" + (f"?{told}" if told else "")


def own_path(scope: Scope) -> str:
    """The path of ours that was asked for, without the sub-path that a proxy may have given us."""
    path: str = scope["path"]
    return path.removeprefix(scope.get("root_path", "").rstrip("/")) or "/"


def link_with(request: Request, /, **query: object) -> str:
    """The page that is shown, with this part of its query changed."""
    return link(request, own_path(request.scope), **(_asked(request) | query))


def link_beside(request: Request, path: str, /) -> str:
    """Another page with the query of this one: what a list shows knows the way back to the list as it was."""
    return link(request, path, **_asked(request))


def way_in(request: Request) -> str:
    """Where one signs in, and goes on with the page that was asked for, or on which a form was sent in vain."""
    path, told = own_path(request.scope), request.scope["query_string"].decode("latin-1")
    if path == SIGN_IN:
        return link(request, SIGN_IN, then=request.query_params.get("then", ""))
    if request.method == "POST":
        root = request.scope.get("root_path", "").rstrip("/")
        return link(request, SIGN_IN, then=(own_referer(request) or "").removeprefix(root), unsent=1)
    then = f"{path}?{told}" if told else path
    return link(request, SIGN_IN, then="" if then == "/" else then)


def own_referer(request: Request) -> str | None:
    """The page of ours that a request was sent from, with the sub-path of a proxy."""
    referer = request.headers.get("referer", "")
    if not is_own_origin(request, referer):
        return None
    parts = urlsplit(referer)
    return parts.path + (f"?{parts.query}" if parts.query else "")


def _asked(request: Request) -> dict[str, object]:
    return {name: value for name, value in request.query_params.items() if name != "lang"}


def _public_url(request: Request) -> str:
    system: System = request.app.state.system
    return system.settings.public_url


def _host_of(url: str) -> str:
    """With its port, as a Host header has it; empty if there is none."""
    try:
        return urlsplit(url).netloc.lower()
    except ValueError:
        return ""


#: Ids and offsets have 63 bits in both stores.
MAX_ID = 2**63 - 1


def id_if_any(told: str) -> int | None:
    is_id = told.isascii() and told.isdecimal() and 0 < int(told[:20]) <= MAX_ID
    return int(told) if is_id else None


def number_of(told: str) -> int:
    """The number of something of ours, as a form tells it."""
    number = id_if_any(told)
    if number is None:
        raise InvalidInput(f"{told[:40]!r} is not a number of ours.")
    return number


MAX_DIGITS = 9


def whole_number(told: str, field: str) -> int | None:
    """How many or how long, as a form tells it; None where nothing is said."""
    if told and not (told.isascii() and told.isdecimal() and len(told) <= MAX_DIGITS and int(told)):
        raise InvalidInput(f"{told[:40]!r} is not a whole number of 1 or more.", field=field)
    return int(told) if told else None


def way_back(path: str, place: str) -> str:
    """Where a form says to go back to, if that is a page of this place; else the place itself."""
    is_ours = path.startswith(place) and not path.startswith("//")
    return path if is_ours and path.isprintable() and "\\" not in path else place


MAX_PAGE = 100_000


def page_number(told: str) -> int:
    """Which page of a list an address asks for; what makes no sense counts as not said."""
    return min(max(int(told[:7]), 1), MAX_PAGE) if told.isascii() and told.isdecimal() else 1


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
    """Only what both stores can keep."""
    if not is_storable(text):
        raise ValueError("a NUL or broken characters cannot be kept")
    return text


def check_json(value: Any) -> Any:
    """Only what both stores can keep."""
    if not is_storable(value):
        raise ValueError("this cannot be kept as JSON (a NUL, NaN, too deep, or broken characters)")
    return value


def or_as_json(expected: str) -> BeforeValidator:
    """What is expected, or the same as a JSON string."""

    def read(value: Any) -> Any:
        try:
            return json.loads(value) if isinstance(value, str) else value
        except (ValueError, RecursionError) as error:
            raise ValueError(expected) from error

    return BeforeValidator(read)


Instant = Annotated[datetime, BeforeValidator(parse_moment), WithJsonSchema({"type": "string", "format": "date-time"})]
Text = Annotated[str, AfterValidator(check_text)]
JsonObject = Annotated[dict[str, Any], AfterValidator(check_json)]
#: An object, for which a JSON string is accepted too.
Config = Annotated[
    dict[str, Any],
    or_as_json('the config is an object, or one as JSON, such as {"url": "https://…"}'),
    AfterValidator(check_json),
    WithJsonSchema({"anyOf": [{"type": "object"}, {"type": "string", "contentMediaType": "application/json"}]}),
]


class In(BaseModel):
    """A body that somebody writes: a field that it does not have is refused, with the one that is likely meant."""

    model_config = ConfigDict(extra="forbid")

    #: An answer of ours that may be sent back as it came: what of it cannot be set is passed over.
    answer: ClassVar[type[BaseModel] | None] = None

    @model_validator(mode="before")
    @classmethod
    def _without_unknown(cls, given: Any) -> Any:
        if not isinstance(given, dict):
            return given
        own = [name for field in cls.model_fields for name in cls._names_of(field)]
        refuse_unknown("The body", given.keys() - set(cls.answer.model_fields if cls.answer else ()), own)
        return {name: value for name, value in given.items() if name in own}

    @classmethod
    def _names_of(cls, field: str) -> list[str]:
        alias = cls.model_fields[field].validation_alias
        return [str(name) for name in alias.choices] if isinstance(alias, AliasChoices) else [field]


PathId = Annotated[int, Path(ge=1, le=MAX_ID)]
Since = Annotated[Instant | None, Query(description="Only what is as new as this; a time without zone is UTC.")]
Offset = Annotated[int, Query(ge=0, le=MAX_ID)]
#: A larger limit than the route's most is lowered to it.
Limit = Annotated[int, Query(ge=1, le=MAX_ID)]

Cursor = Annotated[Text | None, Query(max_length=200, description="`next_cursor` of the page before.")]
#: For lists that are nothing but a list: the header says where they go on.
ListCursor = Annotated[Text | None, Query(max_length=200, description="Of the `Link` of the page before: rel=next.")]


def next_link(request: Request, cursor: str) -> dict[str, str]:
    """The header that leads to the next page."""
    return {"Link": f'<{link_with(request, cursor=cursor, offset="")}>; rel="next"'}


def write_cursor(row_id: int, moment: datetime | None = None) -> str:
    """A row, after the moment that its list is sorted by if that is not the id alone."""
    place = [row_id, moment.isoformat() if moment else None]
    return base64.urlsafe_b64encode(json.dumps(place).encode()).decode().rstrip("=")


def read_cursor(cursor: str) -> int:
    """The row of a cursor without a moment; InvalidInput if it was not written by us."""
    try:
        return _read(cursor)[0]
    except (ValueError, TypeError, RecursionError) as error:
        raise _not_ours() from error


def read_timed_cursor(cursor: str) -> tuple[datetime, int]:
    try:
        row_id, written = _read(cursor)
        moment = datetime.fromisoformat(written)
        # Near the ends of time a moment of another zone is none in UTC.
        in_utc = moment.astimezone(UTC)
    except (ValueError, TypeError, OverflowError, RecursionError) as error:
        raise _not_ours() from error
    if moment.utcoffset() is None:
        raise _not_ours()
    return in_utc, row_id


def _read(cursor: str) -> tuple[int, str]:
    padded = cursor + "=" * (-len(cursor) % 4)
    row_id, written = json.loads(base64.b64decode(padded, altchars=b"-_", validate=True))
    if type(row_id) is not int or not 0 <= row_id <= MAX_ID:
        raise ValueError(row_id)
    return row_id, written


def _not_ours() -> InvalidInput:
    return InvalidInput("The cursor is none of ours: use next_cursor as it was given.", field="cursor")
