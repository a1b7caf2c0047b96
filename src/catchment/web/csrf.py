"""Against forged requests: what a browser does by its cookie must come from a page of ours."""

from __future__ import annotations

from io import BytesIO

from fastapi import Request
from starlette.datastructures import FormData, UploadFile

from catchment.crypto import hash_secret, same_secret
from catchment.errors import Forbidden
from catchment.web.inputs import is_own_origin

SESSION_COOKIE = "catchment_session"
SAFE_METHODS = frozenset({"GET", "HEAD", "OPTIONS"})
TOKEN_HEADER = "X-CSRF-Token"  # noqa: S105 (its name, not its value)
TOKEN_FIELD = "csrf_token"  # noqa: S105
_FORMS = ("application/x-www-form-urlencoded", "multipart/form-data")


def token_of(session: str) -> str:
    """What forms and scripts of this session send along. Another site can read neither it nor the cookie it is of."""
    return hash_secret(f"csrf\0{session}")


async def check_token(request: Request, session: str) -> None:
    check_origin(request)
    given = request.headers.get(TOKEN_HEADER) or (await form_of(request)).get(TOKEN_FIELD, "")
    if not same_secret(given, token_of(session)):
        raise Forbidden(
            "This page is of another session: load it again, and send that once more."
            f" A program sends the session's token, as {TOKEN_HEADER} or {TOKEN_FIELD}."
        )


def check_origin(request: Request) -> None:
    """SameSite alone is blind to ports, and there is no token yet when somebody signs in."""
    origin = request.headers.get("origin")
    if origin is not None and not is_own_origin(request, origin):
        raise Forbidden("This request came from a page of another site.")


async def form_of(request: Request) -> dict[str, str]:
    """The fields of a form, each by its first value; empty for any other body."""
    form = await form_data(request)
    firsts = ((name, form.getlist(name)[0]) for name in form)
    return {name: value for name, value in firsts if isinstance(value, str)}


async def form_data(request: Request) -> FormData:
    """All of a form, files and fields that come several times too; empty for any other body."""
    if not request.headers.get("content-type", "").startswith(_FORMS):
        return FormData()
    if not hasattr(request.state, "form"):
        async with request.form() as form:
            # A body is small, so that its files are kept here and nothing is left open.
            request.state.form = FormData([(name, await _in_memory(value)) for name, value in form.multi_items()])
    kept: FormData = request.state.form
    return kept


async def _in_memory(value: UploadFile | str) -> UploadFile | str:
    return value if isinstance(value, str) else UploadFile(BytesIO(await value.read()), filename=value.filename)
