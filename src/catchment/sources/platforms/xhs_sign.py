"""What Xiaohongshu wants to see signed, and who signs it: the optional package xhshow, behind a small contract.

A signature holds for exact bytes. So a call is written down once, as the text that is sent, and the signer is given the
values that this text was written from.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal, Protocol
from urllib.parse import quote

from catchment.domain.cookie import missing_parts, parts_of
from catchment.domain.crawling import Code, CrawlError
from catchment.domain.note import Platform

if TYPE_CHECKING:
    from xhshow import Xhshow

#: What a cookie cannot do without.


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """One call of the API, by its path."""

    method: Literal["GET", "POST"]
    path: str
    #: The query of a GET, the body of a POST.
    values: Mapping[str, Any]
    #: Calls that bring notes carry one header more.
    guarded: bool = False

    @property
    def target(self) -> str:
        if self.method == "POST" or not self.values:
            return self.path
        pairs = (f"{name}={quote(str(value), safe=',')}" for name, value in self.values.items())
        return f"{self.path}?{'&'.join(pairs)}"

    @property
    def body(self) -> bytes | None:
        if self.method == "GET":
            return None
        text = json.dumps(self.values, separators=(",", ":"), ensure_ascii=False)
        try:
            return text.encode()
        except UnicodeEncodeError as error:
            raise CrawlError(Code.INVALID_INPUT, "what was asked for holds characters that cannot be sent") from error


class XhsSigner(Protocol):
    @property
    def user_agent(self) -> str:
        """The browser that signatures claim to be made in."""
        ...

    def headers(self, call: Call, cookies: Mapping[str, str], *, at: datetime) -> dict[str, str]:
        """The headers that go along with a call."""
        ...


class XhshowSigner:
    @property
    def user_agent(self) -> str:
        return self._library.config.PUBLIC_USERAGENT

    def headers(self, call: Call, cookies: Mapping[str, str], *, at: datetime) -> dict[str, str]:
        values = dict(call.values)
        return self._library.sign_headers(
            call.method,
            call.path,
            dict(cookies),
            params=values if call.method == "GET" else None,
            payload=values if call.method == "POST" else None,
            timestamp=at.timestamp(),
            x_rap=call.guarded,
        )

    @cached_property
    def _library(self) -> Xhshow:
        try:
            from xhshow import Xhshow
        except ImportError as error:
            raise CrawlError(
                Code.PLATFORM_ERROR,
                "Xiaohongshu wants signed requests, and what signs them is not installed: pip install 'catchment[xhs]'",
                details={"cause": "signer_missing", "extra": "xhs"},
            ) from error
        return Xhshow()


def read_cookie(cookie: str) -> dict[str, str]:
    """The parts of a cookie; CrawlError, with names and no values, when it cannot be sent or lacks what it needs."""
    if not cookie.isprintable():
        raise _useless("the cookie holds characters that cannot be sent", cause="malformed")
    if missing := missing_parts(cookie, Platform.XHS):
        raise _useless(f"the cookie lacks {', '.join(missing)}", cause="incomplete", missing=missing)
    return parts_of(cookie)


def _useless(fault: str, **details: Any) -> CrawlError:
    advice = "copy it anew from a browser that is signed in to Xiaohongshu"
    return CrawlError(Code.COOKIE_INVALID, f"{fault}; {advice}", details=details)
