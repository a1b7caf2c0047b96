"""Small feeds, read by a collector itself: for a moment, whatever they are, and as a parser process would read them."""

from __future__ import annotations

import gzip
import os
import signal
from collections.abc import AsyncIterator, Iterator
from contextlib import suppress
from typing import Any

import pytest

from catchment.domain.item import Reading
from catchment.errors import ParseError, ParserFailed
from catchment.sandbox.in_place import MAX_FEED_BYTES, ParsersInPlace
from catchment.sources.items import read_items
from feed_site import rss

pytestmark = pytest.mark.proves("R-19", "S-01")
FEED = rss("a", "b").encode()
GIVEN = {"url": "https://example.org/feed", "content_type": "text/xml"}


@pytest.fixture(autouse=True)
def own_alarm() -> Iterator[None]:
    """That of the test itself is set aside."""
    heard, (seconds, _) = signal.getsignal(signal.SIGALRM), signal.setitimer(signal.ITIMER_REAL, 0)
    yield
    left, _ = signal.setitimer(signal.ITIMER_REAL, seconds)
    signal.signal(signal.SIGALRM, heard)
    assert not left, "an alarm that is left would give up something else"


@pytest.fixture
async def parsers() -> AsyncIterator[ParsersInPlace]:
    async with ParsersInPlace(size=1, seconds=60) as parsers:
        yield parsers


def passing_for_the_reader(function: Any) -> Any:
    """Run here by what it does, and in a parser process by what it is called."""
    function.__module__, function.__qualname__ = read_items.__module__, read_items.__qualname__
    return function


async def test_a_small_feed_is_read_as_it_is_apart_and_without_a_process(parsers: ParsersInPlace):
    reading = await parsers.for_source(is_well=True).read(read_items, FEED, **GIVEN)
    assert parsers.pids == []
    assert reading == await parsers.for_source(is_well=False).read(read_items, FEED, **GIVEN)
    assert len(parsers.pids) == 1, "of a source that is not well it is read apart"


@pytest.mark.parametrize(
    "body",
    [FEED + b" " * MAX_FEED_BYTES, gzip.compress(FEED)],
    ids=["large", "packed"],
)
async def test_what_may_take_long_in_one_piece_is_read_apart(parsers: ParsersInPlace, body: bytes):
    reading = await parsers.for_source(is_well=True).read(read_items, body, **GIVEN)
    assert len(reading.items) == 2
    assert len(parsers.pids) == 1


async def test_what_is_not_read_in_a_moment_is_given_up_and_read_apart(parsers: ParsersInPlace):
    here: list[int] = []

    @passing_for_the_reader
    def endless(body: bytes, **_: Any) -> Reading:
        here.append(os.getpid())
        while True:
            with suppress(Exception):
                len(body)

    reading = await parsers.for_source(is_well=True).read(endless, FEED, **GIVEN)
    assert here == [os.getpid()]
    assert [item.title for item in reading.items] == ["Title a", "Title b"]
    assert len(parsers.pids) == 1
    here.clear()
    assert await parsers.for_source(is_well=True).read(read_items, FEED, **GIVEN) == reading
    assert here == []


async def test_an_alarm_that_comes_late_gives_up_nothing(parsers: ParsersInPlace):
    await parsers.for_source(is_well=True).read(read_items, FEED, **GIVEN)
    signal.raise_signal(signal.SIGALRM)


async def test_a_document_that_cannot_be_read_is_told_as_it_is_apart(parsers: ParsersInPlace):
    told = []
    for is_well in (True, False):
        with pytest.raises(ParseError) as failure:
            await parsers.for_source(is_well=is_well).read(read_items, b"<html>no</html>", **GIVEN)
        told.append(str(failure.value))
    assert told[0] == told[1]


async def test_a_mistake_of_ours_is_the_failure_of_the_document_alone(parsers: ParsersInPlace):
    @passing_for_the_reader
    def broken(body: bytes, **_: Any) -> Reading:
        raise LookupError(len(body))

    with pytest.raises(ParserFailed, match="reading it went wrong: LookupError"):
        await parsers.for_source(is_well=True).read(broken, FEED, **GIVEN)
