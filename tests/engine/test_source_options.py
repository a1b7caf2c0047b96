"""What a source may be told beside its address: how to ask, whom to trust, what to keep."""

from __future__ import annotations

import base64
import json

import pytest
from aiohttp import web
from sqlalchemy import text

from catchment.crypto import is_sealed
from catchment.domain.caller import OPERATOR, Caller, Role
from catchment.domain.source import MOVES_UNTIL_ADOPTED
from catchment.errors import BadConfig, Forbidden, RefusedAddress, SettingsError
from catchment.manage.catalog import Change, Draft
from catchment.monitor.status import Mark, View
from catchment.redact import MASK
from collecting import add, collect, collect_one, get, stored
from feed_site import FeedSite, rss
from stores import on_both_stores, on_sqlite_alone

pytestmark = on_sqlite_alone

SOMEBODY = Caller(role=Role.USER, user_id=1, name="somebody")


@pytest.fixture
async def site():
    async with FeedSite() as site:
        yield site


@pytest.fixture
async def system(open_test_system, tmp_path):
    async with open_test_system(home=tmp_path / "home") as system:
        yield system


async def add_with(system, url, **options):
    return await add(system, url, config={"url": url, **options})


async def marks(system, source):
    return (await system.viewer(View(caller=OPERATOR))).describe(source).marks


async def test_a_source_is_asked_for_with_its_own_user_agent_and_headers(system, site):
    await add_with(system, site.feed("a"), user_agent="Reader/7", headers={"X-Team": "blue"})
    await collect(system)
    assert site.requests[0].headers["User-Agent"] == "Reader/7"
    assert site.requests[0].headers["X-Team"] == "blue"


@on_both_stores
async def test_a_password_is_sent_to_its_source_and_stored_sealed_and_shown_masked(system, site, log):
    source = await add_with(system, site.feed("a"), basic_auth={"username": "me", "password": "s3cret-pa55"})
    [result] = await collect(system)
    assert result.inserted == 1
    assert base64.b64decode(site.requests[0].headers["Authorization"].removeprefix("Basic ")) == b"me:s3cret-pa55"
    stored_config = await system.store.read(lambda conn: conn.execute(text("SELECT config FROM sources")).scalar_one())
    assert "s3cret-pa55" not in str(stored_config)
    kept = (await get(system, source)).config
    assert kept["basic_auth"]["password"] == MASK
    assert is_sealed(kept["sealed"])
    assert not any("s3cret-pa55" in line for line in log)


async def test_a_masked_password_that_comes_back_is_the_one_that_was_there(system, site):
    url = site.feed("a")
    source = await add_with(system, url, basic_auth={"username": "me", "password": "s3cret-pa55"})
    config = {"url": url, "basic_auth": {"username": "me", "password": MASK}, "user_agent": "Other/1"}
    await system.catalog.change(source.id, Change(config=config), OPERATOR)
    await collect(system)
    assert base64.b64decode(site.requests[0].headers["Authorization"].removeprefix("Basic ")) == b"me:s3cret-pa55"


async def test_no_other_host_is_told_the_headers_of_a_source(system, site):
    async with FeedSite() as other:
        other.feed("a")

        async def elsewhere(_: web.Request) -> web.StreamResponse:
            return web.Response(status=302, headers={"Location": other.url().replace("127.0.0.1", "localhost")})

        await add_with(
            system,
            site.script(elsewhere),
            headers={"X-Api-Key": "k"},
            basic_auth={"username": "u", "password": "p" * 8},
        )
        await collect(system)
        assert other.requests, "the redirect was followed"
        assert "X-Api-Key" not in other.requests[0].headers
        assert "Authorization" not in other.requests[0].headers


@pytest.mark.proves("F-05")
@pytest.mark.parametrize(
    "secret", [{"headers": {"X-Api-Key": "k"}}, {"basic_auth": {"username": "u", "password": "p" * 8}}]
)
async def test_secrets_do_not_move_with_a_source_to_whom_it_says_it_moved(system, site, log, secret):
    async with FeedSite() as other:
        to = other.feed("a", path="/new")

        async def moved(_: web.Request) -> web.StreamResponse:
            return web.Response(status=301, headers={"Location": to})

        source = await add_with(system, site.script(moved, path="/old"), **secret)
        for _ in range(MOVES_UNTIL_ADOPTED + 1):
            assert (await collect_one(system, source.id)).error is None
        assert len(other.requests) == MOVES_UNTIL_ADOPTED + 1
        assert not any({"X-Api-Key", "Authorization"} & set(request.headers) for request in other.requests)
    after = await get(system, source)
    assert after.config["url"] == site.url("/old")
    assert await marks(system, after) == (Mark.MOVED,)
    assert any(to in line and "own origin alone" in line for line in log)


@on_both_stores
@pytest.mark.proves("F-05")
async def test_within_their_origin_secrets_move_with_the_source(system, site):
    to = site.feed("a", path="/new")

    async def moved(_: web.Request) -> web.StreamResponse:
        return web.Response(status=301, headers={"Location": to})

    source = await add_with(system, site.script(moved, path="/old"), headers={"X-Api-Key": "k"})
    for _ in range(MOVES_UNTIL_ADOPTED):
        await collect_one(system, source.id)
    after = await get(system, source)
    assert (after.config["url"], await marks(system, after)) == (to, ())


async def test_filters_decide_what_is_kept_by_field(system, site):
    filters = {
        "include": [{"field": "title", "pattern": "^Title (a|b)"}, {"field": "content", "pattern": "of c"}],
        "exclude": [{"field": "url", "pattern": "/b$"}],
    }
    await add_with(system, site.feed("a", "b", "c", "d"), filters=filters)
    await collect(system)
    assert {item.title for item in await stored(system)} == {"Title a", "Title c"}


@on_both_stores
async def test_a_pattern_that_would_hang_others_is_over_at_once(system, site):
    site.serve(rss("a", body="a" * 200_000 + "!"))
    await add_with(system, site.url(), filters={"exclude": [{"field": "content", "pattern": "(a+)+$"}]})
    [result] = await collect(system)
    assert result.error is None


@on_sqlite_alone
@pytest.mark.parametrize(
    ("option", "says"),
    [
        ({"filters": {"include": [{"field": "title", "pattern": "("}]}}, "pattern"),
        ({"filters": {"include": [{"field": "mood", "pattern": "x"}]}}, "title, url, author"),
        ({"filters": [1]}, "filters"),
        ({"user_agent": "a\nb"}, "user_agent"),
        ({"headers": {"X-Bad": "a\r\nHost: evil"}}, "headers"),
        ({"headers": {"Bad Name": "x"}}, "headers"),
        ({"headers": {"content-length": "150"}}, "headers may not hold content-length"),
        ({"basic_auth": {"username": "a:b", "password": "x"}}, "colon"),
        ({"basic_auth": "me:pass"}, "basic_auth"),
        ({"allow_private": "yes"}, "allow_private"),
        ({"verify_tls": 0}, "verify_tls"),
        ({"keep_days": 0}, "keep_days"),
        ({"keep_days": True}, "keep_days"),
        ({"adaptive": "often"}, "adaptive"),
    ],
)
async def test_a_wrong_option_is_refused_with_a_sentence_and_nothing_is_stored(system, site, option, says):
    with pytest.raises(BadConfig, match=says):
        await add_with(system, site.feed("a"), **option)
    assert await system.catalog.list(OPERATOR) == []


async def test_options_do_not_make_it_another_source(system, site):
    url = site.feed("a")
    source = await add_with(system, url)
    await collect(system)
    before = await get(system, source)
    await system.catalog.change(source.id, Change(config={"url": url, "user_agent": "Reader/7"}), OPERATOR)
    after = await get(system, source)
    assert after.identity == before.identity
    assert after.memory == before.memory


async def test_only_an_administrator_may_let_a_source_reach_private_addresses(open_test_system, site):
    async with open_test_system(allow_networks="") as system:
        draft = Draft(type="rss", config={"url": site.feed("a"), "allow_private": True})
        with pytest.raises(Forbidden):
            system.catalog.check(draft, SOMEBODY)
        with pytest.raises(RefusedAddress):
            await add(system, site.url())
        source = await system.catalog.add(draft, OPERATOR)
        result = await collect_one(system, source.id)
        assert result.inserted == 1


@pytest.mark.parametrize("target", ["http://169.254.169.254/latest", "http://[fe80::1]/", "http://0.0.0.0/"])
async def test_even_then_the_secrets_of_clouds_stay_out_of_reach(open_test_system, target):
    async with open_test_system(allow_networks="") as system:
        with pytest.raises(RefusedAddress):
            await add_with(system, target, allow_private=True)


async def test_a_source_whose_certificate_nobody_checks_is_marked(system, site):
    source = await add_with(system, site.feed("a"), verify_tls=False)
    assert await marks(system, source) == (Mark.UNVERIFIED_TLS,)


async def test_a_password_under_another_key_fails_its_source_alone_and_says_what_to_do(
    open_test_system, site, tmp_path
):
    url = site.feed("a")
    async with open_test_system(home=tmp_path / "one") as system:
        source = await add_with(system, url, basic_auth={"username": "u", "password": "p" * 8})
    async with open_test_system(home=tmp_path / "other") as system:
        await add(system, site.feed("b", path="/b"))
        results = {result.source_id: result for result in await collect(system)}
    failed = results.pop(source.id)
    assert "Enter it again" in failed.error
    assert [result.error for result in results.values()] == [None]


def test_the_key_file_is_for_its_owner_alone_and_the_same_for_all_who_ask(tmp_path):
    from catchment.crypto import key_from_file

    path = tmp_path / "home" / "secret.key"
    assert key_from_file(path) == key_from_file(path)
    assert path.stat().st_mode & 0o777 == 0o600
    assert [one.name for one in path.parent.iterdir()] == ["secret.key"]


@pytest.mark.parametrize("length", [0, 7, 20])
def test_a_key_file_that_was_cut_off_is_to_be_restored(tmp_path, length):
    from catchment.crypto import key_from_file

    path = tmp_path / "secret.key"
    key_from_file(path)
    path.write_bytes(path.read_bytes()[:length])
    with pytest.raises(SettingsError, match="restore it from a backup"):
        key_from_file(path)


async def test_the_api_shows_a_masked_password_to_the_owner_only(system, site):
    from catchment.domain.confidential import masked as shown

    source = await add_with(system, site.feed("a"), basic_auth={"username": "u", "password": "p" * 8})
    assert shown(source.config)["basic_auth"] == {"username": "u", "password": MASK}
    assert "v2:" not in json.dumps(shown(source.config))
