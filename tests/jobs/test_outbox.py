"""Events for others: at least once, in order, signed, and lost by no failure."""

from __future__ import annotations

import hashlib
import hmac
import json
from datetime import timedelta

import pytest
from aiohttp import web
from hypothesis import given
from hypothesis import strategies as st

from catchment.domain.caller import OPERATOR, Caller, Role
from catchment.domain.outbox import RETRIES, Topic, WebhookFormat, next_try
from catchment.errors import Conflict, InvalidInput, NotFound, RefusedAddress
from catchment.jobs.builtin import CLEANUP, OUTBOX
from catchment.manage.feeds import FeedDraft
from catchment.manage.webhooks import SUMMARIZATION, NewWebhook
from catchment.redact import MASK
from catchment.store import alert_queries, outbox
from collecting import add, collect
from feed_site import FeedSite
from sitemap_site import SitemapSite
from source_factory import START

HOUR = timedelta(hours=1)


class Receiver:
    """A webhook's other end: takes in what comes, or is down."""

    def __init__(self, site, path="/hook"):
        self.taken = []
        self.requests = []
        self.status = 204
        self.url = site.script(self._answer, path=path)

    async def _answer(self, request):
        body = await request.read()
        self.requests.append((dict(request.headers), body))
        if self.status == 204:
            self.taken.append(json.loads(body))
        return web.Response(status=self.status)


@pytest.fixture
async def system(open_test_system, tmp_path):
    async with open_test_system(home=tmp_path / "home") as system:
        await system.jobs.prepare()
        yield system


@pytest.fixture
async def site():
    async with FeedSite() as site:
        yield site


@pytest.fixture
def receiver(site):
    return Receiver(site)


async def listen(system, receiver, *topics, name="hook"):
    return await system.webhooks.add(NewWebhook(name=name, url=receiver.url, topics=topics or (Topic.ITEMS_NEW,)))


async def deliver(system, clock):
    """Let the dispatcher come by."""
    clock.advance(timedelta(seconds=11))
    await system.jobs.look_after(OUTBOX)


async def give_up_on(system, clock):
    """Let the dispatcher try the only event as often as it ever does."""
    for wait in (timedelta(0), *RETRIES):
        clock.advance(wait)
        await deliver(system, clock)
    [delivery] = await system.webhooks.deliveries()
    return delivery


@pytest.mark.proves("D-10")
async def test_new_items_are_told_once_with_their_source(system, site, receiver, clock):
    await listen(system, receiver)
    source = await add(system, site.feed("a", "b"))
    await collect(system)
    for _ in range(3):
        await deliver(system, clock)
    [event] = receiver.taken
    assert event["topic"] == "items.new"
    assert event["source"]["id"] == source.id
    assert [item["title"] for item in event["items"]] == ["Title a", "Title b"]


async def test_a_visit_without_news_tells_nothing(system, site, receiver, clock):
    await listen(system, receiver)
    await add(system, site.feed())
    await collect(system)
    await deliver(system, clock)
    assert receiver.requests == []


async def test_deliveries_are_signed_with_the_secret_that_was_shown_once(system, site, receiver, clock):
    _, secret = await listen(system, receiver)
    await add(system, site.feed("a"))
    await collect(system)
    await deliver(system, clock)
    [(headers, body)] = receiver.requests
    signed = f"{headers['X-Catchment-Timestamp']}.".encode() + body
    expected = hmac.new(secret.encode(), signed, hashlib.sha256).hexdigest()
    assert headers["X-Catchment-Signature"] == f"sha256={expected}"
    assert headers["X-Catchment-Delivery"] == json.loads(body)["id"]
    [hook] = await system.webhooks.list()
    assert secret not in str(hook)


@pytest.mark.proves("D-10")
async def test_a_receiver_that_is_down_for_an_hour_gets_everything_in_order_each_event_once(
    system, site, receiver, clock
):
    await listen(system, receiver)
    source = await add(system, site.feed("0"), config={"url": site.url(), "fetch_interval_minutes": 10})
    receiver.status = 503
    for number in range(1, 8):
        await collect(system)
        await deliver(system, clock)
        site.feed(*(str(one) for one in range(number + 1)))
        clock.advance(timedelta(minutes=10))
    assert receiver.taken == []
    receiver.status = 204
    clock.advance(2 * HOUR)
    await deliver(system, clock)
    titles = [item["title"] for event in receiver.taken for item in event["items"]]
    assert titles == [f"Title {number}" for number in range(7)]
    ids = [event["id"] for event in receiver.taken]
    assert len(set(ids)) == len(ids) == 7
    assert source.id


async def test_an_event_that_nobody_takes_in_is_given_up_and_those_behind_it_go_on(system, site, receiver, clock, log):
    hook, _ = await listen(system, receiver)
    await system.webhooks.ping(hook.id)
    receiver.status = 500
    delivery = await give_up_on(system, clock)
    assert delivery.dead_at is not None
    assert delivery.attempts == len(RETRIES) + 1
    assert "HTTP 500" in delivery.last_error
    assert any("given up" in line for line in log)
    receiver.status = 204
    await system.webhooks.ping(hook.id)
    await deliver(system, clock)
    assert len(receiver.taken) == 1


async def test_an_address_that_lets_anybody_in_is_neither_logged_nor_stored_with_a_failure(system, site, clock, log):
    receiver = Receiver(site, path="/services/T0A/B0B/QpZsEcReTpAtH")
    hook, _ = await listen(system, receiver)
    await system.webhooks.ping(hook.id)
    receiver.status = 404
    delivery = await give_up_on(system, clock)
    assert f"/services/T0A/B0B/{MASK}" in delivery.last_error
    assert [line for line in log if "given up" in line]
    assert not [line for line in log if "QpZsEcReTpAtH" in line]


async def test_a_dead_event_can_be_sent_again_under_the_same_id(system, receiver, clock):
    hook, _ = await listen(system, receiver)
    first = await system.webhooks.ping(hook.id)
    await system.store.write(outbox.record_failed, first.id, error="no", next_try_at=None, now=clock.now())
    again = await system.webhooks.redeliver(first.id)
    assert again.event_id == first.event_id
    await deliver(system, clock)
    assert [event["id"] for event in receiver.taken] == [first.event_id]


async def test_one_receiver_that_is_down_holds_up_no_other(system, site, receiver, clock):
    async with FeedSite() as elsewhere:
        other = Receiver(elsewhere)
        other.status = 500
        await listen(system, receiver)
        await listen(system, other, name="other")
        await add(system, site.feed("a"))
        await collect(system)
        await deliver(system, clock)
    assert len(receiver.taken) == 1
    assert other.taken == []


async def test_items_and_events_are_stored_together_or_not_at_all(system, site, receiver, monkeypatch):
    await listen(system, receiver)
    await add(system, site.feed("a"))

    def broken(*_args, **_kwargs):
        raise ValueError("no room")

    monkeypatch.setattr(outbox, "_delivery_row", broken)
    [result] = await collect(system)
    assert "cannot be stored" in result.error
    assert await system.webhooks.deliveries() == []


@pytest.mark.parametrize(
    ("changes", "error"),
    [
        ({"url": "http://10.0.0.1/"}, RefusedAddress),
        ({"url": "file:///etc/passwd"}, RefusedAddress),
        ({"topics": ("weather",)}, InvalidInput),
        ({"topics": ()}, InvalidInput),
        ({"name": " "}, InvalidInput),
    ],
)
async def test_a_webhook_that_cannot_be_is_refused(system, receiver, changes, error):
    values = {"name": "x", "url": receiver.url, "topics": (Topic.ITEMS_NEW,), **changes}
    with pytest.raises(error):
        await system.webhooks.add(NewWebhook(**values))
    assert await system.webhooks.list() == []


async def test_names_are_taken_once_and_unknown_ones_are_said_so(system, receiver):
    await listen(system, receiver)
    with pytest.raises(Conflict):
        await listen(system, receiver)
    with pytest.raises(NotFound):
        await system.webhooks.remove(999)
    with pytest.raises(NotFound):
        await system.webhooks.redeliver(999)


async def test_the_environment_turns_the_summarisations_webhook_on_and_off(system, receiver):
    await system.webhooks.follow_environment(url=receiver.url, is_enabled=True)
    await system.webhooks.follow_environment(url=receiver.url, is_enabled=True)
    [hook] = await system.webhooks.list()
    assert (hook.name, hook.topics, hook.is_active) == (SUMMARIZATION, (Topic.TWEETS_NEW,), True)
    await system.webhooks.follow_environment(url="", is_enabled=False)
    [hook] = await system.webhooks.list()
    assert (hook.is_active, hook.url) == (False, receiver.url)


@given(attempts=st.integers(1, 40))
def test_waits_grow_until_an_event_is_given_up(attempts):
    again = next_try(attempts, START)
    if attempts > len(RETRIES):
        assert again is None
    else:
        assert again >= next_try(max(1, attempts - 1), START) > START


async def test_what_a_sitemap_brings_is_told_as_well(system, site, receiver, clock):
    await listen(system, receiver)
    pages = SitemapSite(site)
    pages.write("/first")
    url = pages.publish()
    await add(system, url, type="sitemap")
    await collect(system)
    await deliver(system, clock)
    [event] = receiver.taken
    assert [item["url"] for item in event["items"]] == [site.url("/first")]


async def test_events_that_are_over_are_forgotten_with_the_items_and_those_that_wait_are_not(system, receiver, clock):
    hook, _ = await listen(system, receiver)
    await system.webhooks.ping(hook.id)
    await deliver(system, clock)
    receiver.status = 500
    waiting = await system.webhooks.ping(hook.id)
    clock.advance(timedelta(days=31))
    await system.jobs.look_after(CLEANUP)
    assert [delivery.id for delivery in await system.webhooks.deliveries()] == [waiting.id]


async def listen_to_feed(system, receiver, *, topics=(Topic.ITEMS_NEW,), form=WebhookFormat.JSON, **wanted):
    """A webhook that is told the new items of a feed with this filter."""
    await system.feeds.add(FeedDraft(slug="news", filter=wanted), OPERATOR)
    new = NewWebhook(name="chat", url=receiver.url, topics=topics, format=form, feed="news")
    return (await system.webhooks.add(new))[0]


def titles(receiver):
    return [item["title"] for event in receiver.taken for item in event["items"]]


@pytest.mark.proves("G-10")
@pytest.mark.parametrize(
    ("wanted", "told"),
    [
        ({"q": "采集"}, ["Title 数据采集", "Title 采集器"]),
        ({"q": '"采集" -采集器'}, ["Title 数据采集"]),
        ({"search": "title 天气"}, ["Title 天气"]),
        ({"exclude": [{"field": "title", "pattern": "采集"}]}, ["Title 天气"]),
        ({"tags": ["other"], "q": "采集"}, []),
        ({"tags": ["weather"]}, ["Title 数据采集", "Title 天气", "Title 采集器"]),
        ({"types": ["sitemap"]}, []),
        # It shows few, or those of today alone: what is new belongs to it all the same.
        ({"tags": ["weather"], "q": "采集", "limit": 1, "since_days": 1}, ["Title 数据采集", "Title 采集器"]),
    ],
)
async def test_a_webhook_with_a_feed_is_told_the_new_items_of_that_feed_alone(
    system, site, receiver, clock, wanted, told
):
    await listen_to_feed(system, receiver, **wanted)
    await add(system, site.feed("数据采集", "天气", "采集器"), tags=("weather",))
    await collect(system)
    clock.advance(timedelta(days=2))
    await deliver(system, clock)
    assert titles(receiver) == told
    # What is shown of the delivery is what was sent, and what was not sent is not shown as delivered.
    deliveries = await system.webhooks.deliveries()
    assert [item["title"] for one in deliveries for item in one.payload["items"]] == told
    assert len(deliveries) == len(receiver.requests) == (1 if told else 0)


@pytest.mark.proves("G-10")
async def test_a_chat_counts_and_shows_the_items_of_its_feed_alone(system, site, receiver, clock):
    await listen_to_feed(system, receiver, form=WebhookFormat.SLACK, q="采集")
    await add(system, site.feed("采集 1", "天气 2", "采集 3"), name="站点")
    await collect(system)
    await deliver(system, clock)
    [message] = receiver.taken
    assert message["blocks"][0]["text"]["text"] == "站点: 2 new items"
    assert "采集 1" in message["text"]
    assert "采集 3" in message["text"]
    assert "天气" not in message["text"]


async def test_of_a_source_that_the_owner_of_its_feed_may_not_see_a_webhook_is_told_nothing(
    system, site, receiver, clock
):
    ann = await system.accounts.add_user("ann@example.org")
    await system.feeds.add(FeedDraft(slug="anns", filter={}), Caller(role=Role.USER, user_id=ann.id))
    await system.webhooks.add(NewWebhook(name="chat", url=receiver.url, topics=(Topic.ITEMS_NEW,), feed="anns"))
    await add(system, site.feed("private"))
    await add(system, site.feed("public", path="/public"), is_public=True)
    await collect(system)
    await deliver(system, clock)
    assert titles(receiver) == ["Title public"]


async def test_a_feed_narrows_new_items_and_nothing_else(system, site, receiver, clock):
    hook = await listen_to_feed(system, receiver, topics=(Topic.ITEMS_NEW, Topic.ALERT), q="nowhere")
    await add(system, site.feed("a"))
    await collect(system)
    await system.store.write(outbox.emit, Topic.ALERT, [{"alert": "X"}], now=clock.now())
    await system.webhooks.ping(hook.id)
    await deliver(system, clock)
    assert [event["topic"] for event in receiver.taken] == ["alert", "ping"]


async def test_what_is_not_in_the_feed_does_not_count_as_taken_in(system, site, receiver, clock):
    hook = await listen_to_feed(system, receiver, q="nowhere")
    await system.webhooks.ping(hook.id)
    receiver.status = 500
    await give_up_on(system, clock)
    await add(system, site.feed("a"))
    await collect(system)
    await deliver(system, clock)
    [silent] = await system.store.read(alert_queries.silent_webhooks)
    assert (silent.id, silent.given_up) == (hook.id, 1)


@pytest.mark.proves("G-10")
async def test_a_feed_that_is_gone_fails_its_webhook_with_what_to_do_until_it_is_back(system, site, receiver, clock):
    await listen_to_feed(system, receiver)
    await system.feeds.remove("news", OPERATOR)
    await add(system, site.feed("a"))
    await collect(system)
    await deliver(system, clock)
    [failed] = await system.webhooks.deliveries()
    reason = "There is no feed news any more: make it again, or choose another for this webhook."
    assert (failed.delivered_at, failed.attempts, failed.last_error) == (None, 1, reason)
    assert receiver.requests == []
    await system.feeds.add(FeedDraft(slug="news", filter={}), OPERATOR)
    clock.advance(timedelta(minutes=1))
    await deliver(system, clock)
    assert titles(receiver) == ["Title a"]


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"feed": "nowhere"}, "There is no feed nowhere."),
        ({"feed": "No Such\ud800"}, "short name"),
        ({"feed": "news", "topics": (Topic.ALERT,)}, "A webhook with a feed listens to items.new."),
    ],
)
async def test_a_feed_that_could_never_tell_anything_is_refused(system, receiver, changes, reason):
    hook = await listen_to_feed(system, receiver)
    wanted = NewWebhook(**{"name": "x", "url": receiver.url, "topics": (Topic.ITEMS_NEW,), **changes})
    with pytest.raises(InvalidInput, match=reason):
        await system.webhooks.add(wanted)
    with pytest.raises(InvalidInput, match=reason):
        await system.webhooks.change(hook.id, wanted)
