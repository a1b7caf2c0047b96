"""Filters: which items of a source are kept. Pure.

Patterns are matched by RE2, whose time grows with the text alone: no pattern can hang the collector.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import re2

from catchment.domain.item import Item
from catchment.errors import BadConfig

FIELDS = ("title", "url", "author", "content", "tags")
MAX_RULES, MAX_PATTERN_CHARS = 50, 500
#: Memory that one compiled pattern may take.
MAX_PATTERN_BYTES = 1 << 20


@dataclass(frozen=True, slots=True, kw_only=True)
class FilterRule:
    """A pattern, looked for without regard to case anywhere in one field."""

    field: str
    pattern: str

    def matches(self, item: Item) -> bool:
        return self.finds(_text_of(item, self.field))

    def finds(self, text: str) -> bool:
        return _compiled(self.pattern).search(text) is not None


@dataclass(frozen=True, slots=True, kw_only=True)
class Filters:
    """An item is kept when some include rule matches it, or there is none, and no exclude rule does."""

    include: tuple[FilterRule, ...] = ()
    exclude: tuple[FilterRule, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.include or self.exclude)

    def keeps(self, item: Item) -> bool:
        wanted = not self.include or any(rule.matches(item) for rule in self.include)
        return wanted and not any(rule.matches(item) for rule in self.exclude)

    def keeps_url(self, url: str) -> bool:
        """As `keeps`, for rules about URLs and before there is an item."""
        wanted = not self.include or any(rule.finds(url) for rule in self.include)
        return wanted and not any(rule.finds(url) for rule in self.exclude)

    def apply(self, items: Iterable[Item]) -> tuple[Item, ...]:
        return tuple(item for item in items if self.keeps(item))


def read_filters(value: Any) -> Filters:
    """From `{"include": [{"field": "title", "pattern": "python"}], "exclude": […]}`, or BadConfig."""
    if not isinstance(value, Mapping) or not set(value) <= {"include", "exclude"}:
        raise BadConfig('filters are {"include": [{"field": "title", "pattern": "…"}], "exclude": […]}.')
    return Filters(include=_rules(value.get("include", [])), exclude=_rules(value.get("exclude", [])))


def url_filters(include: Iterable[str], exclude: Iterable[str]) -> Filters:
    """From patterns that are looked for in a URL, or BadConfig."""
    return Filters(include=tuple(map(_url_rule, include)), exclude=tuple(map(_url_rule, exclude)))


def _url_rule(pattern: str) -> FilterRule:
    return _rule({"field": "url", "pattern": pattern})


def _rules(value: Any) -> tuple[FilterRule, ...]:
    if not isinstance(value, list) or len(value) > MAX_RULES:
        raise BadConfig(f"Filter rules are a list of at most {MAX_RULES}.")
    return tuple(_rule(one) for one in value)


def _rule(value: Any) -> FilterRule:
    if not isinstance(value, Mapping) or set(value) != {"field", "pattern"}:
        raise BadConfig('A filter rule is {"field": "title", "pattern": "…"}.')
    field, pattern = value["field"], value["pattern"]
    if field not in FIELDS:
        raise BadConfig(f"A filter looks at one of {', '.join(FIELDS)}; {field!r} is none of them.")
    check_pattern(pattern)
    return FilterRule(field=field, pattern=pattern)


def check_pattern(pattern: Any) -> None:
    """BadConfig says what is wrong with it."""
    if not isinstance(pattern, str) or not 0 < len(pattern) <= MAX_PATTERN_CHARS:
        raise BadConfig(f"A filter's pattern is a text of 1 to {MAX_PATTERN_CHARS} characters.")
    try:
        _compiled(pattern)
    except re2.error as error:
        raise BadConfig(f"The filter pattern {pattern!r} cannot be read: {_reason(error)}.") from error


def without_matches(text: str, patterns: Iterable[str]) -> str:
    for pattern in patterns:
        text = _compiled(pattern).sub("", text)
    return " ".join(text.split())


def _reason(error: re2.error) -> str:
    reason = error.args[0] if error.args else ""
    return reason.decode(errors="replace") if isinstance(reason, bytes) else str(reason)


@lru_cache(maxsize=1024)
def _compiled(pattern: str) -> Any:
    options = re2.Options()
    options.case_sensitive = False
    options.max_mem = MAX_PATTERN_BYTES
    options.log_errors = False
    return re2.compile(pattern, options)


def _text_of(item: Item, field: str) -> str:
    if field == "tags":
        return "\n".join(str(tag) for tag in item.metadata.get("tags", ()))
    return str(getattr(item, field))
