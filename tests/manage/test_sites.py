"""Sites as a file lists them: what is said, what is usual, and what is refused."""

from __future__ import annotations

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from catchment.errors import InvalidInput
from catchment.manage.sites import BadSite, Output, Site, minutes_between, read_sites

URL = "https://mill.example/sitemap.xml"


def one(**said):
    [site] = read_sites(json.dumps({"sites": {"mill": {"sitemap_url": URL, **said}}}).encode())
    return site


def test_a_site_needs_no_more_than_its_sitemap():
    site = one()
    assert isinstance(site, Site)
    assert (site.name, site.sitemap_url, site.schedule, site.max_items) == ("mill", URL, "0 */2 * * *", 20)
    assert (site.is_enabled, site.is_incremental, site.sort_by_date, site.output) == (True, True, True, Output())
    assert site.source_config() == {
        "url": URL,
        "site_name": "mill",
        "fetch_interval_minutes": 120,
        "include_patterns": [],
        "exclude_patterns": [],
        "fetch_titles": True,
        "extract_content": True,
        "respect_robots": True,
        "max_history_days": 30,
        "baseline_items": 10,
        "cleanup_interval_days": 7,
        "retry_failed_urls": True,
    }


#: As the document of the incremental feeds has it, written as YAML.
INCREMENTAL_CONFIGS = """
{head}prefect:
{pad}  sitemap_url: https://www.prefect.io/sitemap.xml
{pad}  site_name: prefect_blog
{pad}  enable_incremental: true
{pad}  channel_config:
{pad}    title: Prefect Blog Updates (Incremental)
{pad}    description: Latest blog posts from Prefect - incremental updates
{pad}  incremental_config:
{pad}    db_path: rss_incremental.db
{pad}    max_history_days: 30
{pad}    baseline_items: 10
{pad}    cleanup_interval_days: 7
{pad}    retry_failed_urls: true
"""


@pytest.mark.proves("R-13")
@pytest.mark.parametrize("root", ["INCREMENTAL_CONFIGS", "sites", ""])
def test_the_documents_own_configs_are_taken_as_they_are(root):
    pad = "  " if root else ""
    text = INCREMENTAL_CONFIGS.format(head=f"{root}:\n  " if root else "", pad=pad)
    [site] = read_sites(text.encode())
    assert isinstance(site, Site)
    assert (site.name, site.title, site.state_db) == ("prefect_blog", "prefect", "rss_incremental.db")
    assert (site.sitemap_url, site.is_incremental) == ("https://www.prefect.io/sitemap.xml", True)
    assert site.channel["title"] == "Prefect Blog Updates (Incremental)"
    assert "db_path" not in site.source_config()


@pytest.mark.proves("R-13")
def test_what_the_flow_is_called_with_may_stand_in_the_site_itself():
    site = one(max_items=7, fetch_titles=False)
    assert (site.max_items, site.config["fetch_titles"]) == (7, False)
    assert one(max_items=7, options={"max_items": 3}).max_items == 3


def test_defaults_give_way_to_a_sites_own_word_section_by_section():
    text = b"""
defaults:
  schedule: "0 */6 * * *"
  options: {max_items: 30, fetch_titles: false}
  channel_config: {language: de, ttl: 5}
sites:
  a: {sitemap_url: "https://a.example"}
  b:
    sitemap_url: https://b.example
    schedule: "*/10 * * * *"
    options: {max_items: 3, upload_method: file}
    channel_config: {title: B}
    filter_config: {exclude_patterns: [x], max_items: 9}
"""
    a, b = read_sites(text)
    assert (a.max_items, a.config["fetch_titles"], a.channel) == (30, False, {"language": "de", "ttl": 5})
    assert (a.source_config()["fetch_interval_minutes"], b.source_config()["fetch_interval_minutes"]) == (360, 10)
    assert (b.max_items, b.config["fetch_titles"]) == (3, False)
    assert b.channel == {"language": "de", "ttl": 5, "title": "B"}
    assert b.config["exclude_patterns"] == ["x"]


@pytest.mark.parametrize(
    "said",
    [
        {"sitemap_url": None},
        {"sitemap_url": 5},
        {"shedule": "* * * * *"},
        {"schedule": "every day"},
        {"enabled": "yes"},
        {"options": ["max_items"]},
        {"options": {"max_items": 0}},
        {"options": {"maxitems": 5}},
        {"options": {"upload_method": "pigeon"}},
        {"output": {"local_file": 5}},
        {"channel_config": {"titel": "x"}},
    ],
)
def test_what_cannot_be_meant_is_refused_with_a_sentence(said):
    site = one(**said)
    assert isinstance(site, BadSite)
    assert site.name == "mill"
    assert site.reason.endswith(".")


def test_of_many_sites_a_bad_one_costs_only_itself():
    good, bad = read_sites(b"sites:\n  a: {sitemap_url: 'https://a.example'}\n  b: nonsense\n")
    assert isinstance(good, Site)
    assert isinstance(bad, BadSite)


@pytest.mark.parametrize("body", [b"", b"[]", b"sites: 3", b"sites:\n  - a", b"\xff", b"{", b"x: *y"])
def test_a_file_without_sites_is_refused(body):
    with pytest.raises(InvalidInput):
        read_sites(body)


@pytest.mark.parametrize(
    ("cron", "minutes"),
    [
        ("* * * * *", 1),
        ("*/5 * * * *", 5),
        ("0 */2 * * *", 120),
        ("0 9,10 * * *", 60),
        ("30 6 * * *", 1440),
        ("0 0 1 1 *", 525_600),
        ("0 0 29 2 *", 525_600),
    ],
)
def test_a_schedule_is_as_dense_as_its_two_closest_runs(cron, minutes):
    assert minutes_between(cron) == minutes


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=12), inner, max_size=3),
    max_leaves=12,
)
named = st.dictionaries(
    st.sampled_from(["sitemap_url", "schedule", "options", "channel_config", "filter_config", "output", "enabled"]),
    json_values,
)


@settings(deadline=None)
@given(sites=st.dictionaries(st.text(max_size=10), named | json_values, max_size=4), defaults=named | json_values)
def test_whatever_a_file_says_it_is_read_or_refused(sites, defaults):
    try:
        found = read_sites(json.dumps({"sites": sites, "defaults": defaults}).encode())
    except InvalidInput:
        return
    assert len(found) == len(sites)
