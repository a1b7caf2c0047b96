"""The page of platforms: cookies and how long they last, notes by keyword, and X with its tasks and spending."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from datetime import datetime
from typing import Any

from fastapi.responses import Response
from sqlalchemy import Connection
from starlette.datastructures import FormData

from catchment.crypto import Unsealable
from catchment.domain.caller import OPERATOR
from catchment.domain.candidate import Backlog
from catchment.domain.cookie import Cookie
from catchment.domain.crawl_errors import CrawlError
from catchment.domain.note import SOURCE_TYPES, Platform
from catchment.domain.run import LEAST_INTERVAL, MAX_INTERVAL
from catchment.domain.scrape_task import LEAST_LIMIT, MAX_LIMIT, ScrapeOrder, how_far
from catchment.domain.source import Source
from catchment.errors import InvalidInput, SettingsError
from catchment.manage.catalog import Draft
from catchment.manage.cookies import CookieChanges
from catchment.monitor.alerting import read_x
from catchment.monitor.status import read_backlogs
from catchment.sources.platforms.search import PLATFORM_OF_TYPE
from catchment.sources.registry import Registry
from catchment.store import source_list
from catchment.store.source_list import SourceQuery
from catchment.web.errors import OF_FORMS, page_router, problems_of_page
from catchment.web.inputs import check_text, number_of, parse_moment, whole_number
from catchment.web.pages import AdminPage, Content, Page, Undo, back_from_form, form_fields, live
from catchment.web.routes.admin_scrape import followed_users, named_users

MAX_EXECUTIONS, MAX_TASKS, MAX_KEYWORDS = 20, 20, 100
router = page_router("/platforms")
_OF_FORMS = {**OF_FORMS, **problems_of_page(429)}


@router.get("")
async def platforms_page(page: AdminPage) -> Response:
    return await page.show_live("platforms.html", await read_platforms(page))


@live("/platforms", may=lambda caller: caller.is_admin)
async def read_platforms(page: Page) -> Content:
    system, now = page.system, page.system.clock.now()
    found, backlogs = await system.store.read(_read_keywords, system.registry)
    context = {
        "platforms": list(Platform),
        "given": {},
        "cookies": await system.cookies.list(),
        "forecasts": await system.cookies.forecast(),
        "keywords": [(source, PLATFORM_OF_TYPE[source.type], backlogs.get(source.id, Backlog())) for source in found],
        "executions": await system.workflow.latest(workflow_name=None, limit=MAX_EXECUTIONS),
        "has_key": system.scraping.has_key,
        "follows": await system.follows.list(include_inactive=True),
        "tasks": (await system.scraping.list())[:MAX_TASKS],
        "schedule": await system.scraper_schedule.show(),
        "x": await system.store.read(read_x, system.settings, now=now),
    }
    names = ("cookies", "keywords", "executions", "x_tasks", "x_schedule", "x_spending", "x_follows")
    parts = {f"platforms-{name}": page.part(f"parts/platforms_{name}.html", **context) for name in names}
    return Content(context=context, parts=parts)


def _read_keywords(conn: Connection, registry: Registry) -> tuple[list[Source], dict[int, Backlog]]:
    found = [
        source
        for type_name in PLATFORM_OF_TYPE
        for source in source_list.list_page(conn, SourceQuery(caller=OPERATOR, type=type_name, limit=MAX_KEYWORDS))
    ]
    return found, read_backlogs(conn, found, registry=registry)


@router.get("/cookies")
async def back_to_platforms(page: AdminPage) -> Response:
    return back_from_form(page.request, "/platforms")


@router.post(
    "/cookies",
    responses=_OF_FORMS,
    openapi_extra=form_fields("name", "platform", "value", "daily_limit", "priority", "description"),
)
async def add_cookie_by_form(page: AdminPage) -> Response:
    """Add a cookie, or give one of that name a new value. The value goes in and never comes out."""
    form = await page.form()
    try:
        cookie = await _add_cookie(page, form)
    except InvalidInput as error:
        content = await read_platforms(page)
        given = {name: str(form.get(name, "")) for name in ("name", "platform", "daily_limit", "priority")}
        context = {**content.context, "parts": content.parts, "given": given, "problem": page.words.say(str(error))}
        return await page.show("platforms.html", status=422, **context)
    return page.done("/platforms", "platforms.cookie_added", name=cookie.name)


async def _add_cookie(page: Page, form: FormData) -> Cookie:
    settings = CookieChanges(
        daily_limit=_whole(form, "daily_limit"),
        priority=_whole(form, "priority"),
        description=_text(form, "description") or None,
    )
    with _told_as_a_mistake():
        return await page.system.cookies.add(
            _text(form, "name"), _platform(form), str(form.get("value", "")), settings=settings
        )


@router.post("/keywords", responses=_OF_FORMS, openapi_extra=form_fields("platform", "keyword"))
async def add_keyword(page: AdminPage) -> Response:
    form = await page.form()
    keyword = _text(form, "keyword")
    draft = Draft(type=SOURCE_TYPES[_platform(form)], name=keyword, config={"keyword": keyword})
    source = await page.system.catalog.add(draft, page.caller)
    return page.done("/platforms", "platforms.keyword_added", name=source.name)


@router.post("/follows", responses=_OF_FORMS, openapi_extra=form_fields("username", "reason"))
async def add_follow(page: AdminPage) -> Response:
    form = await page.form()
    follow = await page.system.follows.add(
        _text(form, "username"), reason=_text(form, "reason"), added_by=page.caller.name or page.caller.role
    )
    undo = Undo(action="/platforms/act", fields={"do": f"unfollow {follow.username}"})
    return page.done("/platforms", "platforms.did_follow", undo=undo, name=follow.username)


@router.post("/scrape", responses=_OF_FORMS, openapi_extra=form_fields("usernames", "limit", "full"))
async def scrape_by_form(page: AdminPage) -> Response:
    """Scrape these users, or everybody who is followed."""
    form, system = await page.form(), page.system
    usernames, limit, full = _text(form, "usernames"), _whole(form, "limit"), form.get("full") == "on"
    if limit is not None and (full or not LEAST_LIMIT <= limit <= MAX_LIMIT):
        raise InvalidInput(f"A limit is {LEAST_LIMIT} to {MAX_LIMIT} tweets, without all of it.", field="limit")
    if not system.scraping.has_key:
        raise InvalidInput("X is not scraped without a key: set TWITTER_API_KEY.")
    most, depth = how_far(limit, full=full)
    names = named_users(usernames) if usernames else await followed_users(system)
    await system.scraping.start(ScrapeOrder(usernames=names, limit=most, depth=depth, asked_by=page.caller.name))
    return page.done("/platforms", "platforms.scraping", count=len(names))


@router.post("/schedule", responses=_OF_FORMS, openapi_extra=form_fields("do", "interval", "next_run"))
async def change_schedule(page: AdminPage) -> Response:
    form, schedule, by = await page.form(), page.system.scraper_schedule, page.caller.name
    match form.get("do"):
        case "interval":
            await schedule.set_interval(_interval(form), by=by)
        case "usual":
            await schedule.take_back_interval(by=by)
        case "next_run":
            await schedule.set_next_run(_moment(_text(form, "next_run")), by=by)
        case "enable":
            await schedule.enable(by=by)
        case "disable":
            await schedule.disable(by=by)
        case _:
            raise InvalidInput("Nobody can do that to the schedule.")
    return page.done("/platforms", "platforms.schedule_changed")


@router.post("/act", responses=_OF_FORMS, openapi_extra=form_fields("do"))
async def act_on_platform(page: AdminPage) -> Response:
    """`do` says what, and to which: `check first`, `cancel 5f…`, `unfollow ada`."""
    action, _, subject = str((await page.form()).get("do", "")).partition(" ")
    if action not in _ACTIONS:
        raise InvalidInput(f"Nobody can do {action[:40]!r} here.")
    key, values = await _ACTIONS[action](page, subject)
    return page.done("/platforms", f"platforms.{key}", **values)


@contextmanager
def _told_as_a_mistake() -> Iterator[None]:
    """A platform that says no, or a key that is not set: the page says so, and what to do."""
    try:
        yield
    except (CrawlError, SettingsError, Unsealable) as error:
        raise InvalidInput(str(error)) from error


_Told = tuple[str, dict[str, Any]]


async def _check(page: Page, name: str) -> _Told:
    with _told_as_a_mistake():
        checked = await page.system.cookies.check(name)
    return "cookie_known" if checked.is_valid else "cookie_unknown", {"name": name}


async def _reset(page: Page, name: str) -> _Told:
    await page.system.cookies.reset(name)
    return "did_reset", {"name": name}


async def _enable(page: Page, name: str) -> _Told:
    await page.system.cookies.change(name, CookieChanges(is_enabled=True))
    return "did_enable", {"name": name}


async def _disable(page: Page, name: str) -> _Told:
    await page.system.cookies.change(name, CookieChanges(is_enabled=False))
    return "did_disable", {"name": name}


async def _remove(page: Page, name: str) -> _Told:
    await page.system.cookies.remove(name)
    return "did_remove", {"name": name}


async def _fetch(page: Page, told: str) -> _Told:
    return "searching", {"name": await page.system.visits.start(number_of(told), page.caller)}


async def _recover(page: Page, _: str) -> _Told:
    recovered = await page.system.workflow.recover()
    return "did_recover", {"executions": recovered.executions, "records": recovered.records}


async def _unfollow(page: Page, username: str) -> _Told:
    return "did_unfollow", {"name": (await page.system.follows.remove(username)).username}


async def _follow(page: Page, username: str) -> _Told:
    return "did_follow", {"name": (await page.system.follows.change(username, is_active=True)).username}


async def _cancel(page: Page, task_id: str) -> _Told:
    await page.system.scraping.cancel(task_id)
    return "did_cancel", {}


async def _forget(page: Page, task_id: str) -> _Told:
    await page.system.scraping.forget(task_id)
    return "did_forget", {}


_ACTIONS: dict[str, Callable[[Page, str], Awaitable[_Told]]] = {
    "check": _check,
    "reset": _reset,
    "enable": _enable,
    "disable": _disable,
    "remove": _remove,
    "fetch": _fetch,
    "recover": _recover,
    "unfollow": _unfollow,
    "follow": _follow,
    "cancel": _cancel,
    "forget": _forget,
}


def _text(form: FormData, name: str) -> str:
    text = str(form.get(name, "")).strip()
    try:
        check_text(text)
    except ValueError as error:
        raise InvalidInput(f"{name}: {error}", field=name) from error
    return text


def _whole(form: FormData, name: str) -> int | None:
    return whole_number(_text(form, name), name)


def _platform(form: FormData) -> Platform:
    told = _text(form, "platform")
    if told not in set(Platform):
        raise InvalidInput(f"A platform is one of {', '.join(Platform)}.", field="platform")
    return Platform(told)


def _interval(form: FormData) -> int:
    minutes = _whole(form, "interval") or 0
    if not LEAST_INTERVAL <= minutes * 60 <= MAX_INTERVAL:
        raise InvalidInput(f"An interval is {LEAST_INTERVAL // 60} to {MAX_INTERVAL // 60} minutes.", field="interval")
    return minutes * 60


def _moment(told: str) -> datetime:
    try:
        return parse_moment(told)
    except ValueError as error:
        raise InvalidInput(f"{told[:40]!r} is not a moment; write 2026-03-01T14:00.", field="next_run") from error
