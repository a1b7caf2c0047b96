"""Every setting of the product: its variable, its default and what it is for, in one place.

Values come from the process environment, then from `.env`; a secret may also come from a file named by
`<NAME>_FILE`. Nothing below the composition root reads the environment.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any

from dotenv import dotenv_values
from platformdirs import user_data_path

from catchment.errors import SettingsError
from catchment.settings.crawl import CrawlSettings
from catchment.settings.spec import (
    Spec,
    any_text,
    base_url,
    flag,
    log_format,
    log_level,
    networks,
    number,
    passphrase,
    path,
    setting,
    signing_key,
    variables,
    whole,
)
from catchment.settings.unknown import unknown_variables
from catchment.settings.x import XSettings

INTERVAL_PREFIX = "FETCH_INTERVAL_"
COOKIE_KEY_PREFIX = "COOKIE_KEY_"
_COOKIE_KEY_SETTINGS = frozenset({"COOKIE_KEY_SALT", "COOKIE_KEY_ID"})
DAY = 86_400
STORE_FILE = "catchment.sqlite3"


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings(XSettings, CrawlSettings):
    home: Path = setting(
        "CATCHMENT_HOME",
        default=user_data_path("catchment"),
        help="Folder of the data, with the SQLite file; without it, `./data` in a clone of the project.",
        read=path,
        expects="a folder",
    )
    database_url: str = setting(
        "DATABASE_URL",
        default="",
        help="Where the store is: sqlite:///path or postgresql://…; wins over CATCHMENT_HOME.",
        read=any_text,
        secret=True,
    )
    rss_state_db: str = setting(
        "RSS_STATE_DB",
        default="",
        help="Where the flows and the state manager keep state: a file or a database URL; empty is the main store.",
        read=any_text,
        secret=True,
    )
    host: str = setting("CATCHMENT_HOST", default="127.0.0.1", help="Address the server listens on.", read=any_text)
    port: int = setting(
        "CATCHMENT_PORT",
        default=8767,
        help="Port the server listens on; 0 picks a free one.",
        read=whole(0, 65_535),
        expects="a port number",
    )
    api_key: str = setting(
        "API_KEY", default="", help="Key of the built-in service account (Bearer).", read=any_text, secret=True
    )
    admin_api_key: str = setting(
        "ADMIN_API_KEY",
        default="",
        help="Key that may do everything (X-API-Key or Bearer).",
        read=any_text,
        secret=True,
    )
    trusted_proxies: str = setting(
        "CATCHMENT_TRUSTED_PROXIES",
        default="",
        help="Proxies in front of the server, as addresses or networks, that are believed who asks (X-Forwarded-For).",
        read=networks,
        expects="addresses or networks, comma-separated, such as 127.0.0.1 or 10.0.0.0/8",
    )
    max_connections: int = setting(
        "CATCHMENT_MAX_CONNECTIONS",
        default=1000,
        help="Connections to the server at once; fewer where descriptors are short, so that collecting keeps its own.",
        read=whole(20, 60_000),
        expects="a whole number, 20 to 60000",
    )
    max_connections_per_address: int = setting(
        "CATCHMENT_MAX_CONNECTIONS_PER_ADDRESS",
        default=100,
        help="Connections from one address at once (an IPv6 /64 is one); trusted proxies have no such bound.",
        read=whole(1, 60_000),
        expects="a whole number, 1 to 60000",
    )
    request_seconds: float = setting(
        "CATCHMENT_REQUEST_SECONDS",
        default=30.0,
        help="Seconds within which a request has to arrive whole; its head has 10 at most.",
        read=number(0.1, 3600),
        expects="seconds, 0.1 to 3600",
    )
    allow_networks: str = setting(
        "CATCHMENT_ALLOW_NETWORKS",
        default="",
        help="Networks, hosts or host:port that are not public and may be fetched all the same, comma-separated.",
        read=any_text,
    )
    pace_allowed: bool = setting(
        "CATCHMENT_PACE_ALLOWED",
        default=False,
        help="Pace requests to the hosts of CATCHMENT_ALLOW_NETWORKS too.",
        read=flag,
        expects="true or false",
    )
    tick_seconds: float = setting(
        "COLLECTOR_TICK",
        "COLLECTOR_INTERVAL",
        default=60.0,
        help="Seconds between two looks at what is due; COLLECTOR_INTERVAL is the older name.",
        read=number(0.05, DAY),
        expects="seconds, 0.05 to 86400",
    )
    concurrency: int = setting(
        "COLLECTOR_CONCURRENCY",
        default=5,
        help="How many sources are collected at once.",
        read=whole(1, 1000),
        expects="a whole number, 1 to 1000",
    )
    probe_hours: float = setting(
        "COLLECTOR_PROBE_HOURS",
        default=24.0,
        help="Hours after which a source paused by errors is tried again; 0 never.",
        read=number(0, 8760),
        expects="hours, 0 to 8760",
    )
    stop_seconds: float = setting(
        "COLLECTOR_STOP_SECONDS",
        default=30.0,
        help="Seconds that work in flight may take to finish after a stop signal.",
        read=number(0, 3600),
        expects="seconds, 0 to 3600",
    )
    lease_seconds: float = setting(
        "CATCHMENT_LEASE_SECONDS",
        default=60.0,
        help="Seconds without a heartbeat after which a run may be taken over.",
        read=number(0.5, DAY),
        expects="seconds, 0.5 to 86400",
    )
    keep_days: int = setting(
        "CATCHMENT_KEEP_DAYS",
        default=30,
        help="Days that items and the fetch log are kept; what was seen stays remembered.",
        read=whole(1, 36_500),
        expects="days, 1 to 36500",
    )
    backup_hours: float = setting(
        "CATCHMENT_BACKUP_HOURS",
        default=0.0,
        help="Hours between two backups that `up` makes by itself; 0 makes none.",
        read=number(0, 8760),
        expects="hours, 0 to 8760",
    )
    backup_folder: str = setting(
        "CATCHMENT_BACKUP_DIR",
        default="",
        help="Folder of the backups; without it `backups` in CATCHMENT_HOME.",
        read=any_text,
        expects="a folder",
    )
    backup_keep: int = setting(
        "CATCHMENT_BACKUP_KEEP",
        default=7,
        help="How many of the backups in that folder are kept, the newest.",
        read=whole(1, 10_000),
        expects="a whole number, 1 to 10000",
    )
    processes: int = setting(
        "COLLECTOR_PROCESSES",
        default=1,
        help="Collector processes that `up` and `collect --loop` run side by side, for machines with more cores.",
        read=whole(1, 64),
        expects="a whole number, 1 to 64",
    )
    parsers: int = setting(
        "COLLECTOR_PARSERS",
        default=0,
        help="Processes that read what was fetched, started when there is something to read; 0 is one for each core.",
        read=whole(0, 64),
        expects="a whole number, 0 to 64",
    )
    parse_seconds: float = setting(
        "COLLECTOR_PARSE_SECONDS",
        default=5.0,
        help="Seconds that reading one document may take; past them it is ended, and is its source's failure.",
        read=number(0.1, 600),
        expects="seconds, 0.1 to 600",
    )
    host_concurrency: int = setting(
        "CATCHMENT_HOST_CONCURRENCY",
        default=4,
        help="Requests in flight to one host.",
        read=whole(1, 1000),
        expects="a whole number, 1 to 1000",
    )
    host_spacing_seconds: float = setting(
        "CATCHMENT_HOST_SPACING_SECONDS",
        default=0.25,
        help="Seconds between the starts of two requests to one host.",
        read=number(0, 3600),
        expects="seconds, 0 to 3600",
    )
    host_budget_per_minute: int = setting(
        "CATCHMENT_HOST_BUDGET_PER_MINUTE",
        default=60,
        help="Requests a minute to one host; what is over it is done later.",
        read=whole(1, 1_000_000),
        expects="a whole number of at least 1",
    )
    timeout_seconds: float = setting(
        "CATCHMENT_TIMEOUT_SECONDS",
        default=30.0,
        help="Seconds that one request may take from start to end.",
        read=number(0.1, 3600),
        expects="seconds, 0.1 to 3600",
    )
    user_agent: str = setting(
        "CATCHMENT_USER_AGENT",
        default="Catchment/0.1 (+feed collector)",
        help="How requests introduce themselves.",
        read=any_text,
    )
    adaptive_types: str = setting(
        "CATCHMENT_ADAPTIVE_TYPES",
        default="",
        help="Source types whose interval follows how often something new comes, comma-separated, or all.",
        read=any_text,
    )
    adaptive_floor_minutes: int = setting(
        "CATCHMENT_ADAPTIVE_FLOOR_MINUTES",
        default=15,
        help="The shortest interval that adapting leads to.",
        read=whole(1, 525_600),
        expects="minutes, 1 to 525600",
    )
    adaptive_ceiling_minutes: int = setting(
        "CATCHMENT_ADAPTIVE_CEILING_MINUTES",
        default=1440,
        help="The longest interval that adapting leads to.",
        read=whole(1, 525_600),
        expects="minutes, 1 to 525600",
    )
    secret_key: str = setting(
        "CATCHMENT_SECRET_KEY",
        default="",
        help="Passphrase that stored passwords are sealed with; without it a key file in CATCHMENT_HOME is made.",
        read=passphrase,
        expects="at least 16 characters",
        secret=True,
    )
    jwt_secret_key: str = setting(
        "JWT_SECRET_KEY",
        default="",
        help="Key that login tokens are signed with; without it one is derived as for CATCHMENT_SECRET_KEY.",
        read=signing_key,
        expects="at least 32 characters",
        secret=True,
    )
    jwt_expire_hours: float = setting(
        "JWT_EXPIRE_HOURS",
        default=24.0,
        help="Hours that a login token is good for.",
        read=number(0.01, 8760),
        expects="hours, 0.01 to 8760",
    )
    hackernews_base_url: str = setting(
        "HACKERNEWS_BASE_URL",
        default="https://hacker-news.firebaseio.com",
        help="Where the Hacker News API is.",
        read=base_url,
        expects="an http:// or https:// address",
    )
    reddit_base_url: str = setting(
        "REDDIT_BASE_URL",
        default="https://www.reddit.com",
        help="Where Reddit is.",
        read=base_url,
        expects="an http:// or https:// address",
    )
    github_base_url: str = setting(
        "GITHUB_BASE_URL",
        default="https://github.com",
        help="Where GitHub is.",
        read=base_url,
        expects="an http:// or https:// address",
    )
    youtube_base_url: str = setting(
        "YOUTUBE_BASE_URL",
        default="https://www.youtube.com",
        help="Where the feeds of YouTube are.",
        read=base_url,
        expects="an http:// or https:// address",
    )
    telegram_base_url: str = setting(
        "TELEGRAM_BASE_URL",
        default="https://t.me",
        help="Where the public pages of Telegram channels are.",
        read=base_url,
        expects="an http:// or https:// address",
    )
    apple_podcasts_base_url: str = setting(
        "APPLE_PODCASTS_BASE_URL",
        default="https://itunes.apple.com",
        help="Where the podcast directory of Apple is asked for a podcast's feed.",
        read=base_url,
        expects="an http:// or https:// address",
    )
    api_env: str = setting(
        "CATCHMENT_API_ENV",
        default="",
        help="Variables that any source may send in its headers as ${NAME}, comma-separated.",
        read=variables,
        expects="names of variables, comma-separated",
    )
    public_url: str = setting(
        "CATCHMENT_PUBLIC_URL",
        default="",
        help="Where the server is reached from outside; feeds name it as their address. Without it, as it was asked.",
        read=base_url,
        expects="an http:// or https:// address",
    )
    websub_hub: str = setting(
        "CATCHMENT_WEBSUB_HUB",
        default="",
        help="WebSub hub that published feeds name.",
        read=base_url,
        expects="an http:// or https:// address",
    )
    s3_endpoint: str = setting(
        "CATCHMENT_S3_ENDPOINT",
        default="",
        help="S3-compatible store that `catchment feeds upload` sends feeds to.",
        read=base_url,
        expects="an http:// or https:// address",
    )
    s3_bucket: str = setting("CATCHMENT_S3_BUCKET", default="", help="Bucket for the feeds.", read=any_text)
    s3_prefix: str = setting(
        "CATCHMENT_S3_PREFIX", default="", help="Folder in the bucket; none puts the feeds at its top.", read=any_text
    )
    s3_region: str = setting(
        "CATCHMENT_S3_REGION", default="us-east-1", help="Region of the bucket; some stores say auto.", read=any_text
    )
    s3_access_key: str = setting(
        "CATCHMENT_S3_ACCESS_KEY", default="", help="Name of the key to the bucket.", read=any_text, secret=True
    )
    s3_secret_key: str = setting(
        "CATCHMENT_S3_SECRET_KEY", default="", help="Secret of the key to the bucket.", read=any_text, secret=True
    )
    feed_max_tweets: int = setting(
        "FEED_MAX_TWEETS",
        default=200,
        help="Tweets that /api/feed gives at once at most.",
        read=whole(1, 10_000),
        expects="a whole number, 1 to 10000",
    )
    log_level: str = setting(
        "LOG_LEVEL",
        default="INFO",
        help="TRACE, DEBUG, INFO, WARNING, ERROR or CRITICAL.",
        read=log_level,
        expects="a level's name",
    )
    log_format: str = setting(
        "CATCHMENT_LOG_FORMAT", default="text", help="text or json.", read=log_format, expects="text or json"
    )
    #: FETCH_INTERVAL_<TYPE> as found in the process environment, by lower-case type, unread.
    intervals_from_environment: Mapping[str, str] = field(default_factory=dict)
    #: The same from `.env`.
    intervals_from_file: Mapping[str, str] = field(default_factory=dict)
    #: Passphrases of earlier keys for cookies, by the key's name in lower case.
    cookie_earlier_keys: Mapping[str, str] = field(default_factory=dict, repr=False)
    #: The values of the variables that CATCHMENT_API_ENV names; "" for one that is not set.
    api_env_values: Mapping[str, str] = field(default_factory=dict, repr=False)
    #: Whether a variable says where the store is.
    is_store_named: bool = False
    #: Variables that look like settings and are none, each with the one that is likely meant, or "".
    unknown_variables: Mapping[str, str] = field(default_factory=dict)

    def store_url(self) -> str:
        return self.database_url or f"sqlite:///{self.home / STORE_FILE}"

    def backups(self) -> Path:
        """The folder of the backups."""
        return Path(self.backup_folder).expanduser() if self.backup_folder else self.home / "backups"


def store_url_of(place: str) -> str:
    """A database's address, of which a file's path is the short form."""
    return place if "://" in place else f"sqlite:///{place}"


def specs() -> list[tuple[str, Spec, Any]]:
    """(field, spec, default) of every setting, in the order they are declared."""
    return [(f.name, f.metadata["spec"], f.default) for f in fields(Settings) if "spec" in f.metadata]


def load_settings(environ: Mapping[str, str] | None = None, *, dotenv: Path = Path(".env")) -> Settings:
    """Read every setting, or stop with a SettingsError that names the variable at fault."""
    process = os.environ if environ is None else environ
    file = _read_dotenv(dotenv) if dotenv.is_file() else {}
    values: dict[str, Any] = {}
    for name, spec, _ in specs():
        found = _find(spec, process) or _find(spec, file)
        if found is not None:
            values[name] = _read(spec, *found)
    is_store_named = bool(values.keys() & {"home", "database_url"})
    if "home" not in values and (home := home_in(dotenv.parent)):
        values["home"] = home
    return Settings(
        **values,
        intervals_from_environment=_prefixed(INTERVAL_PREFIX, process),
        intervals_from_file=_prefixed(INTERVAL_PREFIX, file),
        cookie_earlier_keys=_prefixed(COOKIE_KEY_PREFIX, {**file, **process}, but_not=_COOKIE_KEY_SETTINGS),
        api_env_values=_named_values(values.get("api_env", ""), process, file),
        is_store_named=is_store_named,
        unknown_variables=unknown_variables({**file, **process}, _known_variables(values.get("api_env", ""))),
    )


def home_in(folder: Path) -> Path | None:
    """The data folder of a working folder that has one: of a clone of this project, or with a store in it."""
    here = folder.absolute()
    for place in (here, *here.parents):
        if (place / "src/catchment/settings").is_dir() and (place / "pyproject.toml").is_file():
            return place / "data"
    return here / "data" if (here / "data" / STORE_FILE).is_file() else None


def _known_variables(api_env: str) -> set[str]:
    names = {name for _, spec, _ in specs() for name in spec.names}
    files = {f"{name}_FILE" for _, spec, _ in specs() if spec.secret for name in spec.names}
    return names | files | set(api_env.split(","))


def _read_dotenv(file: Path) -> dict[str, str]:
    try:
        return {key: value for key, value in dotenv_values(file).items() if value is not None}
    except OSError as error:
        raise SettingsError(f"{file} cannot be read: {error.strerror}.") from error
    except UnicodeDecodeError as error:
        raise SettingsError(f"{file} is not text in UTF-8; save it as such.") from error


def _named_values(names: str, process: Mapping[str, str], file: Mapping[str, str]) -> dict[str, str]:
    return {name: (process.get(name) or file.get(name) or "").strip() for name in names.split(",") if name}


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
    except UnicodeDecodeError as error:
        raise SettingsError(f"{variable}: {path} is not text in UTF-8") from error


def _read(spec: Spec, variable: str, text: str) -> Any:
    try:
        return spec.read(text)
    except (ValueError, KeyError) as error:
        shown = "its value" if spec.secret else repr(text)
        raise SettingsError(f"{variable}: {shown} is not {spec.expects}. {spec.help}") from error


def _prefixed(prefix: str, values: Mapping[str, str], *, but_not: Collection[str] = ()) -> dict[str, str]:
    """The variables that begin with the prefix, by the rest of their name in lower case."""
    return {
        key.upper().removeprefix(prefix).lower(): value
        for key, value in values.items()
        if key.upper().startswith(prefix) and key.upper() not in but_not
    }
