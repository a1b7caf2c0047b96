"""The administration of users."""

from __future__ import annotations

from fastapi import APIRouter
from pydantic import BaseModel, Field

from catchment.domain.account import MAX_EMAIL
from catchment.manage.accounts import MAX_NAME
from catchment.web.auth import AdminOnly, TheSystem
from catchment.web.errors import OF_A_BODY, problems
from catchment.web.inputs import PathId, Text
from catchment.web.routes.me import UserOut

router = APIRouter(prefix="/api/admin/users", tags=["users"], responses=problems(401, 403))


class UserIn(BaseModel):
    email: Text = Field(max_length=MAX_EMAIL, examples=["ada@example.org"])
    name: Text = Field("", max_length=MAX_NAME)
    is_admin: bool = False


class EnrolmentOut(BaseModel):
    """The password and the key are shown this once."""

    user: UserOut
    temp_password: str
    api_key: str


class TempPasswordOut(BaseModel):
    temp_password: str


@router.get("")
async def list_users(system: TheSystem, _caller: AdminOnly) -> list[UserOut]:
    return [UserOut.of(user) for user in await system.accounts.list_users()]


@router.post("", status_code=201, responses=problems(409, *OF_A_BODY))
async def add_user(system: TheSystem, _caller: AdminOnly, body: UserIn) -> EnrolmentOut:
    """Add somebody, with a password to begin with and a first key."""
    made = await system.accounts.enrol(body.email, name=body.name, is_admin=body.is_admin)
    return EnrolmentOut(user=UserOut.of(made.user), temp_password=made.temp_password, api_key=made.api_key)


@router.post("/{user_id}/reset-password", responses=problems(404, 422))
async def reset_password(system: TheSystem, _caller: AdminOnly, user_id: PathId) -> TempPasswordOut:
    """A new password to begin with; whoever was signed in by the old one is signed out."""
    return TempPasswordOut(temp_password=await system.accounts.reset_password(user_id))


@router.post("/{user_id}/disable", responses=problems(404, 422))
async def disable_user(system: TheSystem, _caller: AdminOnly, user_id: PathId) -> UserOut:
    """Refuse somebody from now on, by whatever key, token or session."""
    return UserOut.of(await system.accounts.set_active(user_id, is_active=False))


@router.post("/{user_id}/enable", responses=problems(404, 422))
async def enable_user(system: TheSystem, _caller: AdminOnly, user_id: PathId) -> UserOut:
    """Let somebody in again. Their keys work as before; by password they sign in anew."""
    return UserOut.of(await system.accounts.set_active(user_id, is_active=True))
