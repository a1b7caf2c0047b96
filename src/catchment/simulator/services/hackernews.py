"""Hacker News as its public API shows it: lists of numbers, and an item for each, some of them dead or missing."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any

from catchment.simulator.messages import Answer, IncomingRequest, json_answer, not_found
from catchment.simulator.prose import WorldTime
from catchment.simulator.services.stream import EventStream

PERIOD = timedelta(minutes=10)
LISTED = 500
MAX_POINTS = 900
#: What the last digit of an item makes it; all else are stories with a link.
ODD = {0: "missing", 1: "dead", 2: "deleted", 3: "ask", 4: "job", 5: "show", 6: "poll"}
TITLES = {"ask": "Ask HN: ", "show": "Show HN: ", "poll": "Poll: "}


class HackerNews:
    """Answers at `/v0/`."""

    def __init__(self, timeline: WorldTime, *, seed: int = 1) -> None:
        self.stream = EventStream(timeline=timeline, name=f"hackernews/{seed}", period=PERIOD, backlog=LISTED)

    def __call__(self, request: IncomingRequest) -> Answer:
        match request.path.split("/"):
            case ["", "v0", "item", file] if file.removesuffix(".json").isdecimal():
                return json_answer(self._item(int(file.removesuffix(".json")), request.at))
            case ["", "v0", file] if file.endswith("stories.json"):
                return json_answer(self.numbers(file.removesuffix("stories.json"), request.at))
        return not_found(request)

    def numbers(self, name: str, at: datetime) -> Sequence[int] | None:
        """What a list holds; as with the real one, a list that does not exist is null."""
        latest = self.stream.latest(at, LISTED)
        if name in {"ask", "show", "job"}:
            return [number for number in latest if kind_of(number) == name]
        if name in {"top", "best"}:
            return sorted(latest, key=lambda number: -self.points(number, at))
        return list(latest) if name == "new" else None

    def points(self, number: int, at: datetime) -> int:
        if kind_of(number) == "job":
            return 1
        return min(MAX_POINTS, 1 + self.stream.minutes_old(number, at) * (1 + number % 7) // 10)

    def _item(self, number: int, at: datetime) -> dict[str, Any] | None:
        kind = kind_of(number)
        if kind == "missing" or not self.stream.has(number, at):
            return None
        item: dict[str, Any] = {"id": number, "time": self.stream.posted(number), "type": "story"}
        if kind == "deleted":
            return {**item, "deleted": True}
        item |= {"by": self.stream.writer(number).author(), "score": self.points(number, at)}
        return {**item, "dead": True} if kind == "dead" else item | self._words(number, kind)

    def _words(self, number: int, kind: str) -> dict[str, Any]:
        writer = self.stream.writer(number)
        words: dict[str, Any] = {"title": TITLES.get(kind, "") + writer.title()}
        words |= {"type": kind} if kind in {"job", "poll"} else {}
        if kind != "job":
            words["descendants"] = number % 90
        if kind in {"ask", "poll"}:
            return {**words, "text": writer.body(f"item?id={number}")}
        return {**words, "url": f"https://site-{number % 40}.example/{number}"}


def kind_of(number: int) -> str:
    return ODD.get(number % 10, "story")
