"""What any source may be told beside what its type needs: how to ask, what to keep, for how long.

Options live in the source's config next to the type's own keys, so that they travel with it through files and API.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from catchment.domain.filters import Filters, read_filters
from catchment.errors import BadConfig

INTERVAL_KEY = "fetch_interval_minutes"
ADAPTIVE_KEY = "adaptive"
FILTERS_KEY = "filters"
USER_AGENT_KEY = "user_agent"
HEADERS_KEY = "headers"
AUTH_KEY = "basic_auth"
ALLOW_PRIVATE_KEY = "allow_private"
VERIFY_TLS_KEY = "verify_tls"
KEEP_DAYS_KEY = "keep_days"
#: It was taken for what its address is spelt like, and is looked at as soon as it can be reached.
UNRESOLVED_KEY = "unresolved"
#: Where a stored config keeps its secrets, sealed; nobody's to write.
SEALED_KEY = "sealed"
#: What says nothing about which source it is.
OPTION_KEYS = frozenset(
    {
        INTERVAL_KEY,
        ADAPTIVE_KEY,
        FILTERS_KEY,
        USER_AGENT_KEY,
        HEADERS_KEY,
        AUTH_KEY,
        ALLOW_PRIVATE_KEY,
        VERIFY_TLS_KEY,
        KEEP_DAYS_KEY,
        UNRESOLVED_KEY,
        SEALED_KEY,
    }
)
_OF_THE_CONNECTION = frozenset(
    {
        "connection",
        "content-length",
        "expect",
        "keep-alive",
        "proxy-connection",
        "te",
        "trailer",
        "transfer-encoding",
        "upgrade",
    }
)
MAX_HEADERS, MAX_HEADER_CHARS, MAX_KEEP_DAYS = 50, 4096, 36_500


@dataclass(frozen=True, slots=True, kw_only=True)
class BasicAuth:
    username: str
    password: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    adaptive: bool | None = None
    filters: Filters = field(default_factory=Filters)
    user_agent: str | None = None
    headers: Mapping[str, str] = field(default_factory=dict)
    basic_auth: BasicAuth | None = None
    allow_private: bool = False
    verify_tls: bool = True
    keep_days: int | None = None
    unresolved: bool = False


def read_options(config: Mapping[str, Any]) -> Options:
    """The options of a source, or BadConfig that says which one is wrong."""
    given = {name: read(config[name]) for name, read in _READERS.items() if name in config and config[name] is not None}
    return Options(**given)


def has_options(config: Mapping[str, Any]) -> bool:
    return not OPTION_KEYS.isdisjoint(config)


def without_options(config: Mapping[str, Any]) -> dict[str, Any]:
    """What the type itself needs."""
    return {key: value for key, value in config.items() if key not in OPTION_KEYS}


def read_flag(name: str, value: Any) -> bool:
    if not isinstance(value, bool):
        raise BadConfig(f"{name} is true or false; {value!r} is neither.")
    return value


def _user_agent(value: Any) -> str:
    if not isinstance(value, str) or not value.strip() or not value.isprintable() or len(value) > MAX_HEADER_CHARS:
        raise BadConfig("user_agent is a line of text.")
    return value.strip()


def _headers(value: Any) -> dict[str, str]:
    fits = isinstance(value, Mapping) and len(value) <= MAX_HEADERS and all(_is_header(*one) for one in value.items())
    if not fits:
        raise BadConfig(f'headers are at most {MAX_HEADERS} names with a line of text each, like {{"X-Key": "…"}}.')
    if theirs := [name for name in value if is_of_the_connection(name)]:
        raise BadConfig(f"headers may not hold {theirs[0]}: it belongs to the connection, not to a source.")
    return dict(value)


def is_of_the_connection(header: str) -> bool:
    """Whether it says where a request ends or what becomes of its connection, which others use as well."""
    return header.lower() in _OF_THE_CONNECTION


def _is_header(name: Any, value: Any) -> bool:
    if not isinstance(name, str) or not isinstance(value, str):
        return False
    token = name.isascii() and name.replace("-", "").replace("_", "").isalnum()
    return token and value.isprintable() and len(value) <= MAX_HEADER_CHARS


def _basic_auth(value: Any) -> BasicAuth:
    if not isinstance(value, Mapping) or not {"username", "password"} == set(value):
        raise BadConfig('basic_auth is {"username": "…", "password": "…"}.')
    username, password = value["username"], value["password"]
    if not all(isinstance(one, str) and one and one.isprintable() for one in (username, password)) or ":" in username:
        raise BadConfig("basic_auth needs a user name without a colon, and a password.")
    return BasicAuth(username=username, password=password)


def _keep_days(value: Any) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or not 0 < value <= MAX_KEEP_DAYS:
        raise BadConfig(f"keep_days is a whole number of days, 1 to {MAX_KEEP_DAYS}.")
    return value


_READERS: Mapping[str, Callable[[Any], Any]] = {
    ADAPTIVE_KEY: partial(read_flag, ADAPTIVE_KEY),
    FILTERS_KEY: read_filters,
    USER_AGENT_KEY: _user_agent,
    HEADERS_KEY: _headers,
    AUTH_KEY: _basic_auth,
    ALLOW_PRIVATE_KEY: partial(read_flag, ALLOW_PRIVATE_KEY),
    VERIFY_TLS_KEY: partial(read_flag, VERIFY_TLS_KEY),
    KEEP_DAYS_KEY: _keep_days,
    UNRESOLVED_KEY: partial(read_flag, UNRESOLVED_KEY),
}
