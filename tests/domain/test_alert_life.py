"""The life of an alert: nothing fires too soon, nothing is told too often, nothing ends that was not told."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from catchment.domain.alert import Alert, news_of, step
from catchment.domain.alert_rules import AlertRule, Finding, Key, Severity, Terms
from source_factory import START

MINUTE = timedelta(minutes=1)
TERMS = {
    AlertRule.COOKIE_EXHAUSTED: Terms(cool_down=5 * MINUTE),
    AlertRule.PROCESSING_BACKLOG: Terms(lasting=30 * MINUTE, cool_down=60 * MINUTE),
    AlertRule.API_SUCCESS_RATE_LOW: Terms(lasting=10 * MINUTE, cool_down=15 * MINUTE),
}


def finding(rule=AlertRule.COOKIE_EXHAUSTED, subject="xhs"):
    return Finding(rule=rule, subject=subject, severity=Severity.P0, message=f"{subject} is amiss")


@dataclass
class World:
    """Steps on, as the store and the dispatcher would: whatever is told is heard, unless nobody is there to hear it."""

    turns: dict[Key, list[Alert]] = field(default_factory=dict)
    told: list[tuple[datetime, Key, str]] = field(default_factory=list)

    def step(self, now: datetime, *findings: Finding, reaches: bool = True) -> None:
        decisions = step(self.alerts.values(), findings, TERMS, now)
        for alert in decisions.alerts:
            self.put(alert)
        for key in decisions.forgotten:
            assert self.turns[key].pop().fired_at is None
        for alert in decisions.told:
            self.told.append((now, alert.key, "fires" if alert.is_open else "ends"))
            if alert.is_open:
                heard = now if reaches else None
                self.put(replace(self.alerts[alert.key], heard_at=heard, is_on_its_way=False))

    def put(self, alert: Alert) -> None:
        turns = self.turns.setdefault(alert.key, [])
        turns[:] = [*(one for one in turns if one.since != alert.since), alert]

    @property
    def alerts(self) -> dict[Key, Alert]:
        """The latest turn of each."""
        return {key: turns[-1] for key, turns in self.turns.items() if turns}

    def answer(self, now: datetime) -> None:
        """Somebody looks after all of it."""
        for alert in self.alerts.values():
            self.put(replace(alert, acknowledged_at=now))

    @property
    def words(self) -> list[str]:
        return [word for _, _, word in self.told]


@pytest.mark.proves("E-12")
def test_it_fires_is_told_again_after_its_cool_down_and_ends():
    world = World()
    for minute in range(8):
        world.step(START + minute * MINUTE, finding())
    world.step(START + 8 * MINUTE)
    assert [(at - START) // MINUTE for at, _, _ in world.told] == [0, 5, 8]
    assert world.words == ["fires", "fires", "ends"]


@pytest.mark.proves("E-12")
def test_it_fires_only_when_it_has_lasted():
    world, backlog = World(), finding(AlertRule.PROCESSING_BACKLOG, "notes")
    for minute in range(30):
        world.step(START + minute * MINUTE, backlog)
    assert world.told == []
    world.step(START + 30 * MINUTE, backlog)
    assert world.words == ["fires"]


def test_what_ends_before_it_fires_is_forgotten_and_begins_anew():
    world, backlog = World(), finding(AlertRule.PROCESSING_BACKLOG, "notes")
    world.step(START, backlog)
    world.step(START + 20 * MINUTE)
    assert world.alerts == {}
    world.step(START + 40 * MINUTE, backlog)
    world.step(START + 50 * MINUTE, backlog)
    assert world.told == []


def test_what_comes_and_goes_is_told_once_in_its_cool_down():
    world = World()
    for second in range(0, 240, 30):
        world.step(START + timedelta(seconds=second), *([finding()] if second % 60 == 0 else []))
    assert world.words == ["fires", "ends"]


@pytest.mark.proves("E-12")
def test_news_that_reached_nobody_cool_nothing_down():
    world = World()
    world.step(START, finding(), reaches=False)
    world.step(START + MINUTE, finding())
    world.step(START + 2 * MINUTE, finding())
    assert world.words == ["fires", "fires"]


def test_news_that_are_on_their_way_are_not_sent_again():
    known = Alert(
        rule=AlertRule.COOKIE_EXHAUSTED,
        subject="xhs",
        severity=Severity.P0,
        message="",
        since=START,
        fired_at=START,
        told_at=START,
        is_on_its_way=True,
    )
    assert step([known], [finding()], TERMS, START + timedelta(days=1)).told == ()


def test_what_is_as_it_was_is_not_written_again():
    world = World()
    world.step(START, finding())
    assert step(world.alerts.values(), [finding()], TERMS, START + MINUTE).alerts == ()


def test_those_of_one_rule_that_fire_together_make_one_piece_of_news():
    subjects = [finding(subject=name) for name in ("xhs", "dy", "wb")]
    decisions = step([], [*subjects, finding(AlertRule.COOKIE_EXHAUSTED, "xhs")], TERMS, START)
    [news] = news_of(decisions.told)
    payload = news.payload()
    assert payload["message"] == "dy is amiss. And 2 more."
    assert [one["subject"] for one in payload["alerts"]] == ["dy", "wb", "xhs"]
    assert (payload["state"], payload["subject"]) == ("firing", None)


RULES = st.sampled_from(sorted(TERMS))
HOLDING = st.sets(st.tuples(RULES, st.sampled_from(["a", "b"])), max_size=4)
HISTORIES = st.lists(st.tuples(st.integers(10, 1200), HOLDING, st.booleans()), max_size=60)


def lived(history) -> tuple[World, list[tuple[datetime, set[Key]]]]:
    world, now, seen = World(), START, []
    for seconds, holding, reaches in history:
        now += timedelta(seconds=seconds)
        world.step(now, *(finding(rule, subject) for rule, subject in holding), reaches=reaches)
        seen.append((now, holding))
    return world, seen


@pytest.mark.proves("E-12")
@given(HISTORIES)
def test_an_end_is_never_told_without_its_beginning(history):
    world, _ = lived(history)
    for key in {key for _, key, _ in world.told}:
        words = [word for _, one, word in world.told if one == key]
        assert words[0] == "fires"
        assert all(pair != ("ends", "ends") for pair in pairwise(words))


@pytest.mark.proves("E-12")
@given(HISTORIES.map(lambda steps: [(seconds, holding, True) for seconds, holding, _ in steps]))
def test_beginnings_are_told_a_cool_down_apart(history):
    world, _ = lived(history)
    for key in {key for _, key, _ in world.told}:
        moments = [at for at, one, word in world.told if one == key and word == "fires"]
        assert all(b - a >= TERMS[key[0]].cool_down for a, b in pairwise(moments))


@pytest.mark.proves("E-12")
@given(HISTORIES)
def test_nothing_is_told_before_it_has_lasted(history):
    world, seen = lived(history)
    for at, key, word in world.told:
        if word == "fires":
            since = at
            for moment, holding in reversed([one for one in seen if one[0] <= at]):
                if key not in holding:
                    break
                since = moment
            assert at - since >= TERMS[key[0]].lasting


@given(HISTORIES)
def test_what_is_open_is_what_holds(history):
    world, seen = lived(history)
    holding = seen[-1][1] if seen else set()
    assert {key for key, alert in world.alerts.items() if alert.is_open} == holding


@pytest.mark.proves("G-08")
def test_what_somebody_looks_after_is_not_told_again_until_its_next_turn_but_its_end_is():
    world = World()
    world.step(START, finding())
    world.answer(START + MINUTE)
    for minute in range(2, 20):
        world.step(START + minute * MINUTE, finding())
    world.step(START + 20 * MINUTE)
    assert world.words == ["fires", "ends"]
    world.step(START + 30 * MINUTE, finding())
    assert world.words == ["fires", "ends", "fires"]


@pytest.mark.proves("G-08")
def test_what_is_muted_is_not_told_however_often_it_comes_back_until_that_is_over():
    world = World()
    world.step(START, finding(), reaches=False)
    [alert] = world.alerts.values()
    world.put(replace(alert, muted_until=START + 60 * MINUTE))
    for minute in range(10, 60, 10):
        world.step(START + minute * MINUTE)
        world.step(START + (minute + 5) * MINUTE, finding())
    assert world.words == ["fires", "ends"]
    world.step(START + 61 * MINUTE, finding())
    assert world.words == ["fires", "ends", "fires"]


@pytest.mark.proves("G-08")
def test_a_mute_outlives_a_turn_that_came_to_nothing():
    world, backlog = World(), finding(AlertRule.PROCESSING_BACKLOG, "notes")
    until = START + 600 * MINUTE
    for minute in (0, 30):
        world.step(START + minute * MINUTE, backlog)
    [alert] = world.alerts.values()
    world.put(replace(alert, muted_until=until))
    world.step(START + 40 * MINUTE)
    world.step(START + 50 * MINUTE, backlog)
    assert [turn.muted_until for turn in world.turns[alert.key]] == [until, until]
    world.step(START + 60 * MINUTE)
    assert [turn.muted_until for turn in world.turns[alert.key]] == [until]


@pytest.mark.proves("G-08")
@given(HISTORIES)
def test_each_turn_stays_as_it_was_when_the_next_begins(history):
    world, seen = lived(history)
    for turns in world.turns.values():
        assert all(turn.fired_at and turn.resolved_at for turn in turns[:-1])
        assert all(earlier.resolved_at < later.since for earlier, later in pairwise(turns))
    fired = sum(turn.fired_at is not None for turns in world.turns.values() for turn in turns)
    assert fired == sum(beginnings_that_last(seen).values())


def beginnings_that_last(seen: list[tuple[datetime, set[Key]]]) -> Counter[Key]:
    """How often each was found again for as long as its rule says."""
    counts: Counter[Key] = Counter()
    since: dict[Key, datetime] = {}
    fires: set[Key] = set()
    for now, holding in seen:
        since = {key: since.get(key, now) for key in holding}
        lasting = {key for key in holding if now - since[key] >= TERMS[key[0]].lasting}
        counts.update(lasting - fires)
        fires = lasting
    return counts
