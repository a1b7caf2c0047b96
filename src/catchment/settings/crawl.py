"""The settings of the crawler: its cookies, locks, platforms, alerts and the table it copies notes to."""

from __future__ import annotations

from dataclasses import dataclass
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from catchment.settings.spec import any_text, base_url, flag, number, setting, whole

LEAST_MASTER_KEY = 32


def master_key(value: str) -> str:
    if len(value) < LEAST_MASTER_KEY:
        raise ValueError(value)
    return value


def key_name(value: str) -> str:
    if not (value.isascii() and value.replace("_", "a").isalnum()):
        raise ValueError(value)
    return value.lower()


def time_zone(value: str) -> str:
    try:
        return ZoneInfo(value).key
    except (ZoneInfoNotFoundError, OSError) as error:  # an OSError for the folder of several zones
        raise ValueError(value) from error


def alert_format(value: str) -> str:
    if value.lower() not in {"lark", "slack", "json"}:
        raise ValueError(value)
    return value.lower()


@dataclass(frozen=True, kw_only=True)
class CrawlSettings:
    cookie_master_key: str = setting(
        "COOKIE_MASTER_KEY",
        default="",
        help="Passphrase that platform cookies are sealed with; without it none can be stored.",
        read=master_key,
        expects="at least 32 characters",
        secret=True,
    )
    cookie_key_salt: str = setting(
        "COOKIE_KEY_SALT",
        default="mediacrawler_v3",
        help="Salt of the key that is derived from COOKIE_MASTER_KEY.",
        read=any_text,
    )
    cookie_key_id: str = setting(
        "COOKIE_KEY_ID",
        default="key_v1",
        help="Name of the key; the passphrase of an earlier one is given as COOKIE_KEY_<ITS NAME>.",
        read=key_name,
        expects="letters, digits and underscores",
    )
    cookie_daily_tz: str = setting(
        "COOKIE_DAILY_TZ",
        default="Asia/Shanghai",
        help="Zone at whose midnight the daily use of cookies starts anew.",
        read=time_zone,
        expects="a zone such as Asia/Shanghai",
    )
    cooling_duration_minutes: int = setting(
        "COOLING_DURATION_MINUTES",
        default=30,
        help="How long a cookie rests after too many errors in a row.",
        read=whole(1, 10_080),
        expects="minutes, 1 to 10080",
    )
    max_consecutive_errors: int = setting(
        "MAX_CONSECUTIVE_ERRORS",
        default=3,
        help="Errors in a row after which a cookie rests.",
        read=whole(1, 1000),
        expects="a whole number, 1 to 1000",
    )
    max_total_errors: int = setting(
        "MAX_TOTAL_ERRORS",
        default=10,
        help="Errors in all after which a cookie is invalid.",
        read=whole(1, 100_000),
        expects="a whole number, 1 to 100000",
    )
    lock_timeout_minutes: int = setting(
        "LOCK_TIMEOUT_MINUTES",
        default=30,
        help="How long the lock of a workflow holds after its last heartbeat.",
        read=whole(1, 1440),
        expects="minutes, 1 to 1440",
    )
    recovery_interval_minutes: int = setting(
        "RECOVERY_INTERVAL_MINUTES",
        default=15,
        help="How often locks of workflows without a heartbeat are freed.",
        read=whole(1, 1440),
        expects="minutes, 1 to 1440",
    )
    search_timeout: float = setting(
        "SEARCH_TIMEOUT",
        default=30.0,
        help="Seconds that a search on a platform may take.",
        read=number(1, 60),
        expects="seconds, 1 to 60",
    )
    detail_timeout: float = setting(
        "DETAIL_TIMEOUT",
        default=15.0,
        help="Seconds that one note may take.",
        read=number(1, 30),
        expects="seconds, 1 to 30",
    )
    detail_batch_timeout: float = setting(
        "CATCHMENT_DETAIL_BATCH_TIMEOUT",
        default=60.0,
        help="Seconds that a batch of notes may take, besides the pauses between its requests.",
        read=number(1, 120),
        expects="seconds, 1 to 120",
    )
    cookie_validate_timeout: float = setting(
        "COOKIE_VALIDATE_TIMEOUT",
        default=10.0,
        help="Seconds that asking a platform about a cookie may take.",
        read=number(1, 20),
        expects="seconds, 1 to 20",
    )
    batch_size: int = setting(
        "BATCH_SIZE",
        default=10,
        help="Notes that a workflow claims at a time.",
        read=whole(1, 100),
        expects="a whole number, 1 to 100",
    )
    crawl_spacing_seconds: float = setting(
        "CRAWL_SPACING_SECONDS",
        default=2.0,
        help="Seconds between two requests to one platform, and with one cookie.",
        read=number(0, 3600),
        expects="seconds, 0 to 3600",
    )
    crawl_at_once: int = setting(
        "CRAWL_CONCURRENCY",
        default=1,
        help="Requests to one platform at once.",
        read=whole(1, 20),
        expects="a whole number, 1 to 20",
    )
    crawl_keep_authors: bool = setting(
        "CATCHMENT_KEEP_AUTHORS",
        default=False,
        help="Whether names and ids of those who write notes are kept as they are, rather than masked and hashed.",
        read=flag,
        expects="true or false",
    )
    xhs_base_url: str = setting(
        "XHS_BASE_URL",
        default="https://edith.xiaohongshu.com",
        help="Where the API of Xiaohongshu is.",
        read=base_url,
        expects="an address that begins with http:// or https://",
    )
    xhs_site_url: str = setting(
        "XHS_WEB_URL",
        default="https://www.xiaohongshu.com",
        help="Where the pages of Xiaohongshu are.",
        read=base_url,
        expects="an address that begins with http:// or https://",
    )
    weibo_base_url: str = setting(
        "WEIBO_BASE_URL",
        default="https://m.weibo.cn",
        help="Where Weibo is.",
        read=base_url,
        expects="an address that begins with http:// or https://",
    )
    douyin_base_url: str = setting(
        "DOUYIN_BASE_URL",
        default="https://www.douyin.com",
        help="Where Douyin is.",
        read=base_url,
        expects="an address that begins with http:// or https://",
    )
    douyin_signer: str = setting(
        "CATCHMENT_DOUYIN_SIGNER",
        default="",
        help="What signs requests to Douyin: the address of a service, or a command; without it Douyin is not read.",
        read=any_text,
    )
    alert_webhook_url: str = setting(
        "ALERT_WEBHOOK_URL",
        "FEISHU_WEBHOOK_URL",
        default="",
        help="Where alerts are posted to, besides the webhooks of the store.",
        read=base_url,
        expects="an address that begins with http:// or https://",
        secret=True,
    )
    alert_webhook_format: str = setting(
        "CATCHMENT_ALERT_FORMAT",
        default="lark",
        help="The form of what is posted there: lark, slack or json.",
        read=alert_format,
        expects="lark, slack or json",
    )
    alert_webhook_secret: str = setting(
        "CATCHMENT_ALERT_SECRET",
        default="",
        help="What the posts are signed with, where a Lark bot asks for that.",
        read=any_text,
        secret=True,
    )
    alert_success_minutes: float = setting(
        "CATCHMENT_ALERT_SUCCESS_MINUTES",
        default=10.0,
        help="Minutes that less than 90 % of the requests to a platform may succeed before it is an alert.",
        read=number(0, 1440),
        expects="minutes, 0 to 1440",
    )
    alert_pending_notes: int = setting(
        "CATCHMENT_ALERT_PENDING_NOTES",
        default=500,
        help="Notes that may wait to be collected; more of them are a backlog.",
        read=whole(0, 1_000_000),
        expects="a whole number, 0 to 1000000",
    )
    alert_pending_minutes: float = setting(
        "CATCHMENT_ALERT_PENDING_MINUTES",
        default=30.0,
        help="Minutes that a backlog may last before it is an alert.",
        read=number(0, 1440),
        expects="minutes, 0 to 1440",
    )
    feishu_app_id: str = setting(
        "FEISHU_APP_ID",
        default="",
        help="App whose tables of Feishu Bitable notes are copied to; without it none are.",
        read=any_text,
    )
    feishu_app_secret: str = setting(
        "FEISHU_APP_SECRET",
        default="",
        help="The secret of that app.",
        read=any_text,
        secret=True,
    )
    feishu_base_url: str = setting(
        "FEISHU_BASE_URL",
        default="https://open.feishu.cn",
        help="Where the API of Feishu is.",
        read=base_url,
        expects="an address that begins with http:// or https://",
    )
    feishu_app_token: str = setting(
        "FEISHU_APP_TOKEN",
        default="",
        help="The Bitable document, as in its address.",
        read=any_text,
        secret=True,
    )
    feishu_table_id: str = setting(
        "FEISHU_TABLE_ID",
        default="",
        help="The table in it that holds the notes (tbl_source).",
        read=any_text,
    )
