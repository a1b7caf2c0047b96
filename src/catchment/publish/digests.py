"""A user's digests as a feed."""

from __future__ import annotations

from collections.abc import Iterable

from catchment.domain.account import User
from catchment.domain.digest import Digest, DigestType
from catchment.publish.feed import Feed, FeedEntry

_TITLES = {
    DigestType.FOUR_HOURS: "Digest of {end:%Y-%m-%d %H:%M} UTC",
    DigestType.DAILY: "Daily digest of {end:%Y-%m-%d}",
    DigestType.WEEKLY: "Weekly digest up to {end:%Y-%m-%d}",
    DigestType.MONTHLY: "Monthly digest up to {end:%Y-%m-%d}",
}


def digest_feed(user: User, digests: Iterable[Digest], *, base_url: str, path: str) -> Feed:
    home = f"{base_url.rstrip('/')}/feed/{user.slug}"
    return Feed(
        title=f"Digests of {user.name}",
        description=f"What {user.name} follows, summed up.",
        home_url=home,
        self_url=f"{base_url.rstrip('/')}{path}",
        entries=tuple(_entry(digest, home) for digest in digests),
    )


def digest_title(digest: Digest) -> str:
    return _TITLES[digest.type].format(end=digest.created_at)


def _entry(digest: Digest, home: str) -> FeedEntry:
    return FeedEntry(
        id=f"catchment-digest-{digest.id}",
        url=f"{home}#digest-{digest.id}",
        title=digest_title(digest),
        text=digest.content,
        published_at=digest.created_at,
    )
