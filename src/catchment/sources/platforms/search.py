"""Keyword sources: a search lists notes, each of which is then read. One source type for each platform."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import datetime
from html import escape
from typing import Any, Final, TypeVar

from catchment.domain.candidate import CandidatePolicy, KnownListing, Listed, Listing, ListingPage, ListingRead, Told
from catchment.domain.crawl_errors import Code, CrawlError, wait_before_retry
from catchment.domain.execution import current_trace, new_trace_id, request_id
from catchment.domain.item import Item, make_item
from catchment.domain.note import (
    SOURCE_TYPES,
    Comment,
    Crawled,
    Note,
    NoteCard,
    NoteRef,
    Platform,
    Search,
    SearchPage,
    SortType,
    TypeNumber,
)
from catchment.domain.note_json import card_to_json, note_to_json
from catchment.domain.source import Why
from catchment.fetch.pacing import Deferred
from catchment.logs import marked
from catchment.sources.base import Context, Detail, Parts, Suggestion
from catchment.sources.config import choice, flag, text, web_address, whole
from catchment.sources.platforms.reader import PlatformReader
from catchment.sources.platforms.request import RequestOutcome

#: What of a card a candidate is remembered with.
_REMEMBERED = ("title", "author_id", "author_name", "liked_count", "collected_count", "comment_count")
#: What of a note an item's own columns do not hold.
_BESIDES = (
    "platform",
    "note_id",
    "note_type",
    "likes",
    "collects",
    "comments",
    "shares",
    "images",
    "video_url",
    "tags",
    "updated_at",
    "comment_list",
)


def listed_of(card: NoteCard, *, keyword: str, exec_meta: Mapping[str, Any]) -> Listed:
    shown = card_to_json(card)
    facts = {name: shown[name] for name in _REMEMBERED} | {"source_keyword": keyword, "exec_meta": dict(exec_meta)}
    return Listed(card.url, native_id=card.ref.note_id, facts=facts, platform=card.ref.platform.value)


def item_of(note: Note) -> Item:
    shown = note_to_json(note)
    return make_item(
        native_id=note.ref.note_id,
        url=note.url,
        title=note.title or _first_line(note.content),
        author=note.author.name,
        content="".join([*_paragraphs(note.content), *_pictures(note.images)]),
        published_at=note.published_at,
        metadata={name: shown[name] for name in _BESIDES if shown[name] not in (None, [], "")},
    )


def _first_line(content: str) -> str:
    return content.strip().partition("\n")[0][:80]


def _paragraphs(content: str) -> Iterable[str]:
    return (f"<p>{escape(line)}</p>" for line in content.splitlines() if line.strip())


def _pictures(images: Iterable[str]) -> Iterable[str]:
    """Only from the web: an address of any other kind is nothing that a reader should be made to open."""
    of_the_web = (image for image in images if image.startswith(("https://", "http://")))
    return (f'<p><img src="{escape(image)}" alt=""></p>' for image in of_the_web)


T = TypeVar("T")
Sleep = Callable[[float], Awaitable[None]]


async def patiently(work: Callable[[], Awaitable[T]], *, sleep: Sleep = asyncio.sleep) -> T:
    """What the work comes to in the end; the last CrawlError once the table says that it is enough."""
    tried_again = 0
    while True:
        try:
            return await work()
        except CrawlError as error:
            wait = wait_before_retry(error, tried_again)
            if wait is None:
                raise
        tried_again += 1
        await sleep(wait.total_seconds())


PLATFORM_OF_TYPE: Final = {name: platform for platform, name in SOURCE_TYPES.items()}

#: Where the pages are on which platforms show what a search found.
_SEARCH_HOSTS: Final = {
    Platform.XHS: frozenset({"www.xiaohongshu.com", "www.rednote.com"}),
    Platform.WEIBO: frozenset({"s.weibo.com"}),
    Platform.DOUYIN: frozenset({"www.douyin.com"}),
}
MAX_KEYWORD, MAX_PAGES, MAX_COMMENTS = 100, 20, 200
FEW_COMMENTS: Final = 10
#: Until there is a cookie again, a source is put off for so long at least.
_SECONDS_WITHOUT_COOKIE: Final = 900.0
_WITHOUT_COOKIE: Final = frozenset({Code.COOKIE_EXHAUSTED, Code.COOKIE_COOLING})
#: Others were tried in its place already: the note is not to blame, and the source neither.
_DEAD_COOKIE: Final = frozenset({Code.COOKIE_INVALID, Code.ACCOUNT_BANNED})
#: A visit waits this many seconds for another try; what takes longer is put off, so that others get their turn.
_LONGEST_WAIT: Final = 60.0
#: A search shows the newest of something endless: what it no longer shows is not gone, and was read before.
_POLICY: Final = CandidatePolicy(
    baseline_items=None,
    is_complete=False,
    retry_failed=False,
    at_once=1,
    max_history_days=365,
    most_rows=100_000,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class KeywordConfig:
    keyword: str
    sort_type: SortType
    note_type: TypeNumber
    #: How many pages of results are looked at.
    pages: int
    #: How many comments are read of each note.
    comments: int

    def search(self, page: int) -> Search:
        return Search(keyword=self.keyword, page=page, sort=self.sort_type.sort, type=self.note_type.type)


def read_config(config: Mapping[str, Any]) -> KeywordConfig:
    sort = choice(config, "sort_type", list(SortType), default=SortType.GENERAL)
    kind = choice(config, "note_type", list(TypeNumber), default=TypeNumber.ANY)
    limit = whole(config, "comments_limit", default=FEW_COMMENTS, least=0, most=MAX_COMMENTS)
    return KeywordConfig(
        keyword=text(config, "keyword", example="手冲咖啡", most=MAX_KEYWORD),
        sort_type=SortType(sort),
        note_type=TypeNumber(kind),
        pages=whole(config, "pages", default=1, least=1, most=MAX_PAGES),
        comments=limit if flag(config, "get_comments", default=True) else 0,
    )


class KeywordType:
    """The search of one platform, which its classes below name."""

    type: str
    platform: Platform
    default_minutes = 120
    config_keys = frozenset({"keyword", "sort_type", "note_type", "pages", "get_comments", "comments_limit"})

    def __init__(self, reader: PlatformReader, *, sleep: Sleep | None = None) -> None:
        self._reader = reader
        self._sleep = sleep or asyncio.sleep
        self._lane = asyncio.Lock()

    @classmethod
    def from_parts(cls, parts: Parts) -> KeywordType | None:
        return cls(parts.reader()) if parts.reader else None

    def identity(self, config: Mapping[str, Any]) -> str:
        wanted = read_config(config)
        return f"{wanted.keyword.casefold()}\0{wanted.sort_type.sort}\0{wanted.note_type}"

    @classmethod
    def recognise(cls, pasted: str) -> Suggestion | None:
        """The address of the page on which the platform shows what it found."""
        keyword = _searched_for(pasted, cls.platform)
        if not keyword or len(keyword) > MAX_KEYWORD:
            return None
        why = f"It is a search for {keyword!r}."
        return Suggestion(type=cls.type, config={"keyword": keyword}, name=keyword, why=why)

    @classmethod
    def suggest(cls, text: str) -> Suggestion:
        """Whatever it is, it is searched for."""
        return Suggestion(type=cls.type, config={"keyword": text}, name=text, why="It is searched for.")

    def start_crawl(self, context: Context) -> KeywordCrawlSession:
        config = read_config(context.source.config)
        return KeywordCrawlSession(
            self.platform, self._reader, config, now=context.now, sleep=self._sleep, lane=self._lane
        )


class XhsSearch(KeywordType):
    type, platform = SOURCE_TYPES[Platform.XHS], Platform.XHS
    display_names: Mapping[str, str] = {"en": "Xiaohongshu search", "zh": "小红书搜索"}


class WeiboSearch(KeywordType):
    type, platform = SOURCE_TYPES[Platform.WEIBO], Platform.WEIBO
    display_names: Mapping[str, str] = {"en": "Weibo search", "zh": "微博搜索"}


class DouyinSearch(KeywordType):
    type, platform = SOURCE_TYPES[Platform.DOUYIN], Platform.DOUYIN
    display_names: Mapping[str, str] = {"en": "Douyin search", "zh": "抖音搜索"}


class KeywordCrawlSession:
    def __init__(
        self,
        platform: Platform,
        reader: PlatformReader,
        config: KeywordConfig,
        *,
        now: datetime,
        sleep: Sleep,
        lane: asyncio.Lock,
    ) -> None:
        self._platform = platform
        self._reader = reader
        self._config = config
        self._now = now
        self._sleep = sleep
        self._trace_id = current_trace.get() or new_trace_id(now)
        self.policy = _POLICY
        # The platform is read slowly, so that one keyword at a time is enough to keep it busy.
        self.lane: asyncio.Lock | None = lane
        self.address = f"{platform}:{config.keyword}"
        self.name = config.keyword

    async def list_pages(self, known: Mapping[bytes, KnownListing]) -> AsyncIterator[Told]:  # noqa: ARG002 - searched anew
        for number in range(1, self._config.pages + 1):
            found = await self._search(number)
            exec_meta = {"workflow_trace_id": self._trace_id, "crawled_at": self._now.isoformat()}
            listed = [listed_of(card, keyword=self._config.keyword, exec_meta=exec_meta) for card in found.cards]
            yield ListingPage(url=self.address, listed=listed)
            if not found.has_more:
                break
        yield ListingRead(listing=Listing(url=self.address))

    async def detail(self, listed: Listed) -> Detail:
        ref = self._reader.ref_of(self._platform, listed.url)
        step = request_id(self._trace_id, f"detail-{ref.note_id}")
        note, read = await self._ask(step, lambda: self._reader.note(ref))
        comments = await self._comments(step, ref)
        note = replace(note, comments=comments.value or ())
        return Detail(item_of(note), Crawled(note=note, how=self._how(step, read, comments)))

    async def _comments(self, step: str, ref: NoteRef) -> RequestOutcome[tuple[Comment, ...]]:
        """The outcome of the last try, with the most that any of them brought.

        Put off, the note is put off with them and read anew, as a note is written once. One whose comments were tried
        as often as the table says is worth having without them.
        """
        if not self._config.comments:
            return RequestOutcome(value=())
        tries: list[RequestOutcome[tuple[Comment, ...]]] = []

        async def read() -> RequestOutcome[tuple[Comment, ...]]:
            tries.append(await self._reader.comments(ref, limit=self._config.comments))
            return tries[-1]

        with suppress(CrawlError):
            await self._ask(step, read)
        return replace(tries[-1], value=max((one.value or () for one in tries), key=len))

    async def _search(self, number: int) -> SearchPage:
        step = request_id(self._trace_id, f"search-{number}")
        page, _ = await self._ask(step, lambda: self._reader.search(self._platform, self._config.search(number)))
        return page

    async def _ask(self, step: str, read: Callable[[], Awaitable[RequestOutcome[T]]]) -> tuple[T, RequestOutcome[T]]:
        """Tried again by the table of errors, or put off where that takes longer than a visit should."""

        async def once() -> tuple[T, RequestOutcome[T]]:
            outcome = await read()
            if outcome.error is not None and (later := self._put_off(outcome.error)):
                raise later from outcome.error
            return outcome.result(), outcome

        with marked(step):
            try:
                return await patiently(once, sleep=self._sleep)
            except CrawlError as error:
                if error.code not in _DEAD_COOKIE:
                    raise
                raise self._later(error, _LONGEST_WAIT, Why.NO_COOKIE) from error

    def _put_off(self, error: CrawlError) -> Deferred | None:
        """What is to be put off at once: until there is a cookie again, or for as long as the platform asks for."""
        asked_for = error.retry_after or 0.0
        if error.code in _WITHOUT_COOKIE:
            return self._later(error, max(_SECONDS_WITHOUT_COOKIE, asked_for), Why.NO_COOKIE)
        return self._later(error, asked_for, Why.RETRY_AFTER) if asked_for > _LONGEST_WAIT else None

    def _later(self, error: CrawlError, seconds: float, why: Why) -> Deferred:
        # A cookie alone will not do where nothing can be signed: all that is missing is told at once.
        message = f"{error} {self._reader.why_unsigned(self._platform)}".strip()
        return Deferred(self._platform, seconds=seconds, why=why, message=message)

    def _how(
        self, step: str, note: RequestOutcome[Note], comments: RequestOutcome[tuple[Comment, ...]]
    ) -> dict[str, Any]:
        # Those that did not come with the note will not come any more.
        missing = {"comments_error": comments.error.code.value} if comments.error else {}
        return {
            "request_id": step,
            "crawled_at": self._now.isoformat(),
            "source_keyword": self._config.keyword,
            "workflow_trace_id": self._trace_id,
            "latency_ms": round((note.latency + comments.latency).total_seconds() * 1000),
            "retry_count": note.retry_count + comments.retry_count,
            **missing,
        }


def _searched_for(pasted: str, platform: Platform) -> str | None:
    """The keyword in the address of a page of results."""
    url = web_address(pasted)
    if url is None or url.host not in _SEARCH_HOSTS[platform]:
        return None
    if platform is Platform.DOUYIN:
        return url.path.removeprefix("/search/") if url.path.startswith("/search/") else None
    return url.query.get("keyword" if platform is Platform.XHS else "q")
