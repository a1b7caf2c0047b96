"""Hacker News, over real sockets and by what its API really answered."""

from __future__ import annotations

import asyncio
import json
from datetime import UTC, datetime, timedelta

import pytest
from aiohttp import web
from hypothesis import given
from hypothesis import strategies as st

from catchment.clock import ManualClock
from catchment.errors import BadConfig, HttpError, ParseError, Unreachable
from catchment.fetch.pacing import Deferred, PacePolicy
from catchment.simulator.services.places import LISTED, kind_of
from catchment.sources.hackernews import LISTS, MAX_FAILURES, SIDE_BY_SIDE, _item
from feed_site import FeedSite
from service_visits import START, capture, registry, simulated_services, visitor

pytestmark = pytest.mark.proves("A-31")


def serve_stories(site: FeedSite, stories: dict[int, object], *, listed: list[int] | None = None) -> None:
    site.serve(json.dumps(list(stories) if listed is None else listed), path="/v0/topstories.json")
    for number, story in stories.items():
        site.serve(json.dumps(story), path=f"/v0/item/{number}.json")


def story(number: int, **values: object) -> dict[str, object]:
    return {"id": number, "type": "story", "title": f"Story {number}", "score": 100, "time": 1716543983, **values}


@pytest.fixture
async def site():
    async with FeedSite() as site:
        yield site


class TestWhatIsRead:
    def read(self, name: str, *, least: int = 0):
        captured = json.loads(capture("hackernews", name))
        return None if captured is None else _item(captured, least=least)

    def test_a_captured_story_is_read_as_a_person_reads_it(self):
        item = self.read("item_story_40464529.json")
        assert item.key == "40464529"
        assert item.title == "Willow Sideloading Protocol"
        assert item.url == "https://willowprotocol.org/specs/sideloading"
        assert item.author == "signa11"
        assert item.published_at == datetime(2024, 5, 24, 9, 46, 23, tzinfo=UTC)
        assert item.metadata == {
            "score": 18, "comments": 2, "discussion": "https://news.ycombinator.com/item?id=40464529",
        }  # fmt: skip

    def test_a_captured_question_keeps_its_text_and_leads_to_its_discussion(self):
        item = self.read("item_ask_121003.json")
        assert item.url == "https://news.ycombinator.com/item?id=121003"
        assert item.content.startswith("<i>or</i> HN: the Next Iteration<p>I get the impression")

    def test_a_captured_poll_is_read_and_its_links_are_decoded(self):
        assert "https://news.ycombinator.com/item?id=30239283" in self.read("item_poll_30239441.json").content

    @pytest.mark.parametrize("name", ["item_job_35908337.json", "item_job_40481509.json"])
    def test_a_captured_job_is_below_any_score_and_there_without_one(self, name):
        assert self.read(name, least=2) is None
        assert "hiring" in self.read(name).title

    @pytest.mark.parametrize(
        "name",
        [
            "item_comment_40483424.json",
            "item_comment_dead_40476894.json",
            "item_comment_deleted_40475078.json",
            "item_missing_item_null.json",
            "item_pollopt_30239444.json",
            "item_story_dead_no_title_no_url_49280269.json",
        ],
    )
    def test_what_is_no_story_dead_deleted_or_missing_is_left_out(self, name):
        assert self.read(name) is None

    @pytest.mark.parametrize("nothing", ["", " ", "\u3000"])
    def test_a_story_whose_title_shows_nothing_is_left_out(self, nothing):
        assert _item(story(1, title=nothing), least=0) is None

    @pytest.mark.parametrize("title", ["HTML: the <a> and <video> tags", "What is <b> & why?", "1 < 2"])
    def test_a_title_keeps_what_looks_like_markup(self, title):
        assert _item(story(1, title=title), least=0).title == title

    def test_text_is_sanitised(self):
        item = _item(story(1, text="<p onclick=x()>Hi<script>steal()</script>", title="A &amp; B"), least=0)
        assert (item.title, item.content) == ("A & B", "<p>Hi</p>")

    def test_a_score_that_rises_is_no_change_of_the_story(self):
        before, after = (_item(story(1, score=score, descendants=score), least=0) for score in (60, 600))
        assert before.fingerprint == after.fingerprint
        assert before.metadata != after.metadata

    @given(st.dictionaries(st.sampled_from(["id", "title", "score", "time", "url", "text", "by", "dead"]),
                           st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.lists(st.text())))  # fmt: skip
    def test_any_object_is_an_item_or_nothing(self, strange):
        item = _item(strange, least=0)
        assert item is None or item.title


class TestTheSimulatedService:
    @pytest.mark.parametrize("name", LISTS)
    async def test_every_list_is_collected(self, name):
        clock = ManualClock(START)
        async with simulated_services(clock) as simulated, visitor(simulated.url("")) as visit:
            fetched = await visit("hackernews", {"filter": name, "min_score": 0, "limit": 20})
        kinds = {kind_of(int(item.key)) for item in fetched.items}
        assert fetched.items
        assert kinds <= ({name} if name in {"ask", "show", "job"} else {"ask", "job", "show", "poll", "story"})
        assert all(item.url.startswith("https://") and item.published_at for item in fetched.items)
        assert fetched.memory == {}

    async def test_only_the_first_stories_of_the_list_are_asked_for(self):
        async with simulated_services(ManualClock(START)) as simulated, visitor(simulated.url("")) as visit:
            await visit("hackernews", {"limit": 7})
            assert simulated.hits.of("/v0/item/") == 7

    async def test_stories_below_the_score_are_left_out_until_they_rise(self):
        clock = ManualClock(START)
        async with simulated_services(clock) as simulated, visitor(simulated.url("")) as visit:
            young = await visit("hackernews", {"filter": "new", "min_score": 50})
            clock.advance(timedelta(hours=4))
            older = await visit("hackernews", {"filter": "new", "min_score": 50, "limit": 60})
        assert all(item.metadata["score"] >= 50 for item in (*young.items, *older.items))
        risen = {int(item.key) for item in older.items} - {int(item.key) for item in young.items}
        assert min(risen) < LISTED, "it was there before, with fewer points"


class TestWhenThingsGoWrong:
    async def test_one_story_that_cannot_be_had_does_not_cost_the_others(self, site):
        serve_stories(site, {number: story(number) for number in range(1, 9)})
        site.serve("oops", path="/v0/item/3.json", status=500)
        site.serve("{broken", path="/v0/item/4.json")
        site.serve('"words"', path="/v0/item/5.json")
        async with visitor(site.url("")) as visit:
            fetched = await visit("hackernews", {})
        assert [item.key for item in fetched.items] == ["1", "2", "6", "7", "8"]

    async def test_when_every_story_fails_the_visit_fails(self, site):
        serve_stories(site, {}, listed=[1, 2, 3])
        async with visitor(site.url("")) as visit:
            with pytest.raises(HttpError, match="404"):
                await visit("hackernews", {})

    async def test_a_service_in_trouble_is_not_asked_for_everything(self, site):
        serve_stories(site, {}, listed=list(range(100, 600)))
        async with visitor(site.url("")) as visit:
            with pytest.raises(HttpError):
                await visit("hackernews", {"limit": 500})
        assert site.hits.total() <= 1 + MAX_FAILURES + SIDE_BY_SIDE

    async def test_stories_that_are_all_missing_are_no_failure(self, site):
        serve_stories(site, {1: None, 2: None})
        async with visitor(site.url("")) as visit:
            assert (await visit("hackernews", {})).items == ()

    @pytest.mark.parametrize("listed", ["null", '{"error": 1}', '["a"]', "<html>"])
    async def test_a_list_that_is_none_cannot_be_read(self, site, listed):
        site.serve(listed, path="/v0/topstories.json")
        async with visitor(site.url("")) as visit:
            with pytest.raises(ParseError):
                await visit("hackernews", {})

    async def test_a_service_that_is_not_there_is_unreachable(self):
        async with visitor("http://127.0.0.1:9") as visit:
            with pytest.raises(Unreachable):
                await visit("hackernews", {})


@pytest.mark.proves("A-34")
class TestTheBudgetOfTheHost:
    async def test_stories_are_asked_for_side_by_side_within_the_hosts_share(self, site):
        together = asyncio.Barrier(3)

        async def meet(request: web.Request) -> web.Response:
            await together.wait()
            return web.json_response(story(int(request.path.split("/")[-1].removesuffix(".json"))))

        serve_stories(site, {}, listed=list(range(12)))
        for number in range(12):
            site.script(meet, path=f"/v0/item/{number}.json")
        policy = PacePolicy(concurrency=3, spacing_seconds=0, budget_per_minute=100)
        async with visitor(site.url(""), policy=policy) as visit:
            fetched = await visit("hackernews", {})
        assert len(fetched.items) == 12
        assert site.most_in_flight == 3

    async def test_what_the_budget_has_no_room_for_is_kept_for_the_next_visit(self, site):
        serve_stories(site, {number: story(number) for number in range(1, 21)})
        found: list[str] = []
        memory: dict[str, object] = {}
        for _ in range(3):
            policy = PacePolicy(concurrency=4, spacing_seconds=0, budget_per_minute=9)
            async with visitor(site.url(""), policy=policy, patience=0.5) as visit:
                fetched = await visit("hackernews", {}, memory)
            assert len(fetched.items) == 8, "a request for the list, and eight for stories"
            found += [item.key for item in fetched.items]
            memory = json.loads(json.dumps(fetched.memory))
        assert set(found) == {str(number) for number in range(1, 21)}, "every story had its turn"

    async def test_a_story_that_left_the_list_before_its_turn_is_still_asked_for(self, site):
        serve_stories(site, {number: story(number) for number in range(1, 4)}, listed=[3])
        async with visitor(site.url("")) as visit:
            fetched = await visit("hackernews", {}, {"pending": [1, 2]})
        assert [item.key for item in fetched.items] == ["1", "2", "3"]

    async def test_with_no_room_for_a_single_story_the_visit_is_put_off(self, site):
        serve_stories(site, {1: story(1)})
        policy = PacePolicy(concurrency=1, spacing_seconds=0, budget_per_minute=1)
        async with visitor(site.url(""), policy=policy, patience=0.1) as visit:
            for _ in ("the list was had", "nothing was had"):
                with pytest.raises(Deferred):
                    await visit("hackernews", {})


class TestItsConfig:
    def test_the_same_list_and_score_is_the_same_source(self):
        identity = registry().get("hackernews").identity
        assert identity({}) == identity({"filter": "top", "min_score": "50", "limit": 10})
        assert identity({}) != identity({"min_score": 100})

    @pytest.mark.parametrize(
        "config", [{"filter": "v2"}, {"filter": ["top"]}, {"min_score": "many"}, {"limit": 501}, {"limit": 0}]
    )
    def test_what_cannot_be_is_said(self, config):
        with pytest.raises(BadConfig):
            registry().get("hackernews").identity(config)

    async def test_jobs_are_collected_though_nobody_votes_for_them(self):
        async with simulated_services(ManualClock(START)) as simulated, visitor(simulated.url("")) as visit:
            assert (await visit("hackernews", {"filter": "job"})).items
