"""Why a source is looked at when it is, in words."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from catchment.domain.source import NextCheck, PausedBy, SourceStatus, Why
from catchment.monitor.status import Language, next_check_reason
from catchment.monitor.why import explain
from catchment.web.translations import choose_language
from source_factory import make_source

AT = datetime(2026, 3, 1, 14, 5, tzinfo=UTC)


@pytest.mark.proves("A-15")
@pytest.mark.parametrize(
    ("why", "failures", "minutes", "english", "chinese"),
    [
        (Why.INTERVAL, 0, 1, "every minute", "每分钟"),
        (Why.INTERVAL, 0, 60, "every 60 min", "每 60 分钟"),
        (Why.INTERVAL, 0, 240, "every 4 h", "每 4 小时"),
        (Why.INTERVAL, 0, 150, "every 150 min", "每 150 分钟"),
        (Why.BACK_OFF, 1, 60, "waits after 1 failure", "连续失败 1 次，稍后重试"),
        (Why.BACK_OFF, 2, 60, "waits after 2 failures", "连续失败 2 次，稍后重试"),
        (
            Why.RETRY_AFTER,
            1,
            60,
            "the server asked to wait until 2026-03-01 14:05 UTC",
            "服务器要求等到 2026-03-01 14:05 UTC",
        ),
        (Why.PROBE, 5, 60, "paused by errors; probed again", "因错误暂停，届时再次探测"),
    ],
)
def test_the_reason_is_a_sentence(why: Why, failures: int, minutes: int, english: str, chinese: str):
    source = replace(make_source(), fetch_error_count=failures, next_check=NextCheck(at=AT, why=why))
    assert next_check_reason(source, timedelta(minutes=minutes)) == english
    assert next_check_reason(source, timedelta(minutes=minutes), Language.CHINESE) == chinese


@pytest.mark.proves("A-15")
@pytest.mark.parametrize("language", Language)
def test_a_source_that_is_probed_is_not_said_to_be_left_alone(language: Language):
    source = replace(make_source(), paused_by=PausedBy.ERROR, next_check=NextCheck(at=AT, why=Why.PROBE))
    health: Any = SimpleNamespace(status=SourceStatus.PAUSED, next_check_at=AT, next_check_reason="", marks=())
    [said, *_] = explain(source, health, [], now=AT, language=language, on_page=True)
    assert said in {"Errors paused it; it is tried again by itself.", "因错误暂停，之后会自动再试。"}


@given(why=st.sampled_from(Why), language=st.sampled_from(Language), failures=st.integers(0, 99))
def test_every_reason_has_words_in_every_language(why: Why, language: Language, failures: int):
    source = replace(make_source(), fetch_error_count=failures, next_check=NextCheck(at=AT, why=why))
    said = next_check_reason(source, timedelta(minutes=60), language)
    assert said
    assert "{" not in said


@pytest.mark.parametrize("paused_by", [None, *PausedBy])
def test_a_source_without_a_next_check_says_what_holds_it(paused_by: PausedBy | None):
    source = replace(make_source(), paused_by=paused_by, next_check=NextCheck(at=None, why=None))
    assert all(next_check_reason(source, timedelta(minutes=60), language) for language in Language)


@pytest.mark.parametrize(
    ("asked", "accept", "language"),
    [
        ("", "", Language.ENGLISH),
        ("", "zh-CN,zh;q=0.9,en;q=0.8", Language.CHINESE),
        ("", "de-DE,de;q=0.9", Language.ENGLISH),
        ("", "de,zh;q=0.5,en;q=0.6", Language.ENGLISH),
        ("", "en;q=0,zh;q=0.1", Language.CHINESE),
        ("", "zh;q=junk, en", Language.ENGLISH),
        ("zh", "en", Language.CHINESE),
        ("en", "zh", Language.ENGLISH),
        ("xx", "zh", Language.CHINESE),
    ],
)
def test_the_language_is_the_one_asked_for_or_the_most_wanted_we_speak(asked: str, accept: str, language: Language):
    assert choose_language(asked, accept) is language


@given(st.text(), st.text())
def test_no_header_breaks_the_choice_of_language(asked: str, accept: str):
    assert choose_language(asked, accept) in Language


@pytest.mark.proves("R-41")
@pytest.mark.parametrize("language", Language)
def test_a_type_without_its_key_says_which_key(language: Language):
    source = replace(make_source(), type="twitter_feed", next_check=NextCheck(at=AT, why=Why.NEW))
    hour = timedelta(minutes=60)
    assert "SOME_KEY" in next_check_reason(source, hour, language, has_fetcher=False, needed_key="SOME_KEY")
    platform = replace(make_source(), type="xhs_search", next_check=NextCheck(at=AT, why=Why.NO_COOKIE))
    assert "COOKIE_MASTER_KEY" in next_check_reason(platform, hour, language)


@pytest.mark.proves("A-15")
@pytest.mark.parametrize(
    ("language", "due", "later"),
    [
        (
            Language.ENGLISH,
            "The next visit is as soon as the collector looks.",
            "The next visit is at 2026-03-01 14:05 UTC: every minute.",
        ),
        (Language.CHINESE, "下次抓取：采集器下次巡视时立即抓取。", "下次抓取：2026-03-01 14:05 UTC（每分钟）。"),
    ],
)
def test_a_moment_that_has_come_is_not_given_as_the_next_visit(language: Language, due: str, later: str):
    source = replace(make_source(), next_check=NextCheck(at=AT, why=Why.INTERVAL))
    reason = next_check_reason(source, timedelta(minutes=1), language)
    health: Any = SimpleNamespace(status=SourceStatus.OK, next_check_at=AT, next_check_reason=reason, marks=())
    for now, said in ((AT, due), (AT + timedelta(seconds=59), due), (AT - timedelta(seconds=1), later)):
        assert explain(source, health, [], now=now, language=language)[-1] == said
    health.status = SourceStatus.NO_FETCHER
    assert sum(reason in one for one in explain(source, health, [], now=AT, language=language)) == 1, "said once"
