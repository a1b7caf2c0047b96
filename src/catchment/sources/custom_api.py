"""Any JSON API: how it is asked, where its items are, and how they read."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import partial
from typing import Any, Final, NamedTuple

from catchment.domain.confidential import address_of
from catchment.domain.item import Item, Reading
from catchment.domain.options import HEADERS_KEY, without_options
from catchment.domain.visit import Fetched
from catchment.errors import BadConfig, ParseError, VisitError
from catchment.fetch.client import Request
from catchment.fetch.pacing import Deferred
from catchment.parse.dates import from_epoch, parse_loose_date
from catchment.parse.encoding import as_utf8
from catchment.parse.entry import MAX_ENTRIES
from catchment.parse.json_values import Path, as_text, compile_path, first_at, read_json
from catchment.sources.base import Context
from catchment.sources.config import choice, mapping, text, whole
from catchment.sources.items import ItemMaker
from catchment.sources.page import visit_page
from catchment.sources.paging import PAGING_KEYS, ByCursor, Paging, fill_body, is_past_end, read_paging

METHODS: Final = ("GET", "POST", "PUT")
DEFAULT_PAGES, MAX_PAGES = 10, 100
# Seconds or milliseconds; fewer digits are a date, such as 20260301.
_COUNT: Final = re.compile(r"\d{9,14}", re.ASCII)
#: What is read of an item, and where it is unless the config says otherwise (as `title_field` and so on).
FIELDS: Final = {
    "id": "id",
    "url": "url",
    "title": "title",
    "author": "author",
    "content": "content",
    "date": "published_at",
}


class CustomApiFetcher:
    type = "custom_api"
    display_names: Mapping[str, str] = {"en": "JSON API", "zh": "JSON 接口"}
    default_minutes = 120
    config_keys = frozenset(
        {"url", "endpoint", "method", "body", "items_path", "max_pages"}
        | {f"{name}_field" for name in FIELDS}
        | {*PAGING_KEYS}
    )

    def identity(self, config: Mapping[str, Any]) -> str:
        """Everything that says what is asked and how it is read: the same address may hold several sources."""
        _plan(config)
        needed = {name: value for name, value in without_options(config).items() if name != "endpoint"}
        return json.dumps({**needed, "url": _address(config)}, sort_keys=True)

    async def fetch(self, context: Context) -> Fetched:
        plan = _plan(context.source.config)
        request = plan.request(context.now)
        if plan.paging is None and request.method == "GET":
            return await visit_page(context, request, partial(read_items, paths=plan.paths))
        return await _walk(context, plan, request)


class ApiPage(NamedTuple):
    document: Any
    items: tuple[Item, ...]
    left_out: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Layout:
    """Where the items are in a document, and what of an item is where."""

    items: Path
    #: As in the config, for messages; "" when the config does not say.
    items_path: str
    fields: Mapping[str, Path]

    def read_page(self, body: bytes, *, url: str, content_type: str = "") -> ApiPage:
        document = read_json(as_utf8(body, content_type))
        listed = self._listed(document)
        maker = ItemMaker(url)
        made = [self._item(one, maker) for one in listed[:MAX_ENTRIES] if isinstance(one, dict)]
        items = tuple(item for item in made if item is not None)
        if listed and not items:
            names = ", ".join(f"{name}_field" for name in FIELDS)
            raise ParseError(f"none of the {len(listed)} items has an id, URL, title or content; check {names}")
        return ApiPage(document, items, min(len(listed), MAX_ENTRIES) - len(items))

    def _listed(self, document: Any) -> list[Any]:
        """The items as they are listed. A list that is null is how some say that it is empty."""
        if isinstance(document, list | None) and not self.items_path:
            return document or []
        found = self.items(document)
        if found in ([], [None]) and _tells_of_error(document):
            raise ParseError("it answered with an error in the place of items, although it called that a success")
        if found == [None]:
            return []
        if len(found) == 1 and isinstance(found[0], list):
            return found[0]
        if not found and not self.items_path.startswith("$"):
            raise ParseError(f"there is no list of items at {self.items_path or 'items'!r}; check items_path")
        return found

    def _item(self, one: Mapping[str, Any], maker: ItemMaker) -> Item | None:
        found = {name: first_at(path, one) for name, path in self.fields.items()}
        texts = {name: _joined_text(value) for name, value in found.items()}
        if not any(texts[name] for name in ("id", "url", "title", "content")):
            return None
        return maker.make(
            native_id=texts["id"] or ("" if texts["url"] else texts["title"]),
            url=texts["url"],
            title=texts["title"],
            author=texts["author"],
            content=texts["content"],
            published_at=_moment(found["date"]),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class _ApiConfig:
    url: str
    method: str
    #: What the config's own headers leave to us.
    headers: Mapping[str, str]
    body: str | Mapping[str, Any] | None
    #: What of the config says where things are.
    paths: Mapping[str, str]
    paging: Paging | None
    max_pages: int

    def request(self, now: datetime) -> Request:
        body = None if self.body is None else fill_body(self.body, now)
        request = Request(url=self.url, method=self.method, headers=self.headers, body=body)
        return request if self.paging is None else self.paging.first(request)


def _plan(config: Mapping[str, Any]) -> _ApiConfig:
    method = choice(config, "method", METHODS, default="GET")
    body = _body(config, method)
    return _ApiConfig(
        url=_address(config),
        method=method,
        headers=_headers(config, body),
        body=body,
        paths=_paths(config),
        paging=_paging(config, body),
        max_pages=whole(config, "max_pages", default=DEFAULT_PAGES, least=1, most=MAX_PAGES),
    )


def _paging(config: Mapping[str, Any], body: str | Mapping[str, Any] | None) -> Paging | None:
    paging = read_paging(config)
    if isinstance(paging, ByCursor) and paging.body_path and not isinstance(body, Mapping):
        raise BadConfig("cursor_body_path puts the cursor into the body: give a body that is an object, and POST.")
    return paging


def _address(config: Mapping[str, Any]) -> str:
    return address_of(config) or text(config, "url", example="https://api.example.org/posts")


def _body(config: Mapping[str, Any], method: str) -> str | Mapping[str, Any] | None:
    body = config.get("body")
    if body is None:
        return None
    if method == "GET" or not isinstance(body, str | Mapping):
        raise BadConfig("body is a text or an object, and goes with the method POST or PUT.")
    return body


def _headers(config: Mapping[str, Any], body: str | Mapping[str, Any] | None) -> dict[str, str]:
    given = {str(name).lower() for name in mapping(config, HEADERS_KEY)}
    headers = {"Accept": "application/json"}
    if body is not None:
        headers["Content-Type"] = "application/json"
    return {name: value for name, value in headers.items() if name.lower() not in given}


def read_page(body: bytes, *, url: str, content_type: str, paths: Mapping[str, str]) -> ApiPage:
    return _layout(paths).read_page(body, url=url, content_type=content_type)


def read_items(body: bytes, *, url: str, content_type: str, paths: Mapping[str, str]) -> Reading:
    page = read_page(body, url=url, content_type=content_type, paths=paths)
    return Reading(title="", items=page.items, left_out=page.left_out)


def _paths(config: Mapping[str, Any]) -> dict[str, str]:
    """What says where things are, and nothing else of the config; BadConfig where it leads nowhere."""
    _layout(config)
    return {name: config[name] for name in ("items_path", *(f"{field}_field" for field in FIELDS)) if config.get(name)}


def _layout(config: Mapping[str, Any]) -> Layout:
    items_path = text(config, "items_path", default="") if config.get("items_path") else ""
    fields = {name: text(config, f"{name}_field", default=usual) for name, usual in FIELDS.items()}
    return Layout(
        items=compile_path(items_path or "items"),
        items_path=items_path,
        fields={name: compile_path(path) for name, path in fields.items()},
    )


async def _walk(context: Context, plan: _ApiConfig, request: Request) -> Fetched:
    """Page after page, until one is the last, brings nothing that the ones before did not, or was there already.

    What came counts, whatever becomes of the pages beyond it: they hold what is oldest.
    """
    ended: VisitError | None = None
    found: dict[str, Item] = {}
    left_out = 0
    # A page that is asked for by POST may differ from another by its body alone.
    visited: set[tuple[str, bytes | None]] = set()
    upcoming: Request | None = request
    while upcoming and _place(upcoming) not in visited and len(visited) < plan.max_pages and len(found) < MAX_ENTRIES:
        visited.add(_place(upcoming))
        try:
            response = await context.http.send(upcoming)
            page = await context.parsers.read(
                read_page, response.body, url=response.url, content_type=response.content_type, paths=plan.paths
            )
            fresh = {item.key: item for item in page.items if item.key not in found}
            found |= fresh
            left_out += page.left_out
            upcoming = plan.paging.after(upcoming, response, page.document) if plan.paging and fresh else None
        except (Deferred, VisitError) as error:
            if not found:
                raise
            ended = error if isinstance(error, VisitError) and not is_past_end(plan.paging, error) else None
            break
    return Fetched(
        items=tuple(found.values())[:MAX_ENTRIES],
        left_out=left_out,
        fresh_for=timedelta(seconds=ended.retry_after) if ended and ended.retry_after else None,
        warnings=(f"broken off at page {len(visited)}: {ended}",) if ended else (),
    )


def _place(request: Request) -> tuple[str, bytes | None]:
    return request.url, request.body


def _tells_of_error(document: Any) -> bool:
    """As GraphQL does, and many that answer everything with HTTP 200."""
    return isinstance(document, dict) and bool(document.get("errors") or document.get("error"))


def _joined_text(value: Any) -> str:
    """A list of names is one line."""
    return ", ".join(filter(None, map(as_text, value))) if isinstance(value, list) else as_text(value)


def _moment(value: Any) -> datetime | None:
    """A date in words, or a count since 1970, also as text."""
    if not isinstance(value, str):
        return from_epoch(value)
    return from_epoch(int(value)) if _COUNT.fullmatch(value.strip()) else parse_loose_date(value)
