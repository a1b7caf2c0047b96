"""How often somebody may try."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from hypothesis import given
from hypothesis import strategies as st

from catchment.manage.logins import Throttle, neighbourhood

START = datetime(2026, 3, 1, tzinfo=UTC)
MINUTE = timedelta(minutes=1)


@given(st.lists(st.integers(0, 300), max_size=60), st.integers(1, 5))
def test_no_window_holds_more_attempts_than_are_allowed_and_who_waits_as_told_is_let_in(steps: list[int], most: int):
    throttle, now, admitted = Throttle(most=most, window=5 * MINUTE), START, []
    for step in steps:
        now += timedelta(seconds=step)
        wait = throttle.wait("ada", now=now)
        recent = [at for at in admitted if at > now - 5 * MINUTE]
        assert (wait == timedelta(0)) == (len(recent) < most)
        assert throttle.wait("ada", now=now + wait) == timedelta(0)
        if not wait:
            throttle.record("ada", now=now)
            admitted.append(now)


def test_each_is_counted_apart_and_what_turned_out_well_is_taken_back():
    throttle = Throttle(most=1, window=MINUTE)
    throttle.record("ada", now=START)
    assert throttle.wait("ada", now=START) == MINUTE
    assert not throttle.wait("bob", now=START)
    throttle.take_back("ada", at=START)
    throttle.take_back("nobody", at=START)
    assert not throttle.wait("ada", now=START)
    throttle.record("ada", now=START)
    throttle.forget("ada")
    assert not throttle.wait("ada", now=START)


def test_the_memory_is_bounded_and_forgets_who_tried_longest_ago():
    throttle = Throttle(most=1, window=MINUTE, remembered=100)
    for number in range(1000):
        throttle.record(f"user {number}", now=START)
    assert len(throttle._attempts) == 100
    assert throttle.wait("user 999", now=START) == MINUTE
    assert not throttle.wait("user 0", now=START)


def test_addresses_of_one_ipv6_network_are_one_place():
    assert neighbourhood("2001:db8:1:2::1") == neighbourhood("2001:db8:1:2:ffff::9") == "2001:db8:1:2::/64"
    assert neighbourhood("2001:db8:1:3::1") != neighbourhood("2001:db8:1:2::1")
    assert neighbourhood("192.0.2.1") == "192.0.2.1"
    assert neighbourhood("a socket") == "a socket"
