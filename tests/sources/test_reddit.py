"""Reddit, over real sockets and by what it really answered, friendly or not."""

from __future__ import annotations

import json
from contextlib import suppress
from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from catchment.clock import ManualClock
from catchment.errors import BadConfig, Blocked, HttpError, ParseError, VisitError
from catchment.fetch.client import Response
from catchment.simulator.faults import SiteTrouble
from catchment.simulator.services.places import block_page, too_many
from catchment.sources.reddit import BLOCK_WORDS, UNSAID_WAIT_SECONDS, RedditConfig, judge, read_listing
from feed_site import FeedSite
from service_visits import START, capture, registry, simulated_services, visitor

pytestmark = pytest.mark.proves("A-31")
BASE = "https://www.reddit.com"


def read(body: bytes, *, limit: int = 100):
    wanted = RedditConfig(subreddit="AskReddit", limit=limit)
    return read_listing(body, url="", content_type="", base=BASE, wanted=wanted)[:2]


def listing(*posts: dict[str, object]) -> bytes:
    children = [{"kind": "t3", "data": {"name": f"t3_{number}", **post}} for number, post in enumerate(posts)]
    return json.dumps({"kind": "Listing", "data": {"children": children}}).encode()


def answer(status: int, body: bytes, **headers: str) -> Response:
    return Response(status=status, url=f"{BASE}/r/python/hot.json", headers=headers, body=body)


class TestWhatIsRead:
    def test_a_captured_listing_of_a_hundred_and_two_gives_the_hundred_that_are_not_pinned(self):
        title, items = read(capture("reddit", "praw_askreddit_hot_2016_2stickied_102children.json"))
        assert title == "r/AskReddit"
        assert len(items) == 100
        assert items[0].key == "t3_48dath"
        assert items[0].url.startswith("https://www.reddit.com/r/AskReddit/comments/48dath/")
        assert items[0].published_at.year == 2016
        assert not any("mobile artwork" in item.content for item in items), "that one was pinned"

    def test_captured_links_lead_out_and_their_discussion_is_kept(self):
        _, items = read(capture("reddit", "praw_front_hot_2016_links_and_self.json"))
        assert items[0].url == "http://i.imgur.com/NFOb0VK.jpg"
        assert items[0].metadata["discussion"].startswith("https://www.reddit.com/r/pics/comments/48dxvx/")
        assert items[0].metadata["subreddit"] == "pics"
        assert items[0].metadata["score"] == 6710

    @pytest.mark.parametrize("name", ["praw_crosspost_thread_2017.json", "praw_gallery_thread_2020.json"])
    def test_captured_crossposts_and_galleries_have_whole_addresses(self, name):
        thread = json.loads(capture("reddit", name))
        _, [item] = read(json.dumps(thread[0]).encode())
        assert item.url.startswith("https://")
        assert item.metadata["discussion"].startswith("https://www.reddit.com/r/")

    def test_a_permalink_is_the_address_of_a_post_without_one(self):
        _, [item] = read(listing({"title": "T", "permalink": "/r/x/comments/1/t/"}))
        assert item.url == "https://www.reddit.com/r/x/comments/1/t/"

    def test_the_words_of_a_post_are_sanitised_html_and_without_any_the_title_stands_in(self):
        html = '<!-- SC_OFF --><div class="md"><p>Hi <a href="/u/x">x</a><script>1</script></p></div>'
        _, [posted, bare] = read(listing({"title": "A", "selftext_html": html}, {"title": "1 < 2"}))
        assert "script" not in posted.content
        assert 'href="https://www.reddit.com/u/x"' in posted.content
        assert bare.content == "1 &lt; 2"

    @pytest.mark.proves("A-31")
    @pytest.mark.parametrize("title", ["How do I style an <a> in a <div>?", "Salt & pepper"])
    def test_a_title_keeps_what_looks_like_markup(self, title):
        _, [item] = read(listing({"title": title}))
        assert item.title == title

    def test_votes_and_comments_are_no_change_of_a_post(self):
        _, [before] = read(listing({"title": "T", "score": 1, "num_comments": 0}))
        _, [after] = read(listing({"title": "T", "score": 900, "num_comments": 44}))
        assert before.fingerprint == after.fingerprint

    def test_a_page_that_asks_for_the_age_is_no_listing(self):
        with pytest.raises(ParseError, match="HTML page"):
            read(capture("reddit", "a2web_old_reddit_over18_interstitial.html"))

    def test_what_was_paid_for_is_no_post_and_nothing_malformed(self):
        wanted = RedditConfig(subreddit="AskReddit", limit=2)
        body = listing({"title": "Buy!", "promoted": True}, {"title": "A", "promoted": False}, {"title": "B"})
        reading = read_listing(body, url="", content_type="", base=BASE, wanted=wanted)
        assert [item.title for item in reading.items] == ["A", "B"]
        assert reading.left_out == 0

    @pytest.mark.parametrize("value", [[], {"kind": "t5"}, {"kind": "Listing"}, {"kind": "Listing", "data": {}}])
    def test_what_lists_no_posts_is_no_listing_and_an_empty_list_is_one(self, value):
        with pytest.raises(ParseError):
            read(json.dumps(value).encode())
        assert read(listing()) == ("r/AskReddit", ())

    @given(
        st.recursive(
            st.none() | st.booleans() | st.integers() | st.text(),
            lambda one: (
                st.lists(one) | st.dictionaries(st.sampled_from(["kind", "data", "children", "t3", "title"]), one)
            ),
        )
    )
    def test_any_json_is_a_listing_or_a_parse_error(self, value):
        with suppress(ParseError):
            read(json.dumps(value).encode())


class TestRefusals:
    def refused(self, response: Response) -> VisitError:
        with pytest.raises(VisitError) as caught:
            judge(response, START, subreddit="python")
        return caught.value

    @pytest.mark.parametrize("status", [200, 403])
    def test_the_captured_block_page_is_known_whatever_its_status(self, status):
        error = self.refused(answer(status, capture("reddit", "a2web_old_reddit_network_policy_block.html")))
        assert isinstance(error, Blocked)
        assert error.retry_after == UNSAID_WAIT_SECONDS
        assert "user_agent" in str(error)

    @pytest.mark.parametrize("status", [200, 403])
    @pytest.mark.parametrize("words", ["You've been blocked by network security.", "Reddit - Prove your humanity"])
    def test_its_later_block_pages_are_known_too(self, status, words):
        error = self.refused(answer(status, f"<html><title>{words}</title>".encode()))
        assert isinstance(error, Blocked)
        assert error.retry_after == UNSAID_WAIT_SECONDS

    def test_a_403_that_means_429_asks_for_a_wait(self):
        body = b'{"message": "Too Many Requests", "error": 403}'
        assert self.refused(answer(403, body)).retry_after == UNSAID_WAIT_SECONDS

    @pytest.mark.parametrize(("header", "value"), [("Retry-After", "120"), ("x-ratelimit-reset", "120")])
    def test_the_wait_that_reddit_names_is_the_one_that_counts(self, header, value):
        error = self.refused(answer(429, b"", **{header: value}))
        assert isinstance(error, HttpError)
        assert (error.status, error.retry_after) == (429, 120)

    @pytest.mark.parametrize(
        ("status", "reason", "said"),
        [
            (403, "private", "private: only its members"),
            (404, "banned", "banned by Reddit"),
            (403, "quarantined", "quarantined"),
            (403, "gated", "shows a warning first"),
            (404, None, "there is no subreddit r/python"),
        ],
    )
    def test_a_closed_door_says_why_it_is_closed(self, status, reason, said):
        error = self.refused(answer(status, json.dumps({"reason": reason, "error": status}).encode()))
        assert isinstance(error, HttpError)
        assert said in str(error)
        assert error.retry_after is None, "waiting opens no closed door"

    @pytest.mark.parametrize("status", [403, 500, 503])
    def test_any_other_failure_is_told_as_everywhere(self, status):
        assert f"HTTP {status}" in str(self.refused(answer(status, b"<h1>Sorry</h1>")))

    @given(st.binary(max_size=200), st.sampled_from([200, 301, 304, 400, 403, 404, 429, 500]))
    def test_any_answer_is_taken_or_a_visit_error(self, body, status):
        try:
            judge(answer(status, body), START, subreddit="python")
        except VisitError:
            assert status >= 400 or any(words in body.lower() for words in BLOCK_WORDS)

    def test_posts_about_too_many_requests_are_posts(self):
        judge(answer(200, listing({"title": "whoa there, pardner: too many requests"})), START, subreddit="python")


class TestTheSimulatedService:
    async def test_posts_are_collected_without_the_pinned_ones(self):
        async with simulated_services(ManualClock(START)) as web, visitor(web.url("")) as visit:
            fetched = await visit("reddit", {"subreddit": "Python", "limit": 30})
        assert len(fetched.items) == 30
        assert fetched.title == "r/Python"
        assert "t3_0" not in {item.key for item in fetched.items}
        assert not any("&amp;" in item.title for item in fetched.items)

    async def test_only_the_newest_first_are_a_window_in_which_gaps_can_be_seen(self):
        async with simulated_services(ManualClock(START)) as web, visitor(web.url("")) as visit:
            assert (await visit("reddit", {"subreddit": "python", "sort": "new"})).is_window
            assert not (await visit("reddit", {"subreddit": "python", "sort": "top"})).is_window

    @pytest.mark.parametrize(
        ("fault", "wait"),
        [
            (block_page(403), UNSAID_WAIT_SECONDS),
            (block_page(200), UNSAID_WAIT_SECONDS),
            (block_page(403, headers=(("Retry-After", "77"),)), 77),
            (too_many(300), 300),
        ],
        ids=lambda value: getattr(value, "name", ""),
    )
    async def test_a_block_is_a_wait_and_over_when_it_is_over(self, fault, wait):
        clock = ManualClock(START)
        async with simulated_services(clock) as web, visitor(web.url("")) as visit:
            web.trouble("/r/python", SiteTrouble(fault=fault, until=START + timedelta(minutes=5)))
            with pytest.raises(VisitError) as caught:
                await visit("reddit", {"subreddit": "python"})
            assert caught.value.retry_after == wait
            clock.advance(timedelta(minutes=6))
            assert (await visit("reddit", {"subreddit": "python"})).items

    @pytest.mark.parametrize(
        ("name", "said"),
        [("members", "private"), ("expelled", "banned"), ("hazard", "quarantined"), ("nowhere", "there is no")],
    )
    async def test_closed_and_unknown_subreddits_are_told_apart(self, name, said):
        async with simulated_services(ManualClock(START)) as web, visitor(web.url("")) as visit:
            with pytest.raises(HttpError, match=said):
                await visit("reddit", {"subreddit": name})

    async def test_what_did_not_change_is_not_read_again(self):
        async with FeedSite() as site, visitor(site.url("")) as visit:
            site.serve(listing({"title": "T"}).decode(), path="/r/python/hot.json")
            first = await visit("reddit", {"subreddit": "python"})
            again = await visit("reddit", {"subreddit": "python"}, first.memory)
        assert (len(first.items), again.unchanged) == (1, True)


class TestItsConfig:
    def test_a_subreddit_is_the_same_however_it_is_written(self):
        identity = registry().get("reddit").identity
        assert identity({"subreddit": "Python"}) == identity({"subreddit": "/r/python/", "sort": "hot", "limit": 50})
        assert identity({"subreddit": "python"}) != identity({"subreddit": "python", "sort": "new"})

    @pytest.mark.parametrize(
        "config",
        [
            {},
            {"subreddit": "a/../../b"},
            {"subreddit": "x?y=1"},
            {"subreddit": "python", "sort": "best"},
            {"subreddit": "python", "limit": 101},
            {"subreddit": 7},
        ],
    )
    def test_what_cannot_be_is_said(self, config):
        with pytest.raises(BadConfig):
            registry().get("reddit").identity(config)
