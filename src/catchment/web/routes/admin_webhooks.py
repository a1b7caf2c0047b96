"""The administration of webhooks, and of the events on their way to them."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Query
from pydantic import Field

from catchment.domain.outbox import WebhookFormat
from catchment.manage.webhooks import LISTENABLE, NewWebhook, usual_topics
from catchment.web.auth import AdminOnly, TheSystem
from catchment.web.errors import OF_A_BODY, problems
from catchment.web.inputs import MAX_ID, In, PathId, Text
from catchment.web.outputs import Moment, Ok, Out

router = APIRouter(prefix="/api/admin/webhooks", tags=["webhooks"], responses=problems(401, 403))

MAX_LETTERS = 500


class WebhookIn(In):
    name: Text = Field(max_length=200, examples=["ops"])
    url: Text = Field(
        examples=["https://example.org/hook"], description="Of the format apprise, an address of Apprise: tgram://…"
    )
    topics: list[Text] = Field(
        default=[*LISTENABLE], description=f"Some of {', '.join(LISTENABLE)}. Left out, with a feed it is items.new."
    )
    feed: Text = Field(
        default="",
        max_length=100,
        examples=["news"],
        description="The short name of a saved feed: of new items only those that are in it are told. Empty for all.",
    )
    allow_private: bool = False
    format: WebhookFormat = WebhookFormat.JSON
    secret: Text = Field(default="", max_length=200, description="Where a Lark bot signs; for json it is made up.")

    def wanted(self) -> NewWebhook:
        topics = tuple(self.topics) if "topics" in self.model_fields_set else usual_topics(self.feed)
        return NewWebhook(**{**dict(self), "topics": topics})


class ChangedWebhookIn(WebhookIn):
    url: Text = Field(default="", description="Left out, it stays.")
    secret: Text = Field(default="", max_length=200, description="Left out, it stays, unless the address moves.")


class WebhookOut(Out):
    id: int
    name: str
    url: str
    topics: list[str]
    is_active: bool
    allow_private: bool
    created_at: Moment
    format: WebhookFormat
    feed: str = Field(examples=["news"], description="The feed whose new items it is told of; empty for all.")


class NewWebhookOut(WebhookOut):
    secret: str = Field(description="What deliveries are signed with; shown only now.")


class WebhookAsChangedOut(WebhookOut):
    secret: str = Field(description="A new one, where the address or format took that; shown only now. Else empty.")


class DeliveryOut(Out):
    id: int
    event_id: str
    topic: str
    webhook_id: int
    payload: dict[str, Any]
    created_at: Moment
    attempts: int
    next_try_at: Moment | None
    delivered_at: Moment | None
    dead_at: Moment | None
    last_error: str | None


@router.get("")
async def list_webhooks(system: TheSystem, _caller: AdminOnly) -> list[WebhookOut]:
    return [WebhookOut.model_validate(hook) for hook in await system.webhooks.list()]


@router.post("", status_code=201, responses=problems(409, *OF_A_BODY))
async def add_webhook(body: WebhookIn, system: TheSystem, _caller: AdminOnly) -> NewWebhookOut:
    """Have events posted to a URL, signed, at least once and in order."""
    hook, secret = await system.webhooks.add(body.wanted())
    return NewWebhookOut(**WebhookOut.model_validate(hook).model_dump(), secret=secret)


@router.get("/deliveries", responses=problems(422))
async def list_deliveries(
    system: TheSystem,
    _caller: AdminOnly,
    webhook_id: Annotated[int | None, Query(ge=1, le=MAX_ID)] = None,
    limit: Annotated[int, Query(ge=1, le=MAX_LETTERS)] = 50,
) -> list[DeliveryOut]:
    """Events and what became of them, the newest first."""
    return [
        DeliveryOut.model_validate(one) for one in await system.webhooks.deliveries(webhook_id=webhook_id, limit=limit)
    ]


@router.post("/deliveries/{delivery_id}/redeliver", status_code=202, responses=problems(404, 422))
async def redeliver(delivery_id: PathId, system: TheSystem, _caller: AdminOnly) -> DeliveryOut:
    """Send an event again, under the same id."""
    return DeliveryOut.model_validate(await system.webhooks.redeliver(delivery_id))


@router.put("/{webhook_id}", responses=problems(404, 409, *OF_A_BODY))
async def change_webhook(
    webhook_id: PathId, body: ChangedWebhookIn, system: TheSystem, _caller: AdminOnly
) -> WebhookAsChangedOut:
    """As it is wanted from now on. What was on its way goes to the new address."""
    hook, secret = await system.webhooks.change(webhook_id, body.wanted())
    return WebhookAsChangedOut(**WebhookOut.model_validate(hook).model_dump(), secret=secret)


@router.post("/{webhook_id}/ping", status_code=202, responses=problems(404, 422))
async def ping(webhook_id: PathId, system: TheSystem, _caller: AdminOnly) -> DeliveryOut:
    """Send a test message."""
    return DeliveryOut.model_validate(await system.webhooks.ping(webhook_id))


@router.post("/{webhook_id}/pause", responses=problems(404, 422))
async def pause(webhook_id: PathId, system: TheSystem, _caller: AdminOnly) -> WebhookOut:
    """Tell it nothing new; what was on its way waits."""
    return WebhookOut.model_validate(await system.webhooks.set_active(webhook_id, is_active=False))


@router.post("/{webhook_id}/resume", responses=problems(404, 422))
async def resume(webhook_id: PathId, system: TheSystem, _caller: AdminOnly) -> WebhookOut:
    return WebhookOut.model_validate(await system.webhooks.set_active(webhook_id, is_active=True))


@router.delete("/{webhook_id}", responses=problems(404, 422))
async def remove(webhook_id: PathId, system: TheSystem, _caller: AdminOnly) -> Ok:
    """With everything on its way to it."""
    await system.webhooks.remove(webhook_id)
    return Ok()
