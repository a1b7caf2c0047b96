"""One's own account: logging in, who one is, one's password and one's keys."""

from __future__ import annotations

from typing import Literal

from fastapi import APIRouter, HTTPException, Request
from pydantic import BaseModel, Field

from catchment.domain.account import MAX_EMAIL
from catchment.domain.caller import Scope
from catchment.errors import Unauthenticated
from catchment.manage.accounts import MAX_KEY_NAME, user_of
from catchment.manage.logins import LEAST, MOST
from catchment.monitor.status import Language
from catchment.web.auth import DOOR, Known, TheSystem, address_of
from catchment.web.errors import OF_A_BODY, problems
from catchment.web.inputs import In, PathId, Text
from catchment.web.outputs import Moment, Out
from catchment.web.translations import AdministrationsLanguage

login_router = APIRouter(prefix="/api/auth", tags=["users"], responses=problems(401, 429, 503, *OF_A_BODY))

_WRONG = {Language.CHINESE: "邮箱或密码错误", Language.ENGLISH: "Wrong e-mail address or password"}


class LoginIn(In):
    email: Text = Field(max_length=MAX_EMAIL, examples=["ada@example.org"])
    password: Text = Field(max_length=MOST)


class TokenOut(BaseModel):
    access_token: str = Field(examples=["eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.…"])
    token_type: Literal["bearer"] = "bearer"  # noqa: S105 (what kind it is)


@login_router.post("/login", dependencies=[DOOR])
async def log_in(request: Request, system: TheSystem, language: AdministrationsLanguage, body: LoginIn) -> TokenOut:
    """A token for `Authorization: Bearer …`. It ends by itself, and at once when the password is changed."""
    token = await system.authenticator.log_in(body.email, body.password, address=address_of(request))
    if token is None:
        raise Unauthenticated(_WRONG[language])
    return TokenOut(access_token=token)


router = APIRouter(prefix="/api", tags=["users"], responses=problems(401, 403))


class UserOut(Out):
    id: int
    email: str
    name: str
    slug: str
    is_admin: bool
    is_active: bool
    created_at: Moment
    digests_public: bool


class KeyOut(Out):
    id: int
    name: str
    prefix: str
    scope: Scope
    is_active: bool
    created_at: Moment
    last_used_at: Moment | None


class NewKeyOut(KeyOut):
    #: Shown this once.
    key: str


class KeyIn(In):
    name: Text = Field(min_length=1, max_length=MAX_KEY_NAME, examples=["backup script"])
    scope: Scope | None = Field(None, description="What the key in hand may, unless less is wanted.")


class UserChange(In):
    answer = UserOut

    digests_public: bool = Field(
        examples=[True], description="Show your digests to everybody, at /feed/{slug} and /api/digests."
    )


class PasswordIn(In):
    old_password: Text = Field(max_length=MOST, examples=["the one that you have"])
    new_password: Text = Field(min_length=LEAST, max_length=MOST)


@router.get("/users/me")
async def who_am_i(system: TheSystem, caller: Known) -> UserOut:
    return UserOut.model_validate(await system.accounts.get_user(user_of(caller)))


@router.put("/users/me", responses=problems(*OF_A_BODY))
async def change_me(system: TheSystem, caller: Known, body: UserChange) -> UserOut:
    changed = await system.accounts.set_digests_public(user_of(caller), is_public=body.digests_public)
    return UserOut.model_validate(changed)


@router.put("/users/me/password", status_code=204, responses=problems(429, 503, *OF_A_BODY))
async def change_password(request: Request, system: TheSystem, caller: Known, body: PasswordIn) -> None:
    """Whoever was signed in by the old password is signed out; keys stay."""
    user = await system.accounts.get_user(user_of(caller))
    changed = await system.accounts.change_password(
        user, body.old_password, body.new_password, address=address_of(request)
    )
    if not changed:
        raise HTTPException(400, "The old password is wrong.")


@router.post("/users/me/sign-out", status_code=204)
async def sign_out_everywhere(system: TheSystem, caller: Known) -> None:
    """End every session, login token and reader app of yours. Keys and password stay good."""
    await system.accounts.sign_out_everywhere(user_of(caller))


@router.get("/keys")
@router.get("/users/me/api-keys")
async def list_keys(system: TheSystem, caller: Known) -> list[KeyOut]:
    """Your keys, without their secrets."""
    return [KeyOut.model_validate(key) for key in await system.accounts.list_keys_of(user_of(caller))]


@router.post("/keys", status_code=201, responses=problems(*OF_A_BODY))
@router.post("/users/me/api-keys", status_code=201, responses=problems(*OF_A_BODY))
async def create_key(system: TheSystem, caller: Known, body: KeyIn) -> NewKeyOut:
    """A further key. `key` is shown this once; only its hash is kept."""
    made = await system.accounts.create_own_key(caller, body.name, scope=body.scope)
    return NewKeyOut(**KeyOut.model_validate(made.key).model_dump(), key=made.secret)


@router.delete("/keys/{key_id}", status_code=204, responses=problems(404, 422))
@router.delete("/users/me/api-keys/{key_id}", status_code=204, responses=problems(404, 422))
async def revoke_key(system: TheSystem, caller: Known, key_id: PathId) -> None:
    """From now on the key is refused."""
    await system.accounts.revoke_key(key_id, owner_id=user_of(caller))
