"""The dispatcher: takes the events of the outbox to the webhooks, in order, until each was taken in."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from datetime import datetime, timedelta
from functools import partial
from typing import TYPE_CHECKING

from loguru import logger
from sqlalchemy import Connection

from catchment.clock import Clock
from catchment.crypto import Unsealable, Vault, is_sealed
from catchment.domain.outbox import Delivery, Topic, Webhook, WebhookFormat, next_try
from catchment.domain.run import RunKind, RunStatus
from catchment.engine.leases import FencedStore, LeasePolicy, keep_leases
from catchment.errors import BadAnswer, LeaseLost, NotFound, VisitError
from catchment.eventloop import background_tasks
from catchment.fetch.pacing import Deferred
from catchment.publish.payloads import Tone, as_post, for_chats, message_of, refusal_in
from catchment.redact import redact_mentions, redact_text
from catchment.store import feeds, outbox, runs, views
from catchment.store.database import Store

if TYPE_CHECKING:
    from catchment.fetch.apprise import NoticeSender
    from catchment.fetch.client import HttpClient

#: What the secrets of webhooks are bound to when they are sealed.
WEBHOOK_SECRET = "webhook secret"  # noqa: S105 - a label
WEBHOOK_ADDRESS = "webhook address"
TIMEOUT_SECONDS = 10.0
TURN = timedelta(seconds=10)
MAX_ERROR = 300
#: What Apprise calls messages of each tone; others are for information.
KINDS = {Tone.RED: "failure", Tone.ORANGE: "failure", Tone.YELLOW: "warning", Tone.GREEN: "success"}


class WebhookDispatcher:
    def __init__(
        self,
        *,
        store: Store,
        http: HttpClient,
        notices: NoticeSender,
        vault: Vault,
        clock: Clock,
        leases: LeasePolicy,
    ) -> None:
        self._store = store
        self._http = http
        self._notices = notices
        self._vault = vault
        self._clock = clock
        self._leases = leases

    async def deliver_due(self) -> str:
        """Deliver everything whose time has come, to all webhooks side by side; says how it went."""
        waiting = await self._store.read(outbox.oldest_due, now=self._clock.now())
        async with background_tasks(keep_leases(self._store, self._leases, self._clock)):
            counts = await asyncio.gather(*(self._deliver_to(delivery.webhook_id) for delivery in waiting))
        return f"{sum(counts)} delivered"

    async def _deliver_to(self, webhook_id: int) -> int:
        """One delivery after the other; the first that is not taken in ends it. One process does this at a time."""
        now = self._clock.now()
        run = await self._store.write(
            runs.start,
            RunKind.DELIVERY,
            str(webhook_id),
            owner=self._leases.owner,
            now=now,
            until=self._leases.until(now),
        )
        if run is None:
            return 0
        try:
            return await self._deliver_all(webhook_id, FencedStore(store=self._store, run_id=run.id))
        finally:
            await self._store.write(runs.finish, [run.id], status=RunStatus.COMPLETED, now=self._clock.now())

    async def _deliver_all(self, webhook_id: int, fenced: FencedStore) -> int:
        """For one turn: the job is over when all webhooks had theirs, and a slow one is not to hold up the others."""
        delivered, end = 0, self._clock.now() + TURN
        try:
            while self._clock.now() < end and await self._deliver_next(webhook_id, fenced):
                delivered += 1
        except LeaseLost:
            # Whoever took it over delivers the event again, under the same id.
            logger.warning("webhook {}: another process delivers to it now", webhook_id)
        return delivered

    async def _deliver_next(self, webhook_id: int, fenced: FencedStore) -> bool:
        found = await fenced.read(_next_delivery, webhook_id, now=self._clock.now())
        if found is None:
            return False
        hook, delivery = found
        try:
            hook = opened(hook, self._vault)
            wanted = await fenced.read(_of_its_feed, hook, delivery)
            if wanted is None:
                await fenced.write(outbox.drop, delivery.id)
                return True
            await (self._notify if hook.format is WebhookFormat.APPRISE else self._post)(hook, wanted)
        except Deferred as later:
            await fenced.write(outbox.put_off, delivery.id, until=self._clock.now() + timedelta(seconds=later.seconds))
        except (VisitError, Unsealable, NotFound) as error:
            reason = redact_mentions(hook.url, redact_text(str(error)))[:MAX_ERROR]
            await self._record_failure(fenced, hook, delivery, reason)
        else:
            sent = wanted.payload if wanted is not delivery else None
            await fenced.write(outbox.record_delivered, delivery.id, now=self._clock.now(), payload=sent)
            return True
        return False

    async def _post(self, hook: Webhook, delivery: Delivery) -> None:
        from catchment.fetch.client import Request

        secret = self._vault.open(hook.secret, purpose=WEBHOOK_SECRET)
        post = as_post(delivery, hook.format, secret=secret, timestamp=int(self._clock.now().timestamp()))
        answer = await self._http.send(
            Request(
                url=hook.url,
                method="POST",
                body=post.body,
                headers=post.headers,
                allow_private=hook.allow_private,
                timeout_seconds=TIMEOUT_SECONDS,
                follow_redirects=False,
                needs_body=hook.format is WebhookFormat.LARK,
            )
        )
        if refusal := refusal_in(answer.body, hook.format):
            raise BadAnswer(refusal)

    async def _notify(self, hook: Webhook, delivery: Delivery) -> None:
        from catchment.fetch.apprise import Notice

        message = for_chats(message_of(delivery.topic, delivery.payload))
        notice = Notice(title=message.title, body=message.text, kind=KINDS.get(message.tone, "info"))
        await self._notices.send(hook.url, notice, allow_private=hook.allow_private)

    async def _record_failure(self, fenced: FencedStore, hook: Webhook, delivery: Delivery, error: str) -> None:
        now = self._clock.now()
        again = next_try(delivery.attempts + 1, now)
        await fenced.write(outbox.record_failed, delivery.id, error=error, next_try_at=again, now=now)
        outcome = "delivery.given_up" if again is None else "delivery.failed"
        told = logger.bind(event=outcome, webhook_id=hook.id, delivery_id=delivery.id, attempts=delivery.attempts + 1)
        if again is None:
            told.error("webhook {} ({}): event {} is given up: {}", hook.id, hook.name, delivery.event_id, error)
        else:
            told.info("webhook {} ({}): event {} is tried again: {}", hook.id, hook.name, delivery.event_id, error)


def opened(hook: Webhook, vault: Vault) -> Webhook:
    """With its address, which is stored sealed; one of before that still is plain."""
    return replace(hook, url=vault.open(hook.url, purpose=WEBHOOK_ADDRESS)) if is_sealed(hook.url) else hook


def _next_delivery(conn: Connection, webhook_id: int, *, now: datetime) -> tuple[Webhook, Delivery] | None:
    hook = outbox.get_webhook(conn, webhook_id)
    delivery = outbox.next_for(conn, webhook_id, now=now)
    return (hook, delivery) if hook is not None and hook.is_active and delivery is not None else None


def _of_its_feed(conn: Connection, hook: Webhook, delivery: Delivery) -> Delivery | None:
    """With the new items alone that are in the webhook's feed; None where none is."""
    if not hook.feed or delivery.topic != Topic.ITEMS_NEW:
        return delivery
    feed = feeds.find(conn, hook.feed)
    if feed is None:
        raise NotFound(f"There is no feed {hook.feed} any more: make it again, or choose another for this webhook.")
    from catchment.publish.views import keeps

    told = delivery.payload
    keys = [item["key"] for item in told["items"]]
    in_feed = views.keys_in_feed(conn, feed, told["source"]["id"], keys, partial(keeps, feed.filter))
    items = [item for item in told["items"] if item["key"] in in_feed]
    return replace(delivery, payload={**told, "items": items}) if items else None
