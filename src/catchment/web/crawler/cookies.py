"""The administration of cookies: their values go in, and never come out."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query
from pydantic import BaseModel, Field, SecretStr

from catchment.domain.cookie import Cookie, CookieStatus
from catchment.domain.note import Platform
from catchment.manage.cookies import (
    LEAST_VALUE,
    MAX_DAILY,
    MAX_DESCRIPTION,
    MAX_PRIORITY,
    MAX_VALUE,
    CookieChanges,
    shown,
)
from catchment.web.auth import ADMINISTRATION, Known, TheSystem
from catchment.web.crawler.envelope import OF_A_READ, Envelope, EnvelopeRoute, TheAsking, failures
from catchment.web.crawler.shapes import CookieName
from catchment.web.inputs import Text
from catchment.web.outputs import Moment, Out

router = APIRouter(prefix="/api", tags=["cookies"], route_class=EnvelopeRoute, responses=failures(401, 403, 503))


class CookieOut(BaseModel):
    cookie_name: str
    platform: Platform
    status: CookieStatus
    is_enabled: bool
    priority: int
    daily_used: int
    daily_limit: int
    consecutive_errors: int
    cooling_until: Moment | None
    total_used: int
    total_errors: int
    last_used_at: Moment | None
    last_error_at: Moment | None
    encryption_key_id: str
    description: str
    created_at: Moment
    updated_at: Moment

    @classmethod
    def of(cls, cookie: Cookie) -> CookieOut:
        return cls.model_validate(shown(cookie))


class ChangesIn(BaseModel):
    is_enabled: bool | None = Field(default=None, examples=[False])
    priority: int | None = Field(default=None, ge=0, le=MAX_PRIORITY)
    daily_limit: int | None = Field(default=None, ge=1, le=MAX_DAILY)
    description: Text | None = Field(default=None, max_length=MAX_DESCRIPTION)

    def changes(self) -> CookieChanges:
        return CookieChanges(**{name: getattr(self, name) for name in ChangesIn.model_fields})


class CookieIn(ChangesIn):
    cookie_name: CookieName
    platform: Platform
    cookie_value: SecretStr = Field(min_length=LEAST_VALUE, max_length=MAX_VALUE)


class RotatedOut(Out):
    total: int
    resealed: int
    unreadable: list[str] = Field(description="Those whose key is not at hand: they stay as they are.")


class WearOut(Out):
    name: str
    at: Moment


class ForecastOut(Out):
    platform: Platform
    total: int
    available: int
    remaining_today: int
    per_hour: int
    dry_at: Moment | None
    next_back_at: Moment | None
    wearing_out: list[WearOut]
    sentence: str


class CheckedOut(Out):
    cookie_name: str = Field(validation_alias="name")
    platform: Platform
    is_valid: bool
    status: CookieStatus
    checked_at: Moment


class RemovedCookieOut(BaseModel):
    removed: str


@router.get("/cookie/validate", responses=failures(*OF_A_READ))
async def validate_cookie(
    cookie_name: Annotated[CookieName, Query()], system: TheSystem, _caller: Known, asking: TheAsking
) -> Envelope[CheckedOut]:
    """Ask the platform whether it still knows the cookie; one that it does not know is no longer lent."""
    checked = CheckedOut.model_validate(await system.cookies.check(cookie_name))
    return Envelope(data=checked, meta=asking.meta(cookie_used=checked.cookie_name))


@router.get("/admin/cookies", dependencies=[ADMINISTRATION], responses=failures(400))
async def list_cookies(
    system: TheSystem, asking: TheAsking, platform: Platform | None = None
) -> Envelope[list[CookieOut]]:
    return asking.answer([CookieOut.of(one) for one in await system.cookies.list(platform)])


@router.post("/admin/cookies", status_code=201, dependencies=[ADMINISTRATION], responses=failures(400, 409, 413))
async def add_cookie(body: CookieIn, system: TheSystem, asking: TheAsking) -> Envelope[CookieOut]:
    """Add a cookie. One of that name gets the new value, and is active again."""
    value = body.cookie_value.get_secret_value()
    cookie = await system.cookies.add(body.cookie_name, body.platform, value, settings=body.changes())
    return asking.answer(CookieOut.of(cookie))


@router.get("/admin/cookies/forecast", dependencies=[ADMINISTRATION])
async def forecast(system: TheSystem, asking: TheAsking) -> Envelope[list[ForecastOut]]:
    """How long the cookies of each platform last at the rate of the last hour."""
    return asking.answer([ForecastOut.model_validate(one) for one in await system.cookies.forecast()])


@router.post("/admin/cookies/rotate", dependencies=[ADMINISTRATION])
async def rotate(system: TheSystem, asking: TheAsking) -> Envelope[RotatedOut]:
    """Seal all cookies with the present key; they can be used meanwhile."""
    return asking.answer(RotatedOut.model_validate(await system.cookies.rotate()))


@router.patch("/admin/cookies/{cookie_name}", dependencies=[ADMINISTRATION], responses=failures(400, 404, 413))
async def change_cookie(
    cookie_name: CookieName, body: ChangesIn, system: TheSystem, asking: TheAsking
) -> Envelope[CookieOut]:
    """Change how it is used, or have it rest with `is_enabled: false`."""
    return asking.answer(CookieOut.of(await system.cookies.change(cookie_name, body.changes())))


@router.post("/admin/cookies/{cookie_name}/reset", dependencies=[ADMINISTRATION], responses=failures(400, 404))
async def reset_cookie(cookie_name: CookieName, system: TheSystem, asking: TheAsking) -> Envelope[CookieOut]:
    """Active again, with a clean record."""
    return asking.answer(CookieOut.of(await system.cookies.reset(cookie_name)))


@router.delete("/admin/cookies/{cookie_name}", dependencies=[ADMINISTRATION], responses=failures(400, 404))
async def remove_cookie(cookie_name: CookieName, system: TheSystem, asking: TheAsking) -> Envelope[RemovedCookieOut]:
    await system.cookies.remove(cookie_name)
    return asking.answer(RemovedCookieOut(removed=cookie_name))
