"""The settings of X: its provider, what it may cost, and the scraper's schedule."""

from __future__ import annotations

from dataclasses import dataclass

from catchment.settings.spec import any_text, base_url, flag, list_path, number, setting, whole


@dataclass(frozen=True, kw_only=True)
class XSettings:
    twitter_api_key: str = setting(
        "TWITTER_API_KEY",
        "TWITTER_BEARER_TOKEN",
        default="",
        help="Key for X's provider (twitterapi.io); without one, sources of X are skipped.",
        read=any_text,
        secret=True,
    )
    twitter_base_url: str = setting(
        "TWITTER_BASE_URL",
        default="https://api.twitterapi.io/twitter",
        help="Where X's provider is.",
        read=base_url,
        expects="an http:// or https:// address",
    )
    twitter_list_path: str = setting(
        "TWITTER_LIST_PATH",
        default="list/tweets",
        help="Where X's provider gives out lists: list/tweets or list/tweets_timeline.",
        read=list_path,
        expects="list/tweets or list/tweets_timeline",
    )
    twitter_max_retries: int = setting(
        "TWITTER_MAX_RETRIES",
        default=3,
        help="Further attempts after a 429, a 5xx or no answer, 1, 2, 4 … 60 seconds apart.",
        read=whole(0, 10),
        expects="a whole number, 0 to 10",
    )
    twitter_requests_per_second: float = setting(
        "TWITTER_REQUESTS_PER_SECOND",
        default=20.0,
        help="Requests a second that the key allows; 0.2 for one that was never topped up.",
        read=number(0.01, 1000),
        expects="a number, 0.01 to 1000",
    )
    twitter_daily_pages: int = setting(
        "TWITTER_DAILY_PAGES",
        default=0,
        help="Pages of at most 20 tweets, which are what is billed, that a day (UTC) may cost; 0 is no cap.",
        read=whole(0, 1_000_000_000),
        expects="a whole number, 0 for no cap",
    )
    twitter_monthly_pages: int = setting(
        "TWITTER_MONTHLY_PAGES",
        default=0,
        help="The same for a month.",
        read=whole(0, 1_000_000_000),
        expects="a whole number, 0 for no cap",
    )
    scraper_limit: int = setting(
        "SCRAPER_LIMIT",
        default=100,
        help="Tweets to ask for of somebody of whom nothing is known yet.",
        read=whole(1, 1000),
        expects="a whole number, 1 to 1000",
    )
    scraper_min_limit: int = setting(
        "SCRAPER_MIN_LIMIT",
        default=10,
        help="Tweets to ask for at least.",
        read=whole(1, 100),
        expects="a whole number, 1 to 100",
    )
    scraper_max_limit: int = setting(
        "SCRAPER_MAX_LIMIT",
        default=300,
        help="Tweets to ask for at most.",
        read=whole(100, 1000),
        expects="a whole number, 100 to 1000",
    )
    scraper_ema_alpha: float = setting(
        "SCRAPER_EMA_ALPHA",
        default=0.3,
        help="Weight of the latest scrape in the smoothed share of new tweets.",
        read=number(0.1, 0.9),
        expects="a number, 0.1 to 0.9",
    )
    scraper_early_stop_threshold: int = setting(
        "SCRAPER_EARLY_STOP_THRESHOLD",
        default=5,
        help="Known tweets in a row after which no further page is asked for; 0 reads on.",
        read=whole(0, 1000),
        expects="a whole number, 0 to 1000",
    )
    scraper_enabled: bool = setting(
        "SCRAPER_ENABLED",
        default=True,
        help="Whether X is scraped on a schedule; by hand it always can be.",
        read=flag,
        expects="true or false",
    )
    scraper_interval: int = setting(
        "SCRAPER_INTERVAL",
        default=43_200,
        help="Seconds between two scheduled scrapes, until an administrator sets them.",
        read=whole(300, 604_800),
        expects="seconds, 300 to 604800",
    )
    scraper_cron: str = setting(
        "SCRAPER_CRON",
        default="",
        help="A crontab line, in UTC, instead of SCRAPER_INTERVAL.",
        read=any_text,
    )
    scraper_lazy_start: bool = setting(
        "SCRAPER_LAZY_START",
        default=False,
        help="Begin scheduled scrapes only once an administrator enabled them.",
        read=flag,
        expects="true or false",
    )
    scraper_concurrency: int = setting(
        "CATCHMENT_SCRAPER_CONCURRENCY",
        default=3,
        help="How many users of X are scraped at once.",
        read=whole(1, 64),
        expects="a whole number, 1 to 64",
    )
    scraper_usernames: str = setting(
        "SCRAPER_USERNAMES",
        default="",
        help="Whom to scrape while nobody is followed, comma-separated.",
        read=any_text,
    )
    summarization_enabled: bool = setting(
        "AUTO_SUMMARIZATION_ENABLED",
        default=False,
        help="Whether AUTO_SUMMARIZATION_URL is told of new tweets.",
        read=flag,
        expects="true or false",
    )
    summarization_url: str = setting(
        "AUTO_SUMMARIZATION_URL",
        default="",
        help="Where the ids of new tweets are posted to.",
        read=any_text,
    )
