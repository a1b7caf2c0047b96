"""The settings of the crawler: its cookies, locks, platforms, alerts and the table it copies notes to."""

from __future__ import annotations

from dataclasses import dataclass
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from catchment.settings.spec import base_url, characters, number, one_of, schemes, setting, whole


def key_name(value: str) -> str:
    if not (value.isascii() and value.replace("_", "a").isalnum()):
        raise ValueError(value)
    return value.lower()


def time_zone(value: str) -> str:
    try:
        return ZoneInfo(value).key
    except (ZoneInfoNotFoundError, OSError) as error:  # an OSError for the folder of several zones
        raise ValueError(value) from error


@dataclass(frozen=True, kw_only=True)
class CrawlSettings:
    cookie_master_key: str = setting(
        "COOKIE_MASTER_KEY",
        "",
        "Passphrase that platform cookies are sealed with; without it none can be stored.",
        characters(32),
        secret=True,
    )
    cookie_key_salt: str = setting(
        "COOKIE_KEY_SALT", "mediacrawler_v3", "Salt of the key that is derived from COOKIE_MASTER_KEY."
    )
    cookie_key_id: str = setting(
        "COOKIE_KEY_ID",
        "key_v1",
        "Name of the key; the passphrase of an earlier one is given as COOKIE_KEY_<ITS NAME>.",
        key_name,
        expects="letters, digits and underscores",
    )
    cookie_daily_tz: str = setting(
        "COOKIE_DAILY_TZ",
        "Asia/Shanghai",
        "Zone at whose midnight the daily use of cookies starts anew.",
        time_zone,
        expects="a zone such as Asia/Shanghai",
    )
    cooling_duration_minutes: int = setting(
        "COOLING_DURATION_MINUTES",
        30,
        "How long a cookie rests after too many errors in a row.",
        whole(1, 10_080, "minutes"),
    )
    max_consecutive_errors: int = setting(
        "MAX_CONSECUTIVE_ERRORS", 3, "Errors in a row after which a cookie rests.", whole(1, 1000)
    )
    max_total_errors: int = setting(
        "MAX_TOTAL_ERRORS", 10, "Errors in all after which a cookie is invalid.", whole(1, 100_000)
    )
    lock_timeout_minutes: int = setting(
        "LOCK_TIMEOUT_MINUTES",
        30,
        "How long the lock of a workflow holds after its last heartbeat.",
        whole(1, 1440, "minutes"),
    )
    recovery_interval_minutes: int = setting(
        "RECOVERY_INTERVAL_MINUTES",
        15,
        "How often locks of workflows without a heartbeat are freed.",
        whole(1, 1440, "minutes"),
    )
    search_timeout: float = setting(
        "SEARCH_TIMEOUT", 30.0, "Seconds that a search on a platform may take.", number(1, 60, "seconds")
    )
    detail_timeout: float = setting("DETAIL_TIMEOUT", 15.0, "Seconds that one note may take.", number(1, 30, "seconds"))
    detail_batch_timeout: float = setting(
        "CATCHMENT_DETAIL_BATCH_TIMEOUT",
        60.0,
        "Seconds that a batch of notes may take, besides the pauses between its requests.",
        number(1, 120, "seconds"),
    )
    cookie_validate_timeout: float = setting(
        "COOKIE_VALIDATE_TIMEOUT",
        10.0,
        "Seconds that asking a platform about a cookie may take.",
        number(1, 20, "seconds"),
    )
    batch_size: int = setting("BATCH_SIZE", 10, "Notes that a workflow claims at a time.", whole(1, 100))
    crawl_spacing_seconds: float = setting(
        "CRAWL_SPACING_SECONDS",
        2.0,
        "Seconds between two requests to one platform, and with one cookie.",
        number(0, 3600, "seconds"),
    )
    crawl_at_once: int = setting("CRAWL_CONCURRENCY", 1, "Requests to one platform at once.", whole(1, 20))
    crawl_keep_authors: bool = setting(
        "CATCHMENT_KEEP_AUTHORS",
        False,
        "Whether names and ids of those who write notes are kept as they are, rather than masked and hashed.",
    )
    xhs_base_url: str = setting(
        "XHS_BASE_URL", "https://edith.xiaohongshu.com", "Where the API of Xiaohongshu is.", base_url
    )
    xhs_site_url: str = setting(
        "XHS_WEB_URL", "https://www.xiaohongshu.com", "Where the pages of Xiaohongshu are.", base_url
    )
    weibo_base_url: str = setting("WEIBO_BASE_URL", "https://m.weibo.cn", "Where Weibo is.", base_url)
    douyin_base_url: str = setting("DOUYIN_BASE_URL", "https://www.douyin.com", "Where Douyin is.", base_url)
    douyin_signer: str = setting(
        "CATCHMENT_DOUYIN_SIGNER",
        "",
        "What signs requests to Douyin: the address of a service, or a command; without it Douyin is not read.",
    )
    alert_webhook_url: str = setting(
        "ALERT_WEBHOOK_URL",
        "",
        "Where alerts are posted to, besides the webhooks of the store.",
        base_url,
        also="FEISHU_WEBHOOK_URL",
        secret=True,
    )
    alert_webhook_format: str = setting(
        "CATCHMENT_ALERT_FORMAT",
        "lark",
        "The form of what is posted there: lark, slack or json.",
        one_of("lark", "slack", "json"),
    )
    alert_webhook_secret: str = setting(
        "CATCHMENT_ALERT_SECRET", "", "What the posts are signed with, where a Lark bot asks for that.", secret=True
    )
    apprise_schemes: str = setting(
        "CATCHMENT_APPRISE_SCHEMES",
        "bark,barks,dingtalk,discord,feishu,form,forms,gchat,gotify,gotifys,json,jsons,mailto,mailtos,matrix,matrixs,"
        "mmost,mmosts,ntfy,ntfys,pbul,pover,pushplus,rocket,rockets,schan,signal,signals,slack,tgram,twilio,wecombot,"
        "workflows,xml,xmls,zulip",
        "Services that webhooks of the format apprise may use, by what their addresses begin with; `none` for none.",
        schemes,
        expects="names of services of Apprise, comma-separated, such as mailtos,tgram",
    )
    alert_success_minutes: float = setting(
        "CATCHMENT_ALERT_SUCCESS_MINUTES",
        10.0,
        "Minutes that less than 90 % of the requests to a platform may succeed before it is an alert.",
        number(0, 1440, "minutes"),
    )
    alert_pending_notes: int = setting(
        "CATCHMENT_ALERT_PENDING_NOTES",
        500,
        "Notes that may wait to be collected; more of them are a backlog.",
        whole(0, 1_000_000),
    )
    alert_pending_minutes: float = setting(
        "CATCHMENT_ALERT_PENDING_MINUTES",
        30.0,
        "Minutes that a backlog may last before it is an alert.",
        number(0, 1440, "minutes"),
    )
    feishu_app_id: str = setting(
        "FEISHU_APP_ID", "", "App whose tables of Feishu Bitable notes are copied to; without it none are."
    )
    feishu_app_secret: str = setting("FEISHU_APP_SECRET", "", "The secret of that app.", secret=True)
    feishu_base_url: str = setting("FEISHU_BASE_URL", "https://open.feishu.cn", "Where the API of Feishu is.", base_url)
    feishu_app_token: str = setting("FEISHU_APP_TOKEN", "", "The Bitable document, as in its address.", secret=True)
    feishu_table_id: str = setting("FEISHU_TABLE_ID", "", "The table in it that holds the notes (tbl_source).")
