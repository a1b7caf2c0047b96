"""Every setting of the product: its variable, its default and what it is for, in one place.

Values come from the process environment, then from `.env`; a secret may also come from a file named by
`<NAME>_FILE`. Nothing below the composition root reads the environment.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any

from dotenv import dotenv_values
from platformdirs import user_data_path

from catchment.errors import SettingsError

INTERVAL_PREFIX = "FETCH_INTERVAL_"
MINUTE, DAY = 60, 86_400
LEAST_PASSPHRASE = 16


def _text(value: str) -> str:
    return value


def _path(value: str) -> Path:
    return Path(value).expanduser()


def _flag(value: str) -> bool:
    words = {
        "1": True,
        "true": True,
        "yes": True,
        "on": True,
        "0": False,
        "false": False,
        "no": False,
        "off": False,
    }
    return words[value.lower()]


def _log_level(value: str) -> str:
    if value.upper() not in {"TRACE", "DEBUG", "INFO", "WARNING", "ERROR", "CRITICAL"}:
        raise ValueError(value)
    return value.upper()


def _log_format(value: str) -> str:
    if value.lower() not in {"text", "json"}:
        raise ValueError(value)
    return value.lower()


def _passphrase(value: str) -> str:
    if len(value) < LEAST_PASSPHRASE:
        raise ValueError(value)
    return value


def _base_url(value: str) -> str:
    if not value.startswith(("http://", "https://")):
        raise ValueError(value)
    return value.rstrip("/")


def _whole(least: int, most: int) -> Callable[[str], int]:
    def read(value: str) -> int:
        number = int(value)
        if not least <= number <= most:
            raise ValueError(value)
        return number

    return read


def _number(least: float, most: float) -> Callable[[str], float]:
    def read(value: str) -> float:
        number = float(value)
        if not least <= number <= most:
            raise ValueError(value)
        return number

    return read


@dataclass(frozen=True, slots=True, kw_only=True)
class Spec:
    """What is known about one setting before any value is read."""

    names: tuple[str, ...]
    help: str
    read: Callable[[str], Any]
    expects: str
    secret: bool


def _setting(
    *names: str,
    default: Any,
    help: str,  # noqa: A002 - the word for it everywhere
    read: Callable[[str], Any],
    expects: str = "text",
    secret: bool = False,
) -> Any:
    return field(
        default=default,
        metadata={"spec": Spec(names=names, help=help, read=read, expects=expects, secret=secret)},
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    home: Path = _setting(
        "CATCHMENT_HOME",
        default=user_data_path("catchment"),
        help="Folder of the data; the SQLite file lives here.",
        read=_path,
        expects="a folder",
    )
    database_url: str = _setting(
        "DATABASE_URL",
        default="",
        help="Where the store is: sqlite:///path or postgresql://…; wins over CATCHMENT_HOME.",
        read=_text,
        secret=True,
    )
    host: str = _setting("CATCHMENT_HOST", default="127.0.0.1", help="Address the server listens on.", read=_text)
    port: int = _setting(
        "CATCHMENT_PORT",
        default=8767,
        help="Port the server listens on; 0 picks a free one.",
        read=_whole(0, 65_535),
        expects="a port number",
    )
    api_key: str = _setting(
        "API_KEY", default="", help="Key of the built-in service account (Bearer).", read=_text, secret=True
    )
    admin_api_key: str = _setting(
        "ADMIN_API_KEY",
        default="",
        help="Key that may do everything (X-API-Key or Bearer).",
        read=_text,
        secret=True,
    )
    allow_networks: str = _setting(
        "CATCHMENT_ALLOW_NETWORKS",
        default="",
        help="Networks, hosts or host:port that are not public and may be fetched all the same, comma-separated.",
        read=_text,
    )
    pace_allowed: bool = _setting(
        "CATCHMENT_PACE_ALLOWED",
        default=False,
        help="Pace requests to the hosts of CATCHMENT_ALLOW_NETWORKS too.",
        read=_flag,
        expects="true or false",
    )
    tick_seconds: float = _setting(
        "COLLECTOR_TICK",
        "COLLECTOR_INTERVAL",
        default=60.0,
        help="Seconds between two looks at what is due; COLLECTOR_INTERVAL is the older name.",
        read=_number(0.05, DAY),
        expects="seconds, 0.05 to 86400",
    )
    concurrency: int = _setting(
        "COLLECTOR_CONCURRENCY",
        default=5,
        help="How many sources are collected at once.",
        read=_whole(1, 1000),
        expects="a whole number, 1 to 1000",
    )
    probe_hours: float = _setting(
        "COLLECTOR_PROBE_HOURS",
        default=24.0,
        help="Hours after which a source paused by errors is tried again; 0 never.",
        read=_number(0, 8760),
        expects="hours, 0 to 8760",
    )
    stop_seconds: float = _setting(
        "COLLECTOR_STOP_SECONDS",
        default=30.0,
        help="Seconds that work in flight may take to finish after a stop signal.",
        read=_number(0, 3600),
        expects="seconds, 0 to 3600",
    )
    lease_seconds: float = _setting(
        "CATCHMENT_LEASE_SECONDS",
        default=60.0,
        help="Seconds without a heartbeat after which a run may be taken over.",
        read=_number(0.5, DAY),
        expects="seconds, 0.5 to 86400",
    )
    keep_days: int = _setting(
        "CATCHMENT_KEEP_DAYS",
        default=30,
        help="Days that items and the fetch log are kept; what was seen stays remembered.",
        read=_whole(1, 36_500),
        expects="days, 1 to 36500",
    )
    processes: int = _setting(
        "COLLECTOR_PROCESSES",
        default=1,
        help="Collector processes that `up` and `collect --loop` run side by side, for machines with more cores.",
        read=_whole(1, 64),
        expects="a whole number, 1 to 64",
    )
    host_concurrency: int = _setting(
        "CATCHMENT_HOST_CONCURRENCY",
        default=4,
        help="Requests in flight to one host.",
        read=_whole(1, 1000),
        expects="a whole number, 1 to 1000",
    )
    host_spacing_seconds: float = _setting(
        "CATCHMENT_HOST_SPACING_SECONDS",
        default=0.25,
        help="Seconds between the starts of two requests to one host.",
        read=_number(0, 3600),
        expects="seconds, 0 to 3600",
    )
    host_budget_per_minute: int = _setting(
        "CATCHMENT_HOST_BUDGET_PER_MINUTE",
        default=60,
        help="Requests a minute to one host; what is over it is done later.",
        read=_whole(1, 1_000_000),
        expects="a whole number of at least 1",
    )
    timeout_seconds: float = _setting(
        "CATCHMENT_TIMEOUT_SECONDS",
        default=30.0,
        help="Seconds that one request may take from start to end.",
        read=_number(0.1, 3600),
        expects="seconds, 0.1 to 3600",
    )
    user_agent: str = _setting(
        "CATCHMENT_USER_AGENT",
        default="Catchment/0.1 (+feed collector)",
        help="How requests introduce themselves.",
        read=_text,
    )
    secret_key: str = _setting(
        "CATCHMENT_SECRET_KEY",
        default="",
        help="Passphrase that stored passwords are sealed with; without it a key file in CATCHMENT_HOME is made.",
        read=_passphrase,
        expects="at least 16 characters",
        secret=True,
    )
    hackernews_base_url: str = _setting(
        "HACKERNEWS_BASE_URL",
        default="https://hacker-news.firebaseio.com",
        help="Where the Hacker News API is.",
        read=_base_url,
        expects="an http:// or https:// address",
    )
    reddit_base_url: str = _setting(
        "REDDIT_BASE_URL",
        default="https://www.reddit.com",
        help="Where Reddit is.",
        read=_base_url,
        expects="an http:// or https:// address",
    )
    github_base_url: str = _setting(
        "GITHUB_BASE_URL",
        default="https://github.com",
        help="Where GitHub is.",
        read=_base_url,
        expects="an http:// or https:// address",
    )
    log_level: str = _setting(
        "LOG_LEVEL",
        default="INFO",
        help="TRACE, DEBUG, INFO, WARNING, ERROR or CRITICAL.",
        read=_log_level,
        expects="a level's name",
    )
    log_format: str = _setting(
        "CATCHMENT_LOG_FORMAT", default="text", help="text or json.", read=_log_format, expects="text or json"
    )
    #: FETCH_INTERVAL_<TYPE> as found in the process environment, by lower-case type, unread.
    intervals_from_environment: Mapping[str, str] = field(default_factory=dict)
    #: The same from `.env`.
    intervals_from_file: Mapping[str, str] = field(default_factory=dict)

    def store_url(self) -> str:
        return self.database_url or f"sqlite:///{self.home / 'catchment.sqlite3'}"


def specs() -> list[tuple[str, Spec, Any]]:
    """(field, spec, default) of every setting, in the order they are declared."""
    return [(f.name, f.metadata["spec"], f.default) for f in fields(Settings) if "spec" in f.metadata]


def load_settings(environ: Mapping[str, str] | None = None, *, dotenv: Path = Path(".env")) -> Settings:
    """Read every setting, or stop with a SettingsError that names the variable at fault."""
    process = os.environ if environ is None else environ
    file = {key: value for key, value in dotenv_values(dotenv).items() if value is not None} if dotenv.is_file() else {}
    values: dict[str, Any] = {}
    for name, spec, _ in specs():
        found = _find(spec, process) or _find(spec, file)
        if found is not None:
            values[name] = _read(spec, *found)
    return Settings(
        **values,
        intervals_from_environment=_interval_texts(process),
        intervals_from_file=_interval_texts(file),
    )


def _find(spec: Spec, values: Mapping[str, str]) -> tuple[str, str] | None:
    """The variable and its text; an empty value counts as not set."""
    for name in spec.names:
        if values.get(name, "").strip():
            return name, values[name].strip()
        if spec.secret and values.get(f"{name}_FILE", "").strip():
            return name, _read_secret_file(f"{name}_FILE", Path(values[f"{name}_FILE"].strip()))
    return None


def _read_secret_file(variable: str, path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8").strip()
    except OSError as error:
        raise SettingsError(f"{variable}: cannot read {path}: {error.strerror}") from error


def _read(spec: Spec, variable: str, text: str) -> Any:
    try:
        return spec.read(text)
    except (ValueError, KeyError) as error:
        shown = "its value" if spec.secret else repr(text)
        raise SettingsError(f"{variable}: {shown} is not {spec.expects}. {spec.help}") from error


def _interval_texts(values: Mapping[str, str]) -> dict[str, str]:
    return {
        key.upper().removeprefix(INTERVAL_PREFIX).lower(): value
        for key, value in values.items()
        if key.upper().startswith(INTERVAL_PREFIX)
    }
