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
#: HS256 asks for a key as long as its hash.
LEAST_SIGNING_KEY = 32


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


def _signing_key(value: str) -> str:
    if len(value.encode()) < LEAST_SIGNING_KEY:
        raise ValueError(value)
    return value


def _base_url(value: str) -> str:
    if not value.startswith(("http://", "https://")):
        raise ValueError(value)
    return value.rstrip("/")


def _variables(value: str) -> str:
    names = [name.strip() for name in value.split(",") if name.strip()]
    if not all(name.isascii() and name.isidentifier() for name in names):
        raise ValueError(value)
    return ",".join(names)


def _list_path(value: str) -> str:
    if value not in {"list/tweets", "list/tweets_timeline"}:
        raise ValueError(value)
    return value


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
    rss_state_db: str = _setting(
        "RSS_STATE_DB",
        default="",
        help="Where the flows and the state manager keep state: a file or a database URL; empty is the main store.",
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
    adaptive_types: str = _setting(
        "CATCHMENT_ADAPTIVE_TYPES",
        default="",
        help="Source types whose interval follows how often something new comes, comma-separated, or all.",
        read=_text,
    )
    adaptive_floor_minutes: int = _setting(
        "CATCHMENT_ADAPTIVE_FLOOR_MINUTES",
        default=15,
        help="The shortest interval that adapting leads to.",
        read=_whole(1, 525_600),
        expects="minutes, 1 to 525600",
    )
    adaptive_ceiling_minutes: int = _setting(
        "CATCHMENT_ADAPTIVE_CEILING_MINUTES",
        default=1440,
        help="The longest interval that adapting leads to.",
        read=_whole(1, 525_600),
        expects="minutes, 1 to 525600",
    )
    secret_key: str = _setting(
        "CATCHMENT_SECRET_KEY",
        default="",
        help="Passphrase that stored passwords are sealed with; without it a key file in CATCHMENT_HOME is made.",
        read=_passphrase,
        expects="at least 16 characters",
        secret=True,
    )
    jwt_secret_key: str = _setting(
        "JWT_SECRET_KEY",
        default="",
        help="Key that login tokens are signed with; without it one is derived as for CATCHMENT_SECRET_KEY.",
        read=_signing_key,
        expects="at least 32 characters",
        secret=True,
    )
    jwt_expire_hours: float = _setting(
        "JWT_EXPIRE_HOURS",
        default=24.0,
        help="Hours that a login token is good for.",
        read=_number(0.01, 8760),
        expects="hours, 0.01 to 8760",
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
    youtube_base_url: str = _setting(
        "YOUTUBE_BASE_URL",
        default="https://www.youtube.com",
        help="Where the feeds of YouTube are.",
        read=_base_url,
        expects="an http:// or https:// address",
    )
    telegram_base_url: str = _setting(
        "TELEGRAM_BASE_URL",
        default="https://t.me",
        help="Where the public pages of Telegram channels are.",
        read=_base_url,
        expects="an http:// or https:// address",
    )
    apple_podcasts_base_url: str = _setting(
        "APPLE_PODCASTS_BASE_URL",
        default="https://itunes.apple.com",
        help="Where the podcast directory of Apple is asked for a podcast's feed.",
        read=_base_url,
        expects="an http:// or https:// address",
    )
    api_env: str = _setting(
        "CATCHMENT_API_ENV",
        default="",
        help="Variables that any source may send in its headers as ${NAME}, comma-separated.",
        read=_variables,
        expects="names of variables, comma-separated",
    )
    public_url: str = _setting(
        "CATCHMENT_PUBLIC_URL",
        default="",
        help="Where the server is reached from outside; feeds name it as their address. Without it, as it was asked.",
        read=_base_url,
        expects="an http:// or https:// address",
    )
    websub_hub: str = _setting(
        "CATCHMENT_WEBSUB_HUB",
        default="",
        help="WebSub hub that published feeds name.",
        read=_base_url,
        expects="an http:// or https:// address",
    )
    s3_endpoint: str = _setting(
        "CATCHMENT_S3_ENDPOINT",
        default="",
        help="S3-compatible store that `catchment feeds upload` sends feeds to.",
        read=_base_url,
        expects="an http:// or https:// address",
    )
    s3_bucket: str = _setting("CATCHMENT_S3_BUCKET", default="", help="Bucket for the feeds.", read=_text)
    s3_prefix: str = _setting(
        "CATCHMENT_S3_PREFIX", default="", help="Folder in the bucket; none puts the feeds at its top.", read=_text
    )
    s3_region: str = _setting(
        "CATCHMENT_S3_REGION", default="us-east-1", help="Region of the bucket; some stores say auto.", read=_text
    )
    s3_access_key: str = _setting(
        "CATCHMENT_S3_ACCESS_KEY", default="", help="Name of the key to the bucket.", read=_text, secret=True
    )
    s3_secret_key: str = _setting(
        "CATCHMENT_S3_SECRET_KEY", default="", help="Secret of the key to the bucket.", read=_text, secret=True
    )
    twitter_api_key: str = _setting(
        "TWITTER_API_KEY",
        "TWITTER_BEARER_TOKEN",
        default="",
        help="Key for X's provider (twitterapi.io); without one, sources of X are skipped.",
        read=_text,
        secret=True,
    )
    twitter_base_url: str = _setting(
        "TWITTER_BASE_URL",
        default="https://api.twitterapi.io/twitter",
        help="Where X's provider is.",
        read=_base_url,
        expects="an http:// or https:// address",
    )
    twitter_list_path: str = _setting(
        "TWITTER_LIST_PATH",
        default="list/tweets",
        help="Where X's provider gives out lists: list/tweets or list/tweets_timeline.",
        read=_list_path,
        expects="list/tweets or list/tweets_timeline",
    )
    twitter_max_retries: int = _setting(
        "TWITTER_MAX_RETRIES",
        default=3,
        help="Further attempts after a 429, a 5xx or no answer, 1, 2, 4 … 60 seconds apart.",
        read=_whole(0, 10),
        expects="a whole number, 0 to 10",
    )
    twitter_requests_per_second: float = _setting(
        "TWITTER_REQUESTS_PER_SECOND",
        default=20.0,
        help="Requests a second that the key allows; 0.2 for one that was never topped up.",
        read=_number(0.01, 1000),
        expects="a number, 0.01 to 1000",
    )
    twitter_daily_pages: int = _setting(
        "TWITTER_DAILY_PAGES",
        default=0,
        help="Pages of at most 20 tweets, which are what is billed, that a day (UTC) may cost; 0 is no cap.",
        read=_whole(0, 1_000_000_000),
        expects="a whole number, 0 for no cap",
    )
    twitter_monthly_pages: int = _setting(
        "TWITTER_MONTHLY_PAGES",
        default=0,
        help="The same for a month.",
        read=_whole(0, 1_000_000_000),
        expects="a whole number, 0 for no cap",
    )
    scraper_limit: int = _setting(
        "SCRAPER_LIMIT",
        default=100,
        help="Tweets to ask for of somebody of whom nothing is known yet.",
        read=_whole(1, 1000),
        expects="a whole number, 1 to 1000",
    )
    scraper_min_limit: int = _setting(
        "SCRAPER_MIN_LIMIT",
        default=10,
        help="Tweets to ask for at least.",
        read=_whole(1, 100),
        expects="a whole number, 1 to 100",
    )
    scraper_max_limit: int = _setting(
        "SCRAPER_MAX_LIMIT",
        default=300,
        help="Tweets to ask for at most.",
        read=_whole(100, 1000),
        expects="a whole number, 100 to 1000",
    )
    scraper_ema_alpha: float = _setting(
        "SCRAPER_EMA_ALPHA",
        default=0.3,
        help="Weight of the latest scrape in the smoothed share of new tweets.",
        read=_number(0.1, 0.9),
        expects="a number, 0.1 to 0.9",
    )
    scraper_early_stop_threshold: int = _setting(
        "SCRAPER_EARLY_STOP_THRESHOLD",
        default=5,
        help="Known tweets in a row after which no further page is asked for; 0 reads on.",
        read=_whole(0, 1000),
        expects="a whole number, 0 to 1000",
    )
    feed_max_tweets: int = _setting(
        "FEED_MAX_TWEETS",
        default=200,
        help="Tweets that /api/feed gives at once at most.",
        read=_whole(1, 10_000),
        expects="a whole number, 1 to 10000",
    )
    scraper_enabled: bool = _setting(
        "SCRAPER_ENABLED",
        default=True,
        help="Whether X is scraped on a schedule; by hand it always can be.",
        read=_flag,
        expects="true or false",
    )
    scraper_interval: int = _setting(
        "SCRAPER_INTERVAL",
        default=43_200,
        help="Seconds between two scheduled scrapes, until an administrator sets them.",
        read=_whole(300, 604_800),
        expects="seconds, 300 to 604800",
    )
    scraper_cron: str = _setting(
        "SCRAPER_CRON",
        default="",
        help="A crontab line, in UTC, instead of SCRAPER_INTERVAL.",
        read=_text,
    )
    scraper_lazy_start: bool = _setting(
        "SCRAPER_LAZY_START",
        default=False,
        help="Begin scheduled scrapes only once an administrator enabled them.",
        read=_flag,
        expects="true or false",
    )
    scraper_concurrency: int = _setting(
        "CATCHMENT_SCRAPER_CONCURRENCY",
        default=3,
        help="How many users of X are scraped at once.",
        read=_whole(1, 64),
        expects="a whole number, 1 to 64",
    )
    scraper_usernames: str = _setting(
        "SCRAPER_USERNAMES",
        default="",
        help="Whom to scrape while nobody is followed, comma-separated.",
        read=_text,
    )
    summarization_enabled: bool = _setting(
        "AUTO_SUMMARIZATION_ENABLED",
        default=False,
        help="Whether AUTO_SUMMARIZATION_URL is told of new tweets.",
        read=_flag,
        expects="true or false",
    )
    summarization_url: str = _setting(
        "AUTO_SUMMARIZATION_URL",
        default="",
        help="Where the ids of new tweets are posted to.",
        read=_text,
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
    #: The values of the variables that CATCHMENT_API_ENV names; "" for one that is not set.
    api_env_values: Mapping[str, str] = field(default_factory=dict, repr=False)

    def store_url(self) -> str:
        return self.database_url or f"sqlite:///{self.home / 'catchment.sqlite3'}"


def store_url_of(place: str) -> str:
    """A database's address, of which a file's path is the short form."""
    return place if "://" in place else f"sqlite:///{place}"


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
        api_env_values=_named_values(values.get("api_env", ""), process, file),
    )


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
