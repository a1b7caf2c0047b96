"""Around every request: its id, its size, its time, and the last net under what nobody foresaw."""

from __future__ import annotations

import re
import secrets
from time import perf_counter
from urllib.parse import urlsplit

from loguru import logger
from starlette.datastructures import Headers, MutableHeaders
from starlette.exceptions import HTTPException
from starlette.requests import HTTPConnection, Request
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from catchment.logs import marked
from catchment.redact import redact_text
from catchment.web.csrf import SAFE_METHODS
from catchment.web.errors import for_reader, problem
from catchment.web.inputs import own_path
from catchment.web.metrics import Metrics

MAX_BODY = 1024 * 1024
#: Streams that never end by themselves.
ENDLESS = frozenset({"/api/events"})
_SANE_ID = re.compile(r"[A-Za-z0-9._:-]{1,128}")
#: Apps that know FreshRSS add this to whatever address they are given.
_AS_FRESHRSS_HAS_IT = re.compile(r"(?:/greader)?/api/greader\.php/")
_SUB_PATH = re.compile(r"(/[A-Za-z0-9._~-]+)+/?")
_TOO_LARGE = f"What was sent is larger than {MAX_BODY // 1024**2} MB, the most that is taken."
_HEADERS = {
    "X-Content-Type-Options": "nosniff",
    # Not "no-referrer": a form of ours would then be sent with the origin "null" and taken for a stranger's.
    "Referrer-Policy": "same-origin",
    # No inline script, no other site, nobody's frame.
    "Content-Security-Policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
        "form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
    ),
}
#: Headers whose secrets are meant for whoever gets them, and of no use without.
_MEANT = {b"set-cookie", b"location"}
_ASKED_BY_HEAD = "catchment.asked_by_head"


class RequestContext:
    """Gives each request an id that is echoed and logged, tells how it went, and answers 500 when it blew up."""

    def __init__(self, app: ASGIApp, *, metrics: Metrics) -> None:
        self._app = app
        self._metrics = metrics

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        request_id = _request_id(Headers(scope=scope).get("x-request-id"))
        answer = _Answer(send, request_id)
        started = perf_counter()
        # For whoever tells them in the answer itself.
        scope.setdefault("state", {}).update(request_id=request_id, started=started)
        with marked(request_id):
            try:
                await self._app(scope, receive, answer.send)
            except Exception:  # noqa: BLE001 (the edge: whatever it was, it is recorded and answered)
                logger.exception("{} {} failed", scope["method"], scope["path"])
                await answer.give_up(scope, receive)
            self._record(scope, answer.status, perf_counter() - started)

    def _record(self, scope: Scope, status: int, seconds: float) -> None:
        route = scope.get("route")
        self._metrics.observe_request(scope["method"], getattr(route, "path", "unknown"), status, seconds)
        level = "DEBUG" if scope["method"] in SAFE_METHODS else "INFO"
        logger.log(level, "{} {} {} in {:.0f} ms", scope["method"], scope["path"], status, seconds * 1000)


class _Answer:
    """The response on its way out, with the headers that all of them have."""

    def __init__(self, send: Send, request_id: str) -> None:
        self._send = send
        self._request_id = request_id
        self.status = 0

    async def send(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self.status = message["status"]
            message["headers"] = [_redacted(name, value) for name, value in message.get("headers", ())]
            headers = MutableHeaders(scope=message)
            headers["X-Request-ID"] = self._request_id
            for name, value in _HEADERS.items():
                headers.setdefault(name, value)
        await self._send(message)

    async def give_up(self, scope: Scope, receive: Receive) -> None:
        if self.status:
            # It had begun already: all that is left is to let the connection break off.
            return
        message = f"Something went wrong on our side; the log has it under {self._request_id}."
        answer: Response = problem(500, message)
        try:
            answer = await for_reader(Request(scope), answer, message)
        except Exception:  # noqa: BLE001 (what broke may be what pages are made of)
            logger.exception("the page that says so failed too")
        await answer(scope, receive, self.send)


class HeadAsGet:
    """Answers HEAD as GET, without the body, where GET comes to an end."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or scope["method"] != "HEAD" or own_path(scope) in ENDLESS:
            await self._app(scope, receive, send)
            return
        # A copy: the server tells by its own that no body is to come.
        asked = {**scope, "method": "GET", _ASKED_BY_HEAD: True}
        try:
            await self._app(asked, receive, _without_body(send))
        finally:
            scope["route"] = asked.get("route")


def only_looks(request: HTTPConnection) -> bool:
    """Whether it is a HEAD, which may change nothing, where a GET would."""
    return _ASKED_BY_HEAD in request.scope


class SubPath:
    """Tells the pages below which path they are: what a trusted proxy says, else that of the public address.

    What reader apps ask for where FreshRSS has it is led to where we have it.
    """

    def __init__(self, app: ASGIApp, *, public_url: str, trusts_proxies: bool) -> None:
        self._app = app
        self._own = _sane_path(urlsplit(public_url).path)
        self._trusts_proxies = trusts_proxies

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            told = Headers(scope=scope).get("x-forwarded-prefix", "") if self._trusts_proxies else ""
            root = _sane_path(told) or self._own or scope.get("root_path", "")
            scope = {**scope, "root_path": root, "path": path_below(root, scope["path"])}
        await self._app(scope, receive, send)


def path_below(root: str, path: str) -> str:
    """Most proxies take the root away from the path, whose beginning it is by the protocol: files are found by that."""
    own = path.removeprefix(root) if f"{path}/".startswith(f"{root}/") else path
    found = _AS_FRESHRSS_HAS_IT.match(own)
    return f"{root}/greader/{own[found.end() :]}" if found else root + own


def _sane_path(path: str) -> str:
    return path.rstrip("/") if _SUB_PATH.fullmatch(path) else ""


class BodyCap:
    """Refuses bodies that are too large, whether they say so beforehand or not."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        announced = Headers(scope=scope).get("content-length", "")
        is_too_large = announced.isdecimal() and int(announced) > MAX_BODY
        # Said where the body is read, so that each surface says it in its own form.
        await self._app(scope, _refuse if is_too_large else _counting(receive), send)


async def _refuse() -> Message:
    raise HTTPException(413, _TOO_LARGE)


def _counting(receive: Receive) -> Receive:
    seen = 0

    async def counted() -> Message:
        nonlocal seen
        message = await receive()
        seen += len(message.get("body", b""))
        if seen > MAX_BODY:
            raise HTTPException(413, _TOO_LARGE)
        return message

    return counted


def _without_body(send: Send) -> Send:
    async def send_rest(message: Message) -> None:
        await send({**message, "body": b""} if message["type"] == "http.response.body" else message)

    return send_rest


def _request_id(given: str | None) -> str:
    if given is not None and _SANE_ID.fullmatch(given):
        return redact_text(given)
    return f"req-{secrets.token_hex(6)}"


def _redacted(name: bytes, value: bytes) -> tuple[bytes, bytes]:
    return (name, value) if name.lower() in _MEANT else (name, redact_text(value.decode("latin-1")).encode("latin-1"))
