"""GitHub Trending, over real sockets and by the pages of 2023 and 2026."""

from __future__ import annotations

from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from catchment.clock import ManualClock
from catchment.errors import BadConfig, ParseError
from catchment.parse.trending import Repository, read_rows
from catchment.simulator.services.places import DESERTED, SHOWN
from feed_site import FeedSite
from service_visits import START, capture, registry, simulated_services, visitor

pytestmark = pytest.mark.proves("A-31")

FULL_2023 = "trending_2023-05_full_page_go-trending.html"
TRIMMED_2026 = "trending_2026-04_trimmed_llmx.html"


def read_trending(body):
    return [repository for repository in read_rows(body) if repository is not None]


class TestWhatIsRead:
    def test_the_captured_page_of_2023_has_its_25_repositories(self):
        found = read_trending(capture("github_trending", FULL_2023))
        assert len(found) == 25
        assert found[0] == Repository(
            owner="smol-ai",
            name="developer",
            description="with 100k context windows on the way, it's now feasible for every dev to have their own "
            "smol developer",
            language="Python",
            stars=5096,
            forks=277,
            stars_gained=1582,
        )
        assert all(one.stars and one.forks and one.stars_gained for one in found)
        assert [one.name for one in found if not one.language], "rows without a language are read too"

    def test_the_captured_page_of_2026_is_read_though_its_classes_were_renamed(self):
        found = read_trending(capture("github_trending", TRIMMED_2026))
        assert [(one.owner, one.name) for one in found] == [
            ("mattpocock", "skills"),
            ("Alishahryar1", "free-claude-code"),
            ("Z4nzu", "hackingtool"),
        ]
        assert (found[0].stars, found[0].forks, found[0].stars_gained) == (21262, 1760, 1139)
        assert found[0].language == "Shell"

    @pytest.mark.parametrize("name", [FULL_2023, TRIMMED_2026])
    def test_links_to_sponsors_and_the_login_are_never_taken_for_the_repository(self, name):
        owners = {one.owner for one in read_trending(capture("github_trending", name))}
        assert not owners & {"sponsors", "login", "users", "trending"}

    @pytest.mark.parametrize(
        "row",
        [
            '<h2><a href="/sponsors">S</a> <a href="/o/n">o / n</a></h2>',
            '<a href="/login?return_to=%2Fo%2Fn">Star</a><h1><a href="/o/n">n</a></h1>',
            '<a href="/sponsors/x">Sponsor</a><h3><span><a href="/o/n">n</a></span></h3>',
            '<h2><a href="https://evil.example/a/b">?</a><a href="/o/n">n</a></h2>',
        ],
    )
    def test_the_repository_is_the_link_in_the_heading(self, row):
        [found] = read_trending(f"<article>{row}</article>".encode())
        assert (found.owner, found.name) == ("o", "n")

    def test_a_page_that_says_there_is_nothing_is_empty(self):
        body = "<main><div><h3>It looks like we don’t have any trending repositories for Befunge.</h3></div></main>"
        assert read_trending(body.encode()) == []

    @pytest.mark.parametrize(
        "body",
        [b"", b"<html><h1>Sign in to GitHub</h1></html>", b"<article><h2><a href='/x'>x</a></h2></article>", b"{}"],
    )
    def test_a_page_that_is_another_one_is_a_parse_error(self, body):
        with pytest.raises(ParseError):
            read_trending(body)

    @given(st.binary(max_size=300) | st.text(alphabet="<>/=\"'ah2article span p", max_size=200).map(str.encode))
    def test_any_bytes_are_a_page_or_a_parse_error(self, body):
        try:
            found = read_trending(body)
        except ParseError:
            return
        assert all(one.owner and one.name for one in found)


class TestTheSimulatedService:
    async def test_repositories_are_collected_with_what_is_told_of_them(self):
        async with simulated_services(ManualClock(START)) as web, visitor(web.url("")) as visit:
            fetched = await visit("github_trending", {})
            assert len(fetched.items) == SHOWN
            item = fetched.items[0]
            assert item.title == "workshop-13/tool-59"
            assert item.url == web.url("/workshop-13/tool-59")
            assert item.key == "workshop-13/tool-59"
            assert set(item.metadata) == {"stars_today", "stars", "forks", "language"}
            assert item.metadata["stars"] == 1000 + 59 * 37
            assert fetched.title == "GitHub Trending: all (daily)"

    async def test_a_repository_that_trends_again_is_the_same_item(self):
        clock = ManualClock(START)
        async with simulated_services(clock) as web, visitor(web.url("")) as visit:
            first = {item.key: item.fingerprint for item in (await visit("github_trending", {})).items}
            clock.advance(timedelta(hours=3))
            later = {item.key: item.fingerprint for item in (await visit("github_trending", {"since": "weekly"})).items}
        both = first.keys() & later.keys()
        assert len(both) == SHOWN - 3
        assert all(first[key] == later[key] for key in both)

    async def test_a_language_with_a_sign_in_its_name_has_its_page(self):
        async with simulated_services(ManualClock(START)) as web, visitor(web.url("")) as visit:
            fetched = await visit("github_trending", {"language": "C++", "since": "monthly"})
        assert fetched.items
        assert {item.metadata["language"] for item in fetched.items} <= {"C++", ""}

    async def test_a_language_in_which_nothing_trends_is_no_failure(self):
        async with simulated_services(ManualClock(START)) as web, visitor(web.url("")) as visit:
            assert (await visit("github_trending", {"language": DESERTED})).items == ()

    async def test_what_is_asked_for_is_what_the_config_says(self):
        async with FeedSite() as site, visitor(site.url("")) as visit:
            site.serve("<h3>we don’t have any trending repositories</h3>", path="/trending/c#")
            await visit("github_trending", {"language": "C#", "since": "weekly", "spoken_language": "zh"})
            [request] = site.requests
        assert request.raw_path == "/trending/c%23?since=weekly&spoken_language_code=zh"


class TestItsConfig:
    def test_all_languages_are_written_in_three_ways(self):
        identity = registry().get("github_trending").identity
        assert identity({}) == identity({"language": ""}) == identity({"language": "all"})
        assert identity({"language": "Python"}) == identity({"language": "python", "since": "daily"})
        assert identity({"language": "rust"}) != identity({"language": "rust", "since": "weekly"})

    @pytest.mark.parametrize("config", [{"since": "yearly"}, {"language": "a/b"}, {"language": ".."}, {"language": 5}])
    def test_what_cannot_be_is_said(self, config):
        with pytest.raises(BadConfig):
            registry().get("github_trending").identity(config)
