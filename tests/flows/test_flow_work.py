"""What the flows do, without Prefect."""

from __future__ import annotations

import pytest

from catchment.errors import DamagedStore
from catchment.flows.state import deliver, run_on_state, start_over, state_at, with_bucket
from catchment.manage.sites import Output, Site
from catchment.settings import Settings
from damage import damage
from source_factory import START

SETTINGS = Settings(allow_networks="127.0.0.1")


@pytest.mark.proves("B-17")
def test_the_state_is_where_the_flow_says_or_the_setting_or_in_the_main_store(tmp_path):
    main = Settings(database_url="postgresql://main")
    assert state_at(None, main).settings.store_url() == "postgresql://main"
    assert not state_at("", main).is_own
    named = state_at("state.db", main)
    assert (named.settings.store_url(), named.is_own) == ("sqlite:///state.db", True)
    assert state_at("postgresql://other", main).settings.store_url() == "postgresql://other"
    by_setting = state_at(None, Settings(database_url="postgresql://main", rss_state_db=str(tmp_path / "s.db")))
    assert (by_setting.settings.store_url(), by_setting.is_own) == (f"sqlite:///{tmp_path / 's.db'}", True)


@pytest.mark.proves("B-12", "B-17")
async def test_one_state_serves_both_stores_between_runs(site, pages, store_url):
    pages.write("/1", START)
    followed = Site(sitemap_url=pages.publish(), name="mill")
    first = await run_on_state(followed, state_at(store_url, SETTINGS))
    site.hits.clear()
    again = await run_on_state(followed, state_at(store_url, SETTINGS))
    assert (first.tally.inserted, again.tally.inserted, set(site.hits)) == (1, 0, {"/sitemap.xml"})


@pytest.mark.proves("B-07")
async def test_damage_that_nothing_has_met_yet_is_found_before_the_run(pages, tmp_path, log):
    for number in range(40):
        pages.write(f"/{number}", START)
    state = state_at(str(tmp_path / "state.db"), SETTINGS)
    followed = Site(sitemap_url=pages.publish(), name="mill", max_items=15)
    await run_on_state(followed, state)
    broken = damage(tmp_path / "state.db", "candidates")
    with pytest.raises(DamagedStore) as found:
        await run_on_state(followed, state)
    run = await start_over(followed, state, found.value)
    assert (run.mode, len(run.shown)) == ("full_fallback", 15)
    [aside] = [path for path in tmp_path.iterdir() if ".damaged-" in path.name]
    assert aside.read_bytes() == broken
    assert [line for line in log if line.startswith("WARNING") and aside.name in line]
    assert (await run_on_state(followed, state)).tally.fetched == 0


async def test_a_bucket_that_is_not_named_costs_the_upload_alone(pages, tmp_path):
    pages.write("/1", START)
    state = state_at(str(tmp_path / "state.db"), SETTINGS)
    run = await run_on_state(Site(sitemap_url=pages.publish(), name="mill"), state)
    output = Output(local_file=str(tmp_path / "mill.atom"), r2_object_key="mill.xml")
    answer = await deliver(run, output, SETTINGS)
    assert b"http://www.w3.org/2005/Atom" in (tmp_path / "mill.atom").read_bytes()
    assert answer["rss_generation"]["total_items"] == 1
    assert answer["r2_upload"]["success"] is False
    assert "CATCHMENT_S3_ENDPOINT" in answer["r2_upload"]["error"]


def test_a_bucket_is_named_by_its_account_or_its_endpoint():
    keys = {"bucket_name": "b", "access_key_id": "k", "secret_access_key": "s"}
    named = with_bucket(SETTINGS, {"account_id": "abc", **keys})
    assert (named.s3_endpoint, named.s3_bucket) == ("https://abc.r2.cloudflarestorage.com", "b")
    assert with_bucket(SETTINGS, {"endpoint": "http://s3.example/", **keys}).s3_endpoint == "http://s3.example"
    assert with_bucket(SETTINGS, None) is SETTINGS
