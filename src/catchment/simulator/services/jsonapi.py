"""A JSON API with every way of paging there is, and with the mistakes that such APIs make."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import datetime, timedelta
from typing import Any
from urllib.parse import parse_qs

from catchment.simulator.messages import Answer, IncomingRequest, json_answer, not_found
from catchment.simulator.prose import WorldTime
from catchment.simulator.services.stream import EventStream

PERIOD = timedelta(minutes=30)
POSTS = 25
PER_PAGE = 10
PAGES = -(-POSTS // PER_PAGE)


class JsonApi:
    """Answers at `/api/`: `cursor`, `pages`, `links` and `linked` hold the same posts; the others misbehave."""

    def __init__(self, timeline: WorldTime) -> None:
        self._stream = EventStream(timeline=timeline, name="api", period=PERIOD, backlog=POSTS)

    def __call__(self, request: IncomingRequest) -> Answer:
        kind = self._kinds().get(request.path.removeprefix("/api/"))
        if kind is None:
            return not_found(request)
        asked = {name: values[0] for name, values in parse_qs(request.query).items()}
        return kind(int(asked.get("page") or asked.get("after") or 1), request.at)

    def _kinds(self) -> Mapping[str, Callable[[int, datetime], Answer]]:
        return {
            "cursor": self._by_cursor,
            "pages": self._by_number,
            "links": self._by_header,
            "linked": self._by_link,
            "forever": self._without_end,
            "circle": self._in_a_circle,
            "elsewhere": self._elsewhere,
            "broken": self._broken,
        }

    def _by_cursor(self, page: int, at: datetime) -> Answer:
        return json_answer({"data": {"posts": self._posts(page, at)}, "meta": {"next": _following(page)}})

    def _by_number(self, page: int, at: datetime) -> Answer:
        return json_answer({"items": self._posts(page, at)})

    def _by_header(self, page: int, at: datetime) -> Answer:
        following = _following(page)
        link = () if following is None else (("Link", f'</api/links?page={following}>; rel="next"'),)
        return json_answer(self._posts(page, at), headers=link)

    def _by_link(self, page: int, at: datetime) -> Answer:
        following = _following(page)
        return json_answer({"items": self._posts(page, at), "next": following and f"?page={following}"})

    def _without_end(self, page: int, at: datetime) -> Answer:
        """Past the last page it shows the last one again."""
        return self._by_number(min(page, PAGES), at)

    def _in_a_circle(self, page: int, at: datetime) -> Answer:
        """The last cursor leads back to the first page."""
        return json_answer({"items": self._posts(page, at), "meta": {"next": _following(page) or 1}})

    def _elsewhere(self, page: int, at: datetime) -> Answer:
        return json_answer({"items": self._posts(page, at), "next": "https://elsewhere.example/api?page=2"})

    def _broken(self, _page: int, _at: datetime) -> Answer:
        return Answer(headers=(("Content-Type", "application/json"),), body=b'{"items": [{"id": 1,')

    def _posts(self, page: int, at: datetime) -> list[dict[str, Any]]:
        first = (page - 1) * PER_PAGE
        numbers = self._stream.latest(at, POSTS)[first : first + PER_PAGE]
        return [self._post(number) for number in numbers]

    def _post(self, number: int) -> dict[str, Any]:
        writer = self._stream.writer(number)
        return {
            "id": number,
            "url": f"/posts/{number}",
            "title": writer.title(),
            "author": {"name": writer.author()},
            "content": writer.body("/about"),
            "published_at": self._stream.posted(number),
        }


def _following(page: int) -> int | None:
    return page + 1 if page < PAGES else None
