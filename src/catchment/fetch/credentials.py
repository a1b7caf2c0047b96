"""Credentials as whoever makes requests sees them: lent for one read, and given back with how it went."""

from __future__ import annotations

from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field
from typing import Protocol

from catchment.domain.note import Platform


@dataclass(frozen=True, slots=True, kw_only=True)
class LentCookie:
    """A cookie that is ours alone until it is given back."""

    name: str
    platform: Platform
    value: str = field(repr=False)


class CookiePool(Protocol):
    def lend(
        self,
        platform: Platform,
        *,
        name: str | None = None,
        excluded: frozenset[str] = frozenset(),
        blamed: set[tuple[str, str]] | None = None,
    ) -> AbstractAsyncContextManager[LentCookie]:
        """Lend the best cookie that is free, or the one of this name; wait while all that may be used are lent out.

        How the block ends is how the request went: without an exception it succeeded; a CrawlError counts against the
        cookie if its code says that the cookie is at fault. `blamed` is shared by the requests of one batch, so that
        one cause counts once. CrawlError(COOKIE_EXHAUSTED) when there is none to wait for, COOKIE_COOLING when the one
        asked for rests.
        """
        ...
