"""Hacker News: one of its lists, each story asked for by its number."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from html import escape
from typing import Any, Final, NamedTuple

from catchment.domain.item import Item
from catchment.domain.visit import Fetched
from catchment.errors import ParseError, VisitError
from catchment.fetch.client import Request
from catchment.fetch.options import SourceClient
from catchment.fetch.pacing import Deferred, host_of
from catchment.parse.dates import from_epoch
from catchment.parse.json_values import number_at, read_json, text_at
from catchment.sources.base import Context, Parts, Suggestion
from catchment.sources.config import choice, path_of, web_address, whole
from catchment.sources.items import ItemMaker

SITE: Final = "https://news.ycombinator.com"
LISTS: Final = ("top", "new", "best", "ask", "show", "job")
DEFAULT_SCORE, DEFAULT_LIMIT, MAX_STORIES = 50, 30, 500
#: Requests side by side: few enough that none waits long for its turn at the host.
SIDE_BY_SIDE: Final = 4
STORY_SECONDS: Final = 10.0
#: After so many failed stories the service is in trouble: the rest is left for the next visit.
MAX_FAILURES: Final = 10
_HOSTS: Final = frozenset({"news.ycombinator.com"})
_WORDS: Final = frozenset({"hn", "hackernews", "hacker news"})
_PAGES: Final = {
    "": "top", "news": "top", "front": "top", "newest": "new", "best": "best", "ask": "ask", "show": "show",
    "jobs": "job",
}  # fmt: skip
#: What a pasted address asks for; of lists that are not ranked by score, everything.
_PASTED_SCORES: Final = {"top": 100, "best": 100}


class HackerNewsFetcher:
    type = "hackernews"
    display_names: Mapping[str, str] = {"en": "Hacker News", "zh": "Hacker News"}
    default_minutes = 60
    config_keys = frozenset({"filter", "min_score", "limit"})

    def __init__(self, base_url: str) -> None:
        self._base_url = base_url
        self.host = host_of(base_url)

    @classmethod
    def from_parts(cls, parts: Parts) -> HackerNewsFetcher:
        return cls(parts.settings.hackernews_base_url)

    def identity(self, config: Mapping[str, Any]) -> str:
        wanted = _wanted(config)
        return f"{wanted.list}?min_score={wanted.min_score}"

    async def fetch(self, context: Context) -> Fetched:
        wanted = _wanted(context.source.config)
        listed = await self._listed(context.http, wanted)
        # First whatever there was no room for the last time, so that every story gets its turn.
        numbers = dict.fromkeys([*context.source.memory.get("pending", ()), *listed.numbers])
        walk = _Walk(context.http, self._base_url, numbers)
        left = await walk.finish()
        pending = [number for number in numbers if number in left][:MAX_STORIES]
        stories = [walk.answers[number] for number in numbers if number in walk.answers]
        items = (_item(story, least=wanted.min_score) for story in stories if story is not None)
        return Fetched(
            title=f"Hacker News: {wanted.list}",
            items=tuple(item for item in items if item is not None),
            memory={"pending": pending} if pending else {},
            left_out=listed.left_out + walk.malformed + sum(map(_is_nameless, stories)),
        )

    def recognise(self, pasted: str) -> Suggestion | None:
        name = _list_named(pasted)
        if name is None:
            return None
        return Suggestion(
            type=self.type,
            config={"filter": name, "min_score": _PASTED_SCORES.get(name, 0)},
            name=f"Hacker News: {name}",
            why=f"It is the list {name!r} of Hacker News.",
        )

    async def _listed(self, http: SourceClient, wanted: _StoryOptions) -> _Listed:
        response = await http.get(f"{self._base_url}/v0/{wanted.list}stories.json")
        numbers = read_json(response.body)
        known = [number for number in numbers if type(number) is int] if isinstance(numbers, list) else []
        if not isinstance(numbers, list) or (numbers and not known):
            raise ParseError("Hacker News gave something else than a list of stories; tried again later")
        return _Listed(known[: wanted.limit], len(numbers) - len(known))


class _Listed(NamedTuple):
    numbers: list[int]
    #: Entries that are no numbers.
    left_out: int


@dataclass(frozen=True, slots=True, kw_only=True)
class _StoryOptions:
    list: str
    min_score: int
    limit: int


def _wanted(config: Mapping[str, Any]) -> _StoryOptions:
    name = choice(config, "filter", LISTS, default="top")
    # Nobody votes for jobs: each has a score of 1.
    least = whole(config, "min_score", default=0 if name == "job" else DEFAULT_SCORE, least=0, most=100_000)
    limit = whole(config, "limit", default=DEFAULT_LIMIT, least=1, most=MAX_STORIES)
    return _StoryOptions(list=name, min_score=least, limit=limit)


class _Walk:
    """Asks for stories side by side. What the host's budget has no room for stays for the next visit."""

    def __init__(self, http: SourceClient, base_url: str, numbers: Iterable[int]) -> None:
        #: None for a story that is not there.
        self.answers: dict[int, dict[str, Any] | None] = {}
        #: How many are something else than a story.
        self.malformed = 0
        self._http = http
        self._base_url = base_url
        self._queue = deque(numbers)
        self._failures: list[VisitError] = []
        self._deferred: Deferred | None = None

    async def finish(self) -> set[int]:
        """The numbers that are still to be asked for. Only when no story at all was answered it is a failure."""
        async with asyncio.TaskGroup() as group:
            for _ in range(SIDE_BY_SIDE):
                group.create_task(self._work())
        if not self.answers and self._failures:
            raise self._failures[0]
        if not self.answers and self._deferred:
            raise self._deferred
        return set(self._queue)

    async def _work(self) -> None:
        while self._queue and len(self._failures) < MAX_FAILURES:
            number = self._queue.popleft()
            try:
                self.answers[number] = await self._ask(number)
            except Deferred as deferred:
                # The others go on: with one less in the queue, their turn may come soon enough.
                self._queue.append(number)
                self._deferred = deferred
                return
            except VisitError as error:
                self._failures.append(error)
                self.malformed += isinstance(error, ParseError)

    async def _ask(self, number: int) -> dict[str, Any] | None:
        url = f"{self._base_url}/v0/item/{number}.json"
        response = await self._http.send(Request(url=url, timeout_seconds=STORY_SECONDS))
        story = read_json(response.body)
        if story is not None and not isinstance(story, dict):
            raise ParseError(f"Hacker News gave something else than the story {number}; tried again later")
        # It is the one that was asked for, also where it does not say so.
        return None if story is None else {**story, "id": text_at(story, "id") or str(number)}


def _is_nameless(story: Mapping[str, Any] | None) -> bool:
    """Whether it is there, but without a title, which every story has."""
    return story is not None and not (story.get("dead") or story.get("deleted") or text_at(story, "title"))


def _item(story: Mapping[str, Any], *, least: int) -> Item | None:
    title, score = text_at(story, "title"), number_at(story, "score")
    if story.get("dead") or story.get("deleted") or score < least:
        return None
    discussion = f"{SITE}/item?id={text_at(story, 'id')}"
    item = ItemMaker(SITE).make(
        native_id=text_at(story, "id"),
        url=text_at(story, "url") or discussion,
        title=title,
        author=text_at(story, "by"),
        content=text_at(story, "text") or escape(title, quote=False),
        published_at=from_epoch(story.get("time")),
        metadata={"score": score, "comments": number_at(story, "descendants"), "discussion": discussion},
        has_plain_title="<" in title,  # there is no markup in titles, but there are names of tags
    )
    return item if item.title else None


def _list_named(pasted: str) -> str | None:
    if pasted.strip().lower() in _WORDS:
        return "top"
    url = web_address(pasted)
    if url is None or url.host not in _HOSTS:
        return None
    return _PAGES.get("/".join(path_of(url)))
