"""The dispatcher keeps its lease while it delivers, writes only under it, and lets no delivery suffer for another's sake."""

from __future__ import annotations

import asyncio
from datetime import timedelta

import pytest
from aiohttp import web
from sqlalchemy import event

from catchment.domain.outbox import Topic
from catchment.domain.run import RunKind
from catchment.engine.leases import LeasePolicy, keep_leases, owner_name
from catchment.errors import StoreError
from catchment.fetch.client import HttpClient, Limits
from catchment.fetch.guard import AddressGuard
from catchment.fetch.pacing import PacePolicy, Pacer
from catchment.jobs.webhooks import WebhookDispatcher
from catchment.manage.webhooks import NewWebhook
from catchment.store import outbox, runs
from catchment.store.database import open_store
from catchment.store.migrate import migrate
from eventually import eventually
from feed_site import FeedSite
from stores import on_both_stores, on_sqlite_alone

pytestmark = on_sqlite_alone

SECOND = timedelta(seconds=1)


@pytest.fixture
async def site():
    async with FeedSite() as site:
        yield site


@pytest.fixture
async def system(open_test_system, tmp_path):
    async with open_test_system(home=tmp_path / "home") as system:
        yield system


def courier_of(system, *, http=None, vault=None, seconds=60.0):
    return WebhookDispatcher(
        store=system.store,
        http=http or system.http,
        notices=system.notices,
        vault=vault or system.webhooks._vault,
        clock=system.clock,
        leases=LeasePolicy(owner=owner_name(), duration=timedelta(seconds=seconds)),
    )


async def hook_at(system, url, name="hook"):
    hook, _ = await system.webhooks.add(NewWebhook(name=name, url=url, topics=(Topic.ALERT,)))
    return hook


class Held:
    """A receiver that answers when it is let."""

    def __init__(self, site, path="/held"):
        self.asked, self.answer = asyncio.Event(), asyncio.Event()
        self.url = site.script(self._answer, path=path)

    async def _answer(self, request):
        await request.read()
        self.asked.set()
        await self.answer.wait()
        return web.Response(status=204)


async def test_the_lease_is_kept_while_a_receiver_takes_its_time(system, site, clock):
    held = Held(site)
    hook = await hook_at(system, held.url)
    await system.webhooks.ping(hook.id)
    delivering = asyncio.create_task(courier_of(system, seconds=0.15).deliver_due())
    await held.asked.wait()
    [run] = await system.store.read(runs.list_running, RunKind.DELIVERY)
    clock.advance(timedelta(milliseconds=100))

    async def is_extended():
        [now] = await system.store.read(runs.list_running, RunKind.DELIVERY)
        return now.lease_until > run.lease_until

    await eventually(is_extended)
    held.answer.set()
    assert await delivering == "1 delivered"


async def test_whoever_lost_the_lease_notes_nothing(system, site, clock, log):
    held = Held(site)
    hook = await hook_at(system, held.url)
    delivery = await system.webhooks.ping(hook.id)
    delivering = asyncio.create_task(courier_of(system).deliver_due())
    await held.asked.wait()
    clock.advance(timedelta(minutes=2))
    await system.store.write(runs.expire, now=clock.now())
    held.answer.set()
    assert await delivering == "0 delivered"
    [still] = await system.webhooks.deliveries()
    assert still == delivery
    assert any("another process delivers" in line for line in log)


@on_both_stores
async def test_a_secret_that_does_not_open_fails_its_own_letter_alone(system, site, clock):
    url = site.serve("", path="/taken")
    bad, good = await hook_at(system, url, "bad"), await hook_at(system, url, "good")
    for hook in (bad, good):
        await system.webhooks.ping(hook.id)
    await system.store.write(outbox.change_webhook, bad.id, {"secret": "v2:gone:AAAA"})
    assert await courier_of(system).deliver_due() == "1 delivered"
    deliveries = {delivery.webhook_id: delivery for delivery in await system.webhooks.deliveries()}
    assert deliveries[good.id].delivered_at is not None
    assert deliveries[bad.id].attempts == 1
    assert "'gone'" in deliveries[bad.id].last_error


@on_both_stores
async def test_having_to_wait_for_the_host_is_no_attempt(system, site, clock):
    hook = await hook_at(system, site.serve("", path="/taken"))
    await system.webhooks.ping(hook.id)
    second = await system.webhooks.ping(hook.id)
    policy = PacePolicy(concurrency=1, spacing_seconds=0.0, budget_per_minute=1)
    async with HttpClient(
        guard=AddressGuard.parse("127.0.0.1"),
        pacer=Pacer(policy),
        limits=Limits(patience_seconds=0.01),
        user_agent="test",
        clock=clock,
        pace_allowed=True,
    ) as http:
        assert await courier_of(system, http=http).deliver_due() == "1 delivered"
    [waiting, _] = await system.webhooks.deliveries()
    assert (waiting.id, waiting.attempts, waiting.last_error) == (second.id, 0, None)
    assert 50 * SECOND < waiting.next_try_at - clock.now() <= 60 * SECOND


async def test_what_waits_and_what_is_newest_of_a_webhook_is_found_by_an_index(sqlite_url, clock):
    store, asked = open_store(sqlite_url), []
    await migrate(store)

    def note(conn, cursor, statement, parameters, context, executemany):
        asked.append((statement, parameters))

    def plans(conn):
        event.listen(conn, "before_cursor_execute", note)
        outbox.oldest_due(conn, now=clock.now())
        outbox.next_for(conn, 1, now=clock.now())
        outbox.telling_deliveries(conn)
        outbox.list_deliveries(conn, webhook_id=1, limit=50)
        event.remove(conn, "before_cursor_execute", note)
        return [
            " ".join(row[3] for row in conn.exec_driver_sql(f"EXPLAIN QUERY PLAN {sql}", values))
            for sql, values in asked
        ]

    heads, head, telling, newest = await store.read(plans)
    await store.close()
    assert "ix_outbox_waiting" in heads
    assert "ix_outbox_waiting" in head
    assert "SCAN outbox" not in telling
    assert {"ix_outbox_waiting", "ix_outbox_webhook_id"} <= set(telling.split())
    assert "ix_outbox_webhook_id" in newest
    assert "TEMP B-TREE" not in newest


@on_both_stores
async def test_a_store_that_fails_for_a_moment_costs_no_lease(store, clock, log):
    class Failing:
        def __init__(self):
            self.calls = 0

        async def write(self, change, *args, **kwargs):
            self.calls += 1
            if self.calls == 1:
                raise StoreError("no room")
            return await store.write(change, *args, **kwargs)

    policy = LeasePolicy(owner="a:1:x", duration=timedelta(seconds=0.03))
    now = clock.now()
    run = await store.write(runs.start, RunKind.DELIVERY, "1", owner=policy.owner, now=now, until=now + SECOND)
    clock.advance(timedelta(milliseconds=999))
    keeping = asyncio.create_task(keep_leases(Failing(), policy, clock))

    async def is_extended():
        [kept] = await store.read(runs.list_running, RunKind.DELIVERY)
        return kept.lease_until > run.lease_until

    await eventually(is_extended)
    keeping.cancel()
    assert any("cannot be extended: no room" in line for line in log)


async def test_a_webhook_that_is_slow_gets_a_turn_and_the_rest_of_its_letters_at_the_next(system, site, clock):
    taken = []

    async def slow(request):
        taken.append(await request.json())
        clock.advance(4 * SECOND)
        return web.Response(status=204)

    await hook_at(system, site.script(slow, path="/slow"))
    await system.store.write(outbox.emit, Topic.ALERT, [{"n": n} for n in range(5)], now=clock.now())
    dispatcher = courier_of(system)
    assert await dispatcher.deliver_due() == "3 delivered"
    assert await dispatcher.deliver_due() == "2 delivered"
    assert [event["n"] for event in taken] == list(range(5))


@pytest.mark.proves("R-42")
@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
async def test_a_redirect_is_a_failed_delivery_that_says_where_it_pointed(system, site, status):
    page = site.serve("<html>Sign in</html>", path="/login")

    async def redirect(_):
        return web.Response(status=status, headers={"Location": f"{page}?token=s3cret"})

    hook = await hook_at(system, site.script(redirect, path="/hook"))
    await system.webhooks.ping(hook.id)
    assert await courier_of(system).deliver_due() == "0 delivered"
    [told] = await system.store.read(outbox.list_deliveries, webhook_id=hook.id, limit=1)
    assert (told.delivered_at, told.attempts) == (None, 1)
    assert told.next_try_at > system.clock.now()
    assert f"redirects to http://127.0.0.1:{site.port} (HTTP {status})" in told.last_error
    assert "s3cret" not in told.last_error
    assert site.hits["/login"] == 0


@pytest.mark.proves("R-42")
@pytest.mark.parametrize("length", [20 << 20, 10], ids=["more than anybody reads", "less than it said"])
async def test_what_is_answered_with_2xx_is_delivered_whatever_is_wrong_with_the_rest_of_the_answer(
    system, site, length
):
    async def answer(request):
        response = web.StreamResponse(headers={"Content-Length": str(length)})
        await response.prepare(request)
        await response.write(b"x")
        request.transport.close()
        return response

    hook = await hook_at(system, site.script(answer, path="/hook"))
    await system.webhooks.ping(hook.id)
    assert await courier_of(system).deliver_due() == "1 delivered"


@pytest.mark.proves("R-42")
@pytest.mark.parametrize("status", [300, 304, 404, 500])
async def test_nothing_but_2xx_is_a_delivery(system, site, status):
    hook = await hook_at(system, site.serve("", path="/hook", status=status))
    await system.webhooks.ping(hook.id)
    assert await courier_of(system).deliver_due() == "0 delivered"
