"""The audit: goes through source, logs, store and environment for secrets that stand where anybody may read them."""

from __future__ import annotations

import gzip
import json
import os
import stat
import subprocess
import zlib
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterable, Iterator
from dataclasses import dataclass, fields
from functools import partial
from pathlib import Path
from typing import Any, Final, Protocol

from catchment.errors import InvalidInput
from catchment.monitor.leaks import SOURCE_CONFIG, Issue, Kind, LeakSeverity, in_column, in_config, in_log, in_source
from catchment.settings import Settings
from catchment.store.database import Store
from catchment.store.texts import TextTable, read_texts, text_tables

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


def sqlite_file(url: str) -> Path | None:
    """The file of a store in a file."""
    return Path(url.partition(":///")[2]) if url.startswith("sqlite") else None


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
