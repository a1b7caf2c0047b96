"""How Weibo says no: by a status, by a page in place of data, or in words inside an answer that looks well."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final
from urllib.parse import urlsplit

from catchment.domain.crawling import CrawlError
from catchment.fetch.client import Response
from catchment.parse.json_values import text_at
from catchment.sources.crawl.answers import read_json, unexpected
from catchment.sources.crawl.refusals import ACCESS, BANNED, GONE, LOGIN_EXPIRED, STALE, Reason, Refusals

_GONE_PAGE: Final = ("不存在", "暂无查看权限", "已被删除", "暂不可见", "打开微博客户端")
#: Of an author who is banned only the posts are gone.
_GONE_WORDS: Final = (*_GONE_PAGE, "该作者", "该用户", "该博主")
#: A page for whoever is not signed in. Elsewhere on a page words about logins stand in menus and in posts.
_LOGIN_PAGE: Final = re.compile(r"Sina Visitor System|<title>[^<]{0,50}(?:登录|登陆)", re.IGNORECASE)
_WEIBO: Final = Refusals(
    platform="Weibo",
    statuses={404: GONE, 418: ACCESS, 429: ACCESS, 432: STALE},
    words=(
        (_GONE_WORDS, GONE),
        # Who is banned is asked to log in as well, so this comes first.
        (("封禁", "冻结", "帐号异常", "账号异常"), BANNED),
        (("频繁", "频次"), ACCESS),
        (("登录", "登陆"), LOGIN_EXPIRED),
    ),
)
_GONE_NUMBER: Final = "20101"
_LOGIN_ASKED: Final = -100
#: An envelope that says no where there is merely nothing yet.
_NOTHING_YET: Final = ("还没有", "暂无", "快来")


def read_envelope(response: Response, *, cookie: str) -> Mapping[str, Any]:
    """The answer as JSON where it is one that says yes, or says that there is nothing yet."""
    _check_head(response)
    if response.body.lstrip().startswith(b"<"):
        raise _WEIBO.error(STALE)
    envelope = read_json(response)
    if envelope.get("ok") == 1:
        return envelope
    said = text_at(envelope, "msg") or text_at(envelope, "message")
    if reason := _reason(envelope, said):
        raise _WEIBO.error(reason)
    if envelope.get("ok") == 0 and (not said or any(words in said for words in _NOTHING_YET)):
        return envelope
    raise _WEIBO.unknown(said, cookie=cookie)


def read_page(response: Response, *, cookie: str) -> str:
    """The page; where it is refused, an envelope may come in its place."""
    _check_head(response)
    if response.body.lstrip().startswith(b"{"):
        read_envelope(response, cookie=cookie)
    return response.body.decode(errors="replace")


def page_refusal(html: str) -> CrawlError:
    """Why a page is not that of a post. What it says of bans is never taken for the account's: it holds many words."""
    if _LOGIN_PAGE.search(html):
        return _WEIBO.error(LOGIN_EXPIRED)
    if any(words in html for words in _GONE_PAGE):
        return _WEIBO.error(GONE)
    return unexpected("The page of a post on Weibo does not hold the post")


def _check_head(response: Response) -> None:
    _WEIBO.check_status(response)
    if _leads_to_login(response.url):
        raise _WEIBO.error(LOGIN_EXPIRED)


def _reason(envelope: Mapping[str, Any], said: str) -> Reason | None:
    if envelope.get("ok") == _LOGIN_ASKED or _leads_to_login(text_at(envelope, "url")):
        return LOGIN_EXPIRED
    return GONE if text_at(envelope, "errno") == _GONE_NUMBER else _WEIBO.by_words(said)


def _leads_to_login(url: str) -> bool:
    try:
        return (urlsplit(url).hostname or "").startswith("passport.")
    except ValueError:  # a bracket that opens no IPv6 address
        return False
