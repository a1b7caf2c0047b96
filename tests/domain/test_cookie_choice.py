"""Which cookie is next, how long to wait for one, and how long they will last."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from catchment.domain.cookie import CookiePolicy, CookieStatus
from catchment.domain.cookie_pool import Want, choose, forecast, is_available, next_back_at, wait_for_one
from catchment.domain.note import Platform
from cookie_factory import MINUTE, POLICY, a_cookie
from source_factory import START

pytestmark = pytest.mark.proves("E-10")
TODAY = START.date()
ANY = Want(platform=Platform.XHS)


def chosen(*cookies, want=ANY, lent=(), policy=POLICY, now=START):
    found = choose(cookies, want, lent=lent, now=now, policy=policy)
    return None if found is None else found.name


def resting(name, minutes, **values):
    until = START + minutes * MINUTE
    return a_cookie(name, status=CookieStatus.COOLING, cooling_since=START, cooling_until=until, **values)


class TestTheChoice:
    def test_priority_comes_first_then_the_least_used_today_then_the_name(self):
        low, high = a_cookie("a", priority=1), a_cookie("b", priority=2)
        assert chosen(low, high) == "b"
        worked, idle = a_cookie("a", daily_used=3, used_on=TODAY), a_cookie("b", daily_used=2, used_on=TODAY)
        assert chosen(worked, idle) == "b"
        assert chosen(a_cookie("b"), a_cookie("a")) == "a"

    def test_yesterdays_use_counts_for_nothing(self):
        yesterday = a_cookie("a", daily_used=90, used_on=TODAY - timedelta(days=1))
        assert chosen(yesterday, a_cookie("b", daily_used=1, used_on=TODAY)) == "a"

    @pytest.mark.parametrize(
        "out",
        [
            a_cookie(is_enabled=False),
            a_cookie(status=CookieStatus.INVALID),
            a_cookie(status=CookieStatus.BANNED),
            resting("a", 1),
            a_cookie(daily_used=100, used_on=TODAY),
            a_cookie(platform=Platform.WEIBO),
        ],
    )
    def test_what_may_not_be_used_is_not_chosen(self, out):
        assert chosen(out) is None

    def test_what_is_lent_excluded_or_not_the_one_asked_for_is_not_chosen(self):
        both = a_cookie("a"), a_cookie("b")
        assert chosen(*both, lent={"a"}) == "b"
        assert chosen(*both, want=Want(platform=Platform.XHS, excluded=frozenset("a"))) == "b"
        assert chosen(*both, want=Want(platform=Platform.XHS, name="b")) == "b"
        assert chosen(*both, want=Want(platform=Platform.WEIBO, name="b")) is None

    def test_one_that_is_done_with_resting_is_as_good_as_any(self):
        assert chosen(resting("a", 0)) == "a"

    def test_one_is_not_used_twice_within_the_spacing(self):
        policy = CookiePolicy(spacing=timedelta(seconds=2))
        just_used = a_cookie(last_used_at=START)
        assert chosen(just_used, policy=policy, now=START + timedelta(seconds=1.9)) is None
        assert chosen(just_used, policy=policy, now=START + timedelta(seconds=2)) == "a"


def test_waiting_is_for_the_first_that_is_free_but_never_long():
    policy = CookiePolicy(spacing=timedelta(seconds=2))
    used_now, free = a_cookie("a", last_used_at=START - timedelta(seconds=1.9)), a_cookie("b")

    def wait(*usable, lent=()):
        at_most = timedelta(seconds=0.25)
        return wait_for_one(usable, lent=lent, now=START, policy=policy, at_most=at_most).total_seconds()

    assert wait(used_now, free) == 0
    assert wait(used_now) == pytest.approx(0.1)
    assert wait(used_now, free, lent={"a", "b"}) == 0.25
    assert wait(a_cookie("c", last_used_at=START)) == 0.25


def test_the_next_to_come_back_is_the_first_whose_rest_or_day_is_over():
    spent = a_cookie("a", daily_used=100, used_on=TODAY)
    lost = a_cookie("b", status=CookieStatus.BANNED)
    assert next_back_at([spent, lost, resting("c", 20)], START, POLICY) == START + 20 * MINUTE
    assert next_back_at([spent, lost], START, POLICY) == POLICY.midnight(START)
    assert next_back_at([lost, resting("c", 20, is_enabled=False)], START, POLICY) is None
    both = resting("d", 20, daily_used=100, used_on=TODAY)
    assert next_back_at([both], START, POLICY) == POLICY.midnight(START)


class TestTheForecast:
    def forecast(self, *cookies, used=0, now=START):
        return forecast(Platform.XHS, cookies, used_last_hour=used, now=now, policy=POLICY)

    def test_it_says_at_what_time_the_pool_is_dry(self):
        found = self.forecast(a_cookie("a", daily_limit=140, daily_used=0), used=30)
        assert found.dry_at == datetime(2026, 3, 1, 16, 40, tzinfo=UTC)
        assert found.sentence == "At 30 requests an hour the pool of xhs is dry at 2026-03-01 16:40 UTC."
        assert (found.available, found.remaining_today, found.per_hour) == (1, 140, 30)

    def test_a_cookie_that_comes_back_in_time_is_reckoned_with(self):
        alone = self.forecast(a_cookie("a", daily_limit=30), used=30)
        assert alone.dry_at == START + 60 * MINUTE
        assert self.forecast(a_cookie("a", daily_limit=30), resting("b", 30, daily_limit=60), used=30).dry_at == (
            START + 180 * MINUTE
        )
        assert self.forecast(a_cookie("a", daily_limit=30), resting("b", 90), used=30).dry_at == alone.dry_at

    def test_a_pool_that_reaches_midnight_lasts(self):
        found = self.forecast(a_cookie("a", daily_limit=400), used=30)
        assert found.dry_at is None
        assert "lasts for today" in found.sentence
        assert self.forecast(a_cookie("a")).dry_at is None

    def test_a_dry_pool_says_when_the_next_is_back(self):
        found = self.forecast(resting("a", 20), used=30)
        assert (found.available, found.remaining_today, found.dry_at) == (0, 0, None)
        assert found.sentence == "The pool of xhs is dry; the next is back at 2026-03-01 12:20 UTC."
        assert "none comes back" in self.forecast(a_cookie(status=CookieStatus.BANNED)).sentence

    def test_a_cookie_whose_errors_will_end_it_within_a_day_is_named(self):
        failing = a_cookie("worn", total_errors=8, counted_since=START - timedelta(hours=8))
        steady = a_cookie("steady", total_errors=1, counted_since=START - timedelta(days=30))
        [worn] = self.forecast(failing, steady, a_cookie("new")).wearing_out
        assert (worn.name, worn.at) == ("worn", START + timedelta(hours=2))


def test_a_lowered_limit_leaves_nothing_rather_than_less_than_nothing():
    over = a_cookie(daily_used=50, daily_limit=10, used_on=TODAY)
    assert not is_available(over, START, POLICY)
    found = forecast(Platform.XHS, [over, a_cookie("b")], used_last_hour=1, now=START, policy=POLICY)
    assert found.remaining_today == 100
