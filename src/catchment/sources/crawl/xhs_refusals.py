"""How Xiaohongshu says no: by status, by code, or in words, each with what it means for the note and for the cookie."""

from __future__ import annotations

from collections.abc import Mapping
from http import HTTPStatus
from typing import Any, Final

from catchment.domain.crawling import Code, CrawlError
from catchment.fetch.client import Response
from catchment.parse.json_values import number_at, text_at
from catchment.sources.crawl.answers import quoted, read_json, unexpected
from catchment.sources.crawl.xhs_parser import gone

_CAPTCHA: Final = frozenset({461, 471})
_RESTRICTED: Final = frozenset({HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN, HTTPStatus.TOO_MANY_REQUESTS})
_ACCOUNT_IN_DOUBT: Final = 300011
_IP_BLOCKED: Final = 300012
_GONE: Final = frozenset({-510000, -510001})
_BAD_SIGNATURE: Final = -104
_EXPIRED: Final = "登录已过期"
#: Said of accounts that will not come back.
_BANNED: Final = ("封禁", "封号", "冻结")
#: An address that is blocked stays so for a while, whoever asks.
_IP_REST_SECONDS: Final = 1800.0
_SIGNATURE: Final = "signature"


def read_data(response: Response, *, cookie: str, token: str) -> dict[str, Any]:
    """The data in an answer of the API; CrawlError when it holds a no instead."""
    if response.status in _CAPTCHA:
        raise _captcha(response)
    body = _body(response)
    said = quoted(text_at(body, "msg") or text_at(body, "message"), cookie=cookie, secrets=[token])
    if response.status != HTTPStatus.OK or body.get("success") is not True:
        raise _refusal(response.status, number_at(body, "code"), said)
    data = body.get("data")
    if not isinstance(data, dict):
        raise unexpected("Xiaohongshu answered without data")
    return data


def read_html(response: Response) -> str:
    if response.status in _CAPTCHA or "captcha" in response.url.partition("?")[0]:
        raise _captcha(response)
    if response.status == HTTPStatus.NOT_FOUND or "/404" in response.url.partition("?")[0]:
        raise gone()
    if response.status != HTTPStatus.OK:
        raise _refusal(response.status, 0, "")
    return response.body.decode(errors="replace")


def is_signature(error: CrawlError) -> bool:
    return error.details.get("cause") == _SIGNATURE


def _body(response: Response) -> Mapping[str, Any]:
    """A refusal need not be JSON: its status says enough."""
    try:
        return read_json(response)
    except CrawlError:
        if response.status == HTTPStatus.OK:
            raise
        return {}


def _captcha(response: Response) -> CrawlError:
    details = {
        "cause": "captcha",
        "verify_type": response.headers.get("Verifytype", ""),
        "verify_uuid": response.headers.get("Verifyuuid", ""),
    }
    message = (
        "Xiaohongshu wants a captcha to be solved: solve it in the browser that the cookie is from, or let it rest"
    )
    return CrawlError(Code.RATE_LIMITED, message, details=details)


def _refusal(status: int, code: int, said: str) -> CrawlError:
    """A code that is known says exactly what it means; words may be about somebody else, such as the note's author."""
    no = _by_code(code) or _by_words(said) or _by_status(status)
    reason = said or "it gave no reason"
    return no or _no(Code.PLATFORM_ERROR, "refused", f"Xiaohongshu refused (HTTP {status}, code {code}): {reason}")


def _by_words(said: str) -> CrawlError | None:
    if any(word in said for word in _BANNED):
        return _no(Code.ACCOUNT_BANNED, "banned", f"Xiaohongshu has banned the cookie's account: {said}")
    if _EXPIRED in said:
        return _no(Code.COOKIE_INVALID, "login_expired", "the cookie's login has expired: sign in anew and replace it")
    return None


def _by_code(code: int) -> CrawlError | None:
    if code == _IP_BLOCKED:
        message = "Xiaohongshu has blocked this network address for a while; ask less often, or from elsewhere"
        return _no(Code.PLATFORM_ERROR, "ip_blocked", message, retry_after=_IP_REST_SECONDS)
    if code == _ACCOUNT_IN_DOUBT:
        return _restricted()
    if code == _BAD_SIGNATURE:
        return _unsigned()
    return gone() if code in _GONE else None


def _by_status(status: int) -> CrawlError | None:
    if status in _RESTRICTED:
        return _restricted()
    # Said of signatures in a form that the call does not take.
    return _unsigned() if status == HTTPStatus.NOT_ACCEPTABLE else None


def _restricted() -> CrawlError:
    return _no(Code.COOKIE_INVALID, "access", "Xiaohongshu restricts what this cookie may see; use another one")


def _unsigned() -> CrawlError:
    return _no(Code.PLATFORM_ERROR, _SIGNATURE, "Xiaohongshu did not accept the signature; a newer xhshow may help")


def _no(code: Code, cause: str, message: str, *, retry_after: float | None = None) -> CrawlError:
    return CrawlError(code, message, details={"cause": cause}, retry_after=retry_after)
