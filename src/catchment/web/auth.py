"""Who is asking: one resolver for every route, and how a route says who may call it.

`Anyone` and `Known` are the types of a route's `caller` argument; a route that does not care who it is has `OPEN`,
`SERVICE_ONLY` or `ADMIN_ONLY` among its dependencies. Each route does one or the other.
"""

from __future__ import annotations

from typing import Annotated
from urllib.parse import urlsplit

from fastapi import Depends, Request, Security
from fastapi.security import APIKeyCookie, APIKeyHeader, HTTPBearer

from catchment.bootstrap import System
from catchment.domain.caller import ANONYMOUS, Caller
from catchment.errors import Forbidden, Unauthenticated

SESSION_COOKIE = "catchment_session"
SAFE_METHODS = frozenset({"GET", "HEAD", "OPTIONS"})

# They are read by hand below, where a wrong key must not pass for none; these tell OpenAPI of them.
_HEADER = APIKeyHeader(name="X-API-Key", scheme_name="ApiKey", auto_error=False)
_BEARER = HTTPBearer(scheme_name="Bearer", auto_error=False)
_COOKIE = APIKeyCookie(name=SESSION_COOKIE, scheme_name="Session", auto_error=False)


def system_of(request: Request) -> System:
    system: System = request.app.state.system
    return system


TheSystem = Annotated[System, Depends(system_of)]


async def resolve_caller(request: Request) -> Caller:
    """The caller, anonymous if no credentials came. A wrong key is refused even where none is needed."""
    accounts = system_of(request).accounts
    secret = _given_key(request)
    if secret is not None:
        caller = await accounts.identify(secret)
        if caller is None:
            raise Unauthenticated("invalid api key")
        return caller
    token = request.cookies.get(SESSION_COOKIE)
    # A browser sends an old cookie by itself, so it counts as none.
    caller = await accounts.caller_of_session(token) if token else None
    if caller is not None and request.method not in SAFE_METHODS:
        _check_origin(request)
    return caller or ANONYMOUS


async def anyone(
    request: Request,
    _header: Annotated[str | None, Security(_HEADER)],
    _bearer: Annotated[object, Security(_BEARER)],
    _cookie: Annotated[str | None, Security(_COOKIE)],
) -> Caller:
    return await resolve_caller(request)


async def known(caller: Annotated[Caller, Depends(anyone)]) -> Caller:
    if not caller.is_known:
        raise Unauthenticated("An API key is needed: Authorization: Bearer <key>, or X-API-Key.")
    return caller


async def service(caller: Annotated[Caller, Depends(anyone)]) -> Caller:
    """The service or an admin. Whoever else comes is told what a wrong key is told."""
    if not caller.sees_all:
        raise Unauthenticated("invalid api key")
    return caller


async def admin(caller: Annotated[Caller, Depends(known)]) -> Caller:
    if not caller.is_admin:
        raise Forbidden("This takes an admin's key.")
    return caller


Anyone = Annotated[Caller, Depends(anyone)]
Known = Annotated[Caller, Depends(known)]
OPEN, SERVICE_ONLY, ADMIN_ONLY = Depends(anyone), Depends(service), Depends(admin)


def _given_key(request: Request) -> str | None:
    """The key that came in a header; an empty one for a header that holds none."""
    if "x-api-key" in request.headers:
        return request.headers["x-api-key"].strip()
    if "authorization" in request.headers:
        scheme, _, secret = request.headers["authorization"].strip().partition(" ")
        return secret.strip() if scheme.lower() == "bearer" else ""
    return None


def _check_origin(request: Request) -> None:
    """A page of another port or site must not act in a signed-in browser's name; SameSite alone is blind to ports."""
    origin = request.headers.get("origin")
    if origin is not None and urlsplit(origin).netloc != request.headers.get("host"):
        raise Forbidden("This request came from a page of another site.")
