"""The page of one's own account: keys and password."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter, Request
from fastapi.responses import HTMLResponse, RedirectResponse, Response

from catchment.bootstrap import System
from catchment.domain.caller import Caller, Scope
from catchment.errors import InvalidInput, TooBusy, TooManyAttempts
from catchment.manage.accounts import user_of
from catchment.monitor.status import Language
from catchment.web.auth import SignedIn, TheSystem, address_of
from catchment.web.csrf import form_of
from catchment.web.errors import OF_A_BODY, problems_of_page
from catchment.web.inputs import PathId, link
from catchment.web.pages import PAGE, FlashMessage, Page, back_from_form, begin_session, form_fields, redirect_with
from catchment.web.translations import TheLanguage

_TO_SIGN_IN: dict[int | str, dict[str, Any]] = {303: {"description": "On to the next page.", "content": {}}}
_REFUSED: dict[int | str, dict[str, Any]] = {
    400: {"description": "Not done; the page says why.", "content": {**PAGE, **problems_of_page(400)[400]["content"]}}
}
router = APIRouter(
    prefix="/account",
    tags=["dashboard"],
    default_response_class=HTMLResponse,
    responses={**problems_of_page(401, 403), **_TO_SIGN_IN},
)


@router.get("")
async def account(request: Request, system: TheSystem, caller: SignedIn, language: TheLanguage) -> Response:
    return await _page(request, system, caller, language)


@router.get("/keys")
@router.get("/password")
async def back_to_account(request: Request, caller: SignedIn) -> Response:  # noqa: ARG001 (strangers are shown the way in)
    return back_from_form(request, "/account")


@router.post(
    "/keys",
    responses={**problems_of_page(*OF_A_BODY), **_REFUSED},
    openapi_extra=form_fields("name", "scope"),
)
async def create_key(request: Request, system: TheSystem, caller: SignedIn, language: TheLanguage) -> Response:
    """A further key, shown on the page that comes back and never again."""
    form = await form_of(request)
    try:
        made = await system.accounts.create_own_key(caller, form.get("name", ""), scope=_scope(form.get("scope", "")))
    except InvalidInput:
        return await _page(request, system, caller, language, status=400, key_problem="bad_key_name")
    return await _page(request, system, caller, language, made=made)


@router.post("/keys/{key_id}/revoke", responses=problems_of_page(404, *OF_A_BODY))
async def revoke_key(request: Request, system: TheSystem, caller: SignedIn, key_id: PathId) -> Response:
    await system.accounts.revoke_key(key_id, owner_id=user_of(caller))
    return RedirectResponse(link(request, "/account"), status_code=303)


@router.post(
    "/password",
    responses={**problems_of_page(*OF_A_BODY), **_REFUSED},
    openapi_extra=form_fields("old_password", "new_password"),
)
async def change_password(request: Request, system: TheSystem, caller: SignedIn, language: TheLanguage) -> Response:
    """Every session of the old password ends, this one too; a new one begins at once."""
    form, address = await form_of(request), address_of(request)
    old, new = form.get("old_password", ""), form.get("new_password", "")
    user = await system.accounts.get_user(user_of(caller))
    try:
        changed = await system.accounts.change_password(user, old, new, address=address)
    except (InvalidInput, TooManyAttempts) as error:
        return await _page(request, system, caller, language, status=400, change_problem=_problem(error))
    if not changed:
        return await _page(request, system, caller, language, status=400, change_problem="wrong_old_password")
    session = await system.authenticator.sign_in_by_password(user.email, new, address=address)
    return begin_session(request, session, then="/account")


@router.post("/sign-out", responses=problems_of_page(*OF_A_BODY))
async def sign_out_everywhere(request: Request, system: TheSystem, caller: SignedIn) -> Response:
    """Every browser is out, this one too."""
    await system.accounts.sign_out_everywhere(user_of(caller))
    return redirect_with(request, "/signin", FlashMessage(key="account.did_sign_out"))


async def _page(
    request: Request, system: System, caller: Caller, language: Language, *, status: int = 200, **context: Any
) -> Response:
    user = await system.accounts.get_user(user_of(caller))
    keys = [key for key in await system.accounts.list_keys_of(user.id) if key.is_active]
    scopes = [scope for scope in Scope if caller.scope.holds(scope)]
    page = Page(request, system, caller, language)
    return await page.show("account.html", status=status, user=user, keys=keys, scopes=scopes, **context)


def _problem(error: InvalidInput | TooManyAttempts) -> str:
    if isinstance(error, TooBusy):
        return "busy"
    return "bad_password" if isinstance(error, InvalidInput) else "too_often"


def _scope(text: str) -> Scope | None:
    return Scope(text) if text in set(Scope) else None
