"""Every setting of the product: its variable, its default and what it is for, in one place.

Values come from the process environment, then from `.env`; a secret may also come from a file named by
`<NAME>_FILE`. Nothing below the composition root reads the environment.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from enum import StrEnum
from pathlib import Path
from typing import Any

from dotenv import dotenv_values
from platformdirs import user_data_path

from catchment.errors import SettingsError
from catchment.settings.crawl import CrawlSettings
from catchment.settings.spec import (
    Spec,
    base_url,
    characters,
    networks,
    number,
    one_of,
    path,
    setting,
    unknown_variables,
    variables,
    whole,
)
from catchment.settings.x import XSettings

INTERVAL_PREFIX = "FETCH_INTERVAL_"
COOKIE_KEY_PREFIX = "COOKIE_KEY_"
_COOKIE_KEY_SETTINGS = frozenset({"COOKIE_KEY_SALT", "COOKIE_KEY_ID"})
#: The file that holds a secret is named by the variable of the secret with this at its end.
FILE_SUFFIX = "_FILE"
DAY = 86_400
STORE_FILE = "catchment.sqlite3"
LOG_LEVELS = ("TRACE", "DEBUG", "INFO", "WARNING", "ERROR", "CRITICAL")


def _bytes(text: str) -> int:
    """HS256 asks for a key as long as its hash."""
    return len(text.encode())


class Origin(StrEnum):
    """Where a value comes from, what wins first."""

    DATABASE = "database"
    COMMAND = "command"
    ENVIRONMENT = "environment"
    FILE = "file"
    DEFAULT = "default"


def _data_folder() -> Path:
    """The platform's for this user; for one who has no home, as some in containers, one in the working folder."""
    try:
        return user_data_path("catchment")
    except RuntimeError:
        return Path("data")


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings(XSettings, CrawlSettings):
    home: Path = setting(
        "CATCHMENT_HOME",
        _data_folder(),
        "Folder of the data, with the SQLite file; without it, `./data` in a clone of the project.",
        path,
        expects="a folder",
    )
    database_url: str = setting(
        "DATABASE_URL",
        "",
        "Where the store is: sqlite:///path or postgresql://…; wins over CATCHMENT_HOME.",
        secret=True,
    )
    rss_state_db: str = setting(
        "RSS_STATE_DB",
        "",
        "Where the flows and the state manager keep state: a file or a database URL; empty is the main store.",
        secret=True,
    )
    host: str = setting("CATCHMENT_HOST", "127.0.0.1", "Address the server listens on.")
    port: int = setting(
        "CATCHMENT_PORT",
        8767,
        "Port the server listens on; 0 picks a free one.",
        whole(0, 65_535),
        expects="a port number",
    )
    api_key: str = setting("API_KEY", "", "Key of the built-in service account (Bearer).", secret=True)
    admin_api_key: str = setting("ADMIN_API_KEY", "", "Key that may do everything (X-API-Key or Bearer).", secret=True)
    mcp_key: str = setting(
        "CATCHMENT_MCP_KEY",
        "",
        "Key whose rights `catchment mcp` has; without one, those of whoever runs it.",
        secret=True,
    )
    trusted_proxies: str = setting(
        "CATCHMENT_TRUSTED_PROXIES",
        "",
        "Proxies in front of the server, as addresses or networks, that are believed who asks (X-Forwarded-For).",
        networks,
        expects="addresses or networks, comma-separated, such as 127.0.0.1 or 10.0.0.0/8",
    )
    max_connections: int = setting(
        "CATCHMENT_MAX_CONNECTIONS",
        1000,
        "Connections to the server at once; fewer where descriptors are short, so that collecting keeps its own.",
        whole(20, 60_000),
    )
    max_connections_per_address: int = setting(
        "CATCHMENT_MAX_CONNECTIONS_PER_ADDRESS",
        100,
        "Connections from one address at once (an IPv6 /64 is one); trusted proxies have no such bound.",
        whole(1, 60_000),
    )
    request_seconds: float = setting(
        "CATCHMENT_REQUEST_SECONDS",
        30.0,
        "Seconds within which a request has to arrive whole; its head has 10 at most.",
        number(0.1, 3600, "seconds"),
    )
    allow_networks: str = setting(
        "CATCHMENT_ALLOW_NETWORKS",
        "",
        "Networks, hosts or host:port that are not public and may be fetched all the same, comma-separated.",
    )
    pace_allowed: bool = setting(
        "CATCHMENT_PACE_ALLOWED", False, "Pace requests to the hosts of CATCHMENT_ALLOW_NETWORKS too."
    )
    tick_seconds: float = setting(
        "COLLECTOR_TICK",
        60.0,
        "Seconds between two looks at what is due; COLLECTOR_INTERVAL is the older name.",
        number(0.05, DAY, "seconds"),
        also="COLLECTOR_INTERVAL",
    )
    concurrency: int = setting("COLLECTOR_CONCURRENCY", 5, "How many sources are collected at once.", whole(1, 1000))
    probe_hours: float = setting(
        "COLLECTOR_PROBE_HOURS",
        24.0,
        "Hours after which a source paused by errors is tried again; 0 never.",
        number(0, 8760, "hours"),
    )
    stop_seconds: float = setting(
        "COLLECTOR_STOP_SECONDS",
        30.0,
        "Seconds that work in flight may take to finish after a stop signal.",
        number(0, 3600, "seconds"),
    )
    lease_seconds: float = setting(
        "CATCHMENT_LEASE_SECONDS",
        60.0,
        "Seconds without a heartbeat after which a run may be taken over.",
        number(0.5, DAY, "seconds"),
    )
    keep_days: int = setting(
        "CATCHMENT_KEEP_DAYS",
        30,
        "Days that items and the fetch log are kept; what was seen stays remembered.",
        whole(1, 36_500, "days"),
    )
    audit_days: int = setting(
        "CATCHMENT_AUDIT_DAYS",
        default=90,
        help="Days for which it can be read who changed what.",
        read=whole(1, 36_500),
        expects="days, 1 to 36500",
    )
    backup_hours: float = setting(
        "CATCHMENT_BACKUP_HOURS",
        0.0,
        "Hours between two backups that `up` makes by itself; 0 makes none.",
        number(0, 8760, "hours"),
    )
    backup_folder: str = setting(
        "CATCHMENT_BACKUP_DIR", "", "Folder of the backups; without it `backups` in CATCHMENT_HOME.", expects="a folder"
    )
    backup_keep: int = setting(
        "CATCHMENT_BACKUP_KEEP", 7, "How many of the backups in that folder are kept, the newest.", whole(1, 10_000)
    )
    processes: int = setting(
        "COLLECTOR_PROCESSES",
        0,
        "Processes beside the first that collect while 200 feeds and more are due, each with its part of "
        "COLLECTOR_CONCURRENCY, ten at least; 0 is one a core, 1 is none.",
        whole(0, 64),
    )
    parsers: int = setting(
        "COLLECTOR_PARSERS",
        0,
        "Processes that read what a collector does not read itself, while there is something to read; collectors for "
        "many feeds share as many again; 0 is one a core.",
        whole(0, 64),
    )
    parse_seconds: float = setting(
        "COLLECTOR_PARSE_SECONDS",
        5.0,
        "Seconds that reading one document may take; past them it is ended, and is its source's failure.",
        number(0.1, 600, "seconds"),
    )
    host_concurrency: int = setting("CATCHMENT_HOST_CONCURRENCY", 4, "Requests in flight to one host.", whole(1, 1000))
    host_spacing_seconds: float = setting(
        "CATCHMENT_HOST_SPACING_SECONDS",
        0.25,
        "Seconds between the starts of two requests to one host.",
        number(0, 3600, "seconds"),
    )
    host_budget_per_minute: int = setting(
        "CATCHMENT_HOST_BUDGET_PER_MINUTE",
        60,
        "Requests a minute to one host; what is over it is done later.",
        whole(1, 1_000_000),
        expects="a whole number of at least 1",
    )
    timeout_seconds: float = setting(
        "CATCHMENT_TIMEOUT_SECONDS",
        30.0,
        "Seconds that one request may take from start to end.",
        number(0.1, 3600, "seconds"),
    )
    user_agent: str = setting(
        "CATCHMENT_USER_AGENT", "Catchment/0.1 (+feed collector)", "How requests introduce themselves."
    )
    adaptive_types: str = setting(
        "CATCHMENT_ADAPTIVE_TYPES",
        "",
        "Source types whose interval follows how often something new comes, comma-separated, or all.",
    )
    adaptive_floor_minutes: int = setting(
        "CATCHMENT_ADAPTIVE_FLOOR_MINUTES",
        15,
        "The shortest interval that adapting leads to.",
        whole(1, 525_600, "minutes"),
    )
    adaptive_ceiling_minutes: int = setting(
        "CATCHMENT_ADAPTIVE_CEILING_MINUTES",
        1440,
        "The longest interval that adapting leads to.",
        whole(1, 525_600, "minutes"),
    )
    secret_key: str = setting(
        "CATCHMENT_SECRET_KEY",
        "",
        "Passphrase that stored passwords are sealed with; without it a key file in CATCHMENT_HOME is made.",
        characters(16),
        secret=True,
    )
    jwt_secret_key: str = setting(
        "JWT_SECRET_KEY",
        "",
        "Key that login tokens are signed with; without it one is derived as for CATCHMENT_SECRET_KEY.",
        characters(32, length=_bytes),
        secret=True,
    )
    jwt_expire_hours: float = setting(
        "JWT_EXPIRE_HOURS", 24.0, "Hours that a login token is good for.", number(0.01, 8760, "hours")
    )
    hackernews_base_url: str = setting(
        "HACKERNEWS_BASE_URL", "https://hacker-news.firebaseio.com", "Where the Hacker News API is.", base_url
    )
    reddit_base_url: str = setting("REDDIT_BASE_URL", "https://www.reddit.com", "Where Reddit is.", base_url)
    github_base_url: str = setting("GITHUB_BASE_URL", "https://github.com", "Where GitHub is.", base_url)
    youtube_base_url: str = setting(
        "YOUTUBE_BASE_URL", "https://www.youtube.com", "Where the feeds of YouTube are.", base_url
    )
    telegram_base_url: str = setting(
        "TELEGRAM_BASE_URL", "https://t.me", "Where the public pages of Telegram channels are.", base_url
    )
    apple_podcasts_base_url: str = setting(
        "APPLE_PODCASTS_BASE_URL",
        "https://itunes.apple.com",
        "Where the podcast directory of Apple is asked for a podcast's feed.",
        base_url,
    )
    api_env: str = setting(
        "CATCHMENT_API_ENV",
        "",
        "Variables that any source may send in its headers as ${NAME}, comma-separated.",
        variables,
        expects="names of variables, comma-separated",
    )
    public_url: str = setting(
        "CATCHMENT_PUBLIC_URL",
        "",
        "Where the server is reached from outside; feeds name it as their address. Without it, as it was asked.",
        base_url,
    )
    websub_hub: str = setting("CATCHMENT_WEBSUB_HUB", "", "WebSub hub that published feeds name.", base_url)
    s3_endpoint: str = setting(
        "CATCHMENT_S3_ENDPOINT", "", "S3-compatible store that `catchment feeds upload` sends feeds to.", base_url
    )
    s3_bucket: str = setting("CATCHMENT_S3_BUCKET", "", "Bucket for the feeds.")
    s3_prefix: str = setting("CATCHMENT_S3_PREFIX", "", "Folder in the bucket; none puts the feeds at its top.")
    s3_region: str = setting("CATCHMENT_S3_REGION", "us-east-1", "Region of the bucket; some stores say auto.")
    s3_access_key: str = setting("CATCHMENT_S3_ACCESS_KEY", "", "Name of the key to the bucket.", secret=True)
    s3_secret_key: str = setting("CATCHMENT_S3_SECRET_KEY", "", "Secret of the key to the bucket.", secret=True)
    feed_max_tweets: int = setting(
        "FEED_MAX_TWEETS", 200, "Tweets that /api/feed gives at once at most.", whole(1, 10_000)
    )
    log_level: str = setting(
        "LOG_LEVEL",
        "INFO",
        "TRACE, DEBUG, INFO, WARNING, ERROR or CRITICAL.",
        one_of(*LOG_LEVELS, fold=str.upper),
        expects="a level's name",
    )
    log_format: str = setting("CATCHMENT_LOG_FORMAT", "text", "text or json.", one_of("text", "json"))
    #: FETCH_INTERVAL_<TYPE> as found in the process environment, by lower-case type, unread.
    intervals_from_environment: Mapping[str, str] = field(default_factory=dict)
    #: The same from `.env`.
    intervals_from_file: Mapping[str, str] = field(default_factory=dict)
    #: Passphrases of earlier keys for cookies, by the key's name in lower case.
    cookie_earlier_keys: Mapping[str, str] = field(default_factory=dict, repr=False)
    #: The values of the variables that CATCHMENT_API_ENV names; "" for one that is not set.
    api_env_values: Mapping[str, str] = field(default_factory=dict, repr=False)
    #: By field, of those that a command, the environment or `.env` sets.
    origins: Mapping[str, Origin] = field(default_factory=dict)
    #: Whether a variable says where the store is.
    is_store_named: bool = False
    #: Variables that look like settings and are none, each with the one that is likely meant, or "".
    unknown_variables: Mapping[str, str] = field(default_factory=dict)

    def as_told(self, **values: Any) -> Settings:
        """With what a command was told or sets by itself, whatever the environment says."""
        told = {name: Origin.COMMAND for name, value in values.items() if value != getattr(self, name)}
        return replace(self, **values, origins={**self.origins, **told})

    def store_url(self) -> str:
        return self.database_url or f"sqlite:///{self.home / STORE_FILE}"

    def backups(self) -> Path:
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
    # `is_file` would fail where the working folder is not for us, as /root is not for whoever `sudo -u` names.
    file = _read_dotenv(dotenv) if os.path.isfile(dotenv) else {}  # noqa: PTH113
    values: dict[str, Any] = {}
    origins: dict[str, Origin] = {}
    for name, spec, _ in specs():
        for origin, place in ((Origin.ENVIRONMENT, process), (Origin.FILE, file)):
            found = _find(spec, place)
            if found is not None:
                values[name], origins[name] = _read(spec, *found), origin
                break
    is_store_named = bool(values.keys() & {"home", "database_url"})
    if "home" not in values and (home := home_in(dotenv.parent)):
        values["home"] = home
    return Settings(
        **values,
        intervals_from_environment=_prefixed(INTERVAL_PREFIX, process),
        intervals_from_file=_prefixed(INTERVAL_PREFIX, file),
        cookie_earlier_keys=_earlier_keys({**file, **process}),
        api_env_values=_named_values(values.get("api_env", ""), process, file),
        origins=origins,
        is_store_named=is_store_named,
        unknown_variables=unknown_variables({**file, **process}, _known_variables(values.get("api_env", ""))),
    )


def home_in(folder: Path) -> Path | None:
    """The data folder of a working folder that has one: of a clone of this project, or with a store in it."""
    try:
        here = folder.absolute()
    except FileNotFoundError:
        # It was removed meanwhile.
        return None
    for place in (here, *here.parents):
        if os.access(place / "src/catchment/settings", os.X_OK) and os.access(place / "pyproject.toml", os.F_OK):
            return place / "data"
    return here / "data" if os.access(here / "data" / STORE_FILE, os.F_OK) else None


def _known_variables(api_env: str) -> set[str]:
    names = {name for _, spec, _ in specs() for name in spec.names}
    secret = {name for _, spec, _ in specs() if spec.secret for name in spec.names} | set(api_env.split(","))
    return names | secret | {f"{name}{FILE_SUFFIX}" for name in secret}


def _read_dotenv(file: Path) -> dict[str, str]:
    try:
        return {key: value for key, value in dotenv_values(file).items() if value is not None}
    except OSError as error:
        raise SettingsError(f"{file} cannot be read: {error.strerror}.") from error
    except UnicodeDecodeError as error:
        raise SettingsError(f"{file} is not text in UTF-8; save it as such.") from error


def _named_values(names: str, process: Mapping[str, str], file: Mapping[str, str]) -> dict[str, str]:
    return {name: _secret(name, process) or _secret(name, file) for name in names.split(",") if name}


def _earlier_keys(values: Mapping[str, str]) -> dict[str, str]:
    named = {name.removesuffix(FILE_SUFFIX) for name in values}
    ours = {name: _secret(name, values) for name in named if name.upper().startswith(COOKIE_KEY_PREFIX)}
    return _prefixed(COOKIE_KEY_PREFIX, {name: ours[name] for name in ours.keys() - _COOKIE_KEY_SETTINGS})


def _find(spec: Spec, values: Mapping[str, str]) -> tuple[str, str] | None:
    """The variable and its text; an empty value counts as not set."""
    for name in spec.names:
        if found := _secret(name, values) if spec.secret else values.get(name, "").strip():
            return name, found
    return None


def _secret(name: str, values: Mapping[str, str]) -> str:
    """The secret of this name, or what is in the file that is named instead; "" where there is neither."""
    file = values.get(f"{name}{FILE_SUFFIX}", "").strip()
    return values.get(name, "").strip() or (_read_secret_file(f"{name}{FILE_SUFFIX}", Path(file)) if file else "")


def _read_secret_file(variable: str, path: Path) -> str:
    try:
        secret = path.read_text(encoding="utf-8").strip()
    except OSError as error:
        raise SettingsError(f"{variable}: cannot read {path}: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise SettingsError(f"{variable}: {path} is not text in UTF-8") from error
    if not secret:
        raise SettingsError(f"{variable}: {path} is empty; put the secret there, or name no file.")
    return secret


def _read(spec: Spec, variable: str, text: str) -> Any:
    try:
        return spec.read(text)
    except (ValueError, KeyError) as error:
        shown = "its value" if spec.secret else repr(text)
        raise SettingsError(f"{variable}: {shown} is not {spec.expects}. {spec.help}") from error


def _prefixed(prefix: str, values: Mapping[str, str]) -> dict[str, str]:
    """The variables that begin with the prefix, by the rest of their name in lower case."""
    return {
        key.upper().removeprefix(prefix).lower(): value
        for key, value in values.items()
        if key.upper().startswith(prefix)
    }
