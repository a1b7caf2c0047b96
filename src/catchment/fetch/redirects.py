"""From one request to the next: where a redirect leads, and what may go along."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Final

from yarl import URL

from catchment.errors import BadAnswer, TimedOut
from catchment.fetch.guard import AddressGuard

_STATUSES: Final = frozenset({301, 302, 303, 307, 308})
_PERMANENT: Final = frozenset({301, 308})
_SEE_OTHER: Final = 303
#: What browsers turn a POST into a GET for.
_MOVED: Final = frozenset({301, 302})
#: What begins a path, a query or a fragment; what comes after it is no scheme.
_PART_OF_PATH: Final = frozenset("/?#")
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
    #: What the last answer was known by, and the only origin that is told it: the one that gave it.
    conditions: Mapping[str, str] = field(default_factory=dict)
    conditions_for: URL | None = None
    visited: tuple[URL, ...] = ()
    permanent: bool = True

    def sent_headers(self) -> Mapping[str, str]:
        is_told = bool(self.conditions) and self.url.origin() == self.conditions_for
        return {**self.headers, **self.conditions} if is_told else self.headers


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


def why_distrusted(own: str, new: str, *, has_secrets: bool) -> str | None:
    """Why an address that was given for good must not take the place of one's own; None where it may."""
    try:
        before, after = URL(own).origin(), URL(new).origin()
    except ValueError:
        return "that is no address on the web"
    if before.scheme == "https" and after.scheme != "https":
        return "nobody could tell any more who answers there"
    if has_secrets and after != before:
        return "its headers and credentials are meant for its own origin alone"
    return None


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
    """Whether a host follows. Archives have whole addresses in their paths: those are no more than that."""
    scheme, mark, _ = location.partition("://")
    return location.startswith(("//", "\\", "/\\")) or (bool(mark) and _PART_OF_PATH.isdisjoint(scheme))


def _harmless(headers: Mapping[str, str]) -> dict[str, str]:
    """Another origin must not learn what was meant for the first."""
    return {name: value for name, value in headers.items() if name.lower() in _HARMLESS}
