"""The settings of X: its provider, what it may cost, and the scraper's schedule."""

from __future__ import annotations

from dataclasses import dataclass

from catchment.settings.spec import base_url, number, one_of, setting, whole


@dataclass(frozen=True, kw_only=True)
class XSettings:
    twitter_api_key: str = setting(
        "TWITTER_API_KEY",
        "",
        "Key for X's provider (twitterapi.io); without one, sources of X are skipped.",
        also="TWITTER_BEARER_TOKEN",
        secret=True,
    )
    twitter_base_url: str = setting(
        "TWITTER_BASE_URL", "https://api.twitterapi.io/twitter", "Where X's provider is.", base_url
    )
    twitter_list_path: str = setting(
        "TWITTER_LIST_PATH",
        "list/tweets",
        "Where X's provider gives out lists: list/tweets or list/tweets_timeline.",
        one_of("list/tweets", "list/tweets_timeline", fold=str),
    )
    twitter_max_retries: int = setting(
        "TWITTER_MAX_RETRIES",
        3,
        "Further attempts after a 429, a 5xx or no answer, 1, 2, 4 … 60 seconds apart.",
        whole(0, 10),
    )
    twitter_requests_per_second: float = setting(
        "TWITTER_REQUESTS_PER_SECOND",
        20.0,
        "Requests a second that the key allows; 0.2 for one that was never topped up.",
        number(0.01, 1000, "a number"),
    )
    twitter_daily_pages: int = setting(
        "TWITTER_DAILY_PAGES",
        0,
        "Pages of at most 20 tweets, which are what is billed, that a day (UTC) may cost; 0 is no cap.",
        whole(0, 1_000_000_000),
        expects="a whole number, 0 for no cap",
    )
    twitter_monthly_pages: int = setting(
        "TWITTER_MONTHLY_PAGES",
        0,
        "Pages of X that a month (UTC) may cost; 0 is no cap.",
        whole(0, 1_000_000_000),
        expects="a whole number, 0 for no cap",
    )
    scraper_limit: int = setting(
        "SCRAPER_LIMIT", 100, "Tweets to ask for of somebody of whom nothing is known yet.", whole(1, 1000)
    )
    scraper_min_limit: int = setting("SCRAPER_MIN_LIMIT", 10, "Tweets to ask for at least.", whole(1, 100))
    scraper_max_limit: int = setting("SCRAPER_MAX_LIMIT", 300, "Tweets to ask for at most.", whole(100, 1000))
    scraper_ema_alpha: float = setting(
        "SCRAPER_EMA_ALPHA",
        0.3,
        "Weight of the latest scrape in the smoothed share of new tweets.",
        number(0.1, 0.9, "a number"),
    )
    scraper_early_stop_threshold: int = setting(
        "SCRAPER_EARLY_STOP_THRESHOLD",
        5,
        "Known tweets in a row after which no further page is asked for; 0 reads on.",
        whole(0, 1000),
    )
    scraper_enabled: bool = setting(
        "SCRAPER_ENABLED", True, "Whether X is scraped on a schedule; by hand it always can be."
    )
    scraper_interval: int = setting(
        "SCRAPER_INTERVAL",
        43_200,
        "Seconds between two scheduled scrapes, until an administrator sets them.",
        whole(300, 604_800, "seconds"),
    )
    scraper_cron: str = setting("SCRAPER_CRON", "", "A crontab line, in UTC, instead of SCRAPER_INTERVAL.")
    scraper_lazy_start: bool = setting(
        "SCRAPER_LAZY_START", False, "Begin scheduled scrapes only once an administrator enabled them."
    )
    scraper_concurrency: int = setting(
        "CATCHMENT_SCRAPER_CONCURRENCY", 3, "How many users of X are scraped at once.", whole(1, 64)
    )
    scraper_usernames: str = setting(
        "SCRAPER_USERNAMES", "", "Whom to scrape while nobody is followed, comma-separated."
    )
    summarization_enabled: bool = setting(
        "AUTO_SUMMARIZATION_ENABLED", False, "Whether AUTO_SUMMARIZATION_URL is told of new tweets."
    )
    summarization_url: str = setting(
        "AUTO_SUMMARIZATION_URL", "", "Where the ids of new tweets are posted to.", secret=True
    )
