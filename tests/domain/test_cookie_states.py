"""The states of a cookie: every edge as drawn, and what holds after any history."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from itertools import product
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from catchment.domain.cookie import (
    TRANSITIONS,
    CookieEvent,
    CookiePolicy,
    CookieStatus,
    Outcome,
    after,
    as_of,
    cause_of,
    outcome_of,
    renewed,
    rested,
    used,
)
from catchment.domain.crawl_errors import Code, CrawlError
from cookie_factory import MINUTE, POLICY, a_cookie
from source_factory import START

pytestmark = pytest.mark.proves("E-10")
ACTIVE, COOLING, INVALID, BANNED = CookieStatus


def reported(cookie, outcome, *, at, acquired=None, policy=POLICY):
    return after(cookie, outcome, acquired_at=at if acquired is None else acquired, now=at, policy=policy)


def faults(cookie, count, *, at=START + MINUTE):
    for _ in range(count):
        cookie = reported(cookie, Outcome.FAULT, at=at)
    return cookie


def cooling(**values):
    return a_cookie(status=COOLING, cooling_since=START, cooling_until=START + 30 * MINUTE, total_errors=3, **values)


class TestTheTable:
    def test_it_is_the_drawing_with_what_was_settled_about_it(self):
        drawn = {(start, event): end for (start, event), end in TRANSITIONS.items() if event is not CookieEvent.RENEWED}
        assert drawn == {
            (ACTIVE, CookieEvent.ERRORS_IN_A_ROW): COOLING,
            (ACTIVE, CookieEvent.ERRORS_IN_ALL): INVALID,
            (ACTIVE, CookieEvent.REFUSED): INVALID,
            (ACTIVE, CookieEvent.BAN): BANNED,
            (COOLING, CookieEvent.RESTED): ACTIVE,
            (COOLING, CookieEvent.ERROR_WHILE_COOLING): BANNED,
            (COOLING, CookieEvent.REFUSED): BANNED,
            (COOLING, CookieEvent.BAN): BANNED,
        }

    @pytest.mark.parametrize(("status", "event"), [*product([INVALID, BANNED], CookieEvent)])
    def test_invalid_and_banned_are_left_by_a_person_alone(self, status, event):
        expected = ACTIVE if event is CookieEvent.RENEWED else None
        assert TRANSITIONS.get((status, event)) is expected


class TestEachEdge:
    def test_three_errors_in_a_row_are_thirty_minutes_of_rest(self):
        assert faults(a_cookie(), 2).status is ACTIVE
        resting = faults(a_cookie(), 3)
        assert resting.status is COOLING
        assert resting.cooling_until == START + 31 * MINUTE
        assert (resting.consecutive_errors, resting.total_errors) == (0, 3)

    def test_a_success_between_them_starts_the_row_anew_and_forgets_no_total(self):
        interrupted = reported(faults(a_cookie(), 2), Outcome.GOOD, at=START + MINUTE)
        assert (interrupted.consecutive_errors, interrupted.total_errors) == (0, 2)
        assert faults(interrupted, 2).status is ACTIVE

    def test_rest_ends_by_itself_at_its_minute(self):
        assert rested(cooling(), START + 30 * MINUTE - timedelta(microseconds=1)).status is COOLING
        back = rested(cooling(), START + 30 * MINUTE)
        assert (back.status, back.cooling_until) == (ACTIVE, None)

    def test_the_tenth_error_in_all_is_the_end(self):
        worn = a_cookie(total_errors=9)
        assert faults(worn, 1).status is INVALID

    def test_when_it_has_earned_both_it_is_given_up_rather_than_rested(self):
        both = faults(a_cookie(total_errors=9, consecutive_errors=2), 1)
        assert both.status is INVALID

    def test_an_error_of_a_request_that_was_begun_while_it_rests_is_a_ban(self):
        assert reported(cooling(), Outcome.FAULT, at=START + MINUTE).status is BANNED
        late = START + 31 * MINUTE
        assert reported(cooling(), Outcome.FAULT, acquired=START + MINUTE, at=late).status is BANNED

    def test_an_error_of_a_request_from_before_it_rested_is_let_pass(self):
        for at in (START + MINUTE, START + 31 * MINUTE):
            told = reported(cooling(), Outcome.FAULT, acquired=START, at=at)
            assert told == cooling()

    def test_after_its_rest_an_error_counts_as_any_other(self):
        told = reported(cooling(), Outcome.FAULT, at=START + 31 * MINUTE)
        assert (told.status, told.consecutive_errors, told.total_errors) == (ACTIVE, 1, 4)

    @pytest.mark.parametrize("cookie", [a_cookie(), cooling()])
    def test_the_word_of_a_ban_is_enough_whenever_the_request_was_begun(self, cookie):
        assert reported(cookie, Outcome.BAN, acquired=START, at=START + MINUTE).status is BANNED

    @pytest.mark.parametrize(("cookie", "status"), [(a_cookie(), INVALID), (cooling(), BANNED)])
    def test_a_cookie_that_the_platform_does_not_know_is_out(self, cookie, status):
        assert reported(cookie, Outcome.REFUSED, at=START + MINUTE).status is status

    @pytest.mark.parametrize("status", [INVALID, BANNED])
    def test_a_lost_cookie_stays_as_it_is_whatever_is_reported(self, status):
        lost = a_cookie(status=status, total_errors=4)
        for outcome in Outcome:
            assert reported(lost, outcome, at=START + MINUTE) == lost

    @pytest.mark.parametrize("status", CookieStatus)
    def test_a_person_brings_it_back_with_a_clean_record_but_the_use_it_had(self, status):
        until = START + MINUTE if status is COOLING else None
        worn = a_cookie(
            status=status, total_errors=7, consecutive_errors=1, daily_used=5, total_used=9, cooling_until=until
        )
        fresh = renewed(worn, START + MINUTE)
        assert (fresh.status, fresh.total_errors, fresh.consecutive_errors) == (ACTIVE, 0, 0)
        assert (fresh.daily_used, fresh.total_used, fresh.cooling_until) == (5, 9, None)

    def test_an_error_of_the_old_value_is_not_held_against_the_new_one(self):
        fresh = renewed(a_cookie(), START + MINUTE)
        assert reported(fresh, Outcome.BAN, acquired=START, at=START + 2 * MINUTE) == fresh


@pytest.mark.parametrize(
    ("code", "cause", "outcome"),
    [
        (Code.COOKIE_INVALID, None, Outcome.FAULT),
        (Code.COOKIE_INVALID, "login_expired", Outcome.FAULT),
        (Code.ACCOUNT_BANNED, None, Outcome.BAN),
        (Code.RATE_LIMITED, "captcha", Outcome.FAULT),
        (Code.RATE_LIMITED, "access", Outcome.FAULT),
        (Code.PLATFORM_ERROR, "access", Outcome.FAULT),
        (Code.RATE_LIMITED, None, Outcome.NEITHER),
        (Code.PLATFORM_ERROR, "ip_blocked", Outcome.NEITHER),
        (Code.TIMEOUT_ERROR, "timeout", Outcome.NEITHER),
        (Code.NETWORK_ERROR, "network", Outcome.NEITHER),
        (Code.NOT_FOUND, None, Outcome.NEITHER),
        (Code.PARSE_ERROR, "shape", Outcome.NEITHER),
    ],
)
def test_only_what_the_cookie_is_to_blame_for_counts_against_it(code, cause, outcome):
    error = CrawlError(code, "no", details={"cause": cause} if cause else None)
    assert outcome_of(error) is outcome
    assert cause_of(error) == (cause or code)


class TestTheDay:
    policy = CookiePolicy(zone=ZoneInfo("Asia/Shanghai"))
    before_midnight = datetime(2026, 3, 1, 15, 59, tzinfo=UTC)

    def test_daily_use_starts_anew_at_midnight_in_the_zone(self):
        tired = used(a_cookie(daily_used=7, used_on=self.policy.today(self.before_midnight)), START, self.policy)
        assert as_of(tired, self.before_midnight, self.policy).daily_used == 8
        assert as_of(tired, self.before_midnight + MINUTE, self.policy).daily_used == 0
        assert used(tired, self.before_midnight + MINUTE, self.policy).daily_used == 1

    def test_the_next_midnight_is_that_of_the_zone(self):
        assert self.policy.midnight(self.before_midnight) == datetime(2026, 3, 1, 16, 0, tzinfo=UTC)
        assert self.policy.midnight(self.before_midnight + MINUTE) == datetime(2026, 3, 2, 16, 0, tzinfo=UTC)


EVENTS = st.lists(
    st.tuples(
        st.sampled_from(["lend", "probe", "renew", *["report"] * 4]),
        st.sampled_from([*Outcome, Outcome.FAULT, Outcome.FAULT, Outcome.GOOD]),
        st.integers(0, 45),
    ),
    max_size=60,
)


@given(EVENTS)
def test_whatever_happens_the_record_of_a_cookie_makes_sense(events):
    """Leases and probes begin and are reported in any order, minutes apart, with resets between them."""
    cookie, now, begun = a_cookie(daily_limit=5), START, [START]
    for kind, outcome, minutes in events:
        before, now = cookie, now + minutes * MINUTE
        if kind == "lend":
            current = as_of(cookie, now, POLICY)
            if current.status is ACTIVE and current.daily_used < current.daily_limit:
                cookie = used(cookie, now, POLICY)
                begun.append(now)
        elif kind == "probe":
            begun.append(now)
        elif kind == "renew":
            cookie = renewed(cookie, now)
        else:
            cookie = reported(cookie, outcome, acquired=begun.pop() if len(begun) > 1 else begun[0], at=now)
        check(before, cookie, kind)


def check(before, cookie, kind):
    assert (cookie.status is COOLING) == (cookie.cooling_until is not None)
    assert 0 <= cookie.consecutive_errors <= cookie.total_errors
    assert cookie.daily_used <= cookie.daily_limit
    assert cookie.total_used >= cookie.daily_used
    if cookie.status is ACTIVE:
        assert cookie.consecutive_errors < POLICY.most_in_a_row
    if cookie.status is COOLING:
        assert cookie.consecutive_errors == 0
        assert cookie.cooling_until - cookie.cooling_since == POLICY.cooling
    if kind != "renew":
        assert before.total_errors <= cookie.total_errors <= before.total_errors + 1
        if before.status in {INVALID, BANNED}:
            assert cookie == before
    else:
        assert (cookie.status, cookie.total_errors) == (ACTIVE, 0)
