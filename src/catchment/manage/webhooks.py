"""Webhooks as an administrator manages them, and the events on their way to them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from sqlalchemy import Connection

from catchment.clock import Clock
from catchment.crypto import Unsealable, Vault, is_sealed, new_token
from catchment.domain.audit_trail import deed
from catchment.domain.confidential import origin_of_url
from catchment.domain.feed import check_slug
from catchment.domain.item import is_storable
from catchment.domain.outbox import Delivery, Event, Topic, Webhook, WebhookFormat
from catchment.errors import Conflict, InvalidInput, NotFound, or_not_found
from catchment.fetch.apprise import NoticeSender
from catchment.fetch.guard import AddressGuard
from catchment.jobs.webhooks import WEBHOOK_ADDRESS, WEBHOOK_SECRET, opened
from catchment.redact import MASK, redact_hook
from catchment.store import feeds, outbox
from catchment.store.audit_trail import recorded
from catchment.store.database import Store

LISTENABLE = tuple(topic for topic in Topic if topic is not Topic.PING)
#: The webhook that the environment asks for, to be told of new tweets.
SUMMARIZATION = "summarization"
#: The one that it asks for to be told of alerts, by a name that says where it comes from.
ALERTS = "ALERT_WEBHOOK_URL"


@dataclass(frozen=True, slots=True, kw_only=True)
class NewWebhook:
    name: str
    url: str
    topics: tuple[str, ...]
    allow_private: bool = False
    #: Made up when it is empty, unless whoever receives it knows nothing of our signatures.
    secret: str = ""
    format: WebhookFormat = WebhookFormat.JSON
    #: The short name of the feed whose new items it is told of; empty for all.
    feed: str = ""

    @property
    def summary(self) -> str:
        """For the trail of what was done."""
        return ", ".join(self.topics) + (f"; feed {self.feed}" if self.feed else "")


def usual_topics(feed: str) -> tuple[Topic, ...]:
    """What a webhook listens to whose topics nobody said: with a feed to its new items, and else to everything."""
    return (Topic.ITEMS_NEW,) if feed else LISTENABLE


class Webhooks:
    def __init__(self, *, store: Store, guard: AddressGuard, notices: NoticeSender, vault: Vault, clock: Clock) -> None:
        self._store = store
        self._guard = guard
        self._own_guard = guard.with_private()
        self._notices = notices
        self._vault = vault
        self._clock = clock

    async def add(self, new: NewWebhook) -> tuple[Webhook, str]:
        """The webhook and its secret, which is shown only now."""
        await self._check(new)
        secret = new.secret or (new_token() if new.format is WebhookFormat.JSON else "")
        entry = deed("webhook.add", f"webhook {new.name}", new.summary, now=self._clock.now())
        return self._shown(await self._store.write(recorded, entry, self._add, new, secret)), secret

    async def list(self) -> list[Webhook]:
        """As they may be shown: without what lets anybody in who knows it."""
        return [self._shown(hook) for hook in await self._store.read(outbox.list_webhooks)]

    async def get(self, webhook_id: int) -> Webhook:
        return self._shown(_found(await self._store.read(outbox.get_webhook, webhook_id), webhook_id))

    async def change(self, webhook_id: int, wanted: NewWebhook) -> tuple[Webhook, str]:
        """As it is wanted from now on; an empty address or secret stays what it was. Says the new secret, if one was
        made: what deliveries were signed with at another origin, or nothing, is not what they are signed with now.
        """
        known = _found(await self._store.read(outbox.get_webhook, webhook_id), webhook_id)
        if known.name in {ALERTS, SUMMARIZATION}:
            raise Conflict(f"The webhook {known.name} is as the settings say; change it there.")
        before = self._address(known)
        wanted = replace(wanted, url=wanted.url.strip() or before)
        await self._check(wanted)
        is_elsewhere = origin_of_url(before) != origin_of_url(wanted.url)
        is_json, was_json = wanted.format is WebhookFormat.JSON, known.format is WebhookFormat.JSON
        made = new_token() if is_json and not wanted.secret and (is_elsewhere or not was_json) else ""
        values = self._values(wanted, wanted.secret or made)
        if not (wanted.secret or made or is_elsewhere):
            del values["secret"]
        entry = deed("webhook.change", f"webhook {wanted.name}", wanted.summary, now=self._clock.now())
        changed = await self._store.write(recorded, entry, outbox.change_webhook, webhook_id, values)
        return self._shown(_found(changed, webhook_id)), made

    async def set_active(self, webhook_id: int, *, is_active: bool) -> Webhook:
        action = "webhook.resume" if is_active else "webhook.pause"
        entry = deed(action, f"webhook {webhook_id}", now=self._clock.now())
        values = {"is_active": is_active}
        changed = await self._store.write(recorded, entry, outbox.change_webhook, webhook_id, values)
        return self._shown(_found(changed, webhook_id))

    async def remove(self, webhook_id: int) -> None:
        """With everything that was on its way to it."""
        entry = deed("webhook.remove", f"webhook {webhook_id}", now=self._clock.now())
        if not await self._store.write(recorded, entry, outbox.remove_webhook, webhook_id):
            raise NotFound(_missing(webhook_id))

    async def ping(self, webhook_id: int, message: str = "Catchment says hello.") -> Delivery:
        """Send a test message, behind what is on its way already."""
        _found(await self._store.read(outbox.get_webhook, webhook_id), webhook_id)
        event = Event(topic=Topic.PING, payload={"message": message})
        return await self._store.write(outbox.send_to, webhook_id, event, now=self._clock.now())

    async def deliveries(self, *, webhook_id: int | None = None, limit: int = 50) -> Sequence[Delivery]:
        return await self._store.read(outbox.list_deliveries, webhook_id=webhook_id, limit=limit)

    async def telling_deliveries(self) -> Mapping[int, Delivery]:
        """By webhook, the delivery that tells how it is; none of those that were sent nothing."""
        return await self._store.read(outbox.telling_deliveries)

    async def redeliver(self, delivery_id: int) -> Delivery:
        delivery = await self._store.write(outbox.redeliver, delivery_id, now=self._clock.now())
        return or_not_found(delivery, f"There is no delivery {delivery_id}.")

    async def follow_environment(self, *, url: str, is_enabled: bool) -> None:
        """Have the summarisation's webhook as the environment says: there and active, or silent."""
        hooks = {hook.name: hook for hook in await self._store.read(outbox.list_webhooks)}
        known = hooks.get(SUMMARIZATION)
        if known is None and url and is_enabled:
            await self.add(NewWebhook(name=SUMMARIZATION, url=url, topics=(Topic.TWEETS_NEW,), allow_private=True))
        elif known is not None:
            values = {"is_active": is_enabled} if known.is_active != is_enabled else {}
            values |= self._moved(known, url) if url else {}
            if values:
                await self._store.write(outbox.change_webhook, known.id, values)

    async def follow_alerts(self, *, url: str, form: WebhookFormat, secret: str) -> None:
        """Have the webhook of alerts as the environment says: there and so, or not at all."""
        wanted = NewWebhook(name=ALERTS, url=url, topics=(Topic.ALERT,), allow_private=True, secret=secret, format=form)
        if url:
            self._own_guard.check_url(url)
        await self._store.write(self._follow, wanted if url else None)

    async def seal_plain(self) -> int:
        """Seal the addresses that were stored before they were sealed; says how many."""
        plain = [hook for hook in await self._store.read(outbox.list_webhooks) if not is_sealed(hook.url)]
        for hook in plain:
            await self._store.write(outbox.change_webhook, hook.id, {"url": self._sealed(hook.url)})
        return len(plain)

    def _moved(self, known: Webhook, url: str) -> dict[str, Any]:
        """A new address. What deliveries were signed with at another origin is not used here."""
        before = self._address(known)
        if before == url:
            return {}
        values = {"url": self._sealed(url)}
        if origin_of_url(before) != origin_of_url(url):
            values["secret"] = self._vault.seal(new_token(), purpose=WEBHOOK_SECRET)
        return values

    def _shown(self, hook: Webhook) -> Webhook:
        return replace(hook, url=redact_hook(self._address(hook)) or MASK)

    def _address(self, hook: Webhook) -> str:
        """Empty where it does not open."""
        try:
            return opened(hook, self._vault).url
        except Unsealable:
            return ""

    def _sealed(self, url: str) -> str:
        return self._vault.seal(url, purpose=WEBHOOK_ADDRESS)

    def _follow(self, conn: Connection, wanted: NewWebhook | None) -> None:
        known = {hook.name: hook for hook in outbox.list_webhooks(conn)}.get(ALERTS)
        if wanted is None and known is not None:
            outbox.remove_webhook(conn, known.id)
        elif wanted is not None and known is None:
            self._add(conn, wanted, wanted.secret)
        elif wanted is not None and known is not None:
            outbox.change_webhook(conn, known.id, self._values(wanted, wanted.secret))

    async def _check(self, new: NewWebhook) -> None:
        if not 0 < len(new.name.strip()) <= 200 or not is_storable(new.name):  # noqa: PLR2004 - as the column is wide
            raise InvalidInput("A webhook needs a name of 1 to 200 characters.", field="name")
        if new.name.strip() == ALERTS:
            raise InvalidInput(f"{ALERTS} is the webhook of the setting of that name; choose another.", field="name")
        unknown = [topic for topic in new.topics if topic not in LISTENABLE]
        if unknown or not new.topics:
            raise InvalidInput(f"A webhook listens to some of {', '.join(LISTENABLE)}.", field="topics")
        if new.feed:
            await self._check_feed(new)
        if new.format is WebhookFormat.APPRISE:
            await self._notices.check(new.url)
        else:
            (self._own_guard if new.allow_private else self._guard).check_url(new.url)

    async def _check_feed(self, new: NewWebhook) -> None:
        if Topic.ITEMS_NEW not in new.topics:
            raise InvalidInput(f"A webhook with a feed listens to {Topic.ITEMS_NEW}.", field="topics")
        if await self._store.read(feeds.find, check_slug(new.feed)) is None:
            raise InvalidInput(f"There is no feed {new.feed}.", field="feed")

    def _add(self, conn: Connection, new: NewWebhook, secret: str) -> Webhook:
        return outbox.add_webhook(conn, self._values(new, secret), now=self._clock.now())

    def _values(self, new: NewWebhook, secret: str) -> dict[str, Any]:
        return {
            "name": new.name.strip(),
            "url": self._sealed(new.url),
            "topics": list(new.topics),
            "allow_private": new.allow_private,
            "secret": self._vault.seal(secret, purpose=WEBHOOK_SECRET),
            "format": new.format,
            "feed": new.feed,
        }


def _found(hook: Webhook | None, webhook_id: int) -> Webhook:
    return or_not_found(hook, _missing(webhook_id))


def _missing(webhook_id: int) -> str:
    return f"There is no webhook {webhook_id}."
