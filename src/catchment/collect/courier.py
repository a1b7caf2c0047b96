"""The courier: takes the events of the outbox to the webhooks, in order, until each was taken in."""

from __future__ import annotations

import asyncio
import json
from datetime import datetime

from loguru import logger
from sqlalchemy import Connection

from catchment.clock import Clock
from catchment.collect.leases import LeasePolicy
from catchment.crypto import Vault
from catchment.domain.outbox import Letter, Webhook, next_try, sign
from catchment.domain.run import RunKind, RunStatus
from catchment.errors import VisitError
from catchment.fetch.client import HttpClient, Request
from catchment.fetch.pacing import Deferred
from catchment.redact import redact_text
from catchment.store import outbox, runs
from catchment.store.door import Store

#: What the secrets of webhooks are bound to when they are sealed.
WEBHOOK_SECRET = "webhook secret"  # noqa: S105 - a label
TIMEOUT_SECONDS = 10.0
MOST_ERROR = 300


class Courier:
    def __init__(self, *, store: Store, http: HttpClient, vault: Vault, clock: Clock, leases: LeasePolicy) -> None:
        self._store = store
        self._http = http
        self._vault = vault
        self._clock = clock
        self._leases = leases

    async def deliver_due(self) -> str:
        """Deliver everything whose time has come, to all webhooks side by side; says how it went."""
        waiting = await self._store.read(outbox.heads, now=self._clock.now())
        counts = await asyncio.gather(*(self._deliver_to(letter.webhook_id) for letter in waiting))
        return f"{sum(counts)} delivered"

    async def _deliver_to(self, webhook_id: int) -> int:
        """One letter after the other; the first that is not taken in ends it. Only one process does this at a time."""
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
        delivered = 0
        try:
            while await self._deliver_next(webhook_id):
                delivered += 1
        finally:
            await self._store.write(runs.finish, [run.id], status=RunStatus.COMPLETED, now=self._clock.now())
        return delivered

    async def _deliver_next(self, webhook_id: int) -> bool:
        found = await self._store.read(_next_letter, webhook_id, now=self._clock.now())
        if found is None:
            return False
        hook, letter = found
        error = await self._post(hook, letter)
        if error is None:
            await self._store.write(outbox.note_delivered, letter.id, now=self._clock.now())
            return True
        await self._note_failure(letter, hook, error)
        return False

    async def _post(self, hook: Webhook, letter: Letter) -> str | None:
        """What went wrong, if anything did."""
        try:
            await self._http.send(self._request(hook, letter))
        except (VisitError, Deferred) as error:
            return redact_text(str(error))[:MOST_ERROR]
        return None

    def _request(self, hook: Webhook, letter: Letter) -> Request:
        body = json.dumps(
            {"id": letter.event_id, "topic": letter.topic, "at": letter.created_at.isoformat(), **letter.payload}
        ).encode()
        timestamp = int(self._clock.now().timestamp())
        secret = self._vault.open(hook.secret, purpose=WEBHOOK_SECRET)
        return Request(
            url=hook.url,
            method="POST",
            body=body,
            headers={
                "Content-Type": "application/json",
                "X-Catchment-Event": letter.topic,
                "X-Catchment-Delivery": letter.event_id,
                "X-Catchment-Timestamp": str(timestamp),
                "X-Catchment-Signature": f"sha256={sign(body, secret=secret, timestamp=timestamp)}",
            },
            allow_private=hook.allow_private,
            timeout_seconds=TIMEOUT_SECONDS,
        )

    async def _note_failure(self, letter: Letter, hook: Webhook, error: str) -> None:
        now = self._clock.now()
        again = next_try(letter.attempts + 1, now)
        await self._store.write(outbox.note_failed, letter.id, error=error, next_try_at=again, now=now)
        if again is None:
            logger.error("webhook {} ({}): event {} is given up: {}", hook.id, hook.name, letter.event_id, error)


def _next_letter(conn: Connection, webhook_id: int, *, now: datetime) -> tuple[Webhook, Letter] | None:
    hook = outbox.get_webhook(conn, webhook_id)
    letter = outbox.head_of(conn, webhook_id, now=now)
    return (hook, letter) if hook is not None and hook.is_active and letter is not None else None
