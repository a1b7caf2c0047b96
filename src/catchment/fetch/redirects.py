"""From one request to the next: where a redirect leads, and what may go along."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Final

from yarl import URL

from catchment.errors import BadAnswer, TimedOut
from catchment.fetch.guard import AddressGuard

_STATUSES: Final = frozenset({301, 302, 303, 307, 308})
_PERMANENT: Final = frozenset({301, 308})
_SEE_OTHER: Final = 303
#: What browsers turn a POST into a GET for.
_MOVED: Final = frozenset({301, 302})
#: What may be told to anybody. All else may be a secret, whatever its name.
_HARMLESS: Final = frozenset({"accept", "accept-language", "content-type", "user-agent"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Hop:
    """One request on the way, with what the hops before it left."""

    url: URL
    method: str
    headers: Mapping[str, str]
    body: bytes | None
    seconds_left: float
    visited: tuple[URL, ...] = ()
    permanent: bool = True


def is_redirect(status: int, headers: Mapping[str, str]) -> bool:
    return status in _STATUSES and bool(headers.get("Location"))


def next_hop(hop: Hop, *, status: int, location: str, guard: AddressGuard, most: int, seconds_spent: float) -> Hop:
    target = _target(hop.url, location, guard)
    visited = (*hop.visited, hop.url)
    if target in visited and hop.method == "GET":
        raise BadAnswer(f"{target.host} redirects in a circle; check the URL")
    if len(visited) > most:
        raise BadAnswer(f"{visited[0].host} redirects more than {most} times; check the URL")
    if hop.seconds_left <= seconds_spent:
        raise TimedOut(f"{hop.url.host} took too long with its redirects; tried again later")
    becomes_get = status == _SEE_OTHER or (status in _MOVED and hop.method == "POST")
    return replace(
        hop,
        url=target,
        method="GET" if becomes_get else hop.method,
        headers=hop.headers if target.origin() == hop.url.origin() else _harmless(hop.headers),
        body=None if becomes_get else hop.body,
        seconds_left=hop.seconds_left - seconds_spent,
        visited=visited,
        permanent=hop.permanent and status in _PERMANENT,
    )


def _target(base: URL, location: str, guard: AddressGuard) -> URL:
    """The guard sees a named host as it came: joining could mend a trick before it looks."""
    location = location.strip()
    if not _names_host(location):
        try:
            location = str(base.join(URL(location)))
        except ValueError as error:
            raise BadAnswer(f"{base.host} redirects to something that is not a URL; tried again later") from error
    elif location.startswith("//"):
        location = f"{base.scheme}:{location}"
    return guard.check_url(location).with_fragment(None)


def _names_host(location: str) -> bool:
    return location.startswith(("//", "\\", "/\\")) or "://" in location.partition("?")[0]


def _harmless(headers: Mapping[str, str]) -> dict[str, str]:
    """Another origin must not learn what was meant for the first."""
    return {name: value for name, value in headers.items() if name.lower() in _HARMLESS}
