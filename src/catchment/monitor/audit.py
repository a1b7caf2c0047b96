"""The audit: goes through source, logs, store and environment for secrets that stand where anybody may read them."""

from __future__ import annotations

import gzip
import json
import os
import re
import stat
import subprocess
import zlib
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, fields
from enum import StrEnum
from functools import partial
from math import log2
from pathlib import Path
from typing import Any, Final, Protocol

from catchment.crypto import KEY_PREFIX, is_sealed
from catchment.domain.confidential import at, names_of, secret_paths
from catchment.errors import InvalidInput
from catchment.redact import MASK, redact_url, sightings
from catchment.settings import Settings
from catchment.store.database import Store
from catchment.store.text_columns import TextTable, read_texts, text_tables

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
    bare = [path for path in secret_paths(config) if not _is_masked(at(config, path))]
    if bare:
        yield Issue(kind=Kind.UNSEALED, where=where, message=f"{names_of(bare)} of the source is stored as it is.")


def _is_masked(value: Any) -> bool:
    return isinstance(value, str) and (is_sealed(value) or (MASK in value and redact_url(value) == value))


def _cookies(text: str) -> Iterator[tuple[str, str]]:
    return ((name, value) for name, value in sightings(text) if _is_login(name, value))


def _is_login(name: str, value: str) -> bool:
    return name in LOGIN_COOKIES or (name == _SESSION and _SESSION_OF_DOUYIN.match(value) is not None)


def _of_cookie(name: str) -> str:
    return f"The cookie {name!r} of a platform stands there with its value, not {MASK}."


#: Rows that are read in one transaction: an audit keeps nobody waiting.
BATCH: Final = 500
CODE: Final = frozenset({".py", ".js", ".html"})
SOURCE: Final = CODE | {".json", ".yaml", ".yml", ".toml", ".md", ".txt", ".sh", ".ini", ".cfg", ".env"}
#: How reading a file ends that is damaged, cut off, or not ours to read. A bad beginning of gzip is an OSError.
_READING_FAILED: Final = (OSError, EOFError, zlib.error)
LOUD: Final = frozenset({LeakSeverity.CRITICAL, LeakSeverity.HIGH})

Progress = Callable[[int, int], None]


class Look(Protocol):
    def __call__(self, line: str, *, where: str, number: int) -> Iterator[Issue]: ...


@dataclass(frozen=True, slots=True)
class AuditReport:
    issues: tuple[Issue, ...]

    @property
    def passed(self) -> bool:
        return not any(issue.severity in LOUD for issue in self.issues)

    def counts(self) -> dict[str, int]:
        """By severity, the worst first."""
        found = Counter(issue.severity for issue in self.issues)
        return {severity.value: found[severity] for severity in LeakSeverity}

    def as_json(self) -> dict[str, Any]:
        return {
            "total_issues": len(self.issues),
            **self.counts(),
            "issues": [_shape(issue) for issue in self.issues],
            "passed": self.passed,
        }


def _shape(issue: Issue) -> dict[str, Any]:
    facts = {
        "severity": issue.severity,
        "kind": issue.kind,
        "where": issue.where,
        "line": issue.line,
        "message": issue.message,
        "what_to_do": issue.what_to_do,
    }
    return {name: value for name, value in facts.items() if value is not None}


def report_of(issues: Iterable[Issue]) -> AuditReport:
    """The worst first."""
    order = list(LeakSeverity)
    return AuditReport(tuple(sorted(issues, key=lambda one: (order.index(one.severity), one.where, one.line or 0))))


# Files


def audit_source(folder: Path) -> Iterator[Issue]:
    """Files that are, or would be, under version control; what it ignores, such as `.env`, may hold secrets."""
    for path in _source_files(_existing(folder)):
        if path.suffix in SOURCE or path.name.startswith(".env"):
            yield from _audit_file(path, folder, partial(in_source, is_code=path.suffix in CODE))


def audit_logs(folder: Path) -> Iterator[Issue]:
    """Every file in the folder and below, those packed by gzip too."""
    for path in sorted(_existing(folder).rglob("*")):
        if path.is_file():
            yield from _audit_file(path, folder, in_log)


def _audit_file(path: Path, folder: Path, look: Look) -> Iterator[Issue]:
    """Line by line, as far as it can be read."""
    # A name may be no text, and is shown all the same.
    where = os.fsencode(path.relative_to(folder)).decode(errors="backslashreplace")
    try:
        for number, line in _lines(path):
            yield from look(line, where=where, number=number)
    except _READING_FAILED as error:
        # Not in the error's own words, which may quote how the file begins.
        why = getattr(error, "strerror", None) or "it is no gzip, damaged, or cut off"
        yield Issue(kind=Kind.UNREADABLE, where=where, message=f"It could not be read to its end: {why}.")


def _existing(folder: Path) -> Path:
    if not folder.is_dir():
        raise InvalidInput(f"{folder} is not a folder.")
    return folder


def _source_files(folder: Path) -> list[Path]:
    command = ["git", "-C", str(folder), "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    try:
        listed = subprocess.run(command, capture_output=True, check=True)  # noqa: S603 - nothing of it is a stranger's
    except (OSError, subprocess.CalledProcessError):
        # No working copy of git: everything that is not hidden.
        found = (path for path in folder.rglob("*") if not _is_hidden(path.relative_to(folder)))
    else:
        found = (folder / os.fsdecode(name) for name in listed.stdout.split(b"\0") if name)
    return sorted(path for path in found if path.is_file())


def _is_hidden(path: Path) -> bool:
    return any(part.startswith(".") and not part.startswith(".env") for part in path.parts) or ".venv" in path.parts


def _lines(path: Path) -> Iterator[tuple[int, str]]:
    opened = gzip.open if path.suffix == ".gz" else open
    with opened(path, "rt", encoding="utf-8", errors="replace") as file:
        yield from enumerate(file, start=1)


# The store


async def audit_store(store: Store, *, progress: Progress | None = None) -> list[Issue]:
    """Every text of every table, row by row."""
    tables = await store.read(text_tables)
    total, done = sum(table.rows for table in tables), 0
    found: list[Issue] = []
    for table in tables:
        async for rows, issues in _audit_table(store, table):
            done += rows
            found += issues
            if progress:
                progress(done, max(done, total))
    return found


async def _audit_table(store: Store, table: TextTable) -> AsyncIterator[tuple[int, list[Issue]]]:
    after = None
    while rows := await store.read(read_texts, table, after=after, limit=BATCH):
        issues = [
            issue
            for row in rows
            for column, text in row.texts.items()
            for issue in _in_text(table.name, column, text, where=f"{table.name}.{column}, row {_shown(row.key)}")
        ]
        yield len(rows), issues
        after = rows[-1].key


def _in_text(table: str, column: str, text: str, *, where: str) -> Iterator[Issue]:
    yield from in_column(table, column, text, where=where)
    if (table, column) == SOURCE_CONFIG:
        config = json.loads(text)
        yield from in_config(config if isinstance(config, dict) else {}, where=where)


def _shown(key: tuple[Any, ...]) -> str:
    return "/".join(part.hex() if isinstance(part, bytes) else str(part) for part in key)


# The environment


def audit_environment(settings: Settings, *, files: Iterable[Path], holds_cookies: bool) -> Iterator[Issue]:
    """What the settings lack, and who may read these files."""
    usual = {field.name: field.default for field in fields(Settings)}
    # None is stored without it, so it is missed where there are cookies that it opened.
    if holds_cookies and not settings.cookie_master_key:
        yield Issue(kind=Kind.NO_MASTER_KEY, where="COOKIE_MASTER_KEY", message="It is not set.")
    if settings.cookie_key_salt == usual["cookie_key_salt"]:
        yield Issue(kind=Kind.NO_SALT, where="COOKIE_KEY_SALT", message="It is not set, or set to what it is anyway.")
    if settings.cookie_key_id == usual["cookie_key_id"]:
        yield Issue(kind=Kind.NO_KEY_ID, where="COOKIE_KEY_ID", message="It is not set, or set to what it is anyway.")
    for path in files:
        if path.is_file() and path.stat().st_mode & (stat.S_IRGRP | stat.S_IROTH):
            yield Issue(kind=Kind.READABLE, where=str(path), message="Others on this machine may read it.")
