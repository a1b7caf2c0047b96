"""What follows from a visit."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from hashlib import sha256

import pytest
from hypothesis import given
from hypothesis import strategies as st

from catchment.domain.item import MAX_KEY, former_fingerprint, former_key, make_item, short_hash
from catchment.domain.source import FAILURES_UNTIL_PAUSE, LastError, NextCheck, PausedBy, Why
from catchment.domain.visit import Collected, Failed, Fetched, Postponed, Skipped, network_is_down
from catchment.engine.decide import (
    ItemChanges,
    decide,
    each_once,
    held_against,
    oldest_first,
    sort_items,
    without_harm,
    without_renamed,
)
from catchment.schedule.due import Cadence
from source_factory import START, make_source

HOUR, MINUTE = timedelta(hours=1), timedelta(minutes=1)
CADENCE = Cadence(interval=4 * HOUR, probe_after=24 * HOUR)

texts = st.text(max_size=8)
items = st.builds(make_item, native_id=texts, url=texts, title=texts, content=texts)
endings = st.one_of(
    st.builds(Collected, fetched=st.just(Fetched())),
    st.builds(Failed, message=st.just("no"), ours=st.booleans()),
    st.builds(Skipped, reason=st.just("no fetcher")),
    st.builds(Postponed, until=st.just(START + HOUR)),
)


def after(source, *history):
    """The source after a history of endings."""
    for ending in history:
        state = decide(source, ending, CADENCE, START)
        source = make_source(
            last_fetched_at=state.last_fetched_at,
            last_attempt_at=state.last_attempt_at,
            fetch_count=state.fetch_count,
            fetch_error_count=state.fetch_error_count,
            last_error=state.last_error,
            is_active=state.is_active,
            paused_by=state.paused_by,
            next_check=state.next_check,
        )
    return source


@pytest.mark.proves("A-26")
@pytest.mark.parametrize(
    ("item", "key"),
    [
        (make_item(native_id="tag:1", url="https://a/1", content="x"), "tag:1"),
        (make_item(url="https://a/1", content="x"), "https://a/1"),
        (make_item(content="x"), "sha256:" + sha256(b"\0x").hexdigest()),
    ],
)
def test_the_key_is_the_id_else_the_url_else_a_hash_of_the_content(item, key):
    assert item.key == key


@pytest.mark.proves("A-26")
def test_content_without_id_and_url_is_told_apart_by_its_hash():
    one, other = make_item(content="one"), make_item(content="other")
    assert one.key.startswith("sha256:")
    assert one.key != other.key


def test_a_key_too_long_for_an_index_is_hashed_and_stays_unique():
    one, other = (make_item(native_id="x" * MAX_KEY + end).key for end in "ab")
    assert one != other
    assert len(one) <= MAX_KEY


@pytest.mark.proves("A-26")
@given(st.lists(items, max_size=12))
def test_storing_the_same_batch_twice_changes_nothing(batch):
    once = each_once(batch)
    memory: dict[str, bytes] = {}
    first = sort_items(once, memory)
    assert len({item.key for item in first.new}) == len(first.new) >= len({item.key for item in batch})
    memory |= {one.key: one.fingerprint for one in first.new}
    again = sort_items(once, memory)
    assert (again.new, again.changed) == ((), ())


@pytest.mark.proves("A-26")
def test_of_two_items_with_one_key_the_first_stands():
    first, second = (make_item(native_id="1", content=content) for content in ("newest", "older"))
    assert each_once([first, second]) == [first]


@pytest.mark.proves("A-26")
def test_an_id_under_which_several_pages_are_listed_is_nobody_s_own():
    pages = [make_item(native_id="1", title=name, url=f"https://example.org/{name}") for name in ("b", "a", "b")]
    nameless = make_item(native_id="1", content="without a page")
    assert [item.key for item in each_once([*pages, nameless])] == [
        "https://example.org/b",
        "https://example.org/a",
        "1",
    ]


@pytest.mark.proves("A-26")
@pytest.mark.parametrize(
    "other", [{"url": "https://example.org/1?utm_source=x"}, {"title": "One, edited"}, {"url": "https://example.org/2"}]
)
def test_an_id_that_is_listed_twice_for_one_page_or_under_one_title_is_one_item(other):
    values = {"native_id": "1", "title": "One", "url": "https://example.org/1"}
    first, second = make_item(**values), make_item(**values | other)
    assert each_once([first, second]) == [first]


MORNING, EVENING = (datetime(2026, 3, 1, hour, tzinfo=UTC) for hour in (8, 20))


@pytest.mark.proves("A-26")
def test_of_what_came_together_the_newest_is_the_last():
    morning, evening = (make_item(native_id=str(at.hour), published_at=at) for at in (MORNING, EVENING))
    undated = make_item(native_id="undated")
    assert list(oldest_first([evening, morning])) == list(oldest_first([morning, evening])) == [morning, evening]
    assert list(oldest_first([undated, morning, evening])) == [evening, morning, undated]


@pytest.mark.proves("A-26")
def test_what_says_the_same_of_the_same_moment_is_known_whatever_its_id():
    before, after, later = (
        make_item(native_id=name, title="One", published_at=at)
        for name, at in (("1", MORNING), ("2", MORNING), ("3", EVENING))
    )
    undated = make_item(native_id="4", title="One")
    elsewhere = after._replace(key="5", url="https://example.org/5")
    news = ItemChanges(new=(after, later, undated, elsewhere))
    stored = {(before.fingerprint, before.url, MORNING)}
    assert without_renamed(news, stored) == ItemChanges(new=(later, undated, elsewhere), known=1)


@pytest.mark.proves("R-01")
def test_of_a_damaged_document_an_item_without_anything_is_none():
    empty, other = make_item(url="", title="", content=""), make_item(title="Words")
    assert without_harm(ItemChanges(new=(empty, other)), []).new == (other,)


@pytest.mark.proves("R-01")
@pytest.mark.parametrize("field", ["title", "content", "author"])
def test_of_a_damaged_document_what_could_not_be_read_replaces_nothing(field):
    before = make_item(native_id="1", **{"title": "t", "content": "c", field: "新闻标题"})
    after = make_item(native_id="1", **{"title": "t", "content": "c", field: "新闻\ufffd夤"})
    assert without_harm(ItemChanges(changed=(after,)), [before]).changed == ()


@pytest.mark.proves("A-26")
def test_a_known_item_whose_content_changed_is_changed_and_not_new():
    before = make_item(native_id="1", content="before")
    edited = make_item(native_id="1", content="after")
    found = sort_items([edited], {before.key: before.fingerprint})
    assert (found.new, found.changed) == ((), (edited,))


PAGE = "https://example.org/a"
TRACKED = [
    PAGE + "?utm_source=rss&utm_medium=feed",
    PAGE + "?fbclid=IwAR0x",
    PAGE + "?UTM_Campaign=spring&amp;gclid=1",
    PAGE + "?at_medium=RSS&at_campaign=rss",
]


@pytest.mark.proves("A-26")
@pytest.mark.parametrize("url", TRACKED)
def test_an_item_known_by_its_link_is_the_same_whoever_led_there(url):
    before, after = (make_item(url=link, title="Words") for link in (PAGE, url))
    assert (after.key, after.url) == (PAGE, url)
    found = sort_items([after], {before.key: before.fingerprint})
    assert (found.new, found.changed, found.known) == ((), (), 1)


@pytest.mark.proves("A-26")
@pytest.mark.parametrize(
    ("url", "key"),
    [
        (PAGE + "?id=7&utm_source=rss", PAGE + "?id=7"),
        (PAGE + "?utm_source=rss&id=7&fbclid=1#top", PAGE + "?id=7#top"),
        (PAGE + "?utm=1&source=rss&outm_id=3", PAGE + "?utm=1&source=rss&outm_id=3"),
        (PAGE + "#utm_source=rss", PAGE + "#utm_source=rss"),
        (PAGE + "?", PAGE + "?"),
    ],
)
def test_whatever_else_a_link_says_tells_pages_apart(url, key):
    assert make_item(url=url).key == key


def known_when_links_counted_whole(item):
    """As it was stored before who led there was left out of account."""
    return {former_key(item): former_fingerprint(item)}


@pytest.mark.proves("A-26")
@pytest.mark.parametrize("native_id", ["", "tag:1"])
def test_what_was_known_by_its_whole_link_stays_known_and_is_edited_in_its_place(native_id):
    (url,) = TRACKED[:1]
    stored = make_item(native_id=native_id, url=url, title="Words")
    memory = known_when_links_counted_whole(stored)
    assert memory == {native_id or url: short_hash(f"Words\0{url}\0\0")}
    assert sort_items([stored], memory) == ItemChanges(known=1)
    edited = make_item(native_id=native_id, url=url, title="Other words")
    found = sort_items([edited], memory)
    assert [(item.key, item.title) for item in found.changed] == [(native_id or url, "Other words")]
    assert found.new == ()
    assert sort_items([edited], {native_id or url: found.changed[0].fingerprint}) == ItemChanges(known=1)


@pytest.mark.proves("A-40", "A-29")
def test_a_success_clears_the_errors_and_resumes_what_errors_paused():
    ill = make_source(
        is_active=False,
        paused_by=PausedBy.ERROR,
        fetch_error_count=7,
        last_error=LastError(message="no", at=START),
    )
    well = after(ill, Collected(fetched=Fetched()))
    assert (well.is_active, well.paused_by, well.fetch_error_count, well.last_error) == (True, None, 0, None)
    assert well.next_check == NextCheck(at=START + 4 * HOUR, why=Why.INTERVAL)


@pytest.mark.proves("A-11")
def test_five_failures_in_a_row_pause_a_source_and_no_fewer():
    four = after(make_source(), *[Failed(message="no")] * 4)
    assert (four.is_active, four.fetch_error_count) == (True, 4)
    five = after(four, Failed(message="no"))
    assert (five.is_active, five.paused_by) == (False, PausedBy.ERROR)
    assert five.next_check == NextCheck(at=START + 24 * HOUR, why=Why.PROBE)


@pytest.mark.proves("A-11")
def test_a_failure_that_is_ours_is_told_but_not_counted():
    for host, why in (("a.example", Why.OFFLINE), (None, Why.OUR_FAULT)):
        source = after(make_source(), *[Failed(message="no network", ours=True, unreachable_host=host)] * 9)
        assert (source.is_active, source.fetch_error_count, source.is_excused) == (True, 0, True)
        assert source.last_error.message == "no network"
        assert source.next_check.why is why


@pytest.mark.proves("A-08")
def test_a_skip_is_no_error_and_touches_nothing_but_the_next_check():
    source = make_source(last_fetched_at=START, fetch_count=3)
    skipped = after(source, Skipped(reason="no fetcher"))
    assert (skipped.last_error, skipped.fetch_error_count, skipped.fetch_count) == (None, 0, 3)
    assert skipped.next_check == NextCheck(at=START + 4 * HOUR, why=Why.NO_FETCHER)


@pytest.mark.proves("A-34")
def test_what_is_over_budget_is_put_off_and_not_failed():
    put_off = after(make_source(), Postponed(until=START + HOUR))
    assert put_off.next_check == NextCheck(at=START + HOUR, why=Why.HOST_BUDGET)
    assert (put_off.fetch_error_count, put_off.last_error) == (0, None)


@pytest.mark.proves("A-29", "R-24")
@pytest.mark.parametrize("paused_by", [PausedBy.PERSON, PausedBy.OWNER])
@given(ending=endings)
def test_what_a_person_paused_stays_paused_whatever_comes_of_a_visit(paused_by, ending):
    source = make_source(is_active=False, paused_by=paused_by, next_check=NextCheck(at=None, why=None))
    visited = after(source, ending)
    assert (visited.is_active, visited.paused_by, visited.next_check.at) == (False, paused_by, None)


@pytest.mark.proves("A-11", "A-29")
@given(st.lists(endings, max_size=25))
def test_no_history_leaves_a_source_that_nobody_will_look_at_again(history):
    source = after(make_source(), *history)
    assert source.next_check.at is not None
    assert source.is_active == (source.fetch_error_count < FAILURES_UNTIL_PAUSE)
    assert source.is_active == (source.paused_by is None)


@pytest.mark.proves("A-11")
@pytest.mark.parametrize(
    ("reached", "hosts", "surely_ours", "down"),
    [
        (True, {"a", "b"}, True, False),  # somebody answered: the network is there
        (False, {"a", "b"}, False, True),  # nobody at all
        (False, {"a"}, False, False),  # one dead host alone proves nothing
        (False, {"a"}, True, True),  # unless the error says that it was us
    ],
)
def test_the_network_is_down_when_no_host_at_all_can_be_reached(reached, hosts, surely_ours, down):
    assert network_is_down(reached=reached, unreachable_hosts=hosts, surely_ours=surely_ours) is down


def test_a_long_error_is_cut_to_what_a_person_reads():
    source = after(make_source(), Failed(message="x" * 10_000))
    assert len(source.last_error.message) == 500


OUTAGE = Failed(message="no way out", unreachable_host="a", ours=True)


@pytest.mark.proves("A-11")
@pytest.mark.parametrize(
    ("before", "ending", "since", "excused"),
    [
        (OUTAGE, OUTAGE, {"b.example": -HOUR}, True),  # nobody was collected since: the network is still down
        (OUTAGE, OUTAGE, {}, True),  # or ever
        (OUTAGE, OUTAGE, {"b.example": HOUR}, False),  # others were: it is this host
        (OUTAGE, OUTAGE, {None: HOUR}, False),
        (OUTAGE, OUTAGE, {"127.0.0.1": HOUR, "nas.lan": HOUR, "::1": HOUR, "nas": HOUR}, True),  # at home alone
        (Failed(message="503"), OUTAGE, {"b.example": HOUR}, True),  # the network may have gone down just now
        (OUTAGE, Failed(message="the store is away", ours=True), {"b.example": HOUR}, True),  # says nothing of hosts
    ],
)
def test_an_excuse_holds_once_more_only_while_nobody_else_is_collected(before, ending, since, excused):
    source = after(make_source(host="a.example"), before)
    collected = {host: source.last_attempt_at + later for host, later in since.items()}
    assert held_against(source, ending, collected, source.last_attempt_at + 2 * HOUR).ours is excused


ALONE = replace(OUTAGE, alone=True)
BLAMED = replace(OUTAGE, ours=False)


@pytest.mark.proves("A-11", "R-41")
@pytest.mark.parametrize(
    ("before", "since", "excused"),
    [
        (None, {}, True),  # nobody was ever reached
        (None, {"b.example": -MINUTE}, False),  # somebody was, a moment ago
        (None, {"b.example": -HOUR}, True),  # too long ago to tell
        (None, {"127.0.0.1": -MINUTE}, True),  # at home, which tells nothing
        (Collected(fetched=Fetched()), {"b.example": -HOUR}, True),
        (Collected(fetched=Fetched()), {"b.example": -MINUTE}, False),
        (
            Collected(fetched=Fetched()),
            {"b.example": -3 * HOUR},
            True,
        ),  # with the source itself, when the network was there for both
        (Failed(message="503"), {}, True),
        (BLAMED, {}, False),  # it was blamed for the same before: this is no news of the network
        (OUTAGE, {}, True),
        (OUTAGE, {"b.example": -HOUR}, False),
    ],
)
def test_one_host_alone_is_blamed_only_where_somebody_else_was_reached_of_late(before, since, excused):
    source = after(make_source(host="a.example"), *([before] if before else []))
    now = START + 2 * HOUR
    collected = {host: now + earlier for host, earlier in since.items()}
    assert held_against(source, ALONE, collected, now).ours is excused
