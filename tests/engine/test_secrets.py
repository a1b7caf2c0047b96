"""Secrets of sources and webhooks: sealed at rest, masked everywhere, told to nobody but whom they were entered for."""

from __future__ import annotations

import json
from datetime import timedelta
from typing import Any

import pytest
from aiohttp import web
from sqlalchemy import select, update

from catchment.bootstrap import System
from catchment.crypto import is_sealed
from catchment.domain.caller import OPERATOR
from catchment.domain.listing import SourceList
from catchment.domain.outbox import Topic
from catchment.errors import Conflict, InvalidInput
from catchment.manage.catalog import Change, Draft
from catchment.manage.import_export import ListFormat, export_sources, import_sources, listed_of
from catchment.manage.packs import PackDraft
from catchment.manage.webhooks import SUMMARIZATION, NewWebhook
from catchment.monitor.audit import audit_store
from catchment.redact import MASK
from catchment.store import outbox
from catchment.store.tables import metadata, sources, webhooks
from collecting import collect, collect_one, get
from feed_site import FeedSite
from stores import on_both_stores, on_sqlite_alone

pytestmark = on_sqlite_alone

TOKEN = "t0ken-0f-the-feed"
VALUE = "h3ader-va1ue"


@pytest.fixture
async def site():
    async with FeedSite() as site:
        yield site


@pytest.fixture
async def system(open_test_system, tmp_path):
    async with open_test_system(home=tmp_path / "home") as system:
        yield system


async def add(system: System, url: str, **options: Any):
    return await system.catalog.add(Draft(type="rss", config={"url": url, **options}, name="one"), OPERATOR)


async def written(system: System) -> str:
    """Every text of the store that could hold them."""
    rows = []
    for table in metadata.sorted_tables:
        found = await system.store.read(lambda conn, one=table: conn.execute(select(one)).all())
        rows += [str(row) for row in found]
    return "\n".join(rows)


@on_both_stores
@pytest.mark.proves("R-23")
async def test_the_token_in_an_address_is_sent_and_stands_nowhere(system: System, site: FeedSite, log):
    url = f"{site.feed('a')}?page=1&token={TOKEN}"
    source = await add(system, url, headers={"X-Anything": VALUE})
    [result] = await collect(system)
    assert (result.error, result.inserted) == (None, 1)
    assert site.requests[0].query["token"] == TOKEN
    assert site.requests[0].headers["X-Anything"] == VALUE
    kept = await get(system, source)
    assert kept.config["url"].endswith(f"?page=1&token={MASK}")
    everything = await written(system)
    for form in ListFormat:
        exported = [part async for part in export_sources(system.catalog, OPERATOR, form, now=system.clock.now())]
        everything += str(exported)
    assert TOKEN not in everything + str(log)
    assert VALUE not in everything + str(log)
    assert await audit_store(system.store) == []


@on_both_stores
@pytest.mark.proves("R-23")
async def test_the_token_in_the_address_of_a_sitemap_stands_nowhere_and_it_is_known_all_the_same(
    system: System, site: FeedSite, clock, log
):
    page = site.serve("<html><head><title>One</title></head><body><p>Words.</p></body></html>", path="/page")
    listed = f"<urlset xmlns='http://www.sitemaps.org/schemas/sitemap/0.9'><url><loc>{page}</loc></url></urlset>"
    url = site.serve(listed, path="/sitemap.xml", headers={"ETag": '"1"'})
    await system.catalog.add(Draft(type="sitemap", config={"url": f"{url}?token={TOKEN}"}, name="one"), OPERATOR)
    for _ in range(2):
        [result] = await collect(system)
        assert result.error is None
        clock.advance(timedelta(days=1))
    asked = [request.headers.get("If-None-Match") for request in site.requests if request.query.get("token") == TOKEN]
    assert asked == [None, '"1"']
    assert TOKEN not in await written(system) + str(log)


@pytest.mark.proves("R-23")
async def test_a_source_with_a_token_in_its_address_is_still_the_same_one(system: System, site: FeedSite):
    first = await add(system, f"{site.feed('a')}?token={TOKEN}")
    with pytest.raises(Conflict) as twin:
        await add(system, f"{site.url()}?token={TOKEN}")
    assert twin.value.existing_id == first.id
    await add(system, f"{site.url()}?token=another-one")


@pytest.mark.proves("R-23")
async def test_a_config_comes_back_as_it_is_shown_and_is_the_one_that_was_there(system: System, site: FeedSite):
    source = await add(system, f"{site.feed('a')}?token={TOKEN}", headers={"X-Anything": VALUE})
    shown = {key: value for key, value in source.config.items() if key != "sealed"}
    changed = await system.catalog.change(source.id, Change(config={**shown, "user_agent": "Other/1"}), OPERATOR)
    assert changed.identity == source.identity
    await system.catalog.change(source.id, Change(fetch_interval_minutes=30), OPERATOR)
    await collect(system)
    asked = site.requests[0]
    assert (asked.query["token"], asked.headers["X-Anything"], asked.headers["User-Agent"]) == (TOKEN, VALUE, "Other/1")


@pytest.mark.proves("R-22")
@pytest.mark.parametrize(
    "secret",
    [
        {"headers": {"X-Lang": MASK}},
        {"basic_auth": {"username": "u", "password": MASK}},
    ],
    ids=lambda secret: next(iter(secret)),
)
async def test_whoever_moves_a_source_elsewhere_enters_its_secrets_again(system: System, site: FeedSite, secret):
    plain = json.loads(json.dumps(secret).replace(MASK, VALUE))
    source = await add(system, site.feed("a"), **plain)
    async with FeedSite() as other:
        there = other.feed("a")
        with pytest.raises(InvalidInput, match="enter it again"):
            await system.catalog.change(source.id, Change(config={"url": there, **secret}), OPERATOR)
        assert (await get(system, source)).config["url"] == site.url()
        elsewhere = site.feed("a", path="/other")
        await system.catalog.change(source.id, Change(config={"url": elsewhere, **secret}), OPERATOR)
        await system.catalog.change(source.id, Change(config={"url": there, **plain}), OPERATOR)
        await system.catalog.change(source.id, Change(config={"url": there}), OPERATOR)
        assert "sealed" not in (await get(system, source)).config


@pytest.mark.proves("R-22")
async def test_secrets_do_not_open_for_another_origin_however_the_address_came_there(system: System, site: FeedSite):
    source = await add(system, site.feed("a"), headers={"X-Anything": VALUE})
    async with FeedSite() as other:
        config = {**source.config, "url": other.feed("a")}
        await system.store.write(lambda conn: conn.execute(update(sources).values(config=config)))
        [result] = await collect(system)
        assert other.requests == []
    assert "Enter it again" in (result.error or "")


@pytest.mark.proves("R-22", "R-23")
async def test_a_redirect_for_good_is_not_adopted_where_an_address_holds_a_secret(system: System, site: FeedSite):
    to = f"{site.feed('a', path='/new')}?token={TOKEN}"

    async def moved(_: web.Request) -> web.StreamResponse:
        return web.Response(status=301, headers={"Location": to})

    source = await add(system, site.script(moved, path="/old"))
    for _ in range(4):
        assert (await collect_one(system, source.id)).error is None
    kept = await get(system, source)
    assert (kept.config["url"], kept.moved) == (site.url("/old"), None)
    assert TOKEN not in await written(system)


@on_both_stores
@pytest.mark.proves("R-23")
async def test_what_an_earlier_release_stored_as_it_is_is_sealed_at_the_start(system: System, site: FeedSite):
    source = await add(system, site.feed("a"))
    await add(system, site.feed("a", path="/plain?page=2"))
    plain = {"url": f"{site.url()}?token={TOKEN}", "headers": {"X-Anything": VALUE}}
    hook = {"name": "h", "url": "https://hooks.example/services/T0/B0/abcdefghijklmnop", "topics": ["items.new"]}
    rest = {"is_active": True, "allow_private": True, "secret": "v2:k:x", "created_at": system.clock.now()}

    def plant(conn):
        conn.execute(update(sources).where(sources.c.id == source.id).values(config=plain))
        conn.execute(webhooks.insert(), {**hook, **rest, "format": "json"})

    await system.store.write(plant)
    assert len(await audit_store(system.store)) == 2
    assert await system.catalog.seal_plain() == 1
    assert await system.webhooks.seal_plain() == 1
    assert await audit_store(system.store) == []
    assert (await system.catalog.seal_plain(), await system.webhooks.seal_plain()) == (0, 0)
    await collect_one(system, source.id)
    assert (site.requests[0].query["token"], site.requests[0].headers["X-Anything"]) == (TOKEN, VALUE)
    assert TOKEN not in await written(system)


@pytest.mark.proves("R-23")
async def test_the_address_of_a_webhook_is_sealed_and_shown_without_its_secret(system: System, site: FeedSite):
    url = site.url("/services/T0/B0/abcdefghijklmnop")
    await system.webhooks.add(NewWebhook(name="h", url=url, topics=(Topic.ITEMS_NEW,), allow_private=True))
    [stored] = await system.store.read(outbox.list_webhooks)
    assert is_sealed(stored.url)
    [shown] = await system.webhooks.list()
    assert shown.url == site.url(f"/services/T0/B0/{MASK}")
    assert "abcdefghijklmnop" not in await written(system)


@on_both_stores
@pytest.mark.proves("R-22")
async def test_a_webhook_of_the_environment_signs_anew_where_it_is_moved_elsewhere(system: System):
    async def secret_after(url: str) -> str:
        await system.webhooks.follow_environment(url=url, is_enabled=True)
        hooks = {hook.name: hook for hook in await system.store.read(outbox.list_webhooks)}
        return hooks[SUMMARIZATION].secret

    first = await secret_after("https://one.example/a")
    assert await secret_after("https://one.example/b") == first
    assert await secret_after("https://two.example/b") != first


@on_both_stores
@pytest.mark.proves("R-23")
async def test_a_masked_address_in_a_file_is_refused_with_what_to_do(system: System, site: FeedSite):
    await add(system, f"{site.feed('a')}?token={TOKEN}")
    exporting = export_sources(system.catalog, OPERATOR, ListFormat.OPML, now=system.clock.now())
    exported = b"".join([part.body async for part in exporting])
    [source] = await system.catalog.list(OPERATOR)
    await system.catalog.remove(source.id, OPERATOR)
    [line] = await import_sources(system.catalog, system.parsers, exported, OPERATOR)
    assert line.result == "refused"
    assert "write it out" in line.reason


async def test_what_is_sealed_is_nobodys_to_write(system: System, site: FeedSite):
    with pytest.raises(InvalidInput, match="sealed"):
        await add(system, site.feed("a"), sealed="v2:k:x")


def api(site: FeedSite) -> tuple[str, list[str]]:
    """One that has nothing, and the bodies that it was sent."""
    sent: list[str] = []

    async def answer(request: web.Request) -> web.StreamResponse:
        sent.append(await request.text())
        return web.json_response([])

    return site.script(answer, path="/api"), sent


BODIES = {
    "json as text": json.dumps({"q": "x", "password": VALUE}),
    "a form": f"q=x&pwd={VALUE}",
    "text with an address": f"https://a.example/?token=x password={VALUE}",
    "a list": {"q": "x", "steps": [{"find": "a"}, {"login": [{"password": VALUE}]}]},
    "a list of keys": {"q": "x", "token": [VALUE]},
}


@on_both_stores
@pytest.mark.proves("R-23")
@pytest.mark.parametrize("body", BODIES.values(), ids=BODIES)
async def test_what_is_secret_in_a_body_is_sent_and_stands_nowhere(system: System, site: FeedSite, body: Any):
    url, sent = api(site)
    config = {"url": url, "method": "POST", "body": body, "headers": {"X-Anything": VALUE}}
    source = await system.catalog.add(Draft(type="custom_api", config=config, name="one"), OPERATOR)
    shown = {key: value for key, value in source.config.items() if key != "sealed"}
    changed = await system.catalog.change(source.id, Change(config={**shown, "max_pages": 1}), OPERATOR)
    everything = str(shown) + await written(system)
    for form in ListFormat:
        exported = [part async for part in export_sources(system.catalog, OPERATOR, form, now=system.clock.now())]
        everything += str(exported)
        assert "body" in str([part.notes for part in exported])
    pack = PackDraft(name="P", listing=SourceList(entries=(listed_of(changed),)))
    everything += str((await system.packs.make(pack, OPERATOR)).pack.shown())
    assert VALUE not in everything
    await collect_one(system, changed.id)
    assert (sent[0] if isinstance(body, str) else json.loads(sent[0])) == body
    assert await audit_store(system.store) == []


@pytest.mark.proves("R-23")
@pytest.mark.parametrize("headers", [{}, {"X-Anything": VALUE}], ids=["nothing sealed", "a sealed header"])
async def test_a_body_that_an_earlier_release_stored_as_it_is_is_sealed_at_the_start(
    system: System, site: FeedSite, headers: dict[str, str]
):
    url, sent = api(site)
    config = {"url": url, "method": "POST", "body": "q=x"} | ({"headers": headers} if headers else {})
    source = await system.catalog.add(Draft(type="custom_api", config=config, name="one"), OPERATOR)
    plain = {**source.config, "body": f"q=x&password={TOKEN}"}
    await system.store.write(lambda conn: conn.execute(update(sources).values(config=plain)))
    assert len(await audit_store(system.store)) == 1
    assert [await system.catalog.seal_plain() for _ in range(2)] == [1, 0]
    assert TOKEN not in await written(system)
    await collect_one(system, source.id)
    assert sent == [plain["body"]]
