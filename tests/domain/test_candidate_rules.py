"""What a listing means for what is known, and when it is not believed."""

from __future__ import annotations

from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from catchment.domain.candidate import Known, Listed, by_key, is_believable_loss, is_doubtful, is_untrue, judge
from source_factory import START

DAY, HOUR = timedelta(days=1), timedelta(hours=1)
NOW = START

# What was known of a page (its lastmod, and when it was looked at), what is listed now, and what that means.
CASES = [
    (None, NOW - DAY, NOW - DAY, "same"),  # no date known, and none since it was looked at
    (None, NOW - DAY, NOW - HOUR, "changed"),  # the first date it has is later than our look
    (None, NOW - DAY, None, "same"),
    (NOW - 9 * DAY, NOW - DAY, NOW - 8 * DAY, "changed"),  # later than before, though we looked in between
    (NOW - DAY, NOW - 9 * DAY, NOW - DAY, "same"),
    (NOW - DAY, NOW - 9 * DAY, NOW - 2 * DAY, "same"),  # dates that go back tell nothing
    (NOW - DAY, NOW - 9 * DAY, None, "same"),
    (NOW - DAY, NOW - DAY, NOW + 30 * DAY, "same"),  # a date in the far future would hide all later changes
    (NOW - DAY, NOW - DAY, NOW + 10 * HOUR, "changed"),  # somewhere it is tomorrow already
]


@pytest.mark.proves("B-03")
@pytest.mark.parametrize(("lastmod", "looked_at", "listed", "meaning"), CASES)
def test_a_page_changed_when_its_date_is_newer(lastmod, looked_at, listed, meaning):
    page = Listed("/1", listed)
    judged = judge(by_key([page]), {page.key: Known(7, lastmod, looked_at)}, NOW)
    assert [name for name in ("new", "changed", "same") if getattr(judged, name)] == [meaning]


dates = st.none() | st.integers(-500, 500).map(lambda hours: NOW + hours * HOUR)
listings = st.lists(st.tuples(st.sampled_from([f"/{n}" for n in range(9)]), dates).map(lambda given: Listed(*given)))


@given(listings, st.dictionaries(st.sampled_from([f"/{n}" for n in range(9)]), st.tuples(dates, st.just(NOW))))
def test_everything_listed_is_exactly_one_of_new_changed_and_same(listed, known):
    by_url = {Listed(url).key: Known(number, *dates) for number, (url, dates) in enumerate(known.items())}
    judged = judge(by_key(listed), by_url, NOW)
    found = [key for key, _ in judged.new]
    ids = [one.id for one, _ in judged.changed] + [one.id for one in judged.same]
    assert len(found) + len(ids) == len({one.url for one in listed})
    assert not set(found) & set(by_url)
    assert len(ids) == len(set(ids))


@pytest.mark.parametrize(
    ("changed", "known", "doubtful"),
    [
        (19, 19, False),  # few pages may well all change
        (20, 20, True),
        (90, 100, True),
        (89, 100, False),
        (0, 0, False),
    ],
)
def test_nearly_everything_changed_at_once_is_doubted(changed, known, doubtful):
    assert is_doubtful(changed=changed, known=known) is doubtful


@pytest.mark.parametrize(
    ("same", "different", "untrue"), [(10, 0, True), (8, 2, True), (7, 3, False), (0, 10, False), (0, 0, True)]
)
def test_dates_are_untrue_when_most_pages_are_as_they_were(same, different, untrue):
    assert is_untrue(same=same, different=different) is untrue


@pytest.mark.proves("B-11")
@pytest.mark.parametrize(("vanished", "known", "believed"), [(0, 0, True), (1, 2, True), (2, 3, False), (1, 1, False)])
def test_more_than_half_gone_at_once_is_not_believed(vanished, known, believed):
    assert is_believable_loss(vanished=vanished, known=known) is believed
