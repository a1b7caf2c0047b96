"""The cookies of the demo: made up, and good enough for the platforms of the simulated web."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Final

from catchment.domain.note import Platform
from catchment.errors import InvalidInput

if TYPE_CHECKING:
    from catchment.bootstrap import System

COOKIES: Final[Mapping[Platform, tuple[str, ...]]] = {
    Platform.XHS: ("demo-xhs-1", "demo-xhs-2", "demo-xhs-3"),
    Platform.WEIBO: ("demo-weibo",),
}
#: What a browser sends of a session.
_FORMS: Final = {Platform.XHS: "a1={0}; webId={0}; web_session={0}", Platform.WEIBO: "SUB={0}; WBPSESS={0}"}
#: The demo asks for more in an hour than a person would in a day.
_DAILY_LIMIT: Final = 10_000


async def give_cookies(system: System) -> None:
    """One session for each name, which is called by that name. Nobody's real cookies are mixed with them."""
    ours = {name for names in COOKIES.values() for name in names}
    if real := sorted({cookie.name for cookie in await system.cookies.list()} - ours):
        raise InvalidInput(f"This store has cookies of its own ({', '.join(real)}): give the demo another one.")
    for platform, names in COOKIES.items():
        for name in names:
            await give_cookie(system, platform, name, session=name)


async def give_cookie(system: System, platform: Platform, name: str, *, session: str) -> None:
    """The cookie of this name is of this session from now on."""
    from catchment.manage.cookies import CookieChanges

    settings = CookieChanges(daily_limit=_DAILY_LIMIT, description="Made up for the demo.")
    await system.cookies.add(name, platform, _FORMS[platform].format(session), settings=settings)
