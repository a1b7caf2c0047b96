"""What `catchment doctor` and the page of the system check: Python, settings, data folder, store, network, clock."""

from __future__ import annotations

import asyncio
import os
import shutil
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from pathlib import Path

import catchment
from catchment.errors import DamagedStore, SettingsError, StoreError
from catchment.fetch.connections import SystemLookup
from catchment.fetch.guard import AddressGuard
from catchment.schedule.intervals import MAX_MINUTES, read_chosen
from catchment.schedule.jobs import Cron
from catchment.settings import Settings, load_settings
from catchment.settings.spec import worded_unknown
from catchment.store.config import read_config
from catchment.store.database import Store, WriteTrouble, open_store, shown_place, sqlite_file, store_url
from catchment.store.migrate import current_revision, head_revision, refuse_unknown_schema

OLDEST_PYTHON = (3, 11)
GIGABYTE = 10**9
LITTLE_SPACE, TOO_LITTLE_SPACE = GIGABYTE, GIGABYTE // 10
#: Any name that is surely known to every name service.
WELL_KNOWN_HOST = "example.org"
LOOKUP_SECONDS = 3.0
WRITE_TROUBLES = {
    WriteTrouble.FULL: ("its disk is full", "Make room; collecting goes on by itself."),
    WriteTrouble.READ_ONLY: ("it is read-only", "Make it writable for whoever runs Catchment."),
    WriteTrouble.HELD: ("another program holds it", "End that program; collecting goes on by itself."),
    WriteTrouble.FAILING: ("it refuses", "The log of `catchment up` says why."),
}


class CheckVerdict(StrEnum):
    OK = "ok"
    WARN = "warn"
    FAIL = "fail"


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckResult:
    name: str
    verdict: CheckVerdict
    found: str
    #: What to do about it, where there is something to do.
    advice: str = ""


def _ok(name: str, found: str) -> CheckResult:
    return CheckResult(name=name, verdict=CheckVerdict.OK, found=found)


def _warning(name: str, found: str, advice: str) -> CheckResult:
    return CheckResult(name=name, verdict=CheckVerdict.WARN, found=found, advice=advice)


def _failure(name: str, found: str, advice: str = "") -> CheckResult:
    return CheckResult(name=name, verdict=CheckVerdict.FAIL, found=found, advice=advice)


async def examine(settings: Settings | None = None) -> list[CheckResult]:
    """Every check, in an order in which the first failure explains those after it; without settings, theirs too."""
    findings = [check_python(sys.version_info[:3]), check_clock(datetime.now(UTC))]
    try:
        settings = settings or load_settings()
        _check_parts(settings)
    except SettingsError as error:
        return [*findings, _failure("settings", str(error), "Correct it in the environment or in .env.")]
    findings += [check_variables(settings.unknown_variables), *_check_folder(settings), *await _check_store(settings)]
    return [*findings, await _check_network()]


def _check_parts(settings: Settings) -> None:
    """What is read only where it is used: a SettingsError names the variable."""
    store_url(settings.store_url())
    AddressGuard.parse(settings.allow_networks)
    if settings.scraper_cron:
        Cron(settings.scraper_cron)


def check_python(version: tuple[int, ...]) -> CheckResult:
    found = ".".join(map(str, version))
    if version < OLDEST_PYTHON:
        return _failure("python", found, "Use Python 3.11 or newer.")
    return _ok("python", found)


def check_clock(now: datetime) -> CheckResult:
    """A clock that stands before our own files were written cannot be right."""
    installed = datetime.fromtimestamp(Path(catchment.__file__).stat().st_mtime, UTC)
    found = f"{now:%Y-%m-%d %H:%M} UTC"
    if now < installed - timedelta(days=1):
        return _failure("clock", found, "Set the clock: it is in the past.")
    return _ok("clock", found)


def check_variables(unknown: Mapping[str, str]) -> CheckResult:
    if not unknown:
        return _ok("settings", "readable")
    found = " ".join(worded_unknown(name, meant) for name, meant in unknown.items())
    return _warning("settings", found, "Correct or remove them.")


def check_space(free_bytes: int) -> CheckResult:
    found = f"{free_bytes / GIGABYTE:.1f} GB free"
    if free_bytes >= LITTLE_SPACE:
        return _ok("disk", found)
    judge = _warning if free_bytes >= TOO_LITTLE_SPACE else _failure
    return judge("disk", found, "Make room, or lower CATCHMENT_KEEP_DAYS.")


def _check_folder(settings: Settings) -> list[CheckResult]:
    """The folder of the SQLite file, as far as it is there; PostgreSQL keeps its own house."""
    file = sqlite_file(store_url(settings.store_url()))
    if file is None:
        return []
    folder = file.absolute().parent
    # Unlike `Path.exists`, `os.access` answers also where we may not look.
    there = next(place for place in (folder, *folder.parents) if os.access(place, os.F_OK))
    space = check_space(shutil.disk_usage(there).free)
    is_usable = os.path.isdir(there) and os.access(there, os.W_OK | os.X_OK)  # noqa: PTH112
    if is_usable and (not os.access(file, os.F_OK) or os.access(file, os.W_OK)):
        return [_ok("data folder", str(folder)), space]
    advice = "Make it writable, or set CATCHMENT_HOME to a folder that is."
    return [_failure("data folder", f"{folder} is not writable", advice), space]


async def _check_store(settings: Settings) -> list[CheckResult]:
    url = store_url(settings.store_url())
    file, shown = sqlite_file(url), shown_place(url)
    if file is not None and not os.access(file, os.F_OK):
        missing = _warning("store", f"{shown} is not there yet", "`catchment up` makes it.")
        return [missing, _check_intervals(settings, {})]
    try:
        store = open_store(settings.store_url())
    except DamagedStore as error:
        return [_failure("store", str(error))]
    try:
        revision = await store.read(current_revision)
        table = await store.read(read_config) if revision else {}
    except StoreError as error:
        return [_failure("store", str(error), "Start the database, or correct DATABASE_URL.")]
    else:
        findings = [_judge_revision(shown, revision), _check_intervals(settings, table)]
        return [*findings, await _check_writing(store)] if revision == head_revision() else findings
    finally:
        await store.close()


async def _check_writing(store: Store) -> CheckResult:
    trouble = await store.checked.trouble(datetime.now(UTC))
    if trouble is None:
        return _ok("writing", "the store can be written")
    found, advice = WRITE_TROUBLES[trouble]
    return _failure("writing", f"the store cannot be written: {found}", advice)


def _judge_revision(shown: str, revision: str | None) -> CheckResult:
    head = head_revision()
    if revision == head:
        return _ok("store", f"{shown} at revision {revision}")
    try:
        refuse_unknown_schema(revision, f"The store {shown}")
    except StoreError as error:
        return _failure("store", str(error))
    found = f"{shown} is at revision {revision or 'none'}, this release is at {head}"
    return _warning("store", found, "`catchment up` brings it up to date.")


def _check_intervals(settings: Settings, table: dict[str, str]) -> CheckResult:
    junk: list[str] = []
    read_chosen(
        table=table,
        environment=settings.intervals_from_environment,
        file=settings.intervals_from_file,
        warn=lambda place, value: junk.append(f"{place} is {value!r}"),
    )
    if not junk:
        return _ok("intervals", "readable")
    return _warning("intervals", "; ".join(junk), f"They are ignored. Use whole minutes, 1 to {MAX_MINUTES}.")


async def _check_network() -> CheckResult:
    lookup = SystemLookup()
    try:
        async with asyncio.timeout(LOOKUP_SECONDS):
            await lookup(WELL_KNOWN_HOST, 443)
    except (OSError, TimeoutError):
        advice = "Without a network, only what is on this machine is collected."
        return _warning("network", "no names can be looked up", advice)
    finally:
        lookup.close()
    return _ok("network", f"{WELL_KNOWN_HOST} can be looked up")
