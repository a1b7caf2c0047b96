"""What crosses the simulated wire: a request, an answer, and the way the answer is delivered.

A place on the web is a function from request to answer. Whatever goes wrong on the wire itself is said by
the answer's delivery, so that places and faults stay plain functions and only the wire touches sockets.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import TypeAlias


class Hits:
    """How often each path was asked for, with the status of the answer it was given (even if cut off)."""

    def __init__(self) -> None:
        self.counts: Counter[tuple[str, int]] = Counter()

    def of(self, prefix: str = "/") -> int:
        """Visits to all paths that begin so: `/s/17/` is a site, `/s/17/posts/` its pages."""
        return self.statuses(prefix).total()

    def statuses(self, prefix: str = "/") -> Counter[int]:
        found: Counter[int] = Counter()
        for (path, status), count in self.counts.items():
            if path.startswith(prefix):
                found[status] += count
        return found


Headers: TypeAlias = tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class IncomingRequest:
    method: str
    path: str
    query: str
    #: Names in lower case.
    headers: Mapping[str, str]
    body: bytes
    #: When it arrived, by the clock of the simulated web.
    at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Whole:
    """Everything at once, after an optional wait."""

    wait_seconds: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Drip:
    """A few bytes at a time."""

    piece_bytes: int
    pause_seconds: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Cut:
    """Announces the whole length, sends a share of it and ends the connection: politely, or by a reset."""

    share: float
    reset: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Flood:
    """The body, then the same piece over and over, with no length announced."""

    piece: bytes
    times: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Silence:
    """The connection stays open and nothing is ever said."""


Delivery: TypeAlias = Whole | Drip | Cut | Flood | Silence
AT_ONCE = Whole()


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    status: int = 200
    headers: Headers = ()
    body: bytes = b""
    delivery: Delivery = AT_ONCE

    def header(self, name: str) -> str | None:
        return next((value for known, value in self.headers if known.lower() == name.lower()), None)

    def without(self, *names: str) -> Headers:
        gone = {name.lower() for name in names}
        return tuple(pair for pair in self.headers if pair[0].lower() not in gone)


Place: TypeAlias = Callable[[IncomingRequest], Answer]


def page(html: str, *, status: int = 200, headers: Headers = ()) -> Answer:
    return Answer(
        status=status,
        headers=(("Content-Type", "text/html; charset=utf-8"), *headers),
        body=html.encode(),
    )


def json_answer(value: object, *, status: int = 200, headers: Headers = ()) -> Answer:
    body = json.dumps(value, ensure_ascii=False).encode()
    return Answer(status=status, headers=(("Content-Type", "application/json"), *headers), body=body)


def not_found(request: IncomingRequest) -> Answer:
    return page(f"<!doctype html><title>Not found</title><p>Nothing at {request.path}.</p>", status=404)
