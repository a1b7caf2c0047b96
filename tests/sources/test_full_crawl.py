"""The full mode: the newest of everything, with what fails left out."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from catchment.domain.candidate import CandidatePolicy
from catchment.errors import HttpError
from catchment.sources.full_crawl import crawl_in_full, sample
from catchment.sources.sitemap import title_from_url
from scripted_crawl import Page, ScriptedSite
from source_factory import START

DAY = timedelta(days=1)
_LONG_AGO = datetime.min.replace(tzinfo=UTC)


@pytest.mark.proves("B-09", "B-11")
@given(
    ages=st.lists(st.none() | st.integers(0, 99), max_size=40),
    most=st.integers(1, 10),
)
async def test_it_brings_the_newest_first_whatever_the_order_of_the_list(ages, most):
    site = ScriptedSite(policy=CandidatePolicy(incremental=False, max_items=most), stretch=7)
    site.pages = {f"/{n}": Page(1, None if age is None else START - age * DAY) for n, age in enumerate(ages)}
    brought = [item.url for item in (await crawl_in_full(site)).items]
    by_date = sorted(site.pages, key=lambda url: site.pages[url].lastmod or _LONG_AGO, reverse=True)
    assert brought == by_date[:most]


@pytest.mark.proves("B-07")
async def test_what_fails_is_left_out_and_told():
    site = ScriptedSite(pages={"/1": Page(1, START), "/2": Page(1, START, is_reachable=False)})
    fetched = await crawl_in_full(site)
    assert [item.url for item in fetched.items] == ["/1"]
    assert fetched.warnings == ("left out: It answered 500.",)


async def test_when_all_fail_it_is_an_error():
    with pytest.raises(HttpError):
        await crawl_in_full(ScriptedSite(pages={"/2": Page(1, START, is_reachable=False)}))


async def test_a_sample_fetches_a_few_of_the_first_stretch():
    site = ScriptedSite(stretch=5)
    for number in range(50):
        site.add(f"/{number}", lastmod=START + number * DAY)
    assert [item.url for item in (await sample(site, 2)).items] == ["/4", "/3"]
    assert sum(site.asked.values()) == 2


async def test_a_sample_of_nothing_is_empty():
    assert (await sample(ScriptedSite(), 2)).items == ()


@pytest.mark.proves("B-09")
@pytest.mark.parametrize(
    ("path", "title"),
    [
        ("/my-blog-post", "My Blog Post"),
        ("/tech/python-tips", "Tech - Python Tips"),
        ("/about.html", "About"),
        ("/", "Untitled"),
        ("", "Untitled"),
        ("/news/2025/tech_update", "News - 2025 - Tech Update"),
        ("/caf%C3%A9/", "Café"),
        ("/.well-known", ".Well Known"),
    ],
)
def test_a_title_is_made_of_the_address(path, title):
    assert title_from_url(f"https://example.org{path}") == title
