"""From one page of an API to the next: by a cursor, by the page's number, or by a link."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any, Final, Protocol

from yarl import URL

from catchment.errors import BadAnswer, HttpError, VisitError
from catchment.fetch.client import Request, Response
from catchment.parse.json_values import Path, as_text, compile_path, first_at
from catchment.sources.config import choice, text, whole

_MOMENT: Final = re.compile(r"\{\{\s*(?:now|(\d{1,5})_days_ago)\s*\}\}", re.ASCII)


def fill_text(template: str, now: datetime) -> str:
    """The text with its moments in ISO 8601, UTC. Other braces stay as they are: some APIs are fond of them."""

    def moment(found: re.Match[str]) -> str:
        return f"{now - timedelta(days=int(found[1] or 0)):%Y-%m-%dT%H:%M:%SZ}"

    return _MOMENT.sub(moment, template)


def fill_body(template: str | Mapping[str, Any], now: datetime) -> bytes:
    """A text as it is, an object as JSON."""
    if isinstance(template, str):
        return fill_text(template, now).encode()
    return json.dumps(_filled(template, now), ensure_ascii=False).encode()


def _filled(value: Any, now: datetime) -> Any:
    match value:
        case str():
            return fill_text(value, now)
        case Mapping():
            return {key: _filled(one, now) for key, one in value.items()}
        case list():
            return [_filled(one, now) for one in value]
        case _:
            return value


WAYS: Final = ("none", "cursor", "page", "link")
#: The parts of a config that are read here.
PAGING_KEYS: Final = (
    "paging",
    "cursor_path",
    "cursor_param",
    "cursor_body_path",
    "page_param",
    "page_start",
    "next_path",
)
_NO_SUCH_PAGE: Final = frozenset({400, 404, 416})
_LINK: Final = re.compile(r"<([^<>]*)>([^<>]*)")


class Paging(Protocol):
    def first(self, request: Request) -> Request:
        """The request for the first page."""
        ...

    def after(self, request: Request, response: Response, document: Any) -> Request | None:
        """The request for the page after this one; None when this was the last."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class ByCursor:
    path: Path
    parameter: str
    #: Where the cursor goes in a body of JSON, rather than into the address, as GraphQL has it.
    body_path: tuple[str, ...] = ()

    def first(self, request: Request) -> Request:
        return request

    def after(self, request: Request, response: Response, document: Any) -> Request | None:  # noqa: ARG002 - as asked
        cursor = as_text(first_at(self.path, document))
        if not cursor:
            return None
        if self.body_path:
            body = _put(json.loads(request.body or b"{}"), self.body_path, cursor)
            return replace(request, body=json.dumps(body, ensure_ascii=False).encode())
        return _with_parameter(request, self.parameter, cursor)


@dataclass(frozen=True, slots=True, kw_only=True)
class ByNumber:
    parameter: str
    start: int

    def first(self, request: Request) -> Request:
        return _with_parameter(request, self.parameter, str(self.start))

    def after(self, request: Request, response: Response, document: Any) -> Request | None:  # noqa: ARG002 - as asked
        return _with_parameter(request, self.parameter, str(int(URL(request.url).query[self.parameter]) + 1))


@dataclass(frozen=True, slots=True, kw_only=True)
class ByLink:
    #: Where the body says it; without, the Link header does.
    path: Path | None

    def first(self, request: Request) -> Request:
        return request

    def after(self, request: Request, response: Response, document: Any) -> Request | None:
        link = next_link(response.headers) if self.path is None else as_text(first_at(self.path, document))
        return replace(request, url=_joined(request, response, link)) if link else None


def read_paging(config: Mapping[str, Any]) -> Paging | None:
    match choice(config, "paging", WAYS, default="none"):
        case "cursor":
            path = compile_path(text(config, "cursor_path", example="meta.next_cursor"))
            inside = text(config, "cursor_body_path", default="")
            return ByCursor(
                path=path,
                parameter=text(config, "cursor_param", default="cursor"),
                body_path=tuple(inside.split(".")) if inside else (),
            )
        case "page":
            start = whole(config, "page_start", default=1, least=0, most=1_000_000)
            return ByNumber(parameter=text(config, "page_param", default="page"), start=start)
        case "link":
            path_text = text(config, "next_path", default="")
            return ByLink(path=compile_path(path_text) if path_text else None)
        case _:
            return None


def is_past_end(paging: Paging | None, error: VisitError) -> bool:
    """Whether this is how an API says that it has no page of that number, as WordPress does."""
    return isinstance(paging, ByNumber) and isinstance(error, HttpError) and error.status in _NO_SUCH_PAGE


def next_link(headers: Mapping[str, str]) -> str:
    """The address that a Link header calls next; "" where none is."""
    for address, parameters in _LINK.findall(headers.get("Link", "")):
        for parameter in parameters.rstrip(", ").split(";"):
            name, _, value = parameter.partition("=")
            if name.strip().lower() == "rel" and "next" in value.strip().strip('"').lower().split():
                return str(address).strip()
    return ""


def _put(value: Any, path: Sequence[str], cursor: str) -> dict[str, Any]:
    """The object with the cursor at that place; what is no object on the way there is replaced by one."""
    found = value if isinstance(value, dict) else {}
    first, *rest = path
    return {**found, first: _put(found.get(first), rest, cursor) if rest else cursor}


def _with_parameter(request: Request, name: str, value: str) -> Request:
    return replace(request, url=str(URL(request.url).update_query({name: value})))


def _joined(request: Request, response: Response, link: str) -> str:
    """The next address, at the same origin: credentials are meant for nobody else."""
    try:
        target = URL(response.url).join(URL(link))
        same_origin = target.origin() == URL(request.url).origin()
    except ValueError as error:
        raise BadAnswer("the next page is at something that is not a URL; check next_path") from error
    if not same_origin:
        raise BadAnswer(f"the next page is at another origin, {target.host}; it is not followed, set paging to none")
    return str(target)
