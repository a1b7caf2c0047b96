"""robots.txt as RFC 9309 has it: what a site asks visitors not to fetch, and where its sitemaps are."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, Self
from urllib.parse import quote, urlsplit

from catchment.parse.entry import absolute

_MAX_BYTES: Final = 512 * 1024
_MAX_RULE: Final = 2_048
#: Of a file; each is held against every address, so that a hostile file would have each page wait.
_MAX_RULES: Final = 2_000
_MAX_SITEMAPS: Final = 500
_MAX_DELAY_SECONDS: Final = 3_600.0
_EVERYONE: Final = "*"
_WEB: Final = ("http://", "https://")
#: Addresses on one line. One with a blank in it stays one.
_SEVERAL: Final = re.compile(r"(?<![\s,])[\s,]++(?=https?://)", re.IGNORECASE)

_PRODUCT: Final = re.compile(r"[A-Za-z_-]+")
_NUMBER: Final = re.compile(r"[0-9]{1,9}(?:\.[0-9]{0,9})?|\.[0-9]{1,9}")
_AGENT_KEYS: Final = frozenset({"user-agent", "useragent", "user agent"})
_RULE_KEYS: Final = frozenset({"allow", "disallow", "crawl-delay"})
_TO_REWRITE: Final = re.compile(r"%[0-9A-Fa-f]{2}|[^!-~]+")
_UNRESERVED: Final = re.compile(r"[A-Za-z0-9._~-]")


@dataclass(frozen=True, slots=True, kw_only=True)
class _PathRule:
    allows: bool
    #: What must follow each other in an address; the first at its start, anything in between.
    parts: tuple[str, ...]
    is_anchored: bool
    length: int

    @classmethod
    def parse(cls, pattern: str, *, allows: bool) -> Self:
        is_anchored = pattern.endswith("$")
        parts = tuple(pattern.removesuffix("$").split("*"))
        return cls(allows=allows, parts=parts, is_anchored=is_anchored, length=len(pattern))

    def matches(self, path: str) -> bool:
        first, *others = self.parts
        if not path.startswith(first):
            return False
        position = len(first)
        if not others:
            return not self.is_anchored or position == len(path)
        for part in others[:-1]:
            found = path.find(part, position)
            if found < 0:
                return False
            position = found + len(part)
        last = others[-1]
        if self.is_anchored:
            return path.endswith(last) and len(path) - len(last) >= position
        return path.find(last, position) >= 0


@dataclass(slots=True)
class _Group:
    """What holds for the visitors named above it."""

    rules: list[_PathRule] = field(default_factory=list)
    delay: float | None = None

    def add(self, key: str, value: str) -> None:
        if key == "crawl-delay":
            self.delay = _seconds(value)
        elif value.startswith(("/", "*")) and len(value) <= _MAX_RULE:
            # An empty rule forbids nothing, and one that starts otherwise matches no address.
            self.rules.append(_PathRule.parse(_normal(value), allows=key == "allow"))


@dataclass(frozen=True, slots=True, kw_only=True)
class Robots:
    sitemaps: tuple[str, ...] = ()
    #: By the visitor's name in lower case; several groups for one count together.
    _groups: Mapping[str, Sequence[_Group]] = field(default_factory=dict)

    @classmethod
    def parse(cls, body: bytes, url: str = "") -> Self:
        """Any bytes will do: a line that makes no sense says nothing. Relative sitemaps are resolved by `url`."""
        lines = list(_lines(body))
        links = (_sitemap_at(part, url) for key, value in lines if key == "sitemap" for part in _SEVERAL.split(value))
        sitemaps = dict.fromkeys(link for link in links if link.startswith(_WEB))
        return cls(sitemaps=tuple(sitemaps)[:_MAX_SITEMAPS], _groups=_groups(lines))

    def allows(self, user_agent: str, url: str) -> bool:
        """By the longest rule that matches; of equally long ones the friendly one counts."""
        path = _path_of(url)
        rules = (rule for group in self._groups_for(user_agent) for rule in group.rules)
        matching = [(rule.length, rule.allows) for rule in rules if rule.matches(path)]
        return path == "/robots.txt" or not matching or max(matching)[1]

    def crawl_delay(self, user_agent: str) -> float | None:
        """Seconds between requests: no part of the standard, but many ask for them."""
        delays = (group.delay for group in self._groups_for(user_agent))
        return max((delay for delay in delays if delay is not None), default=None)

    def _groups_for(self, user_agent: str) -> Sequence[_Group]:
        name = _product(user_agent) or _EVERYONE
        return self._groups.get(name) or self._groups.get(_EVERYONE, ())


def _lines(body: bytes) -> Iterator[tuple[str, str]]:
    for line in body[:_MAX_BYTES].decode("utf-8-sig", "replace").splitlines():
        key, colon, value = line.partition("#")[0].partition(":")
        if colon:
            yield key.strip().lower(), value.strip()


def _sitemap_at(said: str, url: str) -> str:
    """Of an address as people write it: in quotes, with a comma behind it, or without its scheme."""
    said = said.strip("\"'<>,")
    scheme, _, host = url.lower().partition("/robots.txt")[0].partition("://")
    is_bare = said.lower().removeprefix("www.").startswith(f"{host.removeprefix('www.')}/")
    return absolute(f"{scheme}://{said}" if host and is_bare else said, url)


def _groups(lines: Iterable[tuple[str, str]]) -> dict[str, list[_Group]]:
    groups: dict[str, list[_Group]] = {}
    current = _Group()
    names_follow = False
    rules = 0
    for key, value in lines:
        if key in _AGENT_KEYS:
            if not names_follow:
                current = _Group()
            groups.setdefault(_addressed(value), []).append(current)
            names_follow = True
        elif key in _RULE_KEYS:
            rules += 1
            if rules <= _MAX_RULES:
                current.add(key, value)
            names_follow = False
    return groups


def _addressed(value: str) -> str:
    """Whom the rules below are for. Everyone is a star of its own; a name like `008` or `*bot` is somebody else's."""
    return _EVERYONE if value.split()[:1] == [_EVERYONE] else _product(value)


def _product(user_agent: str) -> str:
    """The name by which a visitor is addressed: `catchment` of "Catchment/1.0 (+https://...)". "" where it has none."""
    found = _PRODUCT.match(user_agent.strip())
    return found[0].lower() if found else ""


def _seconds(text: str) -> float | None:
    return min(float(text), _MAX_DELAY_SECONDS) if _NUMBER.fullmatch(text) else None


def _path_of(url: str) -> str:
    try:
        parts = urlsplit(url)
    except ValueError:
        return "/"
    return _normal((parts.path or "/") + (f"?{parts.query}" if parts.query else ""))


def _normal(path: str) -> str:
    """One form for addresses that differ only in what they escape needlessly, or ought to."""
    return _TO_REWRITE.sub(_rewritten, path)


def _rewritten(found: re.Match[str]) -> str:
    text = found[0]
    if not text.startswith("%"):
        return quote(text, safe="", errors="replace")
    character = chr(int(text[1:], 16))
    return character if _UNRESERVED.match(character) else text.upper()
