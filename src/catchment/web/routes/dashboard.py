"""The overview: how everything is, what needs somebody, what is new; and the welcome of a new store."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from fastapi import APIRouter
from fastapi.responses import HTMLResponse, Response
from markupsafe import Markup
from sqlalchemy import Connection

from catchment.domain.source import Source
from catchment.errors import Conflict, Forbidden, InvalidInput
from catchment.manage.catalog import Added
from catchment.manage.packs import STARTER_PACK
from catchment.monitor.status import View, is_network_away
from catchment.publish.payloads import Tone
from catchment.store import source_list, sources
from catchment.store.source_list import SourceQuery
from catchment.web.auth import address_of
from catchment.web.dashboard import Board, read_board
from catchment.web.errors import OF_A_BODY, problems_of_page
from catchment.web.pages import Content, OpenPage, Page, SignedInPage, begin_session, form_fields, live
from catchment.web.source_view import lede_key, rows_of

router = APIRouter(tags=["dashboard"], default_response_class=HTMLResponse, responses=problems_of_page(401, 403))
#: The sources that are shown, and as many items of the latest.
MAX_ROWS, MAX_LATEST = 12, 14
_STARTERS = frozenset(draft.config["url"] for draft in STARTER_PACK)
_FORM: dict[int | str, dict[str, Any]] = {
    303: {"description": "On to the overview.", "content": {}},
    **problems_of_page(409, *OF_A_BODY),
}


@router.get("/")
async def overview_page(page: OpenPage) -> Response:
    return await page.show_live("overview.html", await read_overview(page))


@live("/")
async def read_overview(page: Page) -> Content:
    # Its sources are read beside it, with more about each.
    viewer = await page.system.viewer(View(caller=page.caller, language=page.language, most=0))
    taken = await viewer.snapshot()
    total, needy = taken.stats.total_sources, taken.stats.needy_sources
    board = await read_board(page.system, viewer, taken)
    found = await page.system.store.read(source_list.list_page, SourceQuery(caller=page.caller, limit=MAX_ROWS))
    rows = await rows_of(page, viewer, found)
    board.items[MAX_LATEST:] = []
    told = [page.words(_lede_key(page, board, total, needy), total=f"{total:,}", needy=f"{needy:,}")]
    if firing := sum(alert.mood != Tone.GREEN for alert in board.alerts):
        told.append(page.words("overview.lede_alerts", count=firing))
    parts = {
        "lede": Markup('<p class="lede" id="lede">{}</p>').format(page.words.joined(told)),
        **{name: page.part(f"parts/overview_{name}.html", board=board) for name in ("tiles", "alerts", "latest")},
        **{row.part: page.part("parts/overview_row.html", row=row) for row in rows},
    }
    context = {"rows": rows, "total": total, "welcome": await _welcome(page, found)}
    return Content(context=context, parts=parts, lists={"rows": [row.part for row in rows]})


def _lede_key(page: Page, board: Board, total: int, needy: int) -> str:
    moods = {tile.key: tile.mood for tile in board.tiles}
    return lede_key(page, total, needy, is_running=moods["collector"] != "bad", is_away="network" in moods)


async def _welcome(page: Page, found: Sequence[Source]) -> dict[str, Any] | None:
    """What a new store still lacks: sources, or an administrator with a password; for who may do something about it.

    `found` are more than there are starter feeds, which are there from the first start on and are nobody's choice.
    """
    is_nobody = page.caller.is_admin and page.caller.user_id is None
    has_own = any(source.config.get("url") not in _STARTERS for source in found)
    is_new = not has_own or (is_nobody and not await page.system.accounts.has_admin_with_password())
    if not page.may_write or not is_new:
        return None
    away, seen = await page.system.store.read(_read_network)
    return {
        "is_somebody": page.caller.user_id is not None,
        "may_set_password": is_nobody,
        "has_own": has_own,
        "has_starters": any(source.config.get("url") in _STARTERS for source in found),
        "starters": [draft.name for draft in STARTER_PACK],
        "network_away": away,
        "network_seen": seen,
    }


def _read_network(conn: Connection) -> tuple[bool, bool]:
    return is_network_away(conn), sources.latest_success(conn) is not None


@router.post("/welcome/password", responses=_FORM, openapi_extra=form_fields("email", "password"))
async def set_first_password(page: SignedInPage) -> Response:
    """Whoever came in by an administrator's key of nobody in particular becomes somebody, with a password."""
    if page.caller.user_id is not None:
        raise Conflict("You have an account already; its password is changed on the account page.")
    if not page.caller.is_admin:
        raise Forbidden("Only who came in by an administrator's key sets a first password.")
    form = await page.form()
    email, password = str(form.get("email", "")), str(form.get("password", ""))
    user = await page.system.accounts.add_with_password(email, password, is_admin=True)
    session = await page.system.authenticator.sign_in_by_password(
        user.email, password, address=address_of(page.request)
    )
    return begin_session(page.request, session, then="/")


@router.post("/welcome/starters", responses=_FORM)
async def take_starters(page: SignedInPage) -> Response:
    outcomes = await page.system.catalog.add_many(STARTER_PACK, page.caller)
    added = [one.source for one in outcomes if isinstance(one, Added)]
    if not added:
        raise InvalidInput("You follow them all already.")
    await page.system.visits.start_all([source.id for source in added], page.caller)
    return page.done("/sources", "welcome.starters_taken", count=len(added))
