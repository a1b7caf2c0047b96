"""Reading platforms: each read with a cookie that is lent for it, at the platform's pace, in the time it has.

A cookie that turns out dead is put aside and another one takes over; everything else that goes wrong is given up with
its code, for whoever asked to try again by the table of errors or to let it be.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from math import ceil
from time import monotonic
from typing import Final, TypeVar

from catchment.domain.crawl_errors import Code, CrawlError
from catchment.domain.note import (
    Comment,
    Note,
    NoteRef,
    Search,
    SearchPage,
    cards_without_authors,
    comments_without_authors,
    without_authors,
)
from catchment.domain.note import Platform as PlatformName
from catchment.fetch.options import CookiePool, LentCookie
from catchment.fetch.pacing import PacePolicy, Pacer
from catchment.sources.platforms.answers import PlatformClient, Platforms, Sender
from catchment.sources.platforms.request import (
    Allowance,
    Asked,
    Findings,
    Journal,
    PacedSender,
    PlatformRequest,
    RequestOutcome,
    Waiting,
)

#: The spacing alone decides how many there are in a minute.
_NO_BUDGET: Final = 10_000
#: Xiaohongshu shows the fewest.
MIN_COMMENTS_A_PAGE: Final = 10

T = TypeVar("T")
#: The address at which a note was found, where it is known: it holds the token.
KnownAddress = Callable[[PlatformName, str], Awaitable[str | None]]
Work = Callable[[Sender, str], Awaitable[T]]


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadPolicy:
    search_seconds: float = 30.0
    note_seconds: float = 15.0
    batch_seconds: float = 60.0
    check_seconds: float = 10.0
    spacing_seconds: float = 2.0
    at_once: int = 1
    keep_authors: bool = False

    def seconds_for(self, notes: int, *, comments_limit: int) -> float:
        """For reading so many notes: what is set for a batch, and on top of it the time in which they wait for their
        turns at the platform, since nobody can read faster than that. Twice over, as some are asked for twice.
        """
        requests = notes * (1 + ceil(comments_limit / MIN_COMMENTS_A_PAGE))
        return self.batch_seconds + 2 * requests * self.spacing_seconds

    def pace(self) -> PacePolicy:
        return PacePolicy(concurrency=self.at_once, spacing_seconds=self.spacing_seconds, budget_per_minute=_NO_BUDGET)


class PlatformReader:
    def __init__(
        self,
        *,
        platforms: Platforms,
        pool: CookiePool,
        http: Sender,
        journal: Journal,
        known_address: KnownAddress,
        policy: ReadPolicy,
    ) -> None:
        self._platforms = platforms
        self._pool = pool
        self._http = http
        self._journal = journal
        self._known_address = known_address
        self._policy = policy
        self._pacer = Pacer(policy.pace())

    def why_unsigned(self, platform: PlatformName) -> str:
        """What is to be installed or set before requests there can be signed; nothing where they can be."""
        try:
            self._platforms[platform].require_signer()
        except CrawlError as error:
            return str(error)
        return ""

    def ref_of(self, platform: PlatformName, given: str) -> NoteRef:
        """The note that an id or an address stands for."""
        ref = self._platforms[platform].ref_of(given)
        if ref is None:
            raise CrawlError(Code.INVALID_INPUT, f"Neither the id nor the address of a note on {platform}: {given!r}.")
        return ref

    async def search(
        self, platform: PlatformName, search: Search, *, cookie_name: str | None = None, within: float | None = None
    ) -> RequestOutcome[SearchPage]:
        """`within` so many seconds, waiting for a cookie and a turn included; else it waits as long as that takes."""
        read = self._begin(platform, self._policy.search_seconds, Waiting(within), cookie_name)
        what = f"search {search.keyword!r} page {search.page}"
        try:
            page = await self._ask(read, what, lambda http, cookie: read.platform.search(http, cookie, search))
        except CrawlError as error:
            return read.failed(error)
        return read.succeeded(page if self._policy.keep_authors else cards_without_authors(page))

    async def note(
        self, ref: NoteRef, *, comments_limit: int = 0, cookie_name: str | None = None, within: float | None = None
    ) -> RequestOutcome[Note]:
        read = self._begin(ref.platform, self._policy.note_seconds, Waiting(within), cookie_name)
        return await self._read_note(read, ref, comments_limit)

    async def comments(self, ref: NoteRef, *, limit: int) -> RequestOutcome[tuple[Comment, ...]]:
        """Those of a note that was read before, as far as they came."""
        read = self._begin(ref.platform, self._policy.note_seconds, Waiting(None), None)
        try:
            ref = await self._with_token(read.platform, ref)
        except CrawlError as error:
            return read.failed(error)
        came, why_no_more = await self._comments(read, ref, limit)
        return read.brought(came if self._policy.keep_authors else comments_without_authors(came), why_no_more)

    async def batch(
        self, refs: Sequence[NoteRef], *, comments_limit: int = 0, cookie_name: str | None = None
    ) -> list[RequestOutcome[Note]]:
        """All of them beside each other, each with its own outcome, in their order, in the time that so many need."""
        seconds = self._policy.seconds_for(len(refs), comments_limit=comments_limit)
        waiting, findings = Waiting(seconds), Findings()

        def one(ref: NoteRef) -> Coroutine[None, None, RequestOutcome[Note]]:
            read = self._begin(ref.platform, self._policy.note_seconds, waiting, cookie_name)
            read.findings = findings
            return self._read_note(read, ref, comments_limit)

        try:
            async with asyncio.TaskGroup() as group:
                tasks = [group.create_task(one(ref)) for ref in refs]
        except ExceptionGroup as failures:
            # What is none of the platform's, such as a store that is gone, is the same for all.
            raise failures.exceptions[0] from failures.exceptions[0].__cause__
        return [task.result() for task in tasks]

    async def is_valid(self, cookie: LentCookie) -> bool:
        """Whether its platform takes the cookie for somebody who is logged in."""
        read = self._begin(cookie.platform, self._policy.check_seconds, Waiting(None), cookie.name)
        async with read.allowance.running():
            return await read.platform.is_valid(self._way_out(read), cookie.value)

    async def _read_note(self, read: PlatformRequest, ref: NoteRef, comments_limit: int) -> RequestOutcome[Note]:
        try:
            ref = await self._with_token(read.platform, ref)
            what = f"note {ref.note_id}"
            note = await self._ask(read, what, lambda http, cookie: read.platform.detail(http, cookie, ref))
        except CrawlError as error:
            return read.failed(error)
        if not comments_limit:
            return read.succeeded(self._presentable(note))
        # The note is worth having without them.
        came, comments_error = await self._comments(read, ref, comments_limit)
        return read.succeeded(self._presentable(replace(note, comments=came)), comments_error=comments_error)

    async def _comments(
        self, read: PlatformRequest, ref: NoteRef, limit: int
    ) -> tuple[tuple[Comment, ...], CrawlError | None]:
        """As many as came, and why no more did; of several cookies those of the one that got furthest."""
        most: tuple[Comment, ...] = ()

        async def follow_pages(http: Sender, cookie: str) -> None:
            nonlocal most
            came: tuple[Comment, ...] = ()
            async for page in read.platform.comments(http, cookie, ref, limit=limit):
                came += page
                most = max(most, came, key=len)

        try:
            await self._ask(read, f"comments of {ref.note_id}", follow_pages)
        except CrawlError as error:
            return most, error
        return most, None

    async def _with_token(self, platform: PlatformClient, ref: NoteRef) -> NoteRef:
        """With the token of the address at which the note was found, where it takes one and came without."""
        if ref.token or not platform.needs_token:
            return ref
        address = await self._known_address(ref.platform, ref.note_id)
        found = platform.ref_of(address) if address else None
        if found is None or not found.token:
            raise CrawlError(
                Code.INVALID_INPUT,
                f"{platform.name} shows note {ref.note_id} only with the token of the listing that named it: "
                "give its whole address, or its xsec_token.",
            )
        return found

    def _presentable(self, note: Note) -> Note:
        return note if self._policy.keep_authors else without_authors(note)

    def _begin(
        self, platform: PlatformName, seconds: float, waiting: Waiting, cookie_name: str | None
    ) -> PlatformRequest:
        allowance = Allowance(seconds)
        return PlatformRequest(
            platform=self._platforms[platform], allowance=allowance, waiting=waiting, cookie_name=cookie_name
        )

    def _way_out(self, read: PlatformRequest) -> PacedSender:
        return PacedSender(self._http, self._pacer, read)

    async def _ask(self, read: PlatformRequest, what: str, work: Work[T]) -> T:
        """What the work comes to with a cookie that is alive."""
        async with read.waiting.ends_in_time():
            while True:
                try:
                    return await self._ask_with_a_cookie(read, what, work)
                except CrawlError as error:
                    failure = error
                if not read.may_switch(failure):
                    raise read.verdict(failure)

    async def _ask_with_a_cookie(self, read: PlatformRequest, what: str, work: Work[T]) -> T:
        lent = self._pool.lend(
            read.platform.name,
            name=read.cookie_name,
            excluded=frozenset(read.findings.dead),
            blamed=read.findings.blamed,
        )
        async with lent as cookie:
            read.takes(cookie)
            return await self._ask_with(cookie, read, what, work)

    async def _ask_with(self, cookie: LentCookie, read: PlatformRequest, what: str, work: Work[T]) -> T:
        began = monotonic()

        async def take_down(error: CrawlError | None) -> None:
            took = timedelta(seconds=monotonic() - began)
            asked = Asked(platform=cookie.platform, what=what, cookie=cookie.name, took=took, error=error)
            await self._journal.record(asked)

        try:
            async with read.allowance.running():
                value = await work(self._way_out(read), cookie.value)
        except CrawlError as error:
            await take_down(error)
            raise
        await take_down(None)
        return value
