"""How Douyin says no: with nothing at all, with a captcha that looks like an empty list, or by a number."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from catchment.domain.crawling import CrawlError
from catchment.fetch.client import Response
from catchment.parse.json_values import object_at, text_at
from catchment.sources.crawl.answers import read_json, unexpected
from catchment.sources.crawl.refusals import ACCESS, BANNED, BLOCKED, CAPTCHA, GONE, LOGIN_EXPIRED, Refusals

_DOUYIN: Final = Refusals(
    platform="Douyin",
    statuses={403: ACCESS, 404: GONE, 429: ACCESS},
    words=(
        # Of an author who is banned only the works are gone.
        (("不存在", "已删除", "已被删除", "无法观看", "该作者", "该用户"), GONE),
        # Who is banned is asked to log in as well, so this comes first.
        (("封禁", "冻结", "账号异常"), BANNED),
        (("频繁", "稍后再试"), ACCESS),
        (("登录",), LOGIN_EXPIRED),
    ),
)
_LOGIN_NUMBERS: Final = frozenset({8, 2483})
_CAPTCHA_MARKS: Final = (b"captcha", "验证码".encode())


def read_answer(response: Response, *, cookie: str) -> Mapping[str, Any]:
    """The answer as JSON, if it says yes."""
    _check_head(response)
    answer = read_json(response)
    number = answer.get("status_code")
    if not isinstance(number, int):
        raise unexpected("Douyin answered without a status")
    if number:
        raise _refusal(number, text_at(answer, "status_msg"), cookie)
    if text_at(object_at(answer, "search_nil_info"), "search_nil_type") == "verify_check":
        raise _DOUYIN.error(CAPTCHA)
    return answer


def missing_work(answer: Mapping[str, Any]) -> CrawlError:
    """Why there is no work where one was asked for."""
    if object_at(answer, "filter_detail"):
        return _DOUYIN.error(GONE)
    return unexpected("Douyin gave no work, and did not say why")


def _check_head(response: Response) -> None:
    _DOUYIN.check_status(response)
    body = response.body.strip()
    if body in {b"", b"blocked"}:
        raise _DOUYIN.error(BLOCKED)
    if body.startswith(b"<") and any(mark in body for mark in _CAPTCHA_MARKS):
        raise _DOUYIN.error(CAPTCHA)


def _refusal(number: int, said: str, cookie: str) -> CrawlError:
    reason = LOGIN_EXPIRED if number in _LOGIN_NUMBERS else _DOUYIN.by_words(said)
    return _DOUYIN.error(reason) if reason else _DOUYIN.unknown(said or f"status {number}", cookie=cookie)
