"""The Google Reader API: what apps list, read and mark, for each user by themselves."""

from __future__ import annotations

import random
from collections.abc import Iterator
from datetime import timedelta
from urllib.parse import urlencode

import pytest
from greader_app import ALL, KEPT_UNREAD, READ, STARRED, app_of, log_in
from web_site import Site

from catchment.clock import ManualClock
from catchment.domain.caller import Scope
from catchment.domain.item import make_item
from catchment.manage import reading as manage_reading
from catchment.manage.logins import MAX_PER_ACCOUNT, WINDOW
from catchment.parse.opml import read_opml
from catchment.store import items, reading, tables
from catchment.web.greader import routes
from stores import on_both_stores, on_sqlite_alone

pytestmark = [on_sqlite_alone, pytest.mark.proves("H-01")]


async def followed_source(site: Site, name: str = "blog", *titles: str, **values):
    source = await site.add_source(site.alice, name, **values)
    await site.add_items(source, *titles)
    return source


async def count_states(site: Site) -> int:
    def count(conn):
        return len(conn.execute(tables.item_states.select()).all())

    return await site.system.store.read(count)


async def test_somebody_signs_in_with_a_key_or_a_password_and_is_told_who_they_are(site: Site):
    app = await app_of(site, "alice")
    assert (await app.json("user-info"))["userEmail"] == "alice@example.org"
    new = await site.system.accounts.enrol("carol@example.org")
    answer = await log_in(site, "Carol@example.org", new.temp_password, output="json")
    assert answer.json()["Auth"] == answer.json()["SID"]
    lines = (await log_in(site, "carol@example.org", new.api_key)).text.splitlines()
    assert [line.partition("=")[0] for line in lines] == ["SID", "LSID", "Auth"]


@pytest.mark.parametrize(
    ("email", "secret"),
    [
        ("alice@example.org", "wrong"),
        ("alice@example.org", "cat_" + "0" * 40),
        ("nobody@example.org", "wrong"),
        ("", ""),
        ("a\0@example.org", "x\0"),
    ],
)
async def test_whoever_is_not_known_is_told_so_in_plain_text(site: Site, email: str, secret: str):
    answer = await log_in(site, email, secret)
    assert (answer.status_code, answer.text) in [(401, "Error=BadAuthentication\n"), (400, answer.text)]
    assert answer.status_code == 401 or "\0" in email


async def test_a_key_of_somebody_else_and_a_key_of_nobody_in_particular_open_nothing(site: Site):
    for secret in (site.keys["bob"], site.keys["service"], site.keys["admin"]):
        assert (await log_in(site, "alice@example.org", secret)).status_code == 401


async def test_logins_of_apps_are_limited_together_with_the_ordinary_ones(site: Site, clock: ManualClock):
    for _ in range(MAX_PER_ACCOUNT):
        assert (await log_in(site, "alice@example.org", "cat_" + "0" * 40)).status_code == 401
    answer = await log_in(site, "alice@example.org", site.keys["alice"])
    assert (answer.status_code, int(answer.headers["retry-after"])) == (429, int(WINDOW.total_seconds()))
    body = {"email": "alice@example.org", "password": "wrong"}
    assert (await site.post("/api/auth/login", json=body)).status_code == 429
    clock.advance(WINDOW)
    assert (await log_in(site, "alice@example.org", site.keys["alice"])).status_code == 200


@on_both_stores
async def test_a_token_ends_with_its_key_its_password_or_its_account(site: Site):
    by_key = await app_of(site, "alice")
    new = await site.system.accounts.enrol("carol@example.org")
    first = (await log_in(site, "carol@example.org", new.temp_password, output="json")).json()["Auth"]
    by_password = type(by_key)(site=site, auth=first)
    assert [(await app.get("user-info")).status_code for app in (by_key, by_password)] == [200, 200]
    (key,) = await site.system.accounts.list_keys_of(site.alice.id)
    await site.system.accounts.revoke_key(key.id)
    await site.system.accounts.reset_password(new.user.id)
    for app in (by_key, by_password):
        answer = await app.get("user-info")
        assert (answer.status_code, answer.text) == (401, "Error=BadAuthentication\n")
    bob = await app_of(site, "bob")
    await site.system.accounts.set_active(site.bob.id, is_active=False)
    assert (await bob.get("user-info")).status_code == 401


async def test_a_token_that_was_altered_is_nobodys(site: Site):
    app = await app_of(site, "alice")
    named, _, signature = app.auth.rpartition(".")
    for auth in ("", "x", f"{named[:-1]}9.{signature}", f"{named}.{signature[:-1]}", f"u{site.bob.id}.0.{signature}"):
        assert (await type(app)(site=site, auth=auth).get("user-info")).status_code == 401


async def test_a_token_for_changes_is_good_for_a_day_at_most_and_only_for_its_login(site: Site, clock: ManualClock):
    source = await followed_source(site, "blog", "one")
    app, bob = await app_of(site, "alice"), await app_of(site, "bob")
    await app.done("mark-all-as-read", s=f"feed/{source.id}")
    stolen = type(app)(site=site, auth=app.auth, post_token=bob.post_token)
    clock.advance(timedelta(hours=24))
    for one in (app, stolen):
        answer = await one.post("mark-all-as-read", s=f"feed/{source.id}")
        assert (answer.status_code, answer.headers["x-reader-google-bad-token"]) == (401, "true")
    fresh = type(app)(site=site, auth=app.auth, post_token=(await app.get("token")).text)
    await fresh.done("mark-all-as-read", s=f"feed/{source.id}")


async def test_a_key_that_may_only_read_reads_and_marks_nothing(site: Site):
    await followed_source(site, "blog", "one")
    made = await site.system.accounts.create_key("tablet", user_id=site.alice.id, scope=Scope.READ)
    site.keys["alice"] = made.secret
    app = await app_of(site, "alice")
    (number,) = await app.ids()
    answer = await app.post("stream/items/contents", i=number)
    assert [one["title"] for one in answer.json()["items"]] == ["one"]
    for path, fields in (("edit-tag", {"i": number, "a": READ}), ("subscription/quickadd", {"quickadd": "hn"})):
        assert (await app.post(path, **fields)).status_code == 403


async def test_read_and_starred_are_kept_for_each_user(site: Site):
    source = await followed_source(site, "blog", "one", "two", "three", public=True)
    alice, bob = await app_of(site, "alice"), await app_of(site, "bob")
    await bob.done("subscription/edit", ac="subscribe", s=f"feed/{source.id}")
    three, two, one = await alice.ids()
    await alice.done("edit-tag", i=[one, two], a=READ)
    await alice.done("edit-tag", i=f"tag:google.com,2005:reader/item/{three:016x}", a=STARRED)
    assert await alice.ids(xt=READ) == [three]
    assert await alice.ids(READ) == [two, one]
    assert await alice.ids(STARRED) == [three]
    assert await bob.ids(xt=READ) == [three, two, one]
    assert await bob.ids(STARRED) == []
    assert (await alice.unread())[f"feed/{source.id}"] == 1
    assert (await bob.unread()) == {f"feed/{source.id}": 3, ALL: 3}
    (first,) = (await alice.json("stream/items/contents", i=one))["items"]
    assert {ALL, READ} <= set(first["categories"])
    await alice.done("edit-tag", i=[one], r=READ)
    await alice.done("edit-tag", i=[three], r=STARRED)
    assert await alice.ids(xt=READ) == [three, one]
    assert await alice.ids(STARRED) == []


@on_both_stores
async def test_all_of_a_stream_is_read_up_to_a_moment_and_takes_no_row_an_item(site: Site, clock: ManualClock):
    source = await followed_source(site, "blog", *"abc")
    app = await app_of(site, "alice")
    await app.done("edit-tag", i=(await app.ids())[0], a=READ)
    then = clock.now()
    clock.advance(timedelta(hours=1))
    await site.add_items(source, "d", "e")
    await app.done("mark-all-as-read", s=ALL, ts=int(then.timestamp() * 1_000_000))
    assert await app.titles(xt=READ) == ["e", "d"]
    assert await count_states(site) == 0
    d = (await app.ids())[1]
    a = (await app.ids())[-1]
    await app.done("edit-tag", i=a, a=KEPT_UNREAD, r=READ)
    await app.done("edit-tag", i=d, a=READ)
    assert await app.titles(xt=READ) == ["e", "a"]
    assert await app.titles(KEPT_UNREAD) == ["a"]
    assert (await app.unread())[ALL] == 2
    await app.done("mark-all-as-read", s=f"feed/{source.id}")
    assert await app.unread() == {}
    assert await count_states(site) == 0
    clock.advance(timedelta(hours=1))
    await site.add_items(source, "f")
    assert await app.titles(xt=READ) == ["f"]


@on_both_stores
async def test_what_is_marked_goes_with_its_item_and_with_the_subscription(site: Site, clock: ManualClock):
    source = await followed_source(site, "blog", "one", "two")
    app = await app_of(site, "alice")
    two, one = await app.ids()
    await app.done("edit-tag", i=[one, two], a=[READ, "user/-/label/keep"])
    await app.done("edit-tag", i=two, a=STARRED)
    await site.delete(f"/api/subscriptions/{source.id}", "alice")
    assert await app.ids() == []
    assert await app.ids(STARRED) == [two], "a star outlives the subscription"
    assert await count_states(site) == 1
    await site.post("/api/subscriptions", "alice", json={"sourceId": source.id})
    assert await app.ids(xt=READ) == [two, one]
    clock.advance(timedelta(days=400))
    await site.system.store.write(items.delete_old, now=clock.now(), keep=timedelta(days=90), limit=100)
    assert await count_states(site) == 0
    assert await app.ids("user/-/label/keep") == []


@on_both_stores
async def test_single_marks_beyond_the_bound_become_one_moment(site: Site, clock: ManualClock):
    source = await site.add_source(site.alice, "blog")
    for title in "abcdef":
        await site.add_items(source, title)
        clock.advance(timedelta(hours=1))
    app = await app_of(site, "alice")
    f, e, d, c, _, a = await app.ids()
    await app.done("edit-tag", i=[a, c, d, f], a=READ)
    await app.done("edit-tag", i=[a], a=STARRED)
    assert await site.system.store.write(reading.fold_oldest, most=2) == 1
    assert await app.ids(xt=READ) == [e], "b was older than what is remembered one by one"
    assert await app.ids(STARRED) == [a]
    assert await count_states(site) == 3
    assert await site.system.store.write(reading.fold_oldest, most=2) == 0


async def test_stars_and_labels_of_items_are_bounded(site: Site, monkeypatch: pytest.MonkeyPatch):
    await followed_source(site, "blog", *"abc")
    app = await app_of(site, "alice")
    monkeypatch.setattr(manage_reading, "MAX_STARRED", 2)
    monkeypatch.setattr(manage_reading, "MAX_LABELLED", 2)
    for mark in (STARRED, "user/-/label/later"):
        answer = await app.post("edit-tag", i=await app.ids(), a=mark)
        assert answer.status_code == 400
        assert "At most 2" in answer.text
        assert await app.ids(mark) == []
        await app.done("edit-tag", i=(await app.ids())[:2], a=mark)
        assert len(await app.ids(mark)) == 2


@pytest.mark.proves("H-01")
async def test_what_is_asked_by_a_form_is_answered_as_by_an_address(site: Site):
    await followed_source(site, "blog", *"abc")
    app = await app_of(site, "alice")
    for path, asked in (
        ("stream/items/ids", {"s": ALL, "n": 2}),
        ("stream/items/contents", {"i": await app.ids()}),
        ("stream/contents", {"s": ALL, "n": 2}),
        (f"stream/contents/{ALL}", {"n": 2}),
    ):
        by_form = await app.post(path, **asked)
        assert by_form.json() == await app.json(path, **asked)


@pytest.mark.proves("H-01")
async def test_a_wrong_continuation_is_named_as_apps_name_it(site: Site):
    app = await app_of(site, "alice")
    answer = await app.get("stream/items/ids", s=ALL, c="none of ours")
    assert "take the `continuation` of the page before" in answer.text


@on_both_stores
async def test_a_stream_is_read_in_pages_that_nothing_new_disturbs(site: Site, clock: ManualClock):
    source = await followed_source(site, "blog", *"abc")
    clock.advance(timedelta(minutes=1))
    await site.add_items(source, *"defg")
    app = await app_of(site, "alice")
    first = await app.json("stream/items/ids", s=ALL, n=3)
    clock.advance(timedelta(minutes=1))
    await site.add_items(source, "new")
    seen, continuation = [ref["id"] for ref in first["itemRefs"]], first["continuation"]
    while continuation:
        page = await app.json(f"stream/contents/{ALL}", n=3, c=continuation)
        seen += [str(int(one["id"].rpartition("/")[2], 16)) for one in page["items"]]
        continuation = page.get("continuation")
    titles = [one["title"] for one in (await app.json("stream/items/contents", i=seen))["items"]]
    assert titles == list("gfedcba")
    assert await app.titles(r="o", n=4) == list("abcd")
    page = await app.json("stream/items/ids", s=ALL, r="o", n=4)
    assert await app.titles(r="o", n=4, c=page["continuation"]) == ["e", "f", "g", "new"]


@pytest.mark.proves("S-03")
@pytest.mark.parametrize("wanted", [1, 4, 5, 6, 9])
async def test_a_long_list_of_ids_is_written_in_parts_and_is_whole(
    site: Site, monkeypatch: pytest.MonkeyPatch, wanted: int
):
    await followed_source(site, "blog", *(f"item {number}" for number in range(6)))
    app = await app_of(site, "alice")
    whole = await app.json("stream/items/ids", s=ALL, n=6)
    monkeypatch.setattr(routes, "REFS_AT_ONCE", 2)
    cut = await app.json("stream/items/ids", s=ALL, n=wanted)
    assert cut["itemRefs"] == whole["itemRefs"][:wanted]
    assert ("continuation" in cut) == (wanted < len(whole["itemRefs"]))
    if wanted < len(whole["itemRefs"]):
        rest = await app.json("stream/items/ids", s=ALL, n=6, c=cut["continuation"])
        assert cut["itemRefs"] + rest["itemRefs"] == whole["itemRefs"]


@on_both_stores
async def test_a_stream_can_be_cut_by_time(site: Site, clock: ManualClock):
    source = await followed_source(site, "blog", "early")
    clock.advance(timedelta(hours=1))
    noon = int(clock.now().timestamp())
    await site.add_items(source, "late")
    app = await app_of(site, "alice")
    assert await app.titles(ot=noon) == ["late"]
    assert await app.titles(nt=noon) == ["early"]
    assert await app.titles(f"feed/{source.id}", ot=noon, nt=noon) == []


@on_both_stores
async def test_folders_and_titles_are_each_users_own(site: Site):
    source = await followed_source(site, "blog", "one", public=True, tags=("Tech",))
    other = await followed_source(site, "other", "two")
    alice, bob = await app_of(site, "alice"), await app_of(site, "bob")
    await bob.done("subscription/edit", ac="subscribe", s=f"feed/{source.id}", t="Bob's own", a="user/-/label/Mine")

    async def shown(app):
        listed = (await app.json("subscription/list"))["subscriptions"]
        return {one["id"]: (one["title"], [folder["label"] for folder in one["categories"]]) for one in listed}

    assert await shown(bob) == {f"feed/{source.id}": ("Bob's own", ["Tech", "Mine"])}
    assert (await shown(alice))[f"feed/{source.id}"] == ("blog", ["Tech"])
    await alice.done(
        "subscription/edit", ac="edit", s=f"feed/{source.id}", a="user/-/label/新闻", r="user/-/label/Tech"
    )
    await alice.done("edit-tag", i=await alice.ids(f"feed/{other.id}"), a="user/-/label/新闻")
    assert await alice.titles("user/-/label/新闻") == ["two", "one"]
    assert {one["id"] for one in (await alice.json("tag/list"))["tags"]} == {STARRED, "user/-/label/新闻"}
    await alice.done("rename-tag", s="user/-/label/新闻", dest="user/-/label/News")
    assert await alice.titles("user/-/label/News") == ["two", "one"]
    assert (await alice.unread())["user/-/label/News"] == 1
    await alice.done("mark-all-as-read", s="user/-/label/News")
    assert await alice.ids(xt=READ) == []
    await alice.done("disable-tag", s="user/-/label/News")
    assert await alice.titles("user/-/label/News") == []
    assert (await shown(alice))[f"feed/{source.id}"] == ("blog", [])
    assert await shown(bob) == {f"feed/{source.id}": ("Bob's own", ["Tech", "Mine"])}


@on_both_stores
async def test_what_an_address_has_already_is_subscribed_to_with_its_items_at_once(site: Site):
    source = await followed_source(site, "blog", "one", public=True)
    hidden = await followed_source(site, "hidden", "secret")
    bob = await app_of(site, "bob")
    added = (await bob.post("subscription/quickadd", quickadd="https://blog.example/feed")).json()
    assert (added["numResults"], added["streamId"], added["streamName"]) == (1, f"feed/{source.id}", "blog")
    assert await bob.titles() == ["one"]
    assert await bob.titles("feed/https://blog.example/feed") == ["one"]
    added = (await bob.post("subscription/quickadd", quickadd="hackernews")).json()
    assert added["numResults"] == 1
    assert len((await bob.json("subscription/list"))["subscriptions"]) == 2
    assert [one["name"] for one in (await site.get("/api/subscriptions", "bob")).json()] == [
        "blog",
        added["streamName"],
    ]
    # The private one of Alice's is not found: Bob would add one of his own.
    assert (await bob.get(f"stream/contents/feed/{hidden.id}")).status_code == 404
    assert (await bob.post("subscription/edit", ac="subscribe", s=f"feed/{hidden.id}")).status_code == 404


@pytest.mark.proves("S-03", "H-01")
async def test_what_is_followed_is_exported_folder_by_folder_in_parts(site: Site, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(manage_reading, "AT_ONCE", 2)
    for number in range(5):
        await site.add_source(site.alice, f"s{number}", tags=("sea",) if number % 2 else ("land",))
    caller = await site.system.authenticator.identify(site.keys["alice"])
    assert caller is not None
    parts = [part async for part in site.system.reading.export_opml(caller)]
    assert [part.count(b"xmlUrl") for part in parts] == [2, 2, 1, 0]
    folders = [one.tags for one in read_opml(b"".join(parts))]
    assert folders == [("land",)] * 3 + [("sea",)] * 2


@pytest.mark.parametrize("wrong", ["not an address", "http://127.0.0.1/feed", "file:///etc/passwd", "feed/999999"])
async def test_what_cannot_be_followed_is_no_result(site: Site, wrong: str):
    app = await app_of(site, "alice")
    answer = await app.post("subscription/quickadd", quickadd=wrong)
    assert (answer.status_code, answer.json()["numResults"]) == (200, 0)
    assert answer.json()["error"]


@on_both_stores
async def test_nobody_sees_items_of_what_is_private_to_somebody_else(site: Site):
    source = await followed_source(site, "blog", "one", public=True)
    hidden = await followed_source(site, "hidden", "secret")
    alice, bob = await app_of(site, "alice"), await app_of(site, "bob")
    (secret,) = await alice.ids(f"feed/{hidden.id}")
    await bob.done("subscription/edit", ac="subscribe", s=f"feed/{source.id}")
    (one,) = await bob.ids()
    await bob.done("edit-tag", i=[one, secret], a=[STARRED, READ, "user/-/label/x"])
    assert await bob.ids(STARRED) == [one]
    assert (await bob.json("stream/items/contents", i=[one, secret]))["items"][1:] == []
    for path in (f"stream/contents/feed/{hidden.id}", f"/greader/reader/atom/feed%2F{hidden.id}"):
        answer = await bob.get(path)
        assert (answer.status_code, "secret" in answer.text) == (404, False)
    # What was public and is not any more is gone from their streams, stars and counts.
    await site.put(f"/api/sources/{source.id}", "alice", json={"is_public": False})
    for stream in (ALL, STARRED, READ, "user/-/label/x"):
        assert await bob.ids(stream) == []
    assert await bob.unread() == {}
    assert (await bob.json("subscription/list"))["subscriptions"] == []


async def test_secrets_of_an_address_are_shown_to_nobody(site: Site):
    body = {
        "type": "rss",
        "name": "keyed",
        "is_public": True,
        "config": {"url": "https://k.example/feed?token=abc123", "headers": {"X-Key": "verysecret"}},
    }
    made = await site.post("/api/sources", "alice", json=body)
    alice, bob = await app_of(site, "alice"), await app_of(site, "bob")
    await bob.done("subscription/edit", ac="subscribe", s=f"feed/{made.json()['id']}")
    for app in (alice, bob):
        for path in ("subscription/list", "subscription/export"):
            text = (await app.get(path)).text
            assert "k.example" in text
            assert not any(secret in text for secret in ("abc123", "verysecret"))


async def test_subscriptions_go_out_and_come_in_as_opml(site: Site):
    source = await followed_source(site, "blog", "one", public=True)
    alice, bob = await app_of(site, "alice"), await app_of(site, "bob")
    await alice.done("subscription/edit", ac="edit", s=f"feed/{source.id}", t="My blog", a="user/-/label/Read")
    exported = await alice.get("subscription/export")
    assert 'text="My blog"' in exported.text
    headers = {"Authorization": f"GoogleLogin auth={bob.auth}", "Content-Type": "text/xml"}
    more = exported.text.replace("</body>", '<outline type="rss" text="n" xmlUrl="https://new.example/f"/></body>')
    path = "/greader/reader/api/0/subscription/import"
    answer = await site.client.post(path, content=more.encode(), headers=headers)
    assert answer.text == "OK: 1 added, 1 duplicate, 0 refused"
    assert sorted(one["title"] for one in (await bob.json("subscription/list"))["subscriptions"]) == ["blog", "n"]
    answer = await site.client.post(path, content=b"<opml><body><outline", headers=headers)
    assert answer.status_code in {200, 400}


async def test_an_item_is_told_whole_with_what_belongs_to_it(site: Site, clock: ManualClock):
    source = await site.add_source(site.alice, "blog")
    item = make_item(
        native_id="1",
        url="https://blog.example/1",
        title="Über <b>",
        author="Ann",
        content="<p>你好</p>",
        published_at=clock.now() - timedelta(days=1),
        metadata={"enclosures": [{"url": "https://blog.example/a.mp3", "type": "audio/mpeg", "length": 5}]},
    )
    await site.system.store.write(items.insert_new, [(source.id, item)], now=clock.now())
    app = await app_of(site, "alice")
    (told,) = (await app.json(f"stream/contents/feed/{source.id}"))["items"]
    seconds = int(clock.now().timestamp())
    assert told["id"] == f"tag:google.com,2005:reader/item/{(await app.ids())[0]:016x}"
    assert (told["title"], told["author"], told["summary"]["content"]) == ("Über <b>", "Ann", "<p>你好</p>")
    assert (told["published"], told["timestampUsec"]) == (seconds - 86400, f"{seconds}000000")
    assert told["canonical"] == [{"href": "https://blog.example/1"}]
    assert told["origin"]["streamId"] == f"feed/{source.id}"
    assert told["enclosure"] == [{"href": "https://blog.example/a.mp3", "type": "audio/mpeg", "length": 5}]


@on_both_stores
async def test_a_long_page_is_written_a_few_items_at_a_time_and_is_whole(site: Site):
    source = await site.add_source(site.alice, "blog")
    await site.add_items(source, *(f"t{number}" for number in range(120)))
    app = await app_of(site, "alice")
    assert await app.titles(n=500) == [f"t{number}" for number in reversed(range(120))]
    assert await app.titles("user/-/state/com.google/broadcast") == []


WRONG = [
    ("GET", "stream/items/ids", {"s": "nonsense"}),
    ("GET", "stream/items/ids", {"s": "feed/"}),
    ("GET", "stream/items/ids", {"s": ALL, "n": "many"}),
    ("GET", "stream/items/ids", {"s": ALL, "n": "-1"}),
    ("GET", "stream/items/ids", {"s": ALL, "ot": "9" * 19}),
    ("GET", "stream/items/ids", {"s": ALL, "ot": "yesterday"}),
    ("GET", "stream/items/ids", {"s": ALL, "c": "none of ours"}),
    ("GET", "stream/items/ids", {"s": ALL, "xt": "nonsense"}),
    ("GET", "stream/items/ids", {"s": "user/-/label/a\0b"}),
    ("GET", "stream/contents/nonsense", {}),
    ("GET", "stream/contents/user%2F-%2Flabel%2Fa%00b", {}),
    ("GET", "stream/items/contents", {}),
    ("GET", "stream/items/contents", {"i": "zzz"}),
    ("GET", "stream/items/contents", {"i": "f" * 16}),
    ("GET", "stream/items/contents", {"i": "0"}),
    ("GET", "stream/items/contents", {"i": "9" * 19}),
    ("POST", "stream/items/contents", {"i": ["1"] * 10_001}),
    ("POST", "edit-tag", {}),
    ("POST", "edit-tag", {"i": "-1", "a": READ}),
    ("POST", "edit-tag", {"i": ["1"] * 10_001, "a": READ}),
    ("POST", "edit-tag", {"i": ["1"] * 12_001}),
    ("POST", "mark-all-as-read", {}),
    ("POST", "mark-all-as-read", {"s": ALL, "ts": "soon"}),
    ("POST", "subscription/edit", {"ac": "subscribe"}),
    ("POST", "subscription/edit", {"ac": "dance", "s": "feed/1"}),
    ("POST", "subscription/edit", {"ac": "edit", "s": "user/-/label/x"}),
    ("POST", "subscription/edit", {"ac": "edit", "s": "feed/1", "t": "x" * 501}),
    ("POST", "subscription/edit", {"ac": "edit", "s": "feed/1", "a": "user/-/label/" + "x" * 101}),
    ("POST", "subscription/quickadd", {}),
    ("POST", "rename-tag", {"s": "user/-/label/x"}),
    ("POST", "rename-tag", {"dest": "user/-/label/x"}),
    ("POST", "disable-tag", {}),
]


@pytest.mark.parametrize(("method", "path", "params"), WRONG)
async def test_what_cannot_be_meant_is_a_bad_request(site: Site, method: str, path: str, params: dict):
    await followed_source(site, "blog", "one")
    app = await app_of(site, "alice")
    answer = await (app.get(path, **params) if method == "GET" else app.post(path, **params))
    assert answer.status_code == 400, answer.text
    assert answer.headers["content-type"].startswith("text/plain")


async def test_a_body_that_is_too_large_is_refused(site: Site):
    app = await app_of(site, "alice")
    assert (await app.post("edit-tag", i="1" * 1_100_000)).status_code == 413


@pytest.mark.parametrize("path", ["preference/list", "preference/stream/list", "tag/list", "unread-count", "token"])
async def test_clients_that_ask_for_this_and_that_are_answered(site: Site, path: str):
    assert (await (await app_of(site, "alice")).get(path, output="json")).status_code == 200


async def test_no_session_of_a_browser_is_a_way_in(site: Site):
    session = await site.system.authenticator.sign_in(site.keys["alice"])
    cookies = {"Cookie": f"catchment_session={session}"}
    assert (await site.get("/greader/reader/api/0/user-info", headers=cookies)).status_code == 401
    assert (await site.get("/greader/reader/api/0/user-info", "alice")).status_code == 200
    assert (await site.get("/greader/reader/api/0/user-info", "admin")).status_code == 403


NASTY = [
    "",
    "0",
    "-1",
    "1",
    "9" * 19,
    "1e9",
    "٣",
    "feed/1",
    "feed/0",
    "feed/x",
    "feed/https://[",
    "feed/http://a b",
    ALL,
    READ,
]
NASTY += [
    "user/-/label/",
    "user/-/label/ ",
    "user//label/x",
    "user/-/state/com.google/",
    "tag:google.com,2005:reader/item/",
    "\ud800",
]
NASTY += ["\0", "é" * 300, "../..", "W10", "WzEsICJ4Il0", "WzEsIG51bGxd", "hn", "@x", "%", "edit", "subscribe", "o"]


def nasty_requests(count: int) -> Iterator[tuple[str, str, list[tuple[str, str]]]]:
    """Always the same ones, or a failure could not be found again."""
    chance = random.Random(16)
    reads = ["stream/items/ids", "stream/items/contents", "stream/contents", "stream/contents/feed/1", "unread-count"]
    writes = ["edit-tag", "mark-all-as-read", "subscription/edit", "rename-tag", "disable-tag", "stream/items/contents"]
    names = ["s", "n", "r", "ot", "nt", "c", "xt", "it", "i", "a", "ac", "t", "dest", "ts"]
    for number in range(count):
        params = [(chance.choice(names), chance.choice(NASTY)) for _ in range(chance.randint(0, 6))]
        yield ("GET", chance.choice(reads), params) if number % 2 else ("POST", chance.choice(writes), params)


async def test_whatever_parameters_come_nothing_breaks(site: Site):
    await followed_source(site, "blog", "one")
    app = await app_of(site, "alice")
    statuses = set()
    for method, path, params in nasty_requests(400):
        query = urlencode(params, errors="surrogatepass")
        url = f"/greader/reader/api/0/{path}" + (f"?{query}" if method == "GET" else "")
        headers = {"Authorization": f"GoogleLogin auth={app.auth}", "Content-Type": "application/x-www-form-urlencoded"}
        answer = await site.client.request(method, url, content=query if method == "POST" else None, headers=headers)
        assert answer.status_code in {200, 400, 404}, (method, path, params, answer.text)
        statuses.add(answer.status_code)
    assert {200, 400} <= statuses
