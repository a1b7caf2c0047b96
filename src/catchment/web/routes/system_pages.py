"""The pages of the system, for administrators: jobs, settings, users and keys, backups, lists, doctor, trail."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, replace
from typing import Any

from fastapi.responses import Response

from catchment.domain.audit_trail import AuditEntry
from catchment.domain.caller import Caller, Role, Scope
from catchment.domain.listing import ListFormat
from catchment.domain.run import COLLECTOR_TICK, JobState
from catchment.errors import InvalidInput
from catchment.jobs.builtin import BACKUP
from catchment.manage.accounts import NewAccount, NewKey
from catchment.manage.doctor import CheckVerdict, examine
from catchment.manage.settings import list_intervals, list_settings
from catchment.settings import Origin
from catchment.store.backups import list_backups
from catchment.web.errors import OF_FORMS, page_router
from catchment.web.inputs import PathId, id_if_any, page_number
from catchment.web.pages import PAGE, AdminPage, Content, Page, Undo, back_from_form, form_fields, live

#: The pages of this place, in the order of their tabs; the first has the address of the place itself.
TABS = ("jobs", "settings", "users", "backups", "exchange", "doctor", "trail")
#: The nouns of the trail that a name of ours follows, and how its key begins.
_NAMED = {"alert": "alerts.", "job": "system.job_"}
#: A source may be called No.
_WRITTEN_BY_PEOPLE = {"name", "title", "description", "reason", "tags"}
MAX_USERS, MAX_TRAIL = 100, 50
#: What is shown once is shown by the answer itself.
_SHOWN_ONCE: dict[int | str, dict[str, Any]] = {200: {"description": "What is shown this once.", "content": PAGE}}
router = page_router("/system")


def _is_admin(caller: Caller) -> bool:
    return caller.is_admin


def _address(tab: str) -> str:
    return "/system" if tab == TABS[0] else f"/system/{tab}"


def _tabs(page: Page) -> list[tuple[str, str, str]]:
    return [(tab, page.words(f"system.tab_{tab}"), page.link(_address(tab))) for tab in TABS]


async def _show(page: Page, tab: str, /, **context: Any) -> Response:
    return await page.show(f"system_{tab}.html", tabs=_tabs(page), **context)


async def _show_live(page: Page, tab: str, content: Content) -> Response:
    context = {**content.context, "tabs": _tabs(page)}
    return await page.show_live(f"system_{tab}.html", replace(content, context=context))


@dataclass(frozen=True, slots=True, kw_only=True)
class JobRow:
    job: JobState
    name: str
    what: str
    mood: str
    state: str
    is_by_tick: bool


def row_of(job: JobState, page: Page) -> JobRow:
    mood, state = _state_of(job)
    return JobRow(
        job=job,
        name=page.words.known(f"system.job_{job.name}", job.name),
        what=page.words.known(f"system.what_{job.name}", ""),
        mood=mood,
        state=page.words(f"system.state_{state}"),
        is_by_tick=job.name == COLLECTOR_TICK,
    )


def _state_of(job: JobState) -> tuple[str, str]:
    started, finished = job.last_started_at, job.last_finished_at
    if started and (finished is None or finished < started):
        return "wait", "running"
    if job.is_paused:
        return "calm", "paused"
    if job.last_ok is None:
        return ("ok", "ticks") if job.name == COLLECTOR_TICK else ("calm", "new")
    return ("ok", "ok") if job.last_ok else ("bad", "failed")


@router.get("")
async def jobs_page(page: AdminPage) -> Response:
    return await _show_live(page, "jobs", await read_jobs(page))


@live("/system", may=_is_admin)
async def read_jobs(page: Page) -> Content:
    rows = [row_of(job, page) for job in await page.system.jobs.list()]
    parts = {f"job-{row.job.name}": page.part("parts/job_row.html", row=row) for row in rows}
    return Content(
        context={"rows": rows, "failed": sum(row.mood == "bad" for row in rows)},
        parts=parts,
        lists={"jobs": list(parts)},
    )


@router.post("/jobs", responses=OF_FORMS, openapi_extra=form_fields("do"))
async def act_on_job(page: AdminPage) -> Response:
    """`do` is the action and the job, such as `pause cleanup`."""
    action, _, name = str((await page.form()).get("do", "")).partition(" ")
    called = page.words.known(f"system.job_{name}", name)
    match action:
        case "run":
            await page.system.jobs.run_now(name)
            return page.done("/system", "system.did_run", name=called)
        case "pause" | "resume":
            await page.system.jobs.set_paused(name, is_paused=action == "pause")
        case _:
            raise InvalidInput("Choose what the job should do.")
    opposite = "resume" if action == "pause" else "pause"
    undo = Undo(action="/system/jobs", fields={"do": f"{opposite} {name}"})
    return page.done("/system", f"system.did_{action}", undo=undo, name=called)


@router.get("/settings")
async def settings_page(page: AdminPage) -> Response:
    system = page.system
    settings = list_settings(system.settings)
    shown = [(one, page.words.known(f"settings.{one.name.lower()}", one.help)) for one in settings]
    intervals = list_intervals(system.settings, await system.interval_settings.read(), system.registry)
    origins = [*(one.origin for one, _ in shown), *(one.origin for one in intervals)]
    return await _show(
        page, "settings", settings=shown, intervals=intervals, changed=len(origins) - origins.count(Origin.DEFAULT)
    )


@router.post("/settings", responses=OF_FORMS, openapi_extra=form_fields("option", "minutes"))
async def set_interval(page: AdminPage) -> Response:
    """The usual interval of a type; no minutes give back what the environment or the type itself says."""
    form = await page.form()
    option, minutes = str(form.get("option", "")), str(form.get("minutes", "")).strip()
    before = (await page.system.interval_settings.read()).get(option, "")
    await page.system.interval_settings.change({option: minutes or None})
    undo = Undo(action="/system/settings", fields={"option": option, "minutes": before})
    key = "system.did_set_interval" if minutes else "system.did_unset_interval"
    return page.done("/system/settings", key, undo=undo, name=option, minutes=minutes)


@router.get("/users")
async def users_page(page: AdminPage) -> Response:
    return await _users(page)


@router.post("/users", responses={**OF_FORMS, **_SHOWN_ONCE}, openapi_extra=form_fields("email", "name", "admin"))
async def add_user(page: AdminPage) -> Response:
    """Somebody new. Their first password and key are shown on the page that comes back and never again."""
    form = await page.form()
    made = await page.system.accounts.enrol(
        str(form.get("email", "")), name=str(form.get("name", "")).strip(), is_admin=form.get("admin") == "on"
    )
    return await _users(page, enrolled=made)


@router.get("/keys")
async def back_to_users(page: AdminPage) -> Response:
    return back_from_form(page.request, "/system/users")


@router.post("/keys", responses={**OF_FORMS, **_SHOWN_ONCE}, openapi_extra=form_fields("name", "role"))
async def create_role_key(page: AdminPage) -> Response:
    """A key of the service or of an administrator, which acts for nobody in particular."""
    form = await page.form()
    role = Role.ADMIN if form.get("role") == Role.ADMIN else Role.SERVICE
    return await _users(page, made=await page.system.accounts.create_key(str(form.get("name", "")), role=role))


@router.post("/keys/{key_id}/revoke", responses=OF_FORMS)
async def revoke_key(page: AdminPage, key_id: PathId) -> Response:
    key = await page.system.accounts.revoke_key(key_id)
    then = "/system/users" if key.user_id is None else f"/system/users/{key.user_id}"
    return page.done(then, "system.did_revoke", name=key.name)


async def _users(page: Page, *, enrolled: NewAccount | None = None, made: NewKey | None = None) -> Response:
    at = page_number(page.request.query_params.get("page", ""))
    found = await page.system.accounts.list_page(limit=MAX_USERS, offset=(at - 1) * MAX_USERS)
    pages = -(-found.count // MAX_USERS)
    return await _show(page, "users", found=found, page_number=at, pages=pages, enrolled=enrolled, made=made)


@router.get("/users/{user_id}")
async def user_page(page: AdminPage, user_id: PathId) -> Response:
    return await _user(page, user_id)


@router.post(
    "/users/{user_id}", responses={**OF_FORMS, **_SHOWN_ONCE}, openapi_extra=form_fields("do", "name", "scope")
)
async def act_on_user(page: AdminPage, user_id: PathId) -> Response:
    """`do` is the action: key, reset, sign_out, disable or enable."""
    form, accounts = await page.form(), page.system.accounts
    action, here = str(form.get("do", "")), f"/system/users/{user_id}"
    match action:
        case "key":
            wanted = str(form.get("scope", ""))
            scope = Scope(wanted) if wanted in set(Scope) else Scope.ADMIN
            made = await accounts.create_key(str(form.get("name", "")), user_id=user_id, scope=scope)
            return await _user(page, user_id, made=made)
        case "reset":
            return await _user(page, user_id, password=await accounts.reset_password(user_id))
        case "sign_out":
            user = await accounts.sign_out_everywhere(user_id)
            return page.done(here, "system.did_sign_out", name=user.name)
        case "disable" | "enable":
            user = await accounts.set_active(user_id, is_active=action == "enable")
        case _:
            raise InvalidInput("Choose what should become of the user.")
    undo = Undo(action=here, fields={"do": "enable" if action == "disable" else "disable"})
    return page.done(here, f"system.did_{action}", undo=undo, name=user.name)


async def _user(page: Page, user_id: int, *, made: NewKey | None = None, password: str = "") -> Response:
    user = await page.system.accounts.get_user(user_id)
    keys = [key for key in await page.system.accounts.list_keys_of(user_id) if key.is_active]
    return await _show(
        page,
        "user",
        user=user,
        keys=keys,
        scopes=list(reversed(Scope)),
        is_self=page.caller.user_id == user.id,
        made=made,
        password=password,
    )


@router.get("/backups")
async def backups_page(page: AdminPage) -> Response:
    return await _show_live(page, "backups", await read_backups(page))


@live("/system/backups", may=_is_admin)
async def read_backups(page: Page) -> Content:
    settings = page.system.settings
    found = await asyncio.to_thread(list_backups, settings.backups())
    job = next((row_of(one, page) for one in await page.system.jobs.list() if one.name == BACKUP), None)
    context = {
        "backups": found,
        "job": job,
        "folder": settings.backups(),
        "keep": settings.backup_keep,
        "hours": settings.backup_hours,
    }
    return Content(context=context, parts={"backups": page.part("parts/backups.html", **context)})


@router.post("/backups", responses=OF_FORMS, openapi_extra=form_fields("do"))
async def make_backup(page: AdminPage) -> Response:
    """One more, made by the job of backups, so that two never write at once."""
    if (await page.form()).get("do") != "make":
        raise InvalidInput("Choose what should become of the backups.")
    await page.system.jobs.run_now(BACKUP)
    return page.done("/system/backups", "system.did_start_backup")


@router.get("/exchange")
async def exchange_page(page: AdminPage) -> Response:
    return await _show(page, "exchange", formats=list(ListFormat))


@router.get("/doctor")
async def doctor_page(page: AdminPage) -> Response:
    moods = {CheckVerdict.OK: "ok", CheckVerdict.WARN: "warn", CheckVerdict.FAIL: "bad"}
    checks = await examine(page.system.settings)
    needy = sum(check.verdict is not CheckVerdict.OK for check in checks)
    return await _show(page, "doctor", checks=checks, moods=moods, needy=needy)


@router.get("/trail")
async def trail_page(page: AdminPage) -> Response:
    """Who changed what, the newest first; `before` is the number of the last that was seen."""
    before = id_if_any(page.request.query_params.get("before", ""))
    found = await page.system.history.trail(page.caller, before=before, limit=MAX_TRAIL + 1)
    lines = [(line, *_told(page, line)) for line in found[:MAX_TRAIL]]
    older = found[MAX_TRAIL - 1].id if len(found) > MAX_TRAIL else None
    days = page.system.settings.audit_days
    return await _show(page, "trail", lines=lines, older=older, is_first=before is None, days=days)


def _told(page: Page, line: AuditEntry) -> tuple[str, str, str, str]:
    """Who, what was done, to what, and more of it, in the words of whoever looks."""
    return _actor(page, line), _deed(page, line.action), _object(page, line.object), _summary(page, line.summary)


def _actor(page: Page, line: AuditEntry) -> str:
    """People are called what they are called; what is nobody has names of ours."""
    said = page.words.say(line.actor)
    return said if line.actor_id is not None else page.words.known(f"trail.actor_{line.actor}", said)


def _deed(page: Page, action: str) -> str:
    return page.words.known(f"trail.{action.replace('.', '_')}", action)


def _object(page: Page, text: str) -> str:
    """Such as `source 5 (Morning paper)`: its first word is a noun of ours, which a name of ours may follow."""
    noun, space, rest = text.partition(" ")
    name, _, subject = rest.partition(" ")
    known = page.words.known
    if noun in _NAMED:
        rest = f"{known(f'{_NAMED[noun]}{name}', name)} {subject}".rstrip()
    return f"{known(f'trail.noun_{noun}', known(f'system.job_{noun}', noun))}{space}{rest}"


def _summary(page: Page, text: str) -> str:
    """Such as `rss https://a.example/feed`, `items.new, alert; feed boats` or `active: no → yes; tags: a → a, b`: some
    of its words are ours.
    """
    said = page.words.say(text)
    if said != text:
        return said
    listed, of_feed, feed = text.partition("; feed ")
    told = page.words("trail.between").join(_change(page, one) for one in listed.split("; "))
    return page.words.listed([told, page.words("webhooks.of_feed", name=feed)]) if of_feed else told


def _change(page: Page, text: str) -> str:
    """One value that is another now, whatever it holds, or a list of parts."""
    return _part(page, text) if " → " in text else page.words.listed(_part(page, one) for one in text.split(", "))


def _part(page: Page, text: str) -> str:
    """Of a field with its value, or with what it was and is, the words of ours; else the first word may be a type of
    sources, a platform, a topic, or another word of ours.
    """
    known = page.words.known
    name, of_field, value = text.partition(": ")
    if of_field and (field := known(f"trail.field_{name}", "")):
        if name not in _WRITTEN_BY_PEOPLE:
            value = " → ".join(known(f"trail.said_{one.lower()}", one) for one in value.split(" → "))
        return page.words("trail.value_of", field=field, value=value)
    word, space, rest = text.partition(" ")
    topic = known(f"webhooks.topic_{word.replace('.', '_')}", page.words.kind(word))
    ours = known(f"trail.field_{word}", known(f"platforms.on_{word}", topic))
    return known(f"trail.said_{text.replace(' ', '_')}", f"{known(f'trail.said_{word}', ours)}{space}{rest}")
