"""`/mcp`: agents over streamable HTTP, each request with a key and by itself; no session is kept."""

from __future__ import annotations

import asyncio
from ipaddress import ip_address
from typing import Any
from urllib.parse import urlsplit

from fastapi import APIRouter, HTTPException, Request, Response
from starlette.types import Message, Receive, Scope, Send

from catchment.bootstrap import System
from catchment.domain.caller import Caller
from catchment.settings import Settings
from catchment.web.auth import Keyed, TheSystem
from catchment.web.csrf import check_origin
from catchment.web.errors import problems
from catchment.web.middleware import MAX_BODY

router = APIRouter(tags=["agents"])
_MISDIRECTED = 421
_LOCAL_NAMES = frozenset({"localhost"})
_MESSAGE: dict[str, Any] = {
    "requestBody": {
        "required": True,
        "description": "A message of the Model Context Protocol.",
        "content": {
            "application/json": {
                "schema": {"type": "object"},
                "example": {"jsonrpc": "2.0", "id": 1, "method": "tools/list"},
            }
        },
    }
}


_ANSWER = {
    "schema": {"type": "object"},
    "example": {"jsonrpc": "2.0", "id": 1, "result": {"tools": [{"name": "search_items"}]}},
}


@router.post(
    "/mcp",
    response_class=Response,
    responses={
        200: {"description": "The answer.", "content": {"application/json": _ANSWER}},
        202: {"description": "Taken note of."},
        400: {"description": "Not a message of the protocol, or of another version."},
        404: {"description": "There is no such method."},
        406: {"description": "The answer is JSON, and neither that nor a stream is accepted."},
        **problems(401, 403, 413, _MISDIRECTED, 501),
    },
    openapi_extra=_MESSAGE,
)
async def mcp(request: Request, system: TheSystem, caller: Keyed) -> Response:
    """The Model Context Protocol, for agents: tools to search, read and list; to add where the key may write."""
    _check_host(request, system.settings)
    check_origin(request)
    # The first time it takes seconds, in which others are answered.
    await asyncio.to_thread(_require_extra)
    return _ProtocolResponse(system, caller, await request.body())


def is_own_host(host: str, settings: Settings) -> bool:
    """Whether a Host header names this server.

    A page that has its own name point here (DNS rebinding) comes with that name; an address or `localhost` is nobody's.
    """
    try:
        name = urlsplit(f"//{host}").hostname or ""
    except ValueError:
        return False
    own = {settings.host.lower(), urlsplit(settings.public_url).hostname} | _LOCAL_NAMES
    return name in own or _is_address(name)


def _check_host(request: Request, settings: Settings) -> None:
    if not is_own_host(request.headers.get("host", ""), settings):
        raise HTTPException(
            _MISDIRECTED, "The server is not known by this name: CATCHMENT_PUBLIC_URL says which one it has."
        )


def _require_extra() -> None:
    try:
        import mcp.server.streamable_http_manager  # noqa: F401

        import catchment.agents  # noqa: F401
    except ImportError as error:
        raise HTTPException(501, "Agents need an extra: pip install 'catchment[mcp]'.") from error


def _is_address(name: str) -> bool:
    try:
        ip_address(name)
    except ValueError:
        return False
    return True


class _ProtocolResponse(Response):
    """What the protocol says to one request."""

    def __init__(self, system: System, caller: Caller, body: bytes) -> None:
        super().__init__()
        self._system = system
        self._caller = caller
        self._body = body

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        from mcp.server.streamable_http_manager import StreamableHTTPSessionManager

        from catchment.agents import Agent, make_server

        server = make_server(Agent.of_key(self._system, self._caller))
        manager = StreamableHTTPSessionManager(
            server, json_response=True, stateless=True, max_request_body_size=MAX_BODY
        )
        async with manager.run():
            await manager.handle_request(scope, self._replay(receive), send)

    def _replay(self, receive: Receive) -> Receive:
        """The body once more, then whatever else comes."""
        messages: list[Message] = [{"type": "http.request", "body": self._body, "more_body": False}]

        async def replay() -> Message:
            return messages.pop() if messages else await receive()

        return replay
