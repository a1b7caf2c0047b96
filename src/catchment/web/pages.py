"""How a page is made: who looks, in which language, its template, its forms, and the line that tells what was done.

A route takes an `OpenPage`, a `SignedInPage` or an `AdminPage` and answers with `await page.show("items.html", …)`; a
form is answered with `page.done(…)`, which leads back with a notice. `docs/pages.md` tells how to add one.
"""

from __future__ import annotations

import base64
import hashlib
import json
import re
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta, tzinfo
from functools import cached_property
from pathlib import Path
from typing import Annotated, Any
from urllib.parse import parse_qsl, urlencode, urlsplit
from zoneinfo import ZoneInfo

from fastapi import Depends, FastAPI, Request
from fastapi.responses import RedirectResponse, Response
from fastapi.templating import Jinja2Templates
from markupsafe import Markup, escape
from starlette.datastructures import FormData

from catchment.bootstrap import System
from catchment.clock import iso
from catchment.domain.caller import ANONYMOUS, Caller, Scope
from catchment.errors import NotFound
from catchment.manage.authentication import SESSION_LIFE
from catchment.monitor.alerting import count_open
from catchment.monitor.status import Language, SourceViewer, View
from catchment.settings.crawl import time_zone
from catchment.web.auth import anyone, signed_in, signed_in_admin, system_of
from catchment.web.csrf import SESSION_COOKIE, TOKEN_FIELD, form_data, token_of
from catchment.web.inputs import link, link_beside, link_with, own_path, way_in
from catchment.web.translations import LANGUAGE_COOKIE, Words, catalogue, language_of, words_in

NOTICE_COOKIE = "catchment_notice"
#: The zone of the browser, which its script tells.
ZONE_COOKIE = "catchment_zone"
MAX_NOTICE = 3000
#: In the address that a page listens to, and in no other.
_ASKED_FETCH = "asked_fetch"
_YEAR_SECONDS = 365 * 24 * 3600
_NOTICE_SECONDS = 120
_MOMENT = re.compile(r"\b(\d{4}-\d\d-\d\d) (\d\d:\d\d) UTC\b")
_templates = Jinja2Templates(directory=Path(__file__).parent / "templates")
_templates.env.filters["iso"] = iso
_templates.env.trim_blocks = _templates.env.lstrip_blocks = True
#: A page among the answers of a route that OpenAPI describes.
PAGE = {"text/html": {"schema": {"type": "string"}}}


@dataclass(frozen=True, slots=True)
class NavigationEntry:
    """A page in the bar at the top: its address, the key of its name, and who may use it."""

    path: str
    name: str
    may: Callable[[Caller], bool]
    #: The second key after `g` that leads there.
    key: str = ""


#: In this order; one whose address no route answers yet is left out.
NAVIGATION = (
    NavigationEntry("/", "common.overview", lambda _: True, "o"),
    NavigationEntry("/sources", "common.sources", lambda _: True, "s"),
    NavigationEntry("/items", "common.items", lambda caller: caller.is_known, "i"),
    NavigationEntry("/feeds", "common.feeds", lambda _: True, "f"),
    NavigationEntry("/alerts", "common.alerts", lambda caller: caller.is_known, "a"),
    NavigationEntry("/platforms", "common.platforms", lambda caller: caller.is_admin, "p"),
    NavigationEntry("/webhooks", "common.webhooks", lambda caller: caller.is_admin, "w"),
    NavigationEntry("/system", "common.system", lambda caller: caller.is_admin, "y"),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Undo:
    """A form that takes back what was done: where it goes and what it sends."""

    action: str
    fields: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class FlashMessage:
    """The line that tells what was done: a key of the words with what varies, or a sentence about what was wrong."""

    key: str = ""
    values: Mapping[str, Any] = field(default_factory=dict)
    problem: str = ""
    undo: Undo | None = None


@dataclass(frozen=True, kw_only=True)
class Content:
    """What a page shows: for its template, and apart what is sent again when it changes."""

    context: Mapping[str, Any]
    #: By the id of the element that each is, such as a row.
    parts: Mapping[str, Markup] = field(default_factory=dict)
    #: By the id of the element that holds them: the ids of its rows, in order.
    lists: Mapping[str, list[str]] = field(default_factory=dict)

    @property
    def shown(self) -> dict[str, Any]:
        return {**self.context, "parts": self.parts, "lists": self.lists}

    def as_json(self) -> str:
        return json.dumps({"parts": self.parts, "lists": self.lists})

    @property
    def digest(self) -> str:
        return digest_of(self.as_json())


def digest_of(content: str) -> str:
    return hashlib.blake2b(content.encode(), digest_size=8).hexdigest()


@dataclass(frozen=True)
class Page:
    request: Request
    system: System
    caller: Caller
    language: Language

    @cached_property
    def words(self) -> Words:
        return words_in(self.language)

    @cached_property
    def zone(self) -> tzinfo:
        return zone_of(self.request)

    @cached_property
    def asked_fetch(self) -> str:
        """What the notice line tells of until it is over: a fetch that was asked for on the page before."""
        notice = read_notice(self.request)
        return str(self.request.scope.get(_ASKED_FETCH) or (notice.values.get("fetch", "") if notice else ""))

    @cached_property
    def may_write(self) -> bool:
        return self.caller.is_known and self.caller.scope.holds(Scope.WRITE)

    def link(self, path: str, /, **query: object) -> str:
        return link(self.request, path, **query)

    async def viewer(self) -> SourceViewer:
        return await self.system.viewer(View(caller=self.caller, language=self.language))

    async def form(self) -> FormData:
        return await form_data(self.request)

    def part(self, template: str, /, **context: Any) -> Markup:
        """A piece of a page, such as a row, that is also sent alone when it changes."""
        return Markup(_templates.get_template(template).render(self._common | context))  # noqa: S704 (escapes itself)

    async def show(self, template: str, /, *, status: int = 200, **context: Any) -> Response:
        whole = self._common | {"firing": await self._count_firing()} | context
        return render(self.request, self.language, template, whole, status=status)

    async def show_live(self, template: str, content: Content) -> Response:
        """A page that is kept up to date, as one whose reader is registered by `live`."""
        query = {_ASKED_FETCH: self.asked_fetch} if self.asked_fetch else {}
        asked = link_with(self.request, **query).removeprefix(self.request.scope.get("root_path", ""))
        content = await self.with_bar(content)
        whole = {**self._common, "live_of": asked, "seen": content.digest, **content.shown}
        return render(self.request, self.language, template, whole)

    async def with_bar(self, content: Content) -> Content:
        """What a page shows, and what of the bar above it changes while it is open."""
        firing = await self._count_firing()
        bar = {one: self.part("parts/firing.html", id=one, firing=firing) for one in ("firing", "menu-firing")}
        return replace(content, context={**content.context, "firing": firing}, parts={**content.parts, **bar})

    async def _count_firing(self) -> int:
        return await self.system.store.read(count_open, self.caller) if self.caller.is_known else 0

    def done(self, then: str, key: str = "", /, *, undo: Undo | None = None, **values: Any) -> Response:
        """On to the page that shows what was done, and says so."""
        return redirect_with(self.request, self.link(then), FlashMessage(key=key, values=values, undo=undo))

    @cached_property
    def _common(self) -> dict[str, Any]:
        return {**_frame(self.request, self.language), "caller": self.caller, "may_write": self.may_write}


def zone_of(request: Request) -> tzinfo:
    """Where whoever looks counts their days; UTC until their browser told."""
    try:
        return ZoneInfo(time_zone(request.cookies.get(ZONE_COOKIE, "")))
    except ValueError:
        return UTC


Reader = Callable[[Page], Awaitable[Content]]
#: Who reads the pages that are kept up to date, and who may; by the pattern of their address.
_READERS: dict[re.Pattern[str], tuple[Reader, Callable[[Caller], bool]]] = {}


def live(path: str, *, may: Callable[[Caller], bool] = lambda _: True) -> Callable[[Reader], Reader]:
    """Registers what reads the page at this address, such as `/sources/{source_id}`, so that it is kept up to date."""
    pattern = re.compile(re.sub(r"\{(\w+)\}", r"(?P<\1>[0-9]{1,18})", path))

    def register(reader: Reader) -> Reader:
        _READERS[pattern] = (reader, may)
        return reader

    return register


@dataclass(frozen=True, slots=True, kw_only=True)
class Watch:
    """A page that somebody has open. Its forms carry the token of their session, so that nobody else may get them."""

    caller: Caller
    language: Language
    #: Its address, with the query.
    page: str
    root_path: str = ""
    zone: str = ""
    session: str = field(default="", repr=False)


def is_live(page: str, caller: Caller) -> bool:
    return _reader_of(page, caller) is not None


def _reader_of(page: str, caller: Caller) -> tuple[Reader, dict[str, str]] | None:
    for pattern, (reader, may) in _READERS.items():
        if (found := pattern.fullmatch(urlsplit(page).path)) and may(caller):
            return reader, found.groupdict()
    return None


async def read_watched(app: FastAPI, watch: Watch) -> str:
    """The parts of a page as JSON; none where it is not there any more."""
    found = _reader_of(watch.page, watch.caller)
    if found is None:
        return Content(context={}).as_json()
    reader, params = found
    parts = urlsplit(watch.page)
    query = parse_qsl(parts.query, keep_blank_values=True)
    cookies = {SESSION_COOKIE: watch.session, ZONE_COOKIE: watch.zone}
    cookie = "; ".join(f"{name}={value}" for name, value in cookies.items() if value).encode("latin-1")
    scope = {
        "type": "http",
        "method": "GET",
        "app": app,
        "path": watch.root_path + parts.path,
        "root_path": watch.root_path,
        "query_string": urlencode([pair for pair in query if pair[0] != _ASKED_FETCH]).encode(),
        _ASKED_FETCH: dict(query).get(_ASKED_FETCH, ""),
        "headers": [(b"cookie", cookie)],
        "path_params": params,
    }
    try:
        page = Page(Request(scope), app.state.system, watch.caller, watch.language)
        content = await page.with_bar(await reader(page))
    except NotFound:
        content = Content(context={})
    return content.as_json()


def render(
    request: Request, language: Language, template: str, context: Mapping[str, Any], *, status: int = 200
) -> Response:
    caller = context.get("caller") or ANONYMOUS
    whole = {
        **({} if "ui" in context else _frame(request, language)),
        "caller": caller,
        "places": navigation(request, caller),
        "here": here(request),
        "other": link_with(request, lang=other(language)),
        "notice": read_notice(request),
        "firing": 0,
        **context,
    }
    response = _templates.TemplateResponse(request, template, whole, status_code=status)
    # What is shown depends on who looks, and in which language.
    response.headers["Cache-Control"] = "no-store"
    if NOTICE_COOKIE in request.cookies:
        response.delete_cookie(NOTICE_COOKIE)
    if request.query_params.get("lang") in set(Language):
        # Only what somebody chose is kept.
        response.set_cookie(LANGUAGE_COOKIE, language.value, max_age=_YEAR_SECONDS, httponly=True, samesite="lax")
    return response


def _frame(request: Request, language: Language) -> dict[str, Any]:
    """What every template and every part of one may use."""
    session, words = request.cookies.get(SESSION_COOKIE), words_in(language)
    frame = {
        "request": request,
        "language": language.value,
        "t": words,
        "say": words.say,
        "say_past": words.say_past,
        "kind": words.kind,
        "url": lambda path, /, **query: link(request, path, **query),
        "url_with": lambda **query: link_with(request, **query),
        "way_in": way_in(request),
        "url_beside": lambda path: link_beside(request, path),
        "token_field": TOKEN_FIELD,
        "token": token_of(session) if session else "",
    }
    # Made once for all parts of a page: a list has a hundred of them.
    return frame | {"ui": _templates.get_template("ui.html").make_module(frame)}


def with_moments(sentence: str) -> Markup:
    """A sentence whose moments are told in the zone of whoever looks."""
    parts = _MOMENT.split(sentence)
    # Every third part on is a day and an hour.
    pieces = [escape(parts[0])]
    for day, hour, rest in zip(parts[1::3], parts[2::3], parts[3::3], strict=True):
        pieces.append(Markup('<time data-clock datetime="{0}T{1}:00Z">{0} {1} UTC</time>{2}').format(day, hour, rest))
    return Markup("").join(pieces)


_templates.env.filters["moments"] = with_moments


def offset_of(zone: tzinfo, at: datetime) -> str:
    """How far its clocks are from UTC then: `UTC−3:30`."""
    minutes = round((zone.utcoffset(at.astimezone(zone)) or timedelta()).total_seconds() / 60)
    hours, rest = divmod(abs(minutes), 60)
    ahead = f"{'-' if minutes < 0 else '+'}{hours}".replace("-", "\N{MINUS SIGN}")
    return f"UTC{ahead if minutes else ''}{f':{rest:02}' if rest else ''}"


_templates.env.filters["offset"] = offset_of


def navigation(request: Request, caller: Caller) -> list[NavigationEntry]:
    """Those of the bar that are there and that the caller may use."""
    there = {getattr(route, "path", "") for route in request.app.routes}
    return [place for place in NAVIGATION if place.path in there and place.may(caller)]


def here(request: Request) -> str:
    """The address of the place in the bar that the page belongs to."""
    return "/" + own_path(request.scope).strip("/").partition("/")[0]


def other(language: Language) -> Language:
    return next(one for one in Language if one is not language)


def back_from_form(request: Request, where: str) -> Response:
    """A page that a form was answered with is reloaded, or asked for in the other language: the form is on this one."""
    return RedirectResponse(link(request, where, lang=request.query_params.get("lang", "")), status_code=303)


def redirect_with(request: Request, where: str, notice: FlashMessage) -> Response:
    response = RedirectResponse(where, status_code=303)
    if notice.key or notice.problem:
        written = _written(notice)
        if len(written) > MAX_NOTICE:
            # What was done to very many is told without the way to take it back.
            written = _written(replace(notice, undo=None))
        if len(written) <= MAX_NOTICE:
            secure = request.url.scheme == "https"
            response.set_cookie(
                NOTICE_COOKIE, written, max_age=_NOTICE_SECONDS, httponly=True, samesite="lax", secure=secure
            )
    return response


def _written(notice: FlashMessage) -> str:
    undo = [notice.undo.action, dict(notice.undo.fields)] if notice.undo else None
    told = json.dumps([notice.key, dict(notice.values), notice.problem[:500], undo])
    return base64.urlsafe_b64encode(told.encode()).decode()


def read_notice(request: Request) -> FlashMessage | None:
    """What the page before left to be told; None where there is nothing, or nothing of ours."""
    try:
        key, values, problem, undo = json.loads(base64.urlsafe_b64decode(request.cookies.get(NOTICE_COOKIE, "")))
        notice = FlashMessage(key=key, values=dict(values), problem=str(problem), undo=_undo(undo))
        if key:
            catalogue()[key][0].format(**notice.values)
    except (ValueError, TypeError, KeyError, IndexError, AttributeError):
        return None
    return notice if notice.key or notice.problem else None


def _undo(told: Any) -> Undo | None:
    if told is None:
        return None
    action, fields = told
    if not str(action).startswith("/"):
        raise ValueError(action)
    return Undo(action=str(action), fields={str(name): str(value) for name, value in dict(fields).items()})


def form_fields(*names: str) -> dict[str, Any]:
    """A form as OpenAPI describes it."""
    schema = {"type": "object", "properties": {name: {"type": "string"} for name in names}}
    return {"requestBody": {"content": {"application/x-www-form-urlencoded": {"schema": schema}}}}


def begin_session(request: Request, session: str | None, *, then: str) -> Response:
    """On to the next page, with the session; without one, to where it begins."""
    if session is None:
        return RedirectResponse(link(request, "/signin"), status_code=303)
    response = RedirectResponse(link(request, then), status_code=303)
    response.set_cookie(
        SESSION_COOKIE,
        session,
        max_age=int(SESSION_LIFE.total_seconds()),
        httponly=True,
        samesite="lax",
        secure=request.url.scheme == "https",
    )
    return response


_Speaks = Annotated[Language, Depends(language_of)]
_Has = Annotated[System, Depends(system_of)]


async def _open_page(
    request: Request, system: _Has, language: _Speaks, caller: Annotated[Caller, Depends(anyone)]
) -> Page:
    return Page(request, system, caller, language)


async def _signed_in_page(
    request: Request, system: _Has, language: _Speaks, caller: Annotated[Caller, Depends(signed_in)]
) -> Page:
    return Page(request, system, caller, language)


async def _admin_page(
    request: Request, system: _Has, language: _Speaks, caller: Annotated[Caller, Depends(signed_in_admin)]
) -> Page:
    return Page(request, system, caller, language)


OpenPage = Annotated[Page, Depends(_open_page)]
SignedInPage = Annotated[Page, Depends(_signed_in_page)]
AdminPage = Annotated[Page, Depends(_admin_page)]
