"""Paste anything: what a URL or a name stands for, before it is added."""

from __future__ import annotations

from http import HTTPStatus
from typing import Any

from fastapi import APIRouter, HTTPException
from pydantic import BaseModel, Field

from catchment.manage.resolve import MAX_PREVIEWED, Pasted, Resolved
from catchment.web.auth import Known, TheSystem
from catchment.web.errors import OF_A_BODY, problems
from catchment.web.inputs import Text
from catchment.web.outputs import Out

router = APIRouter(prefix="/api/sources", tags=["sources"])


class PastedIn(BaseModel):
    url: Text | None = Field(default=None, description="An address of any kind, or a name: @handle, r/python, hn.")
    force: bool = Field(default=False, description="Tell it although there is nothing at the address (404, 410).")


class GlimpseOut(Out):
    title: str
    url: str


class ResolvedOut(Out):
    """What `POST /api/sources` would take. `preview` is left out when there was none to be had; `doubt` says why."""

    name: str
    type: str
    config: dict[str, Any]
    icon: str | None
    why: str
    preview: list[GlimpseOut] = Field(default=[], max_length=MAX_PREVIEWED)
    doubt: str = ""

    @classmethod
    def of(cls, resolved: Resolved) -> ResolvedOut:
        known: dict[str, Any] = {}
        if resolved.preview is not None:
            known["preview"] = [GlimpseOut(title=one.title, url=one.url) for one in resolved.preview]
        if resolved.doubt is not None:
            known["doubt"] = resolved.doubt
        return cls(
            name=resolved.name,
            type=resolved.type,
            config=dict(resolved.config),
            icon=resolved.icon,
            why=resolved.why,
            **known,
        )


@router.post("/resolve", response_model_exclude_unset=True, responses=problems(401, *OF_A_BODY))
async def resolve(body: PastedIn, system: TheSystem, caller: Known) -> ResolvedOut:
    """Tell what is pasted, with a look at it. What cannot be looked at now is told all the same, with a doubt.

    An address at which there is nothing (404, 410) is a 422, unless by `force`.
    """
    if not body.url or not body.url.strip():
        raise HTTPException(HTTPStatus.BAD_REQUEST, "The body needs a url: an address of any kind, or a name.")
    resolved = await system.resolver.resolve(Pasted(text=body.url), caller)
    if not body.force:
        resolved.refuse_missing('"force": true takes it all the same.')
    return ResolvedOut.of(resolved)
