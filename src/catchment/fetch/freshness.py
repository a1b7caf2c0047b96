"""What a server says about when to ask again: validators, Cache-Control, Expires, Retry-After."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from email.utils import parsedate_to_datetime
from typing import Final

from catchment.domain.item import short_hash

#: No server may keep us away for longer.
LONGEST_WAIT: Final = timedelta(hours=24)

_DIRECTIVE: Final = re.compile(r'([a-z-]+)(?:\s*=\s*"?([^",\s]*)"?)?', re.IGNORECASE)
_SECONDS: Final = re.compile(r"\d+(?:\.\d+)?\Z", re.ASCII)
_MAX_VALIDATOR_CHARS: Final = 1024
#: One tag, in quotes or not. A star or a list would stand for others as well.
_ONE_TAG: Final = re.compile(r'(?:W/)?(?:"[^"]*"|[^",*]+)')


@dataclass(frozen=True, slots=True, kw_only=True)
class Validators:
    """What the last answer was known by, sent back to learn whether it changed."""

    etag: str | None = None
    last_modified: str | None = None
    #: What stands for the address that gave them, where that is not the one asked first but where a redirect led.
    given_by: str | None = None

    @classmethod
    def from_headers(cls, headers: Mapping[str, str]) -> Validators:
        etag = _usable(headers.get("ETag"))
        return cls(
            etag=etag if etag and _ONE_TAG.fullmatch(etag) else None,
            last_modified=_usable(headers.get("Last-Modified")),
        )

    def as_headers(self) -> dict[str, str]:
        headers = {"If-None-Match": self.etag, "If-Modified-Since": self.last_modified}
        return {name: value for name, value in headers.items() if value}


def address_mark(url: str) -> str:
    """Stands for an address, which may hold secrets of its own."""
    return short_hash(url).hex()


def _usable(value: str | None) -> str | None:
    """A validator that can be sent back as it came: header values must be short printable text."""
    if value is None or not value.isprintable() or len(value) > _MAX_VALIDATOR_CHARS:
        return None
    return value.strip() or None


def fresh_for(headers: Mapping[str, str], now: datetime) -> timedelta | None:
    """How long the answer stays good by its own word, at most a day; None when it does not say."""
    directives = _directives(headers.get("Cache-Control", ""))
    if "no-store" in directives or "no-cache" in directives:
        return None
    if "max-age" in directives:
        lifetime = _seconds(directives["max-age"])
        age = _seconds(headers.get("Age", "")) or 0.0
        return None if lifetime is None else _capped(lifetime - age)
    expires = _http_date(headers.get("Expires", ""))
    if expires is None:
        return None
    sent = _http_date(headers.get("Date", "")) or now
    return _capped((expires - sent).total_seconds())


def retry_after(value: str | None, now: datetime) -> float | None:
    """The wait in seconds that a Retry-After header asks for, at most a day."""
    if not value:
        return None
    seconds = _seconds(value)
    if seconds is None:
        at = _http_date(value)
        if at is None:
            return None
        seconds = max(0.0, (at - now).total_seconds())
    return min(seconds, LONGEST_WAIT.total_seconds())


def _directives(text: str) -> dict[str, str]:
    return {name.lower(): value for name, value in _DIRECTIVE.findall(text)}


def _seconds(text: str) -> float | None:
    text = text.strip()
    return float(text) if _SECONDS.match(text) else None


def _capped(seconds: float) -> timedelta | None:
    if seconds <= 0:
        return None
    return timedelta(seconds=min(seconds, LONGEST_WAIT.total_seconds()))


def _http_date(text: str) -> datetime | None:
    try:
        parsed = parsedate_to_datetime(text)
        return parsed.replace(tzinfo=UTC) if parsed.tzinfo is None else parsed.astimezone(UTC)
    except (ValueError, TypeError, OverflowError, IndexError):
        return None
