from __future__ import annotations

from datetime import UTC, datetime, timedelta

from hypothesis import given
from hypothesis import strategies as st

from catchment.simulator.formats import STYLES, WELCOME_SITES, Dialect
from catchment.simulator.world import SimulatedSite, World

START = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)
HOUR = timedelta(hours=1)
HOME = "http://127.77.0.1:8000/s/0/"
moments = st.integers(min_value=-400, max_value=4000).map(lambda minutes: START + timedelta(minutes=minutes))


def a_site(number: int = 0, *, seed: int = 1, speed: float = 1.0, window: int = 8) -> SimulatedSite:
    world = World(seed=seed, sites=number + 1, started_at=START, speed=speed, window=window, period=HOUR)
    return world.sites[number]


def test_the_same_seed_tells_the_same_story_and_another_seed_another() -> None:
    later = START + 5 * HOUR
    assert a_site(3).posts(later) == a_site(3).posts(later)
    assert a_site(3).posts(later) != a_site(3, seed=2).posts(later)


def test_the_window_is_full_at_the_start_and_slides_as_posts_appear() -> None:
    site = a_site()
    first, later = site.posts(START), site.posts(START + 3 * HOUR)
    assert len(first) == len(later) == 8
    assert len({post.id for post in first} & {post.id for post in later}) in {5, 4}


@given(number=st.integers(0, 40), at=moments)
def test_posts_are_out_already_newest_first_and_never_twice(number: int, at: datetime) -> None:
    posts = a_site(number).posts(at)
    dates = [post.published for post in posts]
    assert dates == sorted(dates, reverse=True)
    assert all(date <= at for date in dates)
    assert len({post.id for post in posts}) == len(posts) <= 8


@given(number=st.integers(0, 40), at=moments, share=st.floats(0, 1, exclude_max=True))
def test_an_edition_stays_the_same_until_its_end(number: int, at: datetime, share: float) -> None:
    site = a_site(number)
    edition = site.edition(at)
    within = site.timeline.story(at) + share * (edition.until - site.timeline.story(at))
    moment = datetime.fromtimestamp(int(within), UTC)
    if moment >= at:
        assert site.posts(moment) == edition.posts


@given(number=st.integers(0, 40), at=moments)
def test_something_has_changed_when_an_edition_ends(number: int, at: datetime) -> None:
    site = a_site(number)
    edition = site.edition(at)
    after = datetime.fromtimestamp(edition.until, UTC) + timedelta(milliseconds=1)
    assert site.posts(after) != edition.posts


def test_an_edit_changes_the_body_and_the_date_of_update_but_not_the_id_nor_the_title() -> None:
    site = a_site(window=40)
    edited = next(post for post in site.posts(START) if post.updated)
    assert edited.updated is not None
    before = site.post(edited.number, edited.updated - timedelta(seconds=1))
    assert before is not None
    assert (before.id, before.title, before.updated) == (edited.id, edited.title, None)
    assert before.body != edited.body


@given(number=st.integers(0, 40), minutes=st.integers(0, 3000))
def test_what_a_site_has_listed_is_what_a_watcher_of_every_minute_has_seen(number: int, minutes: int) -> None:
    site = a_site(number)
    seen: set[str] = set()
    for minute in range(0, minutes + 1, 20):
        seen |= site.ids(START + timedelta(minutes=minute), home=HOME)
    assert seen == site.ids_since(START, START + timedelta(minutes=minutes // 20 * 20), home=HOME)


def test_at_speed_sixty_an_hour_passes_in_a_minute_and_dates_stay_in_the_past() -> None:
    slow, fast = a_site(), a_site(speed=60)
    shown = fast.posts(START + timedelta(minutes=5))
    assert [post.id for post in shown] == [post.id for post in slow.posts(START + 5 * HOUR)]
    assert all(post.published <= START + timedelta(minutes=5) for post in shown)


def test_at_speed_zero_the_world_stands_still() -> None:
    site = a_site(speed=0)
    assert site.posts(START + 1000 * HOUR) == site.posts(START)
    assert site.edition(START).changed_at <= START


def test_a_mixed_world_has_every_format_encoding_and_language() -> None:
    sites = World(seed=1, sites=600, started_at=START).sites
    assert {site.style.format for site in sites} == set(Dialect)
    assert {site.style.encoding for site in sites} == {style.encoding for style, _ in STYLES}
    assert {site.vocabulary.code for site in sites} == {"en", "zh", "de", "fr", "ar", "ja"}
    assert len({site.abilities for site in sites}) > 4


def test_every_world_opens_with_the_welcome_sites() -> None:
    sites = World(seed=5, sites=50, started_at=START).sites
    assert [site.title for site in sites[: len(WELCOME_SITES)]] == [site.title for site in WELCOME_SITES]
    assert sites[1].vocabulary.code == "zh"
