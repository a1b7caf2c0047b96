"""Settings that may change while the system runs."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Body
from pydantic import StrictInt, StrictStr

from catchment.web.auth import ADMIN_ONLY, TheSystem
from catchment.web.errors import OF_A_BODY, problems

router = APIRouter(prefix="/api/config", tags=["config"], responses=problems(401, 403))


@router.get("", dependencies=[ADMIN_ONLY])
async def read_config(system: TheSystem) -> dict[str, str]:
    """What is set in the config table."""
    return await system.options.read()


@router.put("", dependencies=[ADMIN_ONLY], responses=problems(*OF_A_BODY))
async def change_config(
    system: TheSystem,
    body: Annotated[dict[str, StrictInt | StrictStr | None], Body(examples=[{"FETCH_INTERVAL_RSS": 60}])],
) -> dict[str, str]:
    """Set options by name, whatever the case; null removes one. They take effect at the next tick."""
    return await system.options.change(body)
