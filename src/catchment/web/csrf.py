"""Against forged requests: what a browser does by its cookie must come from a page of ours."""

from __future__ import annotations

from urllib.parse import parse_qs

from fastapi import Request

from catchment.crypto import hash_secret, same_secret
from catchment.errors import Forbidden
from catchment.web.inputs import is_own_origin

SESSION_COOKIE = "catchment_session"
SAFE_METHODS = frozenset({"GET", "HEAD", "OPTIONS"})
TOKEN_HEADER = "X-CSRF-Token"  # noqa: S105 (its name, not its value)
TOKEN_FIELD = "csrf_token"  # noqa: S105


def token_of(session: str) -> str:
    """What forms and scripts of this session send along. Another site can read neither it nor the cookie it is of."""
    return hash_secret(f"csrf\0{session}")


async def check_token(request: Request, session: str) -> None:
    check_origin(request)
    given = request.headers.get(TOKEN_HEADER) or (await form_of(request)).get(TOKEN_FIELD, "")
    if not same_secret(given, token_of(session)):
        raise Forbidden(f"A browser's session needs its token for this: the header {TOKEN_HEADER}, or {TOKEN_FIELD}.")


def check_origin(request: Request) -> None:
    """SameSite alone is blind to ports, and there is no token yet when somebody signs in."""
    origin = request.headers.get("origin")
    if origin is not None and not is_own_origin(request, origin):
        raise Forbidden("This request came from a page of another site.")


async def form_of(request: Request) -> dict[str, str]:
    """The fields of a form, each by its first value; empty for any other body."""
    if not request.headers.get("content-type", "").startswith("application/x-www-form-urlencoded"):
        return {}
    fields = parse_qs((await request.body()).decode("utf-8", "replace"), keep_blank_values=True)
    return {name: values[0] for name, values in fields.items()}
