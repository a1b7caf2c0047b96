"""Whether what a reader has is still good, by the rules of conditional requests."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from email.utils import format_datetime, parsedate_to_datetime


def validators(tag: str, changed_at: datetime) -> dict[str, str]:
    """The headers that a reader sends back. The tag is exact; a time has its seconds only, so the tag goes first."""
    return {"ETag": f'"{tag}"', "Last-Modified": format_datetime(changed_at.astimezone(UTC), usegmt=True)}


def is_unchanged(headers: Mapping[str, str], tag: str, changed_at: datetime) -> bool:
    known = headers.get("if-none-match")
    if known is not None:
        return known.strip() == "*" or any(_tag_of(one) == tag for one in known.split(","))
    since = _moment(headers.get("if-modified-since", ""))
    return since is not None and changed_at.replace(microsecond=0) <= since


def _tag_of(text: str) -> str:
    """A proxy that compresses may have made it weak, or said so in its name."""
    return text.strip().removeprefix("W/").strip('"').removesuffix("-gzip")


def _moment(text: str) -> datetime | None:
    try:
        moment = parsedate_to_datetime(text)
    except (ValueError, OverflowError):
        return None
    return moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment
