"""The pages of webhooks: who is told what, what became of each message, and what is changed there."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from itertools import chain, count
from typing import Any

from fastapi.responses import Response
from starlette.datastructures import FormData

from catchment.domain.outbox import Delivery, Topic, Webhook, WebhookFormat, format_told_by
from catchment.errors import Conflict, InvalidInput, RefusedAddress
from catchment.manage.webhooks import LISTENABLE, NewWebhook
from catchment.monitor.status import Language
from catchment.web.errors import OF_FORMS, page_router
from catchment.web.inputs import PathId, check_text, number_of, way_back
from catchment.web.pages import AdminPage, Content, Page, Undo, form_fields, live

MAX_DELIVERIES, MAX_PAYLOAD, MAX_NAME = 50, 4000, 200
_FIELDS = ("name", "url", "format", "feed", "secret", "private")
router = page_router("/webhooks")
_NEW = {"format": WebhookFormat.JSON, "topics": list(LISTENABLE)}


@router.get("")
async def webhooks_page(page: AdminPage) -> Response:
    """The webhooks and their deliveries; the feed that `feed` names in the address is chosen in the form."""
    content = await read_webhooks(page)
    taken = {hook.name for hook in content.context["hooks"]}
    form = _form_for(page, page.request.query_params.get("feed", ""), dict(content.context["feeds"]), taken)
    return await page.show_live("webhooks.html", replace(content, context={**content.context, "form": form}))


@live("/webhooks", may=lambda caller: caller.is_admin)
async def read_webhooks(page: Page) -> Content:
    hooks = await page.system.webhooks.list()
    letters = await page.system.webhooks.deliveries(limit=MAX_DELIVERIES)
    telling = await page.system.webhooks.telling_deliveries()
    letters = _failing_first(letters, telling)
    offered = await _offered(page)
    titles = dict(offered["feeds"])
    parts = {
        f"hook-{hook.id}": page.part(
            "parts/webhook.html", hook=hook, last=telling.get(hook.id), feed=titles.get(hook.feed or "", hook.feed)
        )
        for hook in hooks
    }
    lists = {"hooks": list(parts)}
    parts |= _letters(page, letters, {hook.id: hook for hook in hooks}, back="/webhooks")
    lists["deliveries"] = [f"delivery-{letter.id}" for letter in letters]
    return Content(context={"hooks": hooks, "letters": letters, **offered}, parts=parts, lists=lists)


def _failing_first(letters: Sequence[Delivery], telling: Mapping[int, Delivery]) -> list[Delivery]:
    """What waits behind a delivery that fails does not push it out of sight."""
    failing = {one.id: one for one in telling.values() if one.attempts and one.next_try_at}
    newest_first = sorted(failing.values(), key=lambda one: one.id, reverse=True)
    return [*newest_first, *(one for one in letters if one.id not in failing)]


def _letters(page: Page, letters: Any, hooks: dict[int, Webhook], *, back: str) -> dict[str, Any]:
    return {
        f"delivery-{letter.id}": page.part(
            "parts/delivery.html", letter=letter, hook=hooks.get(letter.webhook_id), payload=_payload(letter), back=back
        )
        for letter in letters
    }


def _payload(letter: Delivery) -> str:
    return json.dumps(letter.payload, ensure_ascii=False, indent=2)[:MAX_PAYLOAD]


async def _offered(page: Page) -> dict[str, Any]:
    titles = {feed.slug: feed.title or feed.slug for feed in await page.system.feeds.list(page.caller)}
    times = Counter(titles.values())
    feeds = [(slug, title if times[title] == 1 else f"{title} ({slug})") for slug, title in titles.items()]
    return {"topics": LISTENABLE, "formats": list(WebhookFormat), "feeds": feeds, "form": _NEW}


def _form_for(page: Page, slug: str, feeds: Mapping[str, str], taken: Collection[str]) -> dict[str, Any]:
    """The form of a webhook that is not there yet, for the new items of a feed if one is named."""
    if slug not in feeds:
        return _NEW
    usual = WebhookFormat.LARK if page.words.language is Language.CHINESE else WebhookFormat.SLACK
    chat = {"name": _free_name(feeds[slug], taken), "format": usual, "topics": [Topic.ITEMS_NEW]}
    return {**chat, "feed": slug}


def _free_name(name: str, taken: Collection[str]) -> str:
    """The name itself, or with a number behind it: a feed may go to several chats."""
    offered = chain([""], (f" {number}" for number in count(2)))
    return next(free for end in offered if (free := name[: MAX_NAME - len(end)] + end) not in taken)


@router.post("", responses=OF_FORMS, openapi_extra=form_fields(*_FIELDS, "topic"))
async def add_webhook_by_form(page: AdminPage) -> Response:
    """The page that comes back shows what deliveries are signed with, and never again."""
    form = await page.form()
    try:
        hook, secret = await page.system.webhooks.add(_wanted(form))
    except (InvalidInput, RefusedAddress, Conflict) as error:
        return await _show_list(page, form=_given(form), problem=page.words.say(str(error)), status=422)
    return await _show_list(page, made=hook, secret=secret)


async def _show_list(page: Page, **context: Any) -> Response:
    content = await read_webhooks(page)
    return await page.show("webhooks.html", **content.shown | context)


@router.post("/act", responses=OF_FORMS, openapi_extra=form_fields("do", "back"))
async def act_on_webhook(page: AdminPage) -> Response:
    """`do` says what, with the id of the webhook, or of the delivery that is sent again: `retry 12`."""
    form, webhooks = await page.form(), page.system.webhooks
    action, _, told = str(form.get("do", "")).partition(" ")
    number, back = number_of(told), way_back(str(form.get("back", "")), "/webhooks")
    undo = None
    match action:
        case "ping":
            await webhooks.ping(number, page.words("webhooks.hello"))
        case "retry":
            await webhooks.redeliver(number)
        case "pause" | "resume":
            await webhooks.set_active(number, is_active=action == "resume")
            opposite = "resume" if action == "pause" else "pause"
            undo = Undo(action="/webhooks/act", fields={"do": f"{opposite} {number}", "back": back})
        case "remove":
            await webhooks.remove(number)
            back = "/webhooks"
        case _:
            raise InvalidInput(f"Nobody can do {action[:40]!r} to a webhook.")
    return page.done(back, f"webhooks.did_{action}", undo=undo)


@router.get("/{webhook_id}")
async def webhook_page(page: AdminPage, webhook_id: PathId) -> Response:  # noqa: ARG001 (read from the path by the reader)
    return await page.show_live("webhook.html", await read_webhook(page))


@live("/webhooks/{webhook_id}", may=lambda caller: caller.is_admin)
async def read_webhook(page: Page) -> Content:
    hook = await page.system.webhooks.get(int(page.request.path_params["webhook_id"]))
    letters = await page.system.webhooks.deliveries(webhook_id=hook.id, limit=MAX_DELIVERIES)
    telling = await page.system.webhooks.telling_deliveries()
    letters = _failing_first(letters, {hook.id: telling[hook.id]} if hook.id in telling else {})
    parts = _letters(page, letters, {hook.id: hook}, back=f"/webhooks/{hook.id}")
    lists = {"deliveries": list(parts)}
    parts["webhook-controls"] = page.part("parts/webhook_controls.html", hook=hook)
    context = {**await _offered(page), "hook": hook, "letters": letters, "form": _form_of(hook)}
    return Content(context=context, parts=parts, lists=lists)


@router.post("/{webhook_id}", responses=OF_FORMS, openapi_extra=form_fields(*_FIELDS, "topic"))
async def change_webhook_by_form(page: AdminPage, webhook_id: PathId) -> Response:
    form = await page.form()
    try:
        hook, secret = await page.system.webhooks.change(webhook_id, _wanted(form))
    except (InvalidInput, RefusedAddress, Conflict) as error:
        return await _show_one(page, form=_given(form), problem=page.words.say(str(error)), status=422)
    if secret:
        return await _show_one(page, secret=secret)
    return page.done(f"/webhooks/{webhook_id}", "webhooks.saved", name=hook.name)


async def _show_one(page: Page, **context: Any) -> Response:
    content = await read_webhook(page)
    return await page.show("webhook.html", **content.shown | context)


def _form_of(hook: Webhook) -> dict[str, Any]:
    """Without the address and the secret: they stay unless others are given."""
    private = "on" if hook.allow_private else ""
    return {"name": hook.name, "format": hook.format, "topics": hook.topics, "feed": hook.feed, "private": private}


def _given(form: FormData) -> dict[str, Any]:
    """What is shown again after a mistake; never the secret."""
    return {**{name: str(form.get(name, "")) for name in _FIELDS if name != "secret"}, "topics": form.getlist("topic")}


def _wanted(form: FormData) -> NewWebhook:
    given = {name: str(form.get(name, "")).strip() for name in _FIELDS}
    try:
        for text in given.values():
            check_text(text)
        form_of_messages = format_told_by(given["url"]) or WebhookFormat(given["format"] or WebhookFormat.JSON)
    except ValueError as error:
        raise InvalidInput(f"That is no webhook: {error}.") from error
    return NewWebhook(
        name=given["name"],
        url=given["url"],
        topics=tuple(str(topic) for topic in form.getlist("topic")),
        allow_private=given["private"] == "on",
        secret=given["secret"],
        format=form_of_messages,
        feed=given["feed"],
    )
