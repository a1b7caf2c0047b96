"""Tweets, the feed and follows over HTTP."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone

import pytest
from web_site import Site

from catchment.clock import ManualClock
from catchment.domain.tweet import ReferenceType, Tweet
from catchment.store import tweets
from catchment.web.inputs import write_cursor
from stores import on_sqlite_alone

MINUTE = timedelta(minutes=1)
#: The ends of time there are none in UTC.
EAST, WEST = timezone(timedelta(hours=14)), timezone(timedelta(hours=-14))
FIELDS = {
    "tweet_id", "text", "created_at", "author_username", "author_display_name", "referenced_tweet_id",
    "reference_type", "media", "referenced_tweet_text", "referenced_tweet_media", "referenced_tweet_author_username",
    "db_created_at", "db_updated_at",
}  # fmt: skip


def tweet(number: int, at: datetime, **values) -> Tweet:
    defaults = {"tweet_id": str(number), "text": f"Tweet {number}", "created_at": at, "author_username": "Ada"}
    return Tweet(**{**defaults, **values})


async def save(site: Site, *found: Tweet) -> None:
    await site.system.store.write(tweets.save_tweets, found, now=site.system.clock.now())


def ids(body: dict) -> list[str]:
    return [item["tweet_id"] for item in body["items"]]


@pytest.mark.proves("D-16", "D-20", "R-31")
async def test_a_tweet_is_shown_with_all_its_fields_and_its_text_as_it_came(site: Site, clock: ManualClock):
    media = ({"media_key": "1", "type": "photo", "url": "https://img.example/1"},)
    quote = tweet(
        7,
        clock.now(),
        text="<script>alert('x')</script> & more",
        author_display_name="Ada L.",
        reference_type=ReferenceType.QUOTED,
        referenced_tweet_id="6",
        referenced_tweet_text="quoted",
        referenced_tweet_media=media,
        referenced_tweet_author_username="bob",
        lang="en",
        hashtags=("zk", "区块链"),
        counts={"like_count": 12, "view_count": 2**40},
        urls=("https://example.org/1",),
    )
    await save(site, quote)
    body = (await site.get("/api/tweets/7", "alice")).json()
    assert body.keys() >= FIELDS
    assert body["text"] == "<script>alert('x')</script> & more"
    assert (body["lang"], body["hashtags"], body["urls"]) == ("en", ["zk", "区块链"], ["https://example.org/1"])
    assert body["counts"] == {"like_count": 12, "view_count": 2**40}
    assert (body["reference_type"], body["referenced_tweet_media"]) == ("quoted", list(media))
    assert (body["created_at"], body["url"]) == ("2026-03-01T12:00:00.000Z", "https://x.com/Ada/status/7")
    assert (await site.get("/api/tweets", "alice")).json()["items"] == [body]
    assert (await site.get("/api/tweets/8", "alice")).status_code == 404


@pytest.mark.proves("D-13")
async def test_tweets_are_listed_newest_first_by_page_or_cursor(site: Site, clock: ManualClock):
    await save(site, *(tweet(number, clock.now() - number * MINUTE) for number in range(5)))
    await save(site, tweet(9, clock.now() - MINUTE, author_username="bob"))
    first = (await site.get("/api/tweets?author=@ADA&page_size=2", "alice")).json()
    assert (ids(first), first["total"], first["total_pages"], first["page"]) == (["0", "1"], 5, 3, 1)
    by_page = (await site.get("/api/tweets?author=ada&page_size=2&page=2", "alice")).json()
    by_cursor = (await site.get(f"/api/tweets?author=ada&page_size=2&cursor={first['next_cursor']}", "alice")).json()
    assert ids(by_page) == ids(by_cursor) == ["2", "3"]
    last = (await site.get("/api/tweets?author=ada&page_size=2&page=3", "alice")).json()
    assert (ids(last), last["next_cursor"]) == (["4"], None)
    window = "since=2026-03-01T11:57:00Z&until=2026-03-01T11:59:00Z"
    assert ids((await site.get(f"/api/tweets?{window}", "alice")).json()) == ["2", "3"]


@on_sqlite_alone
@pytest.mark.proves("D-13")
async def test_the_feed_read_on_by_its_cursor_misses_nothing(site: Site, clock: ManualClock):
    start = "since=2026-03-01T12:00:00Z"
    nothing = (await site.get(f"/api/feed?{start}&until=2026-03-01T13:00:00Z", "alice")).json()
    assert (nothing["count"], nothing["has_more"]) == (0, False)
    # Older ones are stored later: by time written they would be passed over.
    await save(site, *(tweet(number, clock.now() - number * MINUTE) for number in (1, 2, 3)))
    clock.advance(MINUTE)
    page = (await site.get(f"/api/feed?{start}&limit=2", "alice")).json()
    assert (page["count"], page["total"], page["has_more"]) == (2, 3, True)
    await save(site, tweet(50, clock.now() - 50 * MINUTE))
    clock.advance(MINUTE)
    seen, has_more = ids(page), True
    while has_more:
        page = (await site.get(f"/api/feed?limit=2&cursor={page['next_cursor']}", "alice")).json()
        seen, has_more = seen + ids(page), page["has_more"]
    assert seen == ["3", "2", "1", "50"]
    again = (await site.get(f"/api/feed?cursor={page['next_cursor']}", "alice")).json()
    assert (ids(again), again["next_cursor"]) == ([], page["next_cursor"])
    await save(site, tweet(51, clock.now()))
    clock.advance(MINUTE)
    assert ids((await site.get(f"/api/feed?cursor={again['next_cursor']}", "alice")).json()) == ["51"]


@pytest.mark.proves("D-13")
async def test_the_cursor_passes_over_nothing_that_was_stamped_by_a_clock_ahead_of_ours(site: Site, clock: ManualClock):
    for number, seconds in ((1, 3), (2, 1)):
        at = clock.now() + timedelta(seconds=seconds)
        await site.system.store.write(tweets.save_tweets, [tweet(number, clock.now())], now=at)
    clock.advance(timedelta(seconds=2))
    page = (await site.get("/api/feed?since=2026-03-01T12:00:00Z", "alice")).json()
    clock.advance(MINUTE)
    rest = (await site.get(f"/api/feed?cursor={page['next_cursor']}", "alice")).json()
    assert ids(page) + ids(rest) == ["1", "2"]
    assert page["until"] == "2026-03-01T12:00:02.000Z"
    closed = await site.get("/api/feed?since=2026-03-01T12:00:00Z&until=2026-03-01T12:00:02Z", "alice")
    assert (ids(closed.json()), closed.json()["total"]) == (["2"], 1)


@pytest.mark.proves("D-13")
async def test_the_feed_gives_no_more_at_once_than_the_settings_say(lean_site: Site, clock: ManualClock):
    await save(lean_site, *(tweet(number, clock.now()) for number in range(210)))
    clock.advance(MINUTE)
    page = (await lean_site.get("/api/feed?since=2026-03-01&limit=1000", "alice")).json()
    assert (page["count"], page["total"], page["has_more"]) == (200, 210, True)


@pytest.mark.parametrize(
    ("path", "field"),
    [
        ("/api/feed", "since"),
        ("/api/feed?since=2026-03-01T12:00:00Z&until=2026-03-01T12:00:00Z", "since"),
        ("/api/feed?cursor=nonsense", "cursor"),
        ("/api/feed?cursor=W10", "cursor"),
        ("/api/feed?cursor=WzkyMjMzNzIwMzY4NTQ3NzU4MDgsIG51bGxd", "cursor"),
        ("/api/tweets?cursor=WzEsIG51bGxd", "cursor"),
        ("/api/tweets?cursor=WzEsICIyMDI2LTAzLTAxIl0", "cursor"),
        ("/api/tweets?author=not+a+name", "username"),
        (f"/api/tweets?cursor={write_cursor(1, datetime.min.replace(tzinfo=EAST))}", "cursor"),
        (f"/api/tweets?cursor={write_cursor(1, datetime.max.replace(tzinfo=WEST))}", "cursor"),
    ],
)
@pytest.mark.proves("D-18", "F-07")
async def test_what_cannot_be_asked_is_refused_with_the_field(lean_site: Site, path: str, field: str):
    answer = await lean_site.get(path, "alice")
    assert (answer.status_code, answer.json()["field"]) == (422, field)


@pytest.mark.parametrize(
    "path", ["/api/tweets", "/api/tweets/1", "/api/feed?since=2026-03-01", "/api/scraping/follows"]
)
@pytest.mark.proves("D-18")
async def test_tweets_are_for_who_is_known(lean_site: Site, path: str):
    assert (await lean_site.get(path)).status_code == 401


ADMIN = "/api/admin/scraping/follows"
ADA = {"username": "@Ada_L", "reason": "numbers", "added_by": "me"}


@pytest.mark.proves("D-08")
async def test_an_admin_follows_changes_and_gives_up(site: Site):
    added = await site.post(ADMIN, "admin", json=ADA)
    assert (added.status_code, added.json()["username"], added.json()["is_active"]) == (201, "ada_l", True)
    assert (await site.post(ADMIN, "admin", json={**ADA, "username": "ADA_L"})).status_code == 409
    changed = await site.put(f"{ADMIN}/@ADA_L", "admin", json={"reason": "engines"})
    assert changed.json()["reason"] == "engines"
    assert [one["username"] for one in (await site.get("/api/scraping/follows", "alice")).json()] == ["ada_l"]
    assert (await site.delete(f"{ADMIN}/ada_l", "admin")).status_code == 204
    assert (await site.delete(f"{ADMIN}/ada_l", "admin")).status_code == 404
    assert (await site.get("/api/scraping/follows", "alice")).json() == []
    assert (await site.get(ADMIN, "admin")).json() == []
    kept = (await site.get(f"{ADMIN}?include_inactive=true", "admin")).json()
    assert [(one["username"], one["is_active"]) for one in kept] == [("ada_l", False)]
    assert (await site.post(ADMIN, "admin", json=ADA)).status_code == 201


@pytest.mark.parametrize(
    "body",
    [{**ADA, "username": "not a name"}, {**ADA, "reason": ""}, {**ADA, "reason": "  "}, {**ADA, "added_by": "x" * 101}],
)
@pytest.mark.proves("D-08", "D-18")
async def test_what_cannot_be_followed_is_refused(lean_site: Site, body):
    assert (await lean_site.post(ADMIN, "admin", json=body)).status_code == 422
    assert (await lean_site.get(f"{ADMIN}?include_inactive=true", "admin")).json() == []


@pytest.mark.proves("D-08")
async def test_a_change_of_nothing_or_nobody_is_refused(lean_site: Site):
    assert (await lean_site.put(f"{ADMIN}/ada", "admin", json={"is_active": True})).status_code == 404
    await lean_site.post(ADMIN, "admin", json=ADA)
    assert (await lean_site.put(f"{ADMIN}/ada_l", "admin", json={})).status_code == 422


@pytest.mark.proves("D-08")
async def test_only_an_admin_manages_follows(lean_site: Site):
    for method, path in (("GET", ADMIN), ("POST", ADMIN), ("PUT", f"{ADMIN}/a"), ("DELETE", f"{ADMIN}/a")):
        statuses = [(await lean_site.ask(method, path, who, json=ADA)).status_code for who in (None, "alice")]
        assert statuses == [401, 403]
