"""Logging in by e-mail and password, for programs: what comes back is a token for the Authorization header."""

from __future__ import annotations

from typing import Literal

from fastapi import APIRouter, Request
from pydantic import BaseModel, Field

from catchment.domain.account import MAX_EMAIL
from catchment.errors import Unauthenticated
from catchment.manage.logins import MOST
from catchment.monitor.reason import Language
from catchment.web.auth import DOOR, TheSystem, address_of
from catchment.web.errors import OF_A_BODY, problems
from catchment.web.inputs import Text
from catchment.web.translations import AdministrationsLanguage

router = APIRouter(prefix="/api/auth", tags=["users"], responses=problems(401, 429, 503, *OF_A_BODY))

_WRONG = {Language.CHINESE: "邮箱或密码错误", Language.ENGLISH: "Wrong e-mail address or password"}


class LoginIn(BaseModel):
    email: Text = Field(max_length=MAX_EMAIL)
    password: Text = Field(max_length=MOST)


class TokenOut(BaseModel):
    access_token: str
    token_type: Literal["bearer"] = "bearer"  # noqa: S105 (what kind it is)


@router.post("/login", dependencies=[DOOR])
async def log_in(request: Request, system: TheSystem, language: AdministrationsLanguage, body: LoginIn) -> TokenOut:
    """A token for `Authorization: Bearer …`. It ends by itself, and at once when the password is changed."""
    token = await system.entrance.log_in(body.email, body.password, address=address_of(request))
    if token is None:
        raise Unauthenticated(_WRONG[language])
    return TokenOut(access_token=token)
