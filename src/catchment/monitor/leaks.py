"""What counts as a leak: rules over lines of source, lines of logs and texts of the store. Pure.

A finding never quotes what it found, not even in part: it says what it is called, and where it stands.

In source, secrets of tests and examples have to be told from real ones. A value is taken for a placeholder when it says
so itself (it holds one of `PLACEHOLDER_WORDS`), when it is a path or the name of a variable (`$NAME`), or when what it
holds besides parts that are filled in elsewhere (`{…}`, `${…}`, `<…>`) or masked (`***`) has no digit or no letter, or
is too short or too regular for a secret. Neither the file nor the folder matters. Logs and the store hold no examples,
so nothing is excused there.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from math import log2
from typing import Any, Final

from catchment.crypto import KEY_PREFIX, is_sealed
from catchment.domain.confidential import at, names_of, secret_paths
from catchment.redact import MASK, redact_url, sightings

PLACEHOLDER_WORDS: Final = (
    "test", "example", "planted", "fake", "dummy", "placeholder", "changeme", "your", "hunter2",
)  # fmt: skip
LEAST_SECRET: Final = 16
#: Bits a character: English words have about three, random letters and digits about four.
LEAST_ENTROPY: Final = 3.0
#: Of the platforms' cookies those that log somebody in, and whose names mean nothing else.
LOGIN_COOKIES: Final = frozenset({"web_session", "SUB", "WBPSESS", "sid_tt", "sid_guard", "sessionid_ss"})
#: Many sites call theirs so; Douyin's is told by its value.
_SESSION: Final = "sessionid"
_SESSION_OF_DOUYIN = re.compile(r"[0-9a-f]{32,}")
LEAST_COOKIE: Final = 8
#: Columns that hold nothing but what is sealed.
SEALED_COLUMNS: Final = frozenset({("cookies", "sealed"), ("webhooks", "secret"), ("webhooks", "url")})
SOURCE_CONFIG: Final = ("sources", "config")

_ASSIGNED = re.compile(
    r"(?P<name>api[_-]?key|access[_-]?key|secret|passw(?:or)?d|passphrase|(?<!xsec_)token|(?:master|private)[_-]key)"
    r"""[\w-]*["']?\s{0,3}[:=]\s{0,3}(?P<quote>["']?)(?P<value>(?:\{[^{}\s"']*\}|[^\s"',;)\]}])+)""",
    re.IGNORECASE,
)
_OUR_KEY = re.compile(rf"\b{KEY_PREFIX}[0-9a-f]{{40}}\b")
_KNOWN_SHAPE = re.compile(
    r"-----BEGIN [A-Z ]*PRIVATE KEY-----|\bAKIA[0-9A-Z]{16}\b|\bgh[pousr]_[A-Za-z0-9]{36}\b|\bxox[abp]-[\w-]{20,}"
)
_FILLED_IN = re.compile(r"\$?\{[^{}]*\}|<[^<>]*>|\*{3,}")
_PATH_OR_VARIABLE = re.compile(r"/.*|\$[A-Za-z_]\w*")
#: As a word: in the middle of others these digits come about by chance.
_COUNTED_UP = re.compile(r"(?<![0-9a-z])0?12345(?:6(?:7(?:8(?:90?)?)?)?)?(?![0-9a-z])")


class LeakSeverity(StrEnum):
    CRITICAL = "critical"
    HIGH = "high"
    MEDIUM = "medium"
    LOW = "low"


class Kind(StrEnum):
    COOKIE = "plaintext_cookie"
    API_KEY = "plaintext_api_key"
    SECRET = "hard_coded_secret"  # noqa: S105 - the word for it
    LOGGED = "secret_in_log"
    UNSEALED = "unsealed_secret"
    NO_MASTER_KEY = "missing_master_key"
    NO_SALT = "missing_key_salt"
    NO_KEY_ID = "missing_key_id"
    READABLE = "readable_by_others"
    UNREADABLE = "unreadable_file"


#: How bad each is, and what to do about it.
HANDLING: Final[Mapping[Kind, tuple[LeakSeverity, str]]] = {
    Kind.COOKIE: (LeakSeverity.CRITICAL, "Remove it, sign out of that account everywhere, and add a new cookie."),
    Kind.API_KEY: (LeakSeverity.HIGH, "Revoke it by `catchment keys revoke`, and remove it."),
    Kind.SECRET: (LeakSeverity.HIGH, "Move it to the environment, and replace it: whoever has the source has it."),
    Kind.LOGGED: (LeakSeverity.HIGH, "Delete the log, replace the secret, and find who wrote it past the redactor."),
    Kind.UNSEALED: (
        LeakSeverity.HIGH,
        "Enter it again, so that it is sealed, and replace it where it opens something.",
    ),
    Kind.NO_MASTER_KEY: (LeakSeverity.HIGH, "Set COOKIE_MASTER_KEY to at least 32 random characters."),
    Kind.NO_SALT: (
        LeakSeverity.LOW,
        "Set COOKIE_KEY_SALT before the first cookie is stored; the default is known to all.",
    ),
    Kind.NO_KEY_ID: (LeakSeverity.LOW, "Set COOKIE_KEY_ID, so that a later key can be told from this one."),
    Kind.READABLE: (LeakSeverity.MEDIUM, "Take the right to read it from everybody else: chmod 600."),
    Kind.UNREADABLE: (LeakSeverity.MEDIUM, "Mend it, delete it, or audit as somebody who may read it."),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Issue:
    kind: Kind
    where: str
    message: str
    line: int | None = None

    @property
    def severity(self) -> LeakSeverity:
        return HANDLING[self.kind][0]

    @property
    def what_to_do(self) -> str:
        return HANDLING[self.kind][1]


def is_placeholder(value: str) -> bool:
    lowered = value.lower()
    if any(word in lowered for word in PLACEHOLDER_WORDS) or _COUNTED_UP.search(lowered):
        return True
    if _PATH_OR_VARIABLE.fullmatch(value):
        return True
    value = _FILLED_IN.sub("", value)
    mixed = any(char.isdigit() for char in value) and any(char.isalpha() for char in value)
    return not mixed or len(value) < LEAST_SECRET or entropy(value) < LEAST_ENTROPY


def entropy(value: str) -> float:
    """Shannon's, in bits a character."""
    return -sum(count / len(value) * log2(count / len(value)) for count in Counter(value).values())


def in_source(line: str, *, where: str, number: int, is_code: bool) -> Iterator[Issue]:
    """`is_code`: what stands there without quotes is a name, and no secret."""
    if cookies := [name for name, value in _cookies(line) if not is_placeholder(value)]:
        yield Issue(kind=Kind.COOKIE, where=where, line=number, message=_of_cookie(cookies[0]))
    if _OUR_KEY.search(line):
        yield Issue(
            kind=Kind.API_KEY, where=where, line=number, message="An API key of Catchment stands in the source."
        )
    found = [
        match["name"]
        for match in _ASSIGNED.finditer(line)
        if (match["quote"] or not is_code) and not is_placeholder(match["value"])
    ]
    shapes = [match[0] for match in _KNOWN_SHAPE.finditer(line) if "EXAMPLE" not in match[0]]
    if found or shapes:
        what = f"A value for {found[0]!r}" if found else "What looks like a private key"
        yield Issue(kind=Kind.SECRET, where=where, line=number, message=f"{what} is written into the source.")


def in_log(line: str, *, where: str, number: int) -> Iterator[Issue]:
    found = list(sightings(line))
    if cookies := [name for name, value in found if _is_login(name, value)]:
        yield Issue(kind=Kind.COOKIE, where=where, line=number, message=_of_cookie(cookies[0]))
    elif _OUR_KEY.search(line):
        yield Issue(kind=Kind.API_KEY, where=where, line=number, message="An API key of Catchment was logged.")
    elif found:
        message = f"A value for {found[0][0]!r} was logged."
        yield Issue(kind=Kind.LOGGED, where=where, line=number, message=message)


def in_column(table: str, column: str, value: str, *, where: str) -> Iterator[Issue]:
    if (table, column) in SEALED_COLUMNS:
        if not is_sealed(value):
            kind = Kind.COOKIE if table == "cookies" else Kind.UNSEALED
            yield Issue(kind=kind, where=where, message="It is stored as it is, where only what is sealed may be.")
        return
    if cookies := [name for name, text in _cookies(value) if len(text) >= LEAST_COOKIE]:
        yield Issue(kind=Kind.COOKIE, where=where, message=_of_cookie(cookies[0]))
    if _OUR_KEY.search(value):
        yield Issue(kind=Kind.API_KEY, where=where, message="An API key is stored; only its hash should be.")


def in_config(config: Mapping[str, Any], *, where: str) -> Iterator[Issue]:
    """Of a source: what is secret is sealed, by the same declaration that it is sealed by."""
    bare = [path for path in secret_paths(config) if not _is_hidden(at(config, path))]
    if bare:
        yield Issue(kind=Kind.UNSEALED, where=where, message=f"{names_of(bare)} of the source is stored as it is.")


def _is_hidden(value: Any) -> bool:
    return isinstance(value, str) and (is_sealed(value) or (MASK in value and redact_url(value) == value))


def _cookies(text: str) -> Iterator[tuple[str, str]]:
    return ((name, value) for name, value in sightings(text) if _is_login(name, value))


def _is_login(name: str, value: str) -> bool:
    return name in LOGIN_COOKIES or (name == _SESSION and _SESSION_OF_DOUYIN.match(value) is not None)


def _of_cookie(name: str) -> str:
    return f"The cookie {name!r} of a platform stands there with its value, not {MASK}."
