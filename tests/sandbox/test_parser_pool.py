"""Parser processes: what is read in them holds up nobody, and what takes too long is ended for real."""

from __future__ import annotations

import asyncio
import os
import pickle
import signal
import socket
import subprocess
import sys
from asyncio.subprocess import PIPE
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from importlib import import_module
from pathlib import Path
from typing import Any

import psutil
import pytest

from catchment.domain.item import reading_of
from catchment.errors import BadBody, InvalidInput, ParseError, ParserFailed, ParserUnavailable
from catchment.manage.discovery import judge
from catchment.parse.opml import read_opml
from catchment.sandbox import pool as pool_module
from catchment.sandbox.pool import MAX_BYTES, ParserPool
from catchment.sandbox.process import (
    HEAD,
    MAX_ANSWER,
    NO_MEMORY_CODE,
    READERS,
    RESULTS,
    BadMessage,
    Incoming,
    pack,
    reader,
)
from catchment.sources.custom_api import read_page
from catchment.sources.items import read_items
from eventually import eventually
from feed_site import rss

pytestmark = pytest.mark.proves("R-19")
FEED = rss("a", "b").encode()
#: A stopped process is to whoever waits for it what an endless document is: it never answers.
STOPPED = signal.SIGSTOP


async def titles(pool: ParserPool, body: bytes = FEED) -> list[str]:
    reading = await pool.read(read_items, body, url="https://example.org/feed", content_type="text/xml")
    return [item.title for item in reading.items]


@asynccontextmanager
async def at_work(**limits: Any) -> AsyncIterator[tuple[ParserPool, psutil.Process]]:
    """A pool of one process, which has read something."""
    async with ParserPool(**{"size": 1, "seconds": 60, "idle_seconds": 60, **limits}) as pool:
        assert await titles(pool) == ["Title a", "Title b"]
        (pid,) = pool.pids
        yield pool, psutil.Process(pid)


async def is_gone(process: psutil.Process) -> None:
    """Not even a zombie is left of it."""

    async def look() -> bool:
        return not psutil.pid_exists(process.pid)

    assert await eventually(look)


async def test_a_feed_is_read_in_another_process_as_it_is_in_this_one():
    async with at_work() as (pool, process):
        given = {"url": "https://example.org/feed", "content_type": "text/xml"}
        assert await pool.read(read_items, FEED, **given) == read_items(FEED, **given)
        assert process.ppid() == os.getpid()


async def test_what_takes_too_long_is_killed_and_the_next_is_read_by_another():
    async with at_work(seconds=1.0) as (pool, process):
        process.send_signal(STOPPED)
        first, second, third = await asyncio.gather(*(titles(pool) for _ in range(3)), return_exceptions=True)
        assert isinstance(first, ParserFailed)
        assert str(first) == "reading it took longer than 1 s"
        assert second == third == ["Title a", "Title b"]
        await is_gone(process)
        assert pool.pids != [process.pid]


async def test_the_time_of_a_document_ends_with_it_however_late_the_start_of_its_process_is_told(
    monkeypatch: pytest.MonkeyPatch,
):
    """What went on counting would end a later document, and a process that has nothing to do with it."""
    counting: list[asyncio.TimerHandle] = []
    was_read = asyncio.Event()
    loop = asyncio.get_running_loop()
    call_later, start = loop.call_later, asyncio.create_subprocess_exec

    def watched(seconds: float, then: Callable[..., object], *args: Any) -> asyncio.TimerHandle:
        handle = call_later(seconds, then, *args)
        if seconds == 50:
            counting.append(handle)
        return handle

    async def told_late(*command: str, **given: Any) -> object:
        process = await start(*command, **given)
        await was_read.wait()
        return process

    monkeypatch.setattr(loop, "call_later", watched)
    monkeypatch.setattr(asyncio, "create_subprocess_exec", told_late)
    async with ParserPool(size=1, seconds=50, idle_seconds=60) as pool:
        assert await titles(pool) == ["Title a", "Title b"]
        was_read.set()
        assert await titles(pool) == ["Title a", "Title b"]
        assert len(counting) == 2
        assert all(handle.cancelled() for handle in counting)


async def test_the_death_of_a_process_is_the_failure_of_what_it_was_reading_only():
    async with at_work() as (pool, process):
        process.send_signal(STOPPED)
        both = asyncio.gather(titles(pool), titles(pool), return_exceptions=True)
        await asyncio.sleep(0)
        process.kill()
        first, second = await both
        assert isinstance(first, ParserFailed)
        assert str(first) == "reading it broke the process that did (signal 9)"
        assert second == ["Title a", "Title b"]
        await is_gone(process)


async def test_what_takes_too_much_memory_fails_and_the_next_is_read_by_another():
    async with at_work(max_bytes=96 * 2**20) as (pool, process):
        with pytest.raises(ParserFailed, match="more than 96 MiB of memory"):
            await titles(pool, b" " * 2**26)
        assert await titles(pool) == ["Title a", "Title b"]
        await is_gone(process)


def test_one_that_has_no_memory_left_says_so_however_soon_it_is_killed():
    ours, theirs = socket.socketpair()
    with ours, theirs:
        command = [sys.executable, "-I", "-m", "catchment.sandbox.process", str(96 * 2**20), "60"]
        process = subprocess.Popen(command, stdin=theirs.fileno(), stdout=subprocess.DEVNULL, env={})
        theirs.close()
        assert ours.recv(2**16) == pack("ready")
        ours.sendall(HEAD.pack(2**30))
        assert ours.recv(1) == b""
        process.kill()
        assert process.wait() == NO_MEMORY_CODE


def test_one_whose_owner_was_killed_ends_without_a_word():
    ours, theirs = socket.socketpair()
    with ours, theirs:
        command = [sys.executable, "-I", "-m", "catchment.sandbox.process", str(2**30), "60"]
        process = subprocess.Popen(command, stdin=theirs.fileno(), stderr=subprocess.PIPE, env={})
        theirs.close()
        # What it says is never read, as of an owner that is gone.
        assert ours.recv(1, socket.MSG_PEEK)
    assert process.communicate()[1] == b""
    assert process.returncode == 0


async def test_what_is_nested_too_deep_to_be_sent_is_the_failure_of_that_document_only():
    async with at_work() as (pool, process):
        body = b'{"items": [{"id": 1, "title": "a"}], "deep": ' + b"[" * 900 + b"]" * 900 + b"}"
        with pytest.raises(ParserFailed, match="reading it went wrong: RecursionError"):
            await pool.read(read_page, body, url="", content_type="application/json", paths={})
        assert await titles(pool) == ["Title a", "Title b"]
        assert pool.pids == [process.pid]


@pytest.mark.parametrize("found", [(), ("a", "b"), ("a", 5), None])
async def test_an_error_that_makes_no_sense_fails_what_was_read(found: object):
    async with ParserPool(size=1) as pool:
        process = pool_module._ParserProcess(pool)
        process.data_received(pack("ready"))
        job = pool_module._Job(b"", asyncio.get_running_loop().create_future())
        process._jobs.append(job)
        process.data_received(pack(("ParseError", found, False)))
        process.tell_end(1)
        with pytest.raises(ParserFailed, match="broke the process"):
            job.answer.result()


async def test_after_a_large_document_they_hold_as_little_as_before():
    item = "<item><title>{0}</title><description>" + "words and more of them " * 40 + "</description></item>"
    body = rss().replace("</channel>", "".join(map(item.format, range(9_000))) + "</channel>").encode()
    async with at_work() as (pool, _):
        large, *others = await asyncio.gather(titles(pool, body), titles(pool), titles(pool))
        assert large
        assert others == [["Title a", "Title b"]] * 2
        assert all(psutil.Process(pid).memory_info().rss < 80 * 2**20 for pid in pool.pids)


async def test_the_loop_goes_round_while_a_feed_of_300_000_items_is_read():
    body = rss().replace("</channel>", "<item><pubDate>x</pubDate></item>" * 300_000 + "</channel>").encode()
    rounds = 0
    async with at_work(size=2) as (pool, _):
        reading = asyncio.create_task(titles(pool, body))
        while not reading.done():
            rounds += 1
            await asyncio.sleep(0.01)
        assert await titles(pool) == ["Title a", "Title b"]
    assert rounds > 1
    if reading.exception() is not None:
        assert isinstance(reading.exception(), ParseError | ParserFailed)


async def test_there_are_no_more_processes_than_allowed_and_none_when_there_is_nothing_to_do():
    # Those that other tests left running.
    others = set(psutil.Process().children())
    async with ParserPool(size=2, seconds=60, idle_seconds=0.05) as pool:
        assert pool.pids == []
        most = 0

        async def read() -> None:
            nonlocal most
            await titles(pool)
            most = max(most, len(pool.pids))

        await asyncio.gather(*(read() for _ in range(40)))
        assert 1 <= most <= 2

        async def nobody_is_left() -> bool:
            return not set(psutil.Process().children()) - others

        assert await eventually(nobody_is_left)
        assert await titles(pool) == ["Title a", "Title b"]


async def test_signals_to_stop_are_not_for_them():
    async with at_work() as (pool, process):
        for number in (signal.SIGINT, signal.SIGTERM):
            process.send_signal(number)
        assert await titles(pool) == ["Title a", "Title b"]
        assert pool.pids == [process.pid]


async def test_closing_ends_them_whatever_they_are_at():
    async with at_work() as (pool, process):
        process.send_signal(STOPPED)
        waiting = [asyncio.create_task(titles(pool)) for _ in range(4)]
        await asyncio.sleep(0)
    await is_gone(process)
    for task in waiting:
        with pytest.raises((ParserFailed, asyncio.CancelledError)):
            await task
    with pytest.raises(ParserUnavailable):
        await titles(pool)


async def test_whoever_no_longer_waits_holds_up_nobody():
    async with at_work() as (pool, process):
        process.send_signal(STOPPED)
        waiting = [asyncio.create_task(titles(pool)) for _ in range(4)]
        await asyncio.sleep(0)
        for task in waiting:
            task.cancel()
        process.send_signal(signal.SIGCONT)
        assert await titles(pool) == ["Title a", "Title b"]


@pytest.mark.parametrize("state", ["idle", "reading"])
async def test_they_do_not_outlive_whoever_started_them(state: str):
    program = Path(__file__).with_name("pool_owner.py")
    owner = await asyncio.create_subprocess_exec(sys.executable, str(program), state, stdout=PIPE)
    assert owner.stdout is not None
    process = psutil.Process(int(await owner.stdout.readline()))
    owner.kill()
    await owner.wait()

    async def is_over() -> bool:
        # Whether its new parent has taken note of it is not our business.
        return not process.is_running() or process.status() == psutil.STATUS_ZOMBIE

    assert await eventually(is_over)


async def test_they_are_given_no_secrets_and_may_not_dump_what_they_hold():
    async with at_work() as (_, process):
        assert process.environ() == {}
        assert process.rlimit(psutil.RLIMIT_CORE) == (0, 0)
        assert process.rlimit(psutil.RLIMIT_AS) == (MAX_BYTES, MAX_BYTES)


async def test_errors_arrive_as_they_were_raised():
    async with ParserPool(size=1, seconds=60) as pool:
        with pytest.raises(ParseError, match="the body is empty"):
            await titles(pool, b"")
        with pytest.raises(InvalidInput, match="no OPML"):
            await pool.read(read_opml, b"nothing")
        address = "https://example.org/x.png"
        with pytest.raises(InvalidInput) as refused:
            await pool.read(judge, b"\x89PNG", address=address, url=address, content_type="image/png")
        assert refused.value.field == "url"
        with pytest.raises(ParserFailed, match="reading it went wrong: AttributeError"):
            await pool.read(read_items, None, url="", content_type="")  # type: ignore[arg-type]


async def test_the_functions_of_plug_ins_are_run_in_a_thread():
    def words(body: bytes, *, most: int) -> list[bytes]:
        assert body
        return body.split()[:most]

    async with ParserPool(size=1) as pool:
        assert await pool.read(words, b"a b c", most=2) == [b"a", b"b"]
        assert pool.pids == []


async def test_a_process_that_cannot_be_started_is_nobodys_failure_but_ours(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(pool_module.sys, "executable", "/bin/false")
    async with ParserPool(size=1) as pool:
        with pytest.raises(ParserUnavailable, match="no process that reads"):
            await titles(pool)
    monkeypatch.setattr(pool_module.sys, "executable", "/nowhere/python")
    async with ParserPool(size=1) as pool:
        with pytest.raises(ParserUnavailable, match="No such file"):
            await titles(pool)


@pytest.mark.proves("S-01")
def test_a_process_that_reads_feeds_loads_nothing_that_feeds_do_not_need():
    loaded = "import sys; from catchment.sandbox import process; process.reader('catchment.sources.items:read_items')"
    needless = {"jsonpath", "re2", "regex", "pydantic", "sqlalchemy", "catchment.domain.source"}
    told = subprocess.check_output([sys.executable, "-I", "-c", f"{loaded}; print(*sys.modules)"], text=True)
    assert needless.isdisjoint(told.split())


@pytest.mark.parametrize("name", sorted(READERS))
def test_every_reader_is_there(name: str):
    assert callable(reader(name))


@pytest.mark.parametrize("name", sorted(RESULTS))
def test_everything_that_makes_a_result_is_there(name: str):
    module, _, maker = name.partition(":")
    assert callable(getattr(import_module(module), maker))


def test_nothing_else_can_be_asked_for():
    with pytest.raises(LookupError):
        reader("os:system")


class _Evil:
    def __init__(self, function: Callable[..., Any], *args: object) -> None:
        self._call = (function, args)

    def __reduce__(self) -> tuple[Callable[..., Any], tuple[object, ...]]:
        return self._call


@pytest.mark.parametrize(
    "message",
    [
        pack(("", _Evil(os.system, "true"), False)),
        pack(("", _Evil(eval, "1"), False)),
        pack(("", _Evil(getattr, "", "join"), False)),
        pack(("", BadBody("x"), False)),
        pack(("", _Evil(reading_of, "a title", [["a key, and nothing else"]]), False)),
        (5).to_bytes(4, "big") + b"\x80\x05junk",
        (MAX_ANSWER + 1).to_bytes(4, "big"),
    ],
)
def test_an_answer_that_is_no_data_is_refused(message: bytes):
    with pytest.raises(BadMessage):
        list(Incoming().feed(message))


def test_answers_are_put_together_from_any_parts():
    stream = pack(1) + pack("two") + pack(read_items(FEED, url="", content_type=""))
    incoming = Incoming()
    found = [message for number in range(len(stream)) for message in incoming.feed(stream[number : number + 1])]
    assert found == [1, "two", read_items(FEED, url="", content_type="")]
    assert pickle.loads(pickle.dumps(found)) == found
