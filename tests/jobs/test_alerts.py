"""Alerts end to end: what is amiss is told to whoever listens, in their form, and so is that it is over."""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import shutil
from datetime import timedelta
from types import SimpleNamespace

import pytest
from aiohttp import web
from sqlalchemy import insert, update

from catchment.cli.up import follow_environment
from catchment.domain.alert_rules import AlertRule, SourceTrouble
from catchment.domain.caller import OPERATOR
from catchment.domain.crawl_errors import Code, CrawlError
from catchment.domain.execution import Result
from catchment.domain.outbox import RETRIES, Topic, WebhookFormat
from catchment.domain.run import SCRAPER_JOB, RunKind, RunStatus
from catchment.domain.source import PausedBy
from catchment.errors import InvalidInput
from catchment.jobs.builtin import ALERTS, OUTBOX
from catchment.manage.webhooks import ALERTS as ALERT_HOOK
from catchment.manage.webhooks import NewWebhook
from catchment.store import alerts, fetch_log, incidents, jobs, outbox
from catchment.store.incidents import Incident
from catchment.store.platform_tables import cookies, scraper_fetch_stats, x_spending
from catchment.store.tables import candidates, runs, sources
from collecting import add, collect, collect_one
from crawl_notes import add_keyword, listed, ref
from feed_site import FeedSite
from stores import on_both_stores, on_sqlite_alone

pytestmark = on_sqlite_alone

MINUTE, DAY = timedelta(minutes=1), timedelta(days=1)
HALF, GB = timedelta(seconds=30), 1024**3


class Receiver:
    """The other end of a webhook, with an answer of its own."""

    def __init__(self, site, path="/hook"):
        self.taken = []
        self.status, self.body = 200, b'{"code": 0}'
        self.url = site.script(self._answer, path=path)

    async def _answer(self, request):
        body = await request.read()
        if self.status == 200:
            self.taken.append((dict(request.headers), json.loads(body)))
        return web.Response(status=self.status, body=self.body)

    @property
    def news(self):
        return [(body["alert"], body["state"]) for _, body in self.taken]


@pytest.fixture(autouse=True)
def roomy(monkeypatch):
    """Whatever the disk of the machine is like."""
    set_free(monkeypatch, 50 * GB)


def set_free(monkeypatch, free):
    monkeypatch.setattr(shutil, "disk_usage", lambda _: SimpleNamespace(total=100 * GB, free=free))


@pytest.fixture
async def site():
    async with FeedSite() as site:
        yield site


@pytest.fixture
def receiver(site):
    return Receiver(site)


@pytest.fixture
async def system(open_test_system, tmp_path):
    settings = {"twitter_daily_pages": 10, "home": tmp_path / "home"}
    async with open_test_system(**settings) as system:
        await system.jobs.prepare()
        yield system


async def listen(system, receiver, form=WebhookFormat.JSON, **values):
    new = NewWebhook(name=f"{form} hook", url=receiver.url, topics=(Topic.ALERT,), format=form, **values)
    return await system.webhooks.add(new)


async def watch(system, clock, wait=HALF):
    """Time passes; the watch looks as often as it would, and the dispatcher comes by."""
    end = clock.now() + wait
    while clock.now() < end:
        clock.advance(min(wait, 5 * MINUTE, end - clock.now()))
        await system.jobs.look_after(ALERTS)
    await system.jobs.look_after(OUTBOX)


async def write(system, statement):
    await system.store.write(lambda conn: conn.execute(statement) and None)


async def add_source(system, site, name="feed"):
    return await add(system, site.feed("a", path=f"/{name}"), type="rss")


#: What the rows of sources are like in each trouble, and what makes them well.
IN_TROUBLE = {
    SourceTrouble.BROKEN: (
        {"is_active": False, "paused_by": PausedBy.ERROR, "last_error": "HTTP 500"},
        {"is_active": True, "paused_by": None},
    ),
    SourceTrouble.GONE: (
        {"is_active": False, "paused_by": PausedBy.GONE, "last_error": "HTTP 410"},
        {"is_active": True, "paused_by": None},
    ),
    SourceTrouble.QUIET: ({"quiet_at": "past"}, {"quiet_at": None}),
    SourceTrouble.GAP: ({"gap_at": "past"}, {"gap_at": None}),
}


@on_both_stores
@pytest.mark.proves("A-35")
@pytest.mark.parametrize("amiss", SourceTrouble, ids=lambda one: one.name)
async def test_a_source_in_trouble_raises_an_alert_that_resolves_when_it_is_well(system, site, receiver, clock, amiss):
    rule, (trouble, well) = amiss.rule, IN_TROUBLE[amiss]
    await listen(system, receiver)
    source = await add_source(system, site)
    past = clock.now() - DAY
    values = {name: past if value == "past" else value for name, value in trouble.items()}
    await write(system, update(sources).where(sources.c.id == source.id).values(next_check_at=None, **values))
    for _ in range(3):
        await watch(system, clock)
    assert receiver.news == [(rule, "firing")]
    assert receiver.taken[0][1]["subject"] == str(source.id)
    said = amiss.message.english.format(name=source.name, detail="|").split("|")[0]
    assert receiver.taken[0][1]["message"].startswith(said), "this trouble and no other of its rule"
    await write(system, update(sources).where(sources.c.id == source.id).values(**well))
    for _ in range(3):
        await watch(system, clock)
    assert receiver.news == [(rule, "firing"), (rule, "resolved")]


@pytest.mark.proves("A-35")
async def test_a_source_that_fails_until_it_is_paused_is_told_of_and_again_when_a_probe_succeeds(
    system, site, receiver, clock
):
    await listen(system, receiver)
    source = await add_source(system, site)
    site.serve("", status=500, path="/feed")
    for _ in range(5):
        await collect(system)
        clock.advance(DAY)
    await watch(system, clock)
    assert receiver.news == [(AlertRule.SOURCE_BROKEN, "firing")]
    assert "HTTP 500" in receiver.taken[0][1]["message"]
    site.feed("a", "b", path="/feed")
    await collect_one(system, source.id)
    await watch(system, clock)
    assert receiver.news[-1] == (AlertRule.SOURCE_BROKEN, "resolved")


async def requests_fail(system, site, clock):
    await system.store.write(count_requests, ok=5, failed=5, now=clock.now())


async def requests_succeed(system, site, clock):
    await system.store.write(count_requests, ok=600, failed=0, now=clock.now())


def count_requests(conn, *, ok, failed, now):
    for is_ok in [True] * ok + [False] * failed:
        fetch_log.record_request(conn, "xhs", ok=is_ok, now=now)


async def notes_pile_up(system, site, clock):
    source = await add_source(system, site)
    await write(system, update(sources).values(next_check_at=None))
    rows = [
        {
            "source_id": source.id,
            "key": number.to_bytes(16),
            "native_id": str(number),
            "platform": "xhs",
            "url": f"https://x.example/{number}",
            "facts": {},
            "state": 0,
            "attempts": 0,
            "is_doubted": False,
            "first_seen": clock.now(),
            "last_seen": clock.now(),
        }
        for number in range(501)
    ]
    await write(system, insert(candidates).values(rows))


async def notes_are_read(system, site, clock):
    await write(system, update(candidates).values(state=1))


async def cookies_are_gone(system, site, clock):
    row = {
        "name": "one",
        "platform": "xhs",
        "sealed": "v2:",
        "key_id": "k",
        "status": "invalid",
        "is_enabled": True,
        "priority": 1,
        "daily_limit": 100,
        "daily_used": 0,
        "consecutive_errors": 0,
        "total_used": 0,
        "total_errors": 0,
        "counted_since": clock.now(),
        "description": "",
        "created_at": clock.now(),
        "updated_at": clock.now(),
    }
    await write(system, insert(cookies).values(row))


async def cookies_are_back(system, site, clock):
    await write(system, update(cookies).values(status="active"))


async def cookies_are_lent_often(system, site, clock):
    """Twenty times in the last hour; ten times are left of this day."""
    await cookies_are_gone(system, site, clock)
    await write(system, update(cookies).values(status="active", daily_limit=10))
    moments = dict.fromkeys(("started_at", "heartbeat_at", "lease_until", "finished_at"), clock.now())
    lent = {
        "kind": RunKind.COOKIE,
        "subject": "one",
        "owner": "a",
        "status": RunStatus.COMPLETED,
        "progress": {},
        **moments,
    }
    await write(system, insert(runs).values([lent] * 20))


async def cookies_last(system, site, clock):
    await write(system, update(cookies).values(daily_limit=1000))


async def locks_are_recovered(system, site, clock):
    await system.store.write(incidents.record_recovery, executions=1, records=0, now=clock.now())


def x_says(kind):
    async def amiss(system, site, clock):
        await system.store.write(incidents.record, kind, message="as it was said", now=clock.now())

    return amiss


async def key_is_good(system, site, clock):
    row = {
        "username": "ada",
        "last_fetch_at": clock.now(),
        "last_fetched_count": 1,
        "last_new_count": 1,
        "total_fetches": 1,
        "avg_new_rate": 1.0,
        "consecutive_empty_fetches": 0,
        "created_at": clock.now(),
        "updated_at": clock.now(),
    }
    await write(system, insert(scraper_fetch_stats).values(row))


async def scrape_fails(system, site, clock):
    await system.store.write(jobs.ensure, SCRAPER_JOB, due_at=clock.now() + DAY)
    await system.store.write(jobs.record_end, SCRAPER_JOB, now=clock.now(), ok=False, message="no timeline was read")


async def scrape_succeeds(system, site, clock):
    await system.store.write(jobs.record_end, SCRAPER_JOB, now=clock.now(), ok=True, message="")


async def pages_are_spent(system, site, clock):
    await write(system, insert(x_spending).values(day=clock.now().date(), pages=8))


async def pages_are_back(system, site, clock):
    await write(system, update(x_spending).values(pages=1))


async def sources_wait(system, site, clock):
    await add_source(system, site)
    await write(system, update(sources).values(next_check_at=clock.now()))


async def sources_are_visited(system, site, clock):
    await write(system, update(sources).values(next_check_at=None))


async def a_note_cannot_be_asked_for(system, site, clock):
    source = await add_keyword(system.store, clock, "coffee")
    begun = await system.workflow.acquire("media_crawler")
    await system.workflow.report(begun.execution_id, source.id, listed(1))
    await system.workflow.claim(begun.execution_id, limit=1)
    error = CrawlError(Code.INVALID_INPUT, "It has no token.")
    await system.workflow.give_up(begun.execution_id, ref(1).note_id, error)
    await system.workflow.release(begun.execution_id, Result())
    # Without a cookie there would be another alert.
    await write(system, update(sources).values(is_active=False, paused_by=PausedBy.PERSON))


async def nothing(system, site, clock):
    pass


#: What is amiss, for how many minutes nothing is said of it, what makes it well, and how long that takes.
SITUATIONS = {
    AlertRule.COOKIE_EXHAUSTED: (cookies_are_gone, 0, cookies_are_back, HALF),
    AlertRule.COOKIES_RUNNING_DRY: (cookies_are_lent_often, 4, cookies_last, HALF),
    AlertRule.API_SUCCESS_RATE_LOW: (requests_fail, 9, requests_succeed, HALF),
    AlertRule.PROCESSING_BACKLOG: (notes_pile_up, 29, notes_are_read, HALF),
    AlertRule.LOCK_TIMEOUT_RECOVERED: (locks_are_recovered, 0, nothing, 16 * MINUTE),
    AlertRule.INVALID_INPUT: (a_note_cannot_be_asked_for, 0, nothing, 16 * MINUTE),
    AlertRule.X_KEY_REFUSED: (x_says(Incident.X_KEY_REFUSED), 0, key_is_good, HALF),
    AlertRule.X_NO_CREDIT: (x_says(Incident.X_NO_CREDIT), 0, key_is_good, HALF),
    AlertRule.X_RATE_LIMITED: (x_says(Incident.X_RATE_LIMITED), 0, key_is_good, 16 * MINUTE),
    AlertRule.X_SCRAPE_FAILED: (scrape_fails, 0, scrape_succeeds, HALF),
    AlertRule.SPENDING_NEAR_CAP: (pages_are_spent, 0, pages_are_back, HALF),
    AlertRule.COLLECTOR_LATE: (sources_wait, 18, sources_are_visited, HALF),
}
#: Those that have a test of their own below.
TOLD_TOGETHER = {AlertRule.WEBHOOK_GIVEN_UP, AlertRule.DISK_NEARLY_FULL}


def test_of_every_rule_there_is_a_situation_in_which_it_fires():
    assert {*SITUATIONS, *TOLD_TOGETHER, *(trouble.rule for trouble in IN_TROUBLE)} == set(AlertRule)
    assert set(IN_TROUBLE) == set(SourceTrouble)


@on_both_stores
@pytest.mark.proves("E-12", "E-21")
@pytest.mark.parametrize("rule", SITUATIONS)
async def test_each_rule_fires_in_its_time_and_resolves(system, site, receiver, clock, rule):
    amiss, before, well, after = SITUATIONS[rule]
    await listen(system, receiver)
    await amiss(system, site, clock)
    for _ in range(before):
        await watch(system, clock, MINUTE)
        if rule is AlertRule.API_SUCCESS_RATE_LOW:
            await amiss(system, site, clock)
    assert receiver.news == []
    for _ in range(4):
        await watch(system, clock, HALF)
    assert receiver.news == [(rule, "firing")]
    await well(system, site, clock)
    await watch(system, clock, after)
    assert receiver.news[-1] == (rule, "resolved")
    await watch(system, clock)
    assert [state for _, state in receiver.news].count("resolved") == 1


@pytest.mark.proves("E-12")
async def test_a_full_disk_and_a_webhook_that_was_given_up_are_told_of(system, site, receiver, clock, monkeypatch):
    await listen(system, receiver)
    gone = Receiver(site, path="/gone")
    gone.status = 500
    deaf, _ = await system.webhooks.add(NewWebhook(name="deaf", url=gone.url, topics=(Topic.ITEMS_NEW,)))
    await system.webhooks.ping(deaf.id)
    for wait in (timedelta(0), *RETRIES):
        clock.advance(wait + timedelta(seconds=11))
        await system.jobs.look_after(OUTBOX)
    set_free(monkeypatch, GB)
    for _ in range(4):
        await watch(system, clock, MINUTE)
    assert set(receiver.news) == {(rule, "firing") for rule in TOLD_TOGETHER}
    gone.status = 200
    await system.webhooks.ping(deaf.id)
    set_free(monkeypatch, 50 * GB)
    await watch(system, clock)
    await watch(system, clock)
    assert set(receiver.news[2:]) == {(rule, "resolved") for rule in TOLD_TOGETHER}


@pytest.mark.proves("E-12")
async def test_all_three_forms_reach_their_receivers_signed(system, site, clock):
    ends = {form: Receiver(site, path=f"/{form}") for form in WebhookFormat}
    _, own = await listen(system, ends[WebhookFormat.JSON])
    await listen(system, ends[WebhookFormat.LARK], WebhookFormat.LARK, secret="bot secret")
    await listen(system, ends[WebhookFormat.SLACK], WebhookFormat.SLACK)
    await cookies_are_gone(system, site, clock)
    await watch(system, clock)
    [(headers, body)] = ends[WebhookFormat.JSON].taken
    signed = f"{headers['X-Catchment-Timestamp']}.".encode() + json.dumps(body).encode()
    assert headers["X-Catchment-Signature"] == f"sha256={hmac.new(own.encode(), signed, hashlib.sha256).hexdigest()}"
    assert body["runbook"] == "docs/runbooks/cookie-exhausted.md"
    [(_, card)] = ends[WebhookFormat.LARK].taken
    digest = hmac.new(f"{card['timestamp']}\nbot secret".encode(), b"", hashlib.sha256).digest()
    assert card["sign"] == base64.b64encode(digest).decode()
    assert card["card"]["header"]["template"] == "red"
    [(_, message)] = ends[WebhookFormat.SLACK].taken
    assert "COOKIE_EXHAUSTED" in message["text"]


@pytest.mark.proves("E-12")
async def test_a_card_that_lark_refuses_in_its_answer_is_sent_again_and_only_then_cools_down(
    system, site, receiver, clock
):
    await listen(system, receiver, WebhookFormat.LARK)
    receiver.body = b'{"code": 19001, "msg": "param invalid"}'
    await cookies_are_gone(system, site, clock)
    await watch(system, clock)
    [delivery] = await system.webhooks.deliveries()
    assert (delivery.delivered_at, "param invalid" in delivery.last_error) == (None, True)
    for _ in range(12):
        await watch(system, clock)
    assert len(await system.webhooks.deliveries()) == 1
    receiver.body = b'{"StatusCode": 0}'
    await watch(system, clock, 20 * MINUTE)
    [delivery] = await system.webhooks.deliveries()
    heard = delivery.delivered_at
    assert heard is not None
    for _ in range(9):
        await watch(system, clock)
    assert len(await system.webhooks.deliveries()) == 1
    await watch(system, clock, MINUTE)
    assert len(await system.webhooks.deliveries()) == 2


async def test_what_is_decided_and_what_is_told_are_stored_together(system, site, receiver, clock, monkeypatch):
    await listen(system, receiver)
    await cookies_are_gone(system, site, clock)
    with monkeypatch.context() as broken:

        def dies(*_args, **_kwargs):
            raise KeyboardInterrupt("the process is gone")

        broken.setattr(outbox, "emit", dies)
        clock.advance(HALF)
        with pytest.raises(KeyboardInterrupt):
            await system.jobs._jobs[ALERTS].work()
    assert await system.store.read(alerts.list_known) == []
    for _ in range(3):
        await watch(system, clock)
    assert receiver.news == [(AlertRule.COOKIE_EXHAUSTED, "firing")]


async def test_where_nobody_listens_the_log_is_told_in_its_cool_down(system, site, clock, log):
    await cookies_are_gone(system, site, clock)
    for _ in range(4):
        await watch(system, clock)
    told = [line for line in log if "COOKIE_EXHAUSTED" in line]
    assert [line[:35] for line in told] == ["ERROR alert P0 COOKIE_EXHAUSTED: No"]
    await cookies_are_back(system, site, clock)
    await watch(system, clock)
    assert any(line.startswith("INFO alert P0 resolved: COOKIE_EXHAUSTED") for line in log)


@on_both_stores
async def test_many_sources_that_break_at_once_are_one_letter(system, site, receiver, clock):
    await listen(system, receiver)
    for number in range(12):
        await add_source(system, site, f"f{number}")
    broken = {"is_active": False, "paused_by": PausedBy.ERROR, "last_error": "no route", "next_check_at": None}
    await write(system, update(sources).values(**broken))
    await watch(system, clock)
    [(_, body)] = receiver.taken
    assert len(body["alerts"]) == 12
    assert body["message"].endswith("And 11 more.")


@pytest.mark.proves("E-12")
async def test_the_environment_asks_for_a_webhook_of_alerts_and_takes_it_away(
    open_test_system, receiver, clock, tmp_path
):
    home = {"home": tmp_path / "home"}
    wanted = {"alert_webhook_url": receiver.url, "alert_webhook_format": "lark", "alert_webhook_secret": "s"}
    for _ in range(2):
        async with open_test_system(**home, **wanted) as system:
            await follow_environment(system)
            [hook] = await system.webhooks.list()
            assert (hook.name, hook.format, hook.topics) == (ALERT_HOOK, WebhookFormat.LARK, (Topic.ALERT,))
            await system.webhooks.ping(hook.id)
            await system.jobs.prepare()
            clock.advance(timedelta(seconds=11))
            await system.jobs.look_after(OUTBOX)
    assert all("sign" in body for _, body in receiver.taken)
    async with open_test_system(**home) as system:
        await follow_environment(system)
        assert await system.webhooks.list() == []
        with pytest.raises(InvalidInput, match=ALERT_HOOK):
            await system.webhooks.add(NewWebhook(name=ALERT_HOOK, url=receiver.url, topics=(Topic.ALERT,)))


@on_both_stores
async def test_what_ended_long_ago_is_forgotten(system, site, clock):
    await cookies_are_gone(system, site, clock)
    await watch(system, clock)
    await cookies_are_back(system, site, clock)
    await watch(system, clock)
    await locks_are_recovered(system, site, clock)
    await system.store.write(alerts.delete_old, before=clock.now() + DAY)
    await system.store.write(incidents.delete_old, before=clock.now() + DAY)
    assert await system.store.read(alerts.list_known) == []
    assert await system.store.read(incidents.count_by_kind, since=clock.now() - DAY) == {}


@on_both_stores
@pytest.mark.proves("G-08")
async def test_each_turn_of_an_alert_stays_and_a_mute_is_of_all_of_them(system, site, receiver, clock):
    await listen(system, receiver)
    await cookies_are_gone(system, site, clock)
    for _ in range(2):
        await cookies_die(system)
        await watch(system, clock)
        await cookies_are_back(system, site, clock)
        await watch(system, clock)
    second, first = await shown_alerts(system, clock)
    assert first.resolved_at < second.since
    assert [one.id for one in await system.store.read(alerts.list_known)] == [second.id], "the next begins after that"
    assert first.event_id == second.event_id, "told once in its cool-down"
    assert first.is_told
    assert not second.is_told
    assert receiver.news == [(AlertRule.COOKIE_EXHAUSTED, "firing"), (AlertRule.COOKIE_EXHAUSTED, "resolved")]
    until = clock.now() + DAY
    assert await system.store.write(alerts.mute, first.id, until=until)
    await cookies_die(system)
    await watch(system, clock, 10 * MINUTE)
    assert len(receiver.news) == 2
    assert [(one.is_open, one.muted_until) for one in await shown_alerts(system, clock)] == [
        (True, until),
        (False, until),
        (False, until),
    ]


@on_both_stores
async def test_of_what_comes_and_goes_all_the_time_the_last_turns_are_kept(system, site, clock, monkeypatch):
    monkeypatch.setattr(alerts, "MAX_TURNS", 3)
    await cookies_are_gone(system, site, clock)
    began = []
    for _ in range(5):
        await cookies_die(system)
        await watch(system, clock)
        began.append(clock.now())
        await cookies_are_back(system, site, clock)
        await watch(system, clock)
    assert [one.since for one in await shown_alerts(system, clock)] == began[:1:-1]


async def cookies_die(system):
    await write(system, update(cookies).values(status="invalid"))


async def shown_alerts(system, clock):
    return await system.store.read(alerts.list_shown, OPERATOR, ended_since=clock.now() - DAY, limit=100)
