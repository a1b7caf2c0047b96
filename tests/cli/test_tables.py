"""Tables in terminals of any width: what is shown can be read, and nothing of it is cut off."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console

from catchment.cli.console import TableLayout, drawn_table, laid_out, print_facts, print_table

COLUMNS = ("id", "name", "status", "last fetched", "next check", "why then", "error")
WAITING = ["1", "Hacker News", "pending", "-", "2026-11-17 10:45:57", "the network is away; tried again soon", ""]
FAILING = [
    "2",
    "例子",
    "failing",
    "2026-11-16 09:00:00",
    "2026-11-17 11:00:00",
    "back-off",
    "https://example.org/" + "a" * 70,
]


def drawn(parts: list[TableLayout], width: int) -> str:
    console = Console(width=width, markup=False, highlight=False, emoji=False, color_system=None)
    with console.capture() as shown:
        for part in parts:
            console.print(drawn_table(part, title=None))
    return shown.get()


def test_a_table_that_fits_is_shown_as_it_is():
    (whole,) = laid_out(COLUMNS, [WAITING], 200)
    assert (whole.columns, whole.rows) == (COLUMNS, [WAITING])


def test_a_narrow_terminal_is_spared_columns_that_say_nothing_and_words_stay_whole():
    (narrow,) = laid_out(COLUMNS, [WAITING], 80)
    assert list(narrow.columns) == ["id", "name", "status", "next check", "why then"]
    shown = drawn([narrow], 80)
    assert all(word in shown for word in ("Hacker", "2026-11-17", "10:45:57", "network", "pending"))
    assert len(shown.splitlines()) < 9


def test_chinese_needs_no_room_for_a_whole_sentence():
    (narrow,) = laid_out(COLUMNS, [[*WAITING[:1], "阮一峰的网络日志和别的日志", *WAITING[2:]]], 60)
    assert "why then" in narrow.columns


def test_where_words_would_be_torn_apart_each_row_is_a_list():
    parts = laid_out(COLUMNS, [WAITING, FAILING], 60)
    assert [tuple(part.rows[0]) for part in parts] == [("id", "1"), ("id", "2")]
    assert ("why then", "back-off") in map(tuple, parts[1].rows)
    assert not any(name == "error" for name, _ in parts[0].rows)


def test_the_name_of_a_fact_stays_in_one_line():
    (facts,) = laid_out(("", ""), [["next check reason", "the network is away; " * 9], ["id", "1"]], 60)
    assert "next check reason" in drawn([facts], 60)


def test_a_table_without_rows_keeps_its_headings():
    (empty,) = laid_out(COLUMNS, [], 20)
    assert empty.columns == COLUMNS


TEXTS = st.text(st.sampled_from("ab采集 /-"), max_size=60).map(str.strip)


@given(rows=st.lists(st.lists(TEXTS, min_size=4, max_size=4), max_size=4), width=st.integers(30, 120))
def test_nothing_is_cut_off_and_no_line_is_too_long(rows: list[list[str]], width: int):
    shown = drawn(laid_out(("one", "two", "three", "four"), rows, width), width)
    assert "…" not in shown
    for row in rows:
        for text in row:
            assert all(shown.count(char) >= text.count(char) for char in set(text) - {"-", " "})


def test_times_say_that_they_are_in_utc(capsys: pytest.CaptureFixture[str]):
    moment = datetime(2026, 11, 19, 23, 49, 36, tzinfo=UTC)
    print_table(("name", "next check"), [("a", None), ("b", moment)])
    print_table(("name", "next check"), [("a", None)])
    print_facts({"name": "a", "next_check_at": moment})
    first, second, facts = capsys.readouterr().out.split("name")[1:]
    assert "next check (UTC)" in first
    assert "(UTC)" not in second, "it shows no time"
    assert "next check at (UTC)" in facts
