"""The pages of sources: paste and follow, the list, one source, and what is changed there."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import Any

from fastapi.responses import RedirectResponse, Response
from markupsafe import Markup
from sqlalchemy import Connection
from starlette.datastructures import FormData, UploadFile

from catchment.clock import last_days
from catchment.domain.confidential import masked
from catchment.domain.filters import FIELDS, read_filters
from catchment.domain.options import FILTERS_KEY, INTERVAL_KEY
from catchment.domain.source import ADDRESS_KEY, Source
from catchment.errors import BadConfig, CatchmentError, Conflict, InvalidInput, RefusedAddress
from catchment.manage.catalog import Added, Change, Draft, Refused, split_tags
from catchment.manage.history import DAYS
from catchment.manage.import_export import LineResult, count_results, import_sources
from catchment.manage.resolve import Pasted
from catchment.monitor.status import CollectorState, read_backlogs, read_collector
from catchment.store import items, source_list
from catchment.store.items import ItemQuery
from catchment.store.source_list import Health, SeenCounts, Sort, SourceQuery
from catchment.web.errors import OF_FORMS, page_router
from catchment.web.inputs import PathId, check_json, check_text, id_if_any, way_back
from catchment.web.pages import (
    Content,
    FlashMessage,
    OpenPage,
    Page,
    SignedInPage,
    Undo,
    back_from_form,
    form_fields,
    live,
    with_moments,
)
from catchment.web.source_view import (
    PAGE_ROWS,
    AskedFetch,
    address_of,
    asked_of,
    chart_of,
    day_strip_of,
    fetch_notice,
    lede_key,
    marks_of,
    mood_of,
    outcome_of,
    read_history_of,
    rows_of,
    status_of,
    why_of,
)

MAX_LINES, MAX_CHOSEN, MAX_PREVIEWED_TITLE = 20, 1000, 200
MAX_VISITS, MAX_LATEST, MAX_TRIED = 50, 30, 100
#: Of a list that was imported, so many lines that could not be are told one by one.
MAX_REFUSED = 200
#: So many of what was just followed are visited at once; the collector comes to the others by itself.
VISITED_AT_ONCE = 20
router = page_router("/sources")


@router.get("")
async def sources_page(page: OpenPage) -> Response:
    return await page.show_live("sources.html", await read_sources(page))


@live("/sources")
async def read_sources(page: Page) -> Content:
    query, at = asked_of(page.request.query_params, page)
    found, counted, seen, collector = await page.system.store.read(_read_list, query, page)
    pages = max(1, -(-counted // PAGE_ROWS))
    if at > pages:
        # All that stood there was deleted, or is found no longer: what is left ends on another page.
        at, query = pages, replace(query, offset=(pages - 1) * PAGE_ROWS)
        found, counted, seen, collector = await page.system.store.read(_read_list, query, page)
    rows = await rows_of(page, await page.viewer(), found)
    lede = Markup('<p class="lede" id="lede">{}</p>').format(_lede(page, seen, collector))
    parts = {row.part: page.part("parts/source_row.html", row=row) for row in rows}
    context = {
        "query": query,
        "rows": rows,
        "count": counted,
        "total": seen.total,
        "page_number": at,
        "pages": pages,
        "offers": await page.system.catalog.offers(page.caller),
        "healths": list(Health),
        "sorts": list(Sort),
        "removed": await page.system.catalog.list_removed(page.caller) if page.may_write else [],
        "may_choose": any(row.may_change for row in rows),
    }
    return Content(
        context=context,
        parts={"lede": lede, **await fetch_notice(page), **parts},
        lists={"rows": [row.part for row in rows]},
    )


def _read_list(
    conn: Connection, query: SourceQuery, page: Page
) -> tuple[list[Source], int, SeenCounts, CollectorState]:
    seen = source_list.count_seen(conn, page.caller)
    collector = read_collector(conn, page.caller, now=page.system.clock.now())
    if query.is_narrowed:
        return *source_list.list_counted(conn, query), seen, collector
    return source_list.list_page(conn, query), seen.total, seen, collector


def _lede(page: Page, seen: SeenCounts, collector: CollectorState) -> str:
    key = lede_key(page, seen.total, seen.needy, is_running=collector.running, is_away=collector.network_away)
    return page.words(key, total=f"{seen.total:,}", needy=f"{seen.needy:,}")


@router.get("/look")
@router.get("/follow")
@router.get("/import")
async def back_to_sources(page: OpenPage) -> Response:
    return back_from_form(page.request, "/sources")


@router.post("/look", responses=OF_FORMS, openapi_extra=form_fields("pasted"))
async def look_up(page: SignedInPage) -> Response:
    """What each pasted line stands for, and why, with a look at what it would bring."""
    text = str((await page.form()).get("pasted", ""))
    lines = list(dict.fromkeys(line.strip() for line in text.splitlines() if line.strip()))
    if not lines:
        return RedirectResponse(page.link("/sources"), status_code=303)
    found = await asyncio.gather(*(_looked_up(page, line) for line in lines[:MAX_LINES]))
    return await _show_list(page, found=found, pasted=text, left_out=len(lines[MAX_LINES:]))


async def _show_list(page: Page, **context: Any) -> Response:
    """The list as it is, with what a form came to above it."""
    content = await read_sources(page)
    return await page.show("sources.html", live_of="/sources", seen=content.digest, **content.shown, **context)


async def _looked_up(page: Page, line: str) -> dict[str, Any]:
    try:
        check_text(line)
        resolved = await page.system.resolver.resolve(Pasted(text=line), page.caller)
        twin = await page.system.catalog.find_twin(resolved.draft, page.caller)
    except (CatchmentError, ValueError) as error:
        return {"line": line, "problem": page.words.say(str(error))}
    if twin is not None:
        return {"line": line, "twin": twin, "url": resolved.config.get("url")}
    return _offered(
        {
            "line": line,
            "type": resolved.type,
            "name": resolved.name,
            "config": dict(resolved.config),
            "why": page.words.say(resolved.why),
            "doubt": page.words.say(resolved.doubt) if resolved.doubt else "",
            "is_missing": resolved.is_missing,
            "preview": [(item.title or item.url)[:MAX_PREVIEWED_TITLE] for item in resolved.preview or ()],
        },
        is_chosen=not resolved.is_missing,
    )


def _offered(found: dict[str, Any], *, is_chosen: bool, refusal: str = "") -> dict[str, Any]:
    """What can be followed. The form brings all of it back, so that it is there once more where it is refused."""
    told = json.dumps(found)
    return {**found, "told": told, "url": found["config"].get("url"), "is_chosen": is_chosen, "refusal": refusal}


@router.post("/follow", responses=OF_FORMS, openapi_extra=form_fields("follow", "tags", "interval", "pasted"))
async def follow(page: SignedInPage) -> Response:
    form = await page.form()
    chosen = list(dict.fromkeys(str(place) for place in form.getlist("follow")))[:MAX_LINES]
    drafts = [_draft(form, place) for place in chosen]
    if not drafts:
        return await _offer_again(page, form, {}, done=(), problem=page.words("sources.nothing_chosen"))
    outcomes = await page.system.catalog.add_many(drafts, page.caller)
    added = [one.source for one in outcomes if isinstance(one, Added)]
    known = [one.error for one in outcomes if isinstance(one, Refused) and isinstance(one.error, Conflict)]
    asked = AskedFetch(at=page.system.clock.now(), ids=tuple(source.id for source in added), is_first=True)
    await page.system.visits.start_all(asked.ids[:VISITED_AT_ONCE], page.caller)
    told: dict[str, Any] = {"added": len(added), "known": len(known), "refused": len(drafts) - len(added) - len(known)}
    if told["refused"]:
        return await _refuse_some(page, form, dict(zip(chosen, outcomes, strict=True)), told)
    if len(outcomes) == 1 and known:
        return page.done(f"/sources/{known[0].existing_id}", "sources.followed_before")
    if len(outcomes) == 1:
        return page.done(f"/sources/{added[0].id}", "sources.followed", what=added[0].name, fetch=str(asked))
    if not known:
        return page.done("/sources?sort=added", "sources.followed_all", count=len(added), fetch=str(asked))
    return page.done("/sources?sort=added", "sources.followed_some", **told)


async def _refuse_some(
    page: Page, form: FormData, outcomes: Mapping[str, Added | Refused], told: dict[str, Any]
) -> Response:
    """What could not be followed is there once more with its reason, which stands above all where it is that of all."""
    errors = {place: one.error for place, one in outcomes.items() if isinstance(one, Refused)}
    reasons = {place: page.words.say(str(one)) for place, one in errors.items() if not isinstance(one, Conflict)}
    done = outcomes.keys() - reasons.keys()
    shared = next(iter(reasons.values())) if len(set(reasons.values())) == 1 else ""
    notice = FlashMessage(key="sources.followed_some", values=told) if told["added"] else None
    counted = "" if notice or (shared and not done) else page.words("sources.followed_some", **told)
    problem = " ".join(filter(None, [counted, shared]))
    return await _offer_again(page, form, {} if shared else reasons, done=done, problem=problem, notice=notice)


async def _offer_again(
    page: Page, form: FormData, reasons: Mapping[str, str], *, done: Collection[str], **context: Any
) -> Response:
    """The form as it was sent, without what is followed now."""
    chosen = form.getlist("follow")
    found = [
        _offered(_found_again(form, place), is_chosen=place in chosen, refusal=reasons.get(place, ""))
        for place in map(str, range(1, MAX_LINES + 1))
        if f"found-{place}" in form and place not in done
    ]
    typed = {name: str(form.get(name, "")) for name in ("pasted", "tags", "interval")}
    return await _show_list(page, status=200 if context.get("notice") else 422, found=found, **typed, **context)


def _found_again(form: FormData, place: str) -> dict[str, Any]:
    """What was found at a look, as the form hands it back, under the name that was typed."""
    try:
        told = check_json(json.loads(str(form.get(f"found-{place}", ""))))
        name = str(form.get(f"name-{place}", "")).strip() or str(told["name"])
        return {
            **{key: str(told.get(key, "")) for key in ("line", "why", "doubt")},
            "type": str(told["type"]),
            "name": name,
            "config": dict(told["config"]),
            "is_missing": bool(told.get("is_missing")),
            "preview": [str(title) for title in told.get("preview", ())],
        }
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
        raise InvalidInput("Look the address up once more: what was found did not come back whole.") from error


def _draft(form: FormData, place: str) -> Draft:
    """What was found and is to be followed."""
    found = _found_again(form, place)
    tags, interval = split_tags(str(form.get("tags", ""))), _minutes(str(form.get("interval", "")))
    return Draft(
        type=found["type"], name=found["name"], config=found["config"], tags=tags, fetch_interval_minutes=interval
    )


@router.post("/import", responses=OF_FORMS, openapi_extra=form_fields("file"))
async def import_file(page: SignedInPage) -> Response:
    """A list of sources in any of the formats: OPML, YAML, JSON."""
    file = (await page.form()).get("file")
    body = await file.read() if isinstance(file, UploadFile) else b""
    if not body.strip():
        raise InvalidInput("Choose a file: an OPML export of any reader.")
    lines = await import_sources(page.system.catalog, page.system.parsers, body, page.caller)
    totals = count_results(lines)
    told: dict[str, Any] = {str(result): totals.get(result, 0) for result in LineResult}
    refused = [line for line in lines if line.result is LineResult.REFUSED]
    if totals[LineResult.ADDED] == len(lines):
        return page.done("/sources?sort=added", "sources.imported_all", **told)
    if not refused:
        return page.done("/sources?sort=added", "sources.imported_some", **told)
    notice = FlashMessage(key="sources.imported_some", values=told)
    return await _show_list(page, notice=notice, refused=refused[:MAX_REFUSED], refused_count=len(refused))


@router.post("/act", responses=OF_FORMS, openapi_extra=form_fields("do", "id", "ids", "tag", "interval", "back"))
async def act(page: SignedInPage) -> Response:
    """What a row or the chosen rows are told to do: `do` is the action, with an id where it is of one row."""
    form = await page.form()
    action, _, one = str(form.get("do", "")).partition(" ")
    ids = _ids([one] if one else [*form.getlist("id"), *str(form.get("ids", "")).split(",")])
    back = way_back(str(form.get("back", "")), "/sources")
    if action == "apply":
        action = "tag" if str(form.get("tag", "")).strip() else "interval"
    if not ids:
        raise InvalidInput("Choose at least one source.")
    if action == "fetch":
        asked = AskedFetch(at=page.system.clock.now(), ids=tuple(ids))
        if len(ids) == 1:
            await page.system.visits.start(ids[0], page.caller)
        else:
            await page.system.visits.start_all(ids, page.caller)
        return page.done(back, "sources.fetching", what=await _told_of(page, ids), fetch=str(asked))
    return await _change_all(page, action, ids, form, back)


async def _change_all(page: Page, action: str, ids: Sequence[int], form: FormData, back: str) -> Response:
    catalog, caller = page.system.catalog, page.caller
    chosen = {"ids": ",".join(map(str, ids)), "back": back}
    if action == "restore":
        await catalog.restore_many(ids, caller)
        return page.done(back, "sources.did_restore", what=await _told_of(page, ids))
    what = await _told_of(page, ids)
    if action == "delete":
        await catalog.remove_many(ids, caller)
        restoring = Undo(action="/sources/act", fields={"do": "restore", **chosen})
        return page.done(back, "sources.did_delete", undo=restoring, what=what)
    if action == "tag":
        added = split_tags(str(form.get("tag", "")))
        for source_id in ids:
            source = await catalog.get(source_id, caller)
            await catalog.change(source_id, Change(tags=(*source.tags, *added)), caller)
        return page.done(back, "sources.did_tag", what=what)
    change = _change_of(action, form)
    # Those that were so before are left so by whoever takes it back.
    turned = [str(one) for one in ids if (await catalog.get(one, caller)).is_active is not change.is_active]
    await catalog.change_many(ids, change, caller)
    undo = None
    if turned and (opposite := {"pause": "resume", "resume": "pause"}.get(action)):
        undo = Undo(action="/sources/act", fields={"do": opposite, **chosen, "ids": ",".join(turned)})
    return page.done(back, f"sources.did_{action}", undo=undo, what=what)


async def _told_of(page: Page, ids: Sequence[int]) -> str:
    """One by its name, several by their number."""
    if len(ids) > 1:
        return page.words("sources.some", count=len(ids))
    return (await page.system.catalog.get(ids[0], page.caller)).name


def _change_of(action: str, form: FormData) -> Change:
    match action:
        case "pause":
            return Change(is_active=False)
        case "resume":
            return Change(is_active=True)
        case "interval":
            minutes = _minutes(str(form.get("interval", "")))
            return Change(fetch_interval_minutes=0 if minutes is None else minutes)
        case _:
            raise InvalidInput(f"Nobody can do {action[:40]!r} to a source.")


@router.get("/{source_id}")
async def source_page(page: OpenPage, source_id: PathId) -> Response:  # noqa: ARG001 (read from the path by the reader)
    return await page.show_live("source.html", await read_source(page))


@live("/sources/{source_id}")
async def read_source(page: Page) -> Content:
    system, viewer = page.system, await page.viewer()
    source = await system.catalog.get(int(page.request.path_params["source_id"]), page.caller)
    health, days = viewer.describe(source), last_days(viewer.now, DAYS, page.zone)
    past = await system.store.read(read_history_of, source, page, visits=MAX_VISITS, latest=MAX_LATEST, days=days)
    pages = (await system.store.read(read_backlogs, [source], registry=system.registry)) if page.caller.is_known else {}
    context = {
        "source": source,
        "health": health,
        "mood": mood_of(health),
        "status_words": status_of(health, page.words),
        "marks": marks_of(health, page.words),
        "address": address_of(source),
        "may_change": page.may_write and page.caller.may_change(source),
        "own_interval": source.config.get(INTERVAL_KEY, ""),
        "days": day_strip_of(past.days, days, page.words),
        "bars": chart_of(past.per_day, days, page.words),
        "zone": page.zone,
        "now": viewer.now,
        "visits": [(visit, *outcome_of(visit, page.words)) for visit in past.visits],
        "latest": past.latest,
        "backlog": pages.get(source.id),
    }
    lede = Markup('<p class="lede" id="source-why">{}</p>').format(
        with_moments(why_of(source, health, past, page.words, now=viewer.now))
    )
    names = ("state", "controls", "history", "visits", "latest")
    parts = {f"source-{name}": page.part(f"parts/source_{name}.html", **context) for name in names}
    return Content(context=context, parts={"source-why": lede, **await fetch_notice(page), **parts})


@router.get("/{source_id}/edit")
async def edit_page(page: SignedInPage, source_id: PathId) -> Response:
    source = await page.system.catalog.get(source_id, page.caller)
    if not page.caller.may_change(source):
        return RedirectResponse(page.link(f"/sources/{source_id}"), status_code=303)
    form = _form_of(source)
    return await _edit(page, source, form, form)


@router.post(
    "/{source_id}/edit",
    responses=OF_FORMS,
    openapi_extra=form_fields("name", "url", "tags", "interval", "public", "include", "exclude", "config", "was", "do"),
)
async def edit(page: SignedInPage, source_id: PathId) -> Response:
    source = await page.system.catalog.get(source_id, page.caller)
    form = await page.form()
    now, was = _form_of(source), _made_from(form)
    typed = {name: str(form.get(name, "")) for name in now}
    # What somebody changed elsewhere meanwhile stays, where nothing else was typed here.
    given = {name: now[name] if _is_same(text, was.get(name)) else text for name, text in typed.items()}
    try:
        config = _edited_config(given)
        if form.get("do") == "preview":
            return await _edit(page, source, typed, was, tried=await _tried(page, source, config))
        change = Change(
            name=given["name"],
            tags=None if given["tags"] == now["tags"] else split_tags(given["tags"]),
            is_public=given["public"] == "on",
            config=config,
            fetch_interval_minutes=_minutes(given["interval"]) or 0,
        )
        changed = await page.system.catalog.change(source_id, change, page.caller)
    except (InvalidInput, BadConfig, Conflict, RefusedAddress) as error:
        return await _edit(page, source, typed, was, problem=page.words.say(str(error)), status=422)
    return page.done(f"/sources/{source_id}", "sources.saved", name=changed.name)


async def _edit(
    page: Page, source: Source, form: dict[str, str], was: dict[str, Any], *, status: int = 200, **context: Any
) -> Response:
    """With what the form was made from at first, however often it is shown again."""
    shown = {"source": source, "form": form, "was": json.dumps(was), "filter_fields": FIELDS}
    return await page.show("source_edit.html", status=status, **shown, **context)


def _made_from(form: FormData) -> dict[str, Any]:
    """Nothing where a program sent it, which means each field as it says."""
    try:
        was = check_json(json.loads(str(form.get("was", "{}"))))
    except (ValueError, RecursionError):
        return {}
    return was if isinstance(was, dict) else {}


def _is_same(typed: str, was: Any) -> bool:
    """Browsers end lines in a way of their own."""
    return isinstance(was, str) and typed.splitlines() == was.splitlines()


def _form_of(source: Source) -> dict[str, str]:
    config = masked(source.config)
    filters = config.pop(FILTERS_KEY, None) or {}
    interval = config.pop(INTERVAL_KEY, "")
    address = {ADDRESS_KEY: config.pop(ADDRESS_KEY)} if ADDRESS_KEY in config else {}
    return {
        "name": source.name,
        **address,
        "tags": ", ".join(source.tags),
        "interval": str(interval),
        "public": "on" if source.is_public else "",
        "include": rule_lines(filters.get("include", ())),
        "exclude": rule_lines(filters.get("exclude", ())),
        "config": json.dumps(config, ensure_ascii=False, indent=2),
    }


def rule_lines(rules: Sequence[dict[str, str]]) -> str:
    return "\n".join(f"{rule['field']}: {rule['pattern']}" for rule in rules)


def read_rules(text: str) -> list[dict[str, str]]:
    """A rule a line, `field: pattern`; without a field it is about the title."""
    rules = []
    for line in filter(None, map(str.strip, text.splitlines())):
        field, colon, pattern = line.partition(":")
        known = bool(colon) and field.strip() in FIELDS
        rules.append({"field": field.strip() if known else "title", "pattern": pattern.strip() if known else line})
    return rules


def _edited_config(given: dict[str, str]) -> dict[str, Any]:
    try:
        config = check_json(json.loads(given["config"] or "{}"))
    except (ValueError, RecursionError) as error:
        raise InvalidInput(f"The options are not JSON: {error}.", field="config") from error
    if not isinstance(config, dict):
        raise InvalidInput('The options are a JSON object, such as {"url": "https://…"}.', field="config")
    filters = {name: rules for name in ("include", "exclude") if (rules := read_rules(given[name]))}
    read_filters(filters)
    address = {ADDRESS_KEY: given[ADDRESS_KEY]} if given.get(ADDRESS_KEY) else {}
    return {**config, **address} | ({FILTERS_KEY: filters} if filters else {})


async def _tried(page: Page, source: Source, config: dict[str, Any]) -> dict[str, Any]:
    """What the filters would keep of the latest items that are stored."""
    query = ItemQuery(caller=page.caller, source_id=source.id, limit=MAX_TRIED)
    stored = await page.system.store.read(items.list_items, query)
    filters = read_filters(config.get(FILTERS_KEY) or {})
    judged = [(item.title.strip() or page.words("common.untitled"), filters.keeps(item)) for item in stored]  # type: ignore[arg-type]
    return {"items": judged, "kept": sum(kept for _, kept in judged), "all": len(judged)}


def _minutes(text: str) -> str | None:
    return text.strip() or None


def _ids(given: Sequence[Any]) -> list[int]:
    return list(dict.fromkeys(number for one in given if (number := id_if_any(str(one)))))[:MAX_CHOSEN]
