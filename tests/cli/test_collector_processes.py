"""Collectors beside the process that calls them: what they are given, and what becomes of it when they break."""

from __future__ import annotations

import errno
import os
import pickle
import signal
import socket
import subprocess
from asyncio import Event, get_running_loop
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from threading import Event as ThreadEvent
from threading import Thread
from typing import Any

import psutil
import pytest

from catchment.bootstrap import System, open_system
from catchment.cli import collector_processes
from catchment.cli.collect import _DueRound
from catchment.cli.collector_processes import (
    ALONE,
    MANY_DUE,
    ForkServer,
    Helpers,
    _collect_beside,
    _orders,
    _wait_for,
    fork_server,
    helpers,
)
from catchment.domain.host import DueSource
from catchment.domain.visit import VisitResult
from catchment.engine.round import Round
from catchment.settings import Settings
from eventually import DEADLINE_SECONDS

Log = list[str]
#: Above the largest pid there can be.
NOBODY = 2**22 + 1
FEEDS = [DueSource(number, type="rss") for number in range(MANY_DUE)]


@asynccontextmanager
async def with_helpers(
    tmp_path: Path, forks: ForkServer, stop: Event | None = None
) -> AsyncIterator[tuple[System, Helpers]]:
    settings = Settings(database_url=f"sqlite:///{tmp_path / 'store.sqlite3'}", parse_seconds=0.1, stop_seconds=0.1)
    async with open_system(settings) as system, helpers(system, forks, stop or Event()) as others:
        yield system, others


async def collected_by(others: Helpers) -> Round:
    """A round of many feeds, once it is over."""
    theirs, ours = others.divide(FEEDS)
    assert (theirs, ours) == (FEEDS, [])
    round_ = Round([], others=[one.id for one in theirs])
    others.collect(round_, theirs, left_here=0)
    await round_.wait()
    return round_


@pytest.mark.proves("R-44", "S-01")
async def test_others_collect_many_feeds_and_what_shares_its_host_or_is_no_feed_stays_here(tmp_path: Path) -> None:
    async with with_helpers(tmp_path, ForkServer(None, collectors=2)) as (_, others):
        stay = [DueSource(1_000, host="shared.example.org", type="rss"), DueSource(1_001, type="hackernews")]
        assert others.divide([*FEEDS, *stay]) == (FEEDS, stay)
        assert others.divide([*FEEDS[1:], *stay]) == ((), [*FEEDS[1:], *stay]), "one fewer than many"


async def test_where_there_are_no_others_all_stays_here(tmp_path: Path) -> None:
    async with with_helpers(tmp_path, ALONE) as (_, others):
        await others.prepare()
        assert others.divide(FEEDS) == ((), FEEDS)


@pytest.mark.proves("S-01")
@pytest.mark.parametrize("collectors", [2, 3, 5])
def test_whoever_is_done_helps_all_the_others_with_what_they_come_to_last(collectors: int) -> None:
    due = range(collectors * 10)
    orders = _orders(due, collectors=collectors, visits=10)
    assert sorted(id_ for order in orders for id_ in order.due) == list(due)
    for order in orders:
        assert {*order.due, *order.of_others} == {*due}
        assert order.of_others[: collectors - 1] == [id_ for id_ in due if id_ not in order.due][:-collectors:-1]
        assert list(order.of_others) == sorted(order.of_others, reverse=True)


class Played(ForkServer):
    """Has collectors played by functions, in threads that hold the other end of the line until they return."""

    def __init__(self, *plays: Callable[[socket.socket], None], pid: int = 0) -> None:
        super().__init__(None, collectors=len(plays), pid=pid)
        self._plays = [*plays]

    def fork(self) -> socket.socket:
        ours, theirs = socket.socketpair()
        Thread(target=self._play, args=(self._plays.pop(0), theirs), daemon=True).start()
        return ours

    @staticmethod
    def _play(play: Callable[[socket.socket], None], line: socket.socket) -> None:
        with line:
            play(line)


def say(line: socket.socket, message: object) -> None:
    data = pickle.dumps(message)
    line.sendall(len(data).to_bytes(4, "big") + data)


def hear(line: socket.socket) -> Any:
    size = int.from_bytes(line.recv(4, socket.MSG_WAITALL), "big")
    return pickle.loads(line.recv(size, socket.MSG_WAITALL))


@pytest.mark.proves("R-19", "F-08")
async def test_one_that_hangs_is_ended_and_what_is_left_is_collected_without_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(collector_processes, "_SILENT_SECONDS", 0.0)
    ends: list[int] = []

    def hang(line: socket.socket) -> None:
        with subprocess.Popen(["sleep", str(DEADLINE_SECONDS)]) as child:
            say(line, child.pid)
        ends.append(child.returncode)

    async with with_helpers(tmp_path, Played(hang)) as (_, others):
        round_ = await collected_by(others)
        assert ends == [-signal.SIGKILL], "a round is not over before it is gone"
        assert round_.dropped == MANY_DUE
        assert others.divide([]) == ((), []), "nothing is due, and nothing comes of that"
        assert others.divide(FEEDS) == ((), FEEDS), "it may have been one of these that it hung on"
        assert others.divide(FEEDS) == (FEEDS, []), "once"


@pytest.mark.proves("A-12")
async def test_one_that_hangs_when_it_is_to_stop_has_no_longer_than_the_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(collector_processes, "_LEAVE_SECONDS", 0.0)
    ends: list[int] = []
    stop, loop = Event(), get_running_loop()

    def hang(line: socket.socket) -> None:
        with subprocess.Popen(["sleep", str(DEADLINE_SECONDS)]) as child:
            say(line, child.pid)
            loop.call_soon_threadsafe(stop.set)
        ends.append(child.returncode)

    async with with_helpers(tmp_path, Played(hang), stop) as (_, others):
        await collected_by(others)
        assert ends == [-signal.SIGKILL]
        assert others.was_cut_off


@pytest.mark.proves("R-19")
async def test_whoever_forks_and_does_not_answer_is_ended_and_asked_no_more(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, log: Log
) -> None:
    monkeypatch.setattr(collector_processes, "_SILENT_SECONDS", 0.0)
    killed: list[int] = []
    monkeypatch.setattr(collector_processes, "_kill", killed.append)
    over = ThreadEvent()

    def says_nothing(_line: socket.socket) -> None:
        over.wait(DEADLINE_SECONDS)

    async with with_helpers(tmp_path, Played(says_nothing, pid=NOBODY)) as (_, others):
        assert (await collected_by(others)).dropped == MANY_DUE
        for _ in range(3):
            assert others.divide(FEEDS) == ((), FEEDS)
        over.set()
    assert killed == [NOBODY]
    assert [line for line in log if "does not answer" in line]


def test_whoever_was_set_aside_and_hangs_is_not_waited_for_to_no_end() -> None:
    with subprocess.Popen(["sleep", str(DEADLINE_SECONDS)]) as child:
        _wait_for(child.pid, seconds=0)
        assert not psutil.pid_exists(child.pid)


def test_where_no_process_can_be_set_aside_this_one_collects_alone(monkeypatch: pytest.MonkeyPatch, log: Log) -> None:
    def full() -> int:
        raise BlockingIOError(errno.EAGAIN, "Resource temporarily unavailable")

    monkeypatch.setattr(os, "fork", full)
    with fork_server(Settings(concurrency=20, processes=2)) as forks:
        assert forks.collectors == 0
    assert [line for line in log if "this one collects alone" in line]


async def test_what_a_collector_logs_is_written_by_whoever_called_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def logs(line: socket.socket) -> None:
        say(line, NOBODY)
        say(line, "a line of it\n")
        say(line, True)

    async with with_helpers(tmp_path, Played(logs)) as (_, others):
        await collected_by(others)
    assert "a line of it\n" in capsys.readouterr().err


@pytest.mark.proves("A-37")
def test_the_progress_of_a_source_that_is_in_several_rounds_counts_it_once() -> None:
    due = _DueRound()
    assert due._progress() == (0, None)
    first = Round([], others=[1, 2, 3])
    due._follow(first)
    first.record_of_others(VisitResult(source_id=1, name="a", type="rss"))
    assert due._progress() == (1, 3)
    first.close_others()
    due._follow(again := Round([2, 3]))
    assert due._progress() == (1, 3)
    again.record(VisitResult(source_id=2, name="b", type="rss"))
    again.drop(3)
    assert due._progress() == (3, 3)


@pytest.mark.proves("R-19")
async def test_when_one_breaks_the_others_finish_what_they_are_at_and_do_not_take_its_part(tmp_path: Path) -> None:
    was_halted = False

    def breaks(line: socket.socket) -> None:
        say(line, NOBODY)

    def collects(line: socket.socket) -> None:
        nonlocal was_halted
        say(line, NOBODY)
        order = hear(line)
        say(line, [VisitResult(source_id=order.due[0], name="at work", type="rss")])
        was_halted = line.recv(1) == b""
        say(line, True)

    async with with_helpers(tmp_path, Played(collects, breaks)) as (_, others):
        round_ = await collected_by(others)
        assert was_halted
        assert [result.name for result in round_.results] == ["at work"]
        assert round_.dropped == MANY_DUE - 1
        assert not others.was_cut_off


@pytest.mark.proves("F-08")
async def test_when_whoever_forks_is_gone_this_process_collects_alone_from_then_on(tmp_path: Path, log: Log) -> None:
    ours, theirs = socket.socketpair()
    theirs.close()
    async with with_helpers(tmp_path, ForkServer(ours, collectors=2)) as (_, others):
        assert (await collected_by(others)).dropped == MANY_DUE
        for _ in range(3):
            assert others.divide(FEEDS) == ((), FEEDS)
    assert [line for line in log if "start it anew" in line]
    ours.close()


class Full(ForkServer):
    def fork(self) -> socket.socket:
        raise OSError(errno.EMFILE, "Too many open files")


async def test_where_there_is_no_room_for_one_more_the_next_round_is_collected_here(tmp_path: Path, log: Log) -> None:
    async with with_helpers(tmp_path, Full(None, collectors=2)) as (_, others):
        assert (await collected_by(others)).dropped == MANY_DUE
        assert others.divide(FEEDS) == ((), FEEDS)
        assert others.divide(FEEDS) == (FEEDS, []), "maybe there is room again"
    assert [line for line in log if "Too many open files" in line]


async def test_a_helper_whose_caller_is_gone_ends_without_a_word(tmp_path: Path) -> None:
    settings = Settings(database_url=f"sqlite:///{tmp_path / 'store.sqlite3'}")
    ours, theirs = socket.socketpair()
    ours.close()
    await _collect_beside(theirs, settings)
