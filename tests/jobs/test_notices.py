"""Notices by Apprise: the real one, sending to a server here by way of the outbox, and kept from all else."""

from __future__ import annotations

import asyncio
import json
import sys
from datetime import timedelta

import pytest
from aiohttp import web

from catchment.crypto import is_sealed
from catchment.domain.outbox import Topic, WebhookFormat
from catchment.errors import InvalidInput, RefusedAddress, TimedOut
from catchment.fetch import apprise
from catchment.fetch.apprise import Notice, NoticeSender
from catchment.jobs.builtin import OUTBOX
from catchment.manage.webhooks import NewWebhook
from catchment.monitor.audit import audit_store
from catchment.publish.payloads import Message, for_chats
from catchment.redact import MASK
from catchment.store import outbox
from collecting import add, collect
from feed_site import FeedSite

TOKEN = "example-of-what-lets-in"
HELLO = Notice(title="Catchment", body="says hello")


class Chat:
    """What a service that takes notices does: takes them in, or is down."""

    def __init__(self, site, path=f"/{TOKEN}"):
        self.taken, self.status = [], 200
        self.url = site.script(self._answer, path=path).replace("http://", "json://")

    async def _answer(self, request):
        if self.status == 200:
            self.taken.append(json.loads(await request.read()))
        return web.Response(status=self.status)


@pytest.fixture
async def site():
    async with FeedSite() as site:
        yield site


@pytest.fixture
def chat(site):
    return Chat(site)


@pytest.fixture
async def system(open_test_system, tmp_path):
    async with open_test_system(home=tmp_path / "home") as system:
        await system.jobs.prepare()
        yield system


def wanted(url, *topics):
    return NewWebhook(name="chat", url=url, topics=topics or (Topic.ALERT,), format=WebhookFormat.APPRISE)


def sender(*schemes, networks="127.0.0.1", **rest):
    return NoticeSender(schemes=frozenset(schemes or {"json"}), allow_networks=networks, **rest)


async def deliver(system, clock):
    clock.advance(timedelta(seconds=11))
    await system.jobs.look_after(OUTBOX)
    return (await system.webhooks.deliveries())[0]


@pytest.mark.proves("H-04")
async def test_new_items_and_a_test_message_reach_a_service_by_its_address(system, chat, site, clock):
    hook, secret = await system.webhooks.add(wanted(chat.url, Topic.ITEMS_NEW))
    assert secret == ""
    await system.webhooks.ping(hook.id)
    assert (await deliver(system, clock)).delivered_at is not None
    await add(system, site.feed("第一条 @everyone"))
    await collect(system)
    assert (await deliver(system, clock)).delivered_at is not None
    ping, items = chat.taken
    assert (ping["title"], ping["message"], ping["type"]) == ("Catchment", "Catchment says hello.", "info")
    assert "1 new item" in items["title"]
    assert "第一条 @\u200beveryone" in items["message"]


@pytest.mark.proves("H-04")
async def test_what_is_not_taken_in_is_sent_again(system, chat, clock):
    await system.webhooks.add(wanted(chat.url))
    chat.status = 500
    told = {"alert": "DISK_NEARLY_FULL", "severity": "P1", "message": "The disk is nearly full."}
    await system.store.write(outbox.emit, Topic.ALERT, [told], now=clock.now())
    failed = await deliver(system, clock)
    assert (failed.attempts, failed.delivered_at) == (1, None)
    assert "error=500" in failed.last_error
    assert TOKEN not in failed.last_error
    chat.status = 200
    clock.advance(timedelta(minutes=1))
    assert (await deliver(system, clock)).attempts == 2
    assert [(one["title"], one["type"]) for one in chat.taken] == [("P1 DISK_NEARLY_FULL", "failure")]


@pytest.mark.proves("H-04")
async def test_an_address_is_sealed_as_it_is_stored_and_masked_as_it_is_shown(system, chat):
    hook, _ = await system.webhooks.add(wanted(chat.url))
    assert hook.url == f"json://{MASK}"
    [stored] = await system.store.read(outbox.list_webhooks)
    assert is_sealed(stored.url)
    assert await audit_store(system.store) == []
    await system.store.write(outbox.change_webhook, hook.id, {"url": chat.url})
    assert [issue.kind for issue in await audit_store(system.store)] == ["unsealed_secret"]


@pytest.mark.proves("H-04")
@pytest.mark.parametrize(
    ("url", "why"),
    [
        ("dbus://", "dbus:// are not allowed here; CATCHMENT_APPRISE_SCHEMES"),
        ("a room of mine", "begins with the name of a service"),
        ("tgram://nonsense", "Apprise does not take this address"),
    ],
)
async def test_an_address_that_nobody_allowed_or_understands_is_refused_when_it_is_added(system, url, why):
    with pytest.raises(InvalidInput, match=why):
        await system.webhooks.add(wanted(url))


@pytest.mark.proves("H-04")
async def test_without_the_extra_one_sentence_names_it(system, chat, monkeypatch):
    monkeypatch.setattr(apprise, "find_spec", lambda name: None)
    with pytest.raises(InvalidInput, match=r"pip install 'catchment\[notify\]'"):
        await system.webhooks.add(wanted(chat.url))


@pytest.mark.proves("H-04")
async def test_a_private_address_is_dialled_only_where_somebody_vouched_for_it(chat):
    with pytest.raises(RefusedAddress, match="not a public address"):
        await sender(networks="").send(chat.url, HELLO)
    with pytest.raises(RefusedAddress, match="not a public address"):
        await sender(networks="").send(chat.url.replace("127.0.0.1", "localhost"), HELLO)
    assert chat.taken == []
    await sender(networks="").send(chat.url, HELLO, allow_private=True)
    assert len(chat.taken) == 1


@pytest.mark.proves("H-04")
async def test_a_redirect_leads_to_nothing_that_may_not_be_dialled(site):
    async def away(_):
        return web.Response(status=302, headers={"Location": "http://169.254.169.254/secrets"})

    url = site.script(away, path="/away").replace("http://", "json://")
    with pytest.raises(RefusedAddress, match=r"169\.254\.169\.254"):
        await sender().send(f"{url}?redirect=yes", HELLO)


@pytest.mark.proves("H-04")
async def test_a_service_that_never_answers_is_left_after_its_time(site):
    held = site.script(_never, path="/held").replace("http://", "json://")
    with pytest.raises(TimedOut, match="longer than 3 seconds"):
        await sender(seconds=3.0).send(f"{held}?rto=60", HELLO)


async def _never(request):
    await request.read()
    await asyncio.Event().wait()


@pytest.mark.proves("H-04")
async def test_the_process_that_sends_opens_no_file_and_starts_no_program(tmp_path):
    secret = tmp_path / "secret"
    secret.write_text("s3cret")
    script = (
        "import os, subprocess, sys\n"
        "from catchment.fetch import apprise\n"
        "from catchment.fetch.guard import AddressGuard\n"
        "apprise._watch(AddressGuard(), [])\n"
        f"tries = [lambda: open({str(secret)!r}), lambda: os.open({str(secret)!r}, os.O_RDONLY),\n"
        f"  lambda: open({str(tmp_path / 'new')!r}, 'w'), lambda: subprocess.run(['true']), lambda: os.system('true')]\n"
        "for one in tries:\n"
        "    try: one()\n"
        "    except PermissionError: print('refused')\n"
    )

    process = await asyncio.create_subprocess_exec(sys.executable, "-c", script, stdout=asyncio.subprocess.PIPE)
    said, _ = await process.communicate()
    assert said.split() == [b"refused"] * 5


@pytest.mark.parametrize(
    ("said", "heard"),
    [
        ("@everyone look", "@\u200beveryone look"),
        ("<!channel> and <@&12>", "<\u200b!channel> and <\u200b@\u200b&12>"),
        ("write to me@example.org", "write to me@example.org"),
    ],
)
def test_what_a_stranger_wrote_calls_nobody(said, heard):
    assert for_chats(Message(title=said, lines=(said,))) == Message(title=heard, lines=(heard,))
