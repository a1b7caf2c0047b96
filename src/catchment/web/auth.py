"""Who is asking: one resolver for every route, and how a route says who may call it.

`Anyone`, `Keyed`, `Known`, `SignedIn` and `AdminOnly` are the types of a route's `caller` argument; a route that does
not care who it is has `OPEN`, `SERVICE_ONLY` or `ADMIN_ONLY` among its dependencies, and one by which people come in
`DOOR`. Each route does one or the other, and everything under `/api/admin` has `AdminOnly`.
"""

from __future__ import annotations

from typing import Annotated

from fastapi import Depends, HTTPException, Request, Security
from fastapi.security import APIKeyCookie, APIKeyHeader, HTTPBearer

from catchment.bootstrap import System
from catchment.domain.audit_trail import acting
from catchment.domain.caller import ANONYMOUS, Caller, Scope
from catchment.errors import Forbidden, Unauthenticated
from catchment.monitor.status import Language
from catchment.web.csrf import SAFE_METHODS, SESSION_COOKIE, check_token
from catchment.web.inputs import way_in
from catchment.web.translations import AdministrationsLanguage

# They are read by hand below, where a wrong key must not pass for none; these tell OpenAPI of them.
_HEADER = APIKeyHeader(name="X-API-Key", scheme_name="ApiKey", auto_error=False)
_BEARER = HTTPBearer(scheme_name="Bearer", auto_error=False)
_COOKIE = APIKeyCookie(name=SESSION_COOKIE, scheme_name="Session", auto_error=False)

_DOTS_OF_A_TOKEN = 2
_NOT_KNOWN = {Language.CHINESE: "未认证", Language.ENGLISH: "Not authenticated"}
_NOT_ADMIN = {Language.CHINESE: "需要管理员权限", Language.ENGLISH: "Administrator rights are needed"}


def system_of(request: Request) -> System:
    system: System = request.app.state.system
    return system


TheSystem = Annotated[System, Depends(system_of)]


def address_of(request: Request) -> str:
    """Where the request comes from; a proxy that the settings name is believed what it says of it."""
    return request.client.host if request.client else ""


async def resolve_caller(request: Request) -> Caller:
    """The caller, anonymous if no credentials came. A wrong key is refused even where none is needed."""
    caller = await _resolve(request)
    acting.set(caller)
    return caller


async def _resolve(request: Request) -> Caller:
    if "x-api-key" in request.headers:
        return await _caller_by_key(request, request.headers["x-api-key"].strip())
    if "authorization" in request.headers:
        return await _caller_by_bearer(request)
    return await _caller_by_cookie(request)


async def _caller_by_key(request: Request, secret: str) -> Caller:
    caller = await system_of(request).authenticator.identify(secret)
    if caller is None:
        raise Unauthenticated("invalid api key")
    return caller


async def _caller_by_bearer(request: Request) -> Caller:
    scheme, _, rest = request.headers["authorization"].strip().partition(" ")
    secret = rest.strip() if scheme.lower() == "bearer" else ""
    authenticator = system_of(request).authenticator
    caller = await authenticator.identify(secret) or await authenticator.identify_token(secret)
    if caller is None:
        raise Unauthenticated(
            "invalid or expired token" if secret.count(".") == _DOTS_OF_A_TOKEN else "invalid api key"
        )
    return caller


async def _caller_by_cookie(request: Request) -> Caller:
    session = request.cookies.get(SESSION_COOKIE)
    # A browser sends an old cookie by itself, so it counts as none.
    caller = await system_of(request).authenticator.caller_of_session(session) if session else None
    if session is None or caller is None:
        return ANONYMOUS
    if request.method not in SAFE_METHODS:
        await check_token(request, session)
    return caller


async def anyone(
    request: Request,
    _header: Annotated[str | None, Security(_HEADER)],
    _bearer: Annotated[object, Security(_BEARER)],
    _cookie: Annotated[str | None, Security(_COOKIE)],
) -> Caller:
    return await resolve_caller(request)


async def at_the_door() -> None:
    """Whoever comes is about to say who they are: what they bring along from before does not matter."""


async def keyed(caller: Annotated[Caller, Depends(anyone)]) -> Caller:
    """Whoever is known, also with a key that only reads: for what is asked by POST and minds the scope itself."""
    if not caller.is_known:
        raise Unauthenticated("An API key is needed: Authorization: Bearer <key>, or X-API-Key.")
    return caller


async def known(request: Request, caller: Annotated[Caller, Depends(keyed)]) -> Caller:
    return _within_scope(request, caller)


async def signed_in(request: Request, caller: Annotated[Caller, Depends(anyone)]) -> Caller:
    """For pages: who is not known is shown the way in."""
    if not caller.is_known:
        raise HTTPException(303, "Sign in first.", headers={"Location": way_in(request)})
    return _within_scope(request, caller)


async def signed_in_admin(caller: Annotated[Caller, Depends(signed_in)]) -> Caller:
    """For the pages of admins."""
    if not caller.is_admin:
        raise Forbidden("This page is for administrators.")
    return caller


async def service(request: Request, caller: Annotated[Caller, Depends(anyone)]) -> Caller:
    """The service or an admin. Whoever does not say who they are is told what a wrong key is told."""
    if not caller.is_known:
        raise Unauthenticated("invalid api key")
    if not caller.sees_all:
        raise Forbidden("This takes the key of the service or of an admin.")
    return _within_scope(request, caller)


async def admin(caller: Annotated[Caller, Depends(known)]) -> Caller:
    if not caller.is_admin:
        raise Forbidden("This takes an admin's key.")
    return caller


async def administrator(
    request: Request,
    language: AdministrationsLanguage,
    _header: Annotated[str | None, Security(_HEADER)],
    _bearer: Annotated[object, Security(_BEARER)],
    _cookie: Annotated[str | None, Security(_COOKIE)],
) -> Caller:
    """An admin, for the administration, which has words of its own for everybody else."""
    try:
        caller = await resolve_caller(request)
    except Unauthenticated as error:
        raise Unauthenticated(_NOT_KNOWN[language]) from error
    if not caller.is_known:
        raise Unauthenticated(_NOT_KNOWN[language])
    if not caller.is_admin:
        raise Forbidden(_NOT_ADMIN[language])
    return caller


Anyone = Annotated[Caller, Depends(anyone)]
Known = Annotated[Caller, Depends(known)]
Keyed = Annotated[Caller, Depends(keyed)]
SignedIn = Annotated[Caller, Depends(signed_in)]
AdminOnly = Annotated[Caller, Depends(administrator)]
OPEN, SERVICE_ONLY, ADMIN_ONLY = Depends(anyone), Depends(service), Depends(admin)
ADMINISTRATION = Depends(administrator)
DOOR = Depends(at_the_door)


def _within_scope(request: Request, caller: Caller) -> Caller:
    if request.method not in SAFE_METHODS and not caller.scope.holds(Scope.WRITE):
        raise Forbidden("This key may only read.")
    return caller
