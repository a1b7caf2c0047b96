"""Reddit as it shows itself to programs: listings in JSON, closed doors, and a block page whenever it likes."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timedelta
from html import escape
from http import HTTPStatus
from typing import Any
from urllib.parse import parse_qs

from catchment.simulator.faults import Fault
from catchment.simulator.messages import Answer, Headers, IncomingRequest, json_answer, not_found, page
from catchment.simulator.prose import WorldTime
from catchment.simulator.services.stream import EventStream

PERIOD = timedelta(minutes=6)
BACKLOG = 400
PINNED = 2
SORTS = ("hot", "new", "top", "rising", "controversial")
CLOSED = {"members": "private", "expelled": "banned", "hazard": "quarantined"}
UNKNOWN = frozenset({"nowhere"})
BLOCK_PAGE = """<!doctype html>
<html><head><title>Blocked</title></head><body><h1>whoa there, pardner!</h1>
<p>Your request has been blocked due to a network policy.</p>
<p>Try logging in or creating an account to get back to browsing.</p></body></html>"""


def block_page(status: int, *, headers: Headers = ()) -> Fault:
    """The page that says no, whatever its status says."""
    return Fault(
        name=f"block page {status}", spoil=lambda _request, _place: page(BLOCK_PAGE, status=status, headers=headers)
    )


def too_many(seconds_to_reset: int) -> Fault:
    refusal = {"message": "Too Many Requests", "error": 429}
    headers = (("x-ratelimit-remaining", "0"), ("x-ratelimit-reset", str(seconds_to_reset)))
    answer = json_answer(refusal, status=HTTPStatus.TOO_MANY_REQUESTS, headers=headers)
    return Fault(name="too many", spoil=lambda _request, _place: answer)


class Reddit:
    """Answers at `/r/` and `/subreddits/`. Every name is a subreddit, but for a few."""

    def __init__(
        self,
        timeline: WorldTime,
        *,
        closed: Mapping[str, str] = CLOSED,
        unknown: frozenset[str] = UNKNOWN,
    ) -> None:
        self._timeline = timeline
        self._closed = closed
        self._unknown = unknown

    def __call__(self, request: IncomingRequest) -> Answer:
        match request.path.split("/"):
            case ["", "r", name, file] if file.removesuffix(".json") in SORTS and file.endswith(".json"):
                return self._subreddit(name, file.removesuffix(".json"), request)
            case ["", "subreddits", "search.json"]:
                return json_answer(_listing([{"kind": "t5", "data": {"display_name": "somewhere"}}]))
        return not_found(request)

    def _subreddit(self, name: str, sort: str, request: IncomingRequest) -> Answer:
        if name in self._unknown:
            return Answer(status=HTTPStatus.FOUND, headers=(("Location", f"/subreddits/search.json?q={name}"),))
        reason = self._closed.get(name)
        if reason is not None:
            status = HTTPStatus.NOT_FOUND if reason == "banned" else HTTPStatus.FORBIDDEN
            return json_answer({"reason": reason, "message": status.phrase, "error": int(status)}, status=status)
        asked = parse_qs(request.query)
        limit = min(int(asked.get("limit", ["25"])[0]), 100)
        raw = asked.get("raw_json") == ["1"]
        return json_answer(_listing(self._posts(name, sort, limit, request.at, raw=raw)))

    def _posts(self, name: str, sort: str, limit: int, at: datetime, *, raw: bool) -> list[dict[str, Any]]:
        stream = EventStream(timeline=self._timeline, name=f"reddit/{name.lower()}", period=PERIOD, backlog=BACKLOG)
        numbers = list(stream.latest(at, limit))
        if sort in {"top", "controversial"}:
            numbers.sort(key=lambda number: -_votes(number))
        # What moderators pinned comes on top of the limit, and only where people look first.
        pinned = list(range(PINNED)) if sort == "hot" else []
        return [
            {"kind": "t3", "data": _post(stream, name, number, stickied=number in pinned, raw=raw)}
            for number in [*pinned, *numbers]
        ]


def _listing(children: list[dict[str, Any]]) -> dict[str, Any]:
    return {"kind": "Listing", "data": {"modhash": "", "after": None, "before": None, "children": children}}


def _votes(number: int) -> int:
    return 1 + number * 7919 % 5000


def _post(stream: EventStream, name: str, number: int, *, stickied: bool, raw: bool) -> dict[str, Any]:
    writer = stream.writer(number)
    title, author, body = writer.title(), writer.author(), writer.body("/wiki")
    permalink = f"/r/{name}/comments/{number:x}/{number}/"
    is_self = number % 3 == 0
    html = f'<!-- SC_OFF --><div class="md">{body}</div><!-- SC_ON -->' if is_self else None
    return {
        "id": f"{number:x}",
        "name": f"t3_{number:x}",
        "title": title if raw else escape(title, quote=False),
        "author": author,
        "subreddit": name,
        "selftext": title if is_self else "",
        "selftext_html": html if raw or html is None else escape(html),
        "is_self": is_self,
        "url": f"https://www.reddit.com{permalink}" if is_self else f"https://site-{number % 40}.example/{number}",
        "permalink": permalink,
        "score": _votes(number),
        "num_comments": number % 200,
        "created_utc": float(stream.posted(number)),
        "stickied": stickied,
        "over_18": False,
    }
