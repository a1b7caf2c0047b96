"""How a read went: what it gave, with which cookie, after how many others, in what time."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from typing import Generic, Protocol, TypeVar

from catchment.domain.crawling import Code, CrawlError
from catchment.domain.note import Platform

T = TypeVar("T")

#: The platform answered as it should; that there is nothing to see is not its failure.
_ANSWERS = frozenset({Code.NOT_FOUND, Code.INVALID_INPUT})


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome(Generic[T]):
    """Either a value or the error that was left in the end; of comments both, where only some of them came."""

    value: T | None = None
    error: CrawlError | None = None
    #: The name of the last one that was tried; None when there was none to try.
    cookie_used: str | None = None
    #: How many cookies were found dead before that.
    retry_count: int = 0
    latency: timedelta = timedelta()
    #: Why a note came without its comments, or with some of them only.
    comments_error: CrawlError | None = None

    def result(self) -> T:
        """The value, or the error raised."""
        if self.error is not None:
            raise self.error
        assert self.value is not None, "there is one or the other"
        return self.value


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """One read of a platform with one cookie."""

    platform: Platform
    #: Such as `search '手冲咖啡' page 1`.
    what: str
    cookie: str
    took: timedelta
    error: CrawlError | None = None

    @property
    def ok(self) -> bool:
        return self.error is None or self.error.code in _ANSWERS


class Journal(Protocol):
    async def record(self, asked: Asked) -> None:
        """Take down how the platform fares."""
        ...
