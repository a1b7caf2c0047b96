"""Secrets taken out of text before it is logged, stored as an error, or shown.

It errs on the side of silence: of a cookie header the whole line goes, and of text that was quoted twice rather too
much than too little. What each rule looks for stands in words as well, because it runs on every line of the log: most
lines hold none of them, and a search for words is many times faster than one for patterns.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

MASK: Final = "***REDACTED***"

#: As it is, or as it stands in a query: `%3D` is `=`, `%22` a quotation mark.
_SEPARATOR: Final = r"""(?P<sep>(?:\\*["']|%22)?[ \t]*(?:[:=]|%3[ADad])[ \t]*)"""
_QUOTED: Final = r"""(?P<quote>\\*["'])(?:(?!(?P=quote))(?:\\.|[^\r\n]))*(?P=quote)?"""
_BARE: Final = r"""[^\s;&,"']*"""
_VALUE: Final = rf"(?:{_QUOTED}|{_BARE})"

#: Cookies that open an account at the platforms, by their exact names. `LOGIN_STATUS` only says that somebody is in.
PLATFORM_COOKIES: Final = (
    "a1", "webId", "gid", "xsecappid", "abRequestId", "websectiga", "sec_poison_id", "acw_tc",
    "SUB", "SUBP", "SCF", "SSOLoginState", "WBPSESS",
    "sessionid", "sessionid_ss", "sid_tt", "sid_guard", "sid_ucp_v1", "ssid_ucp_v1", "uid_tt", "uid_tt_ss", "odin_tt",
    "ttwid", "msToken", "passport_auth_status",
)  # fmt: skip
_SECRET_WORDS: Final = frozenset({
    "auth", "authorization", "apikey", "bearer", "cookie", "credential", "credentials", "jwt", "key", "pass",
    "passwd", "password", "pwd", "secret", "session", "sid", "sig", "signature", "token",
})  # fmt: skip
_WORD = re.compile(r"[A-Z]?[a-z0-9]+|[A-Z0-9]+")


@dataclass(frozen=True, slots=True)
class _Rule:
    #: Without one of these, in lower case, the pattern cannot match.
    words: tuple[str, ...]
    pattern: re.Pattern[str]


_RULES: Final = (
    _Rule(
        ("authorization", "cookie"),
        re.compile(
            rf"(?P<name>(?:proxy-)?authorization|(?:set-)?cookie){_SEPARATOR}(?:{_QUOTED}|[^\r\n]*)",
            re.IGNORECASE | re.ASCII,
        ),
    ),
    _Rule(
        ("bearer",),
        re.compile(
            r"\b(?P<name>bearer)(?P<sep>\s+)(?P<quote>)(?:bearer\s+)*[^\s\"',;]+",
            re.IGNORECASE | re.ASCII,
        ),
    ),
    # Nothing may follow `web_session=` but the mask, not even a quotation mark.
    _Rule(("web_session",), re.compile(rf"(?P<name>web_session)(?P<sep>[ \t]*=)[ \t]*(?:{_QUOTED})?{_BARE}")),
    # Short names are anchored, or `a1=` would also eat the value of `data1=`. What is encoded is no part of a name.
    _Rule(
        ("web_session", *(name.lower() for name in PLATFORM_COOKIES)),
        re.compile(
            rf"(?P<name>web_session|(?:(?<![\w%-])|(?<=%[0-9A-Fa-f]{{2}}))(?:{'|'.join(PLATFORM_COOKIES)}))"
            rf"{_SEPARATOR}{_VALUE}",
            re.ASCII,
        ),
    ),
    _Rule(
        ("key", "secret", "passw", "token", "cookie"),
        re.compile(
            r"(?P<name>api[_-]?key|access[_-]?key|secret(?:[_-]key)?|passw(?:or)?d|token|master[_-]key\w*"
            r"|cookie[_-](?:value|encrypted|string)|cookie_key_(?!salt|id\b)\w+)"
            rf"{_SEPARATOR}{_VALUE}",
            re.IGNORECASE | re.ASCII,
        ),
    ),
    _Rule(("@",), re.compile(r"(?P<name>)(?P<sep>://)(?P<quote>)[^\s/?#]+(?=@)")),
)
_URL_USER: Final = _RULES[-1].pattern
#: Shorter than this, the name of a path is a name.
_LEAST_TOKEN: Final = 12
_QUERY_PAIR: Final = re.compile(r"(?<=[?&])(?P<name>[^\s=?&#\"'<>]+)=[^\s&#\"'<>]+")


def is_secret_name(name: str) -> bool:
    """Whether a query parameter, header or field of this name holds something to hide."""
    if name in PLATFORM_COOKIES:
        return True
    words = [word.lower() for word in _WORD.findall(name)]
    return any(word in _SECRET_WORDS for word in words)


def redact_text(text: str) -> str:
    lowered = text.lower()
    for rule in _RULES:
        for word in rule.words:
            if word in lowered:
                text = rule.pattern.sub(_masked, text)
                break
    return _QUERY_PAIR.sub(_masked_pair, text) if "?" in text else text


def sightings(text: str) -> Iterator[tuple[str, str]]:
    """Name and value of every secret that `redact_text` would strike out, but for those that it has."""
    lowered = text.lower()
    for rule in _RULES:
        if any(word in lowered for word in rule.words):
            for match in rule.pattern.finditer(text):
                value = match[0].removeprefix(match["name"] + match["sep"]).strip("\\\"'")
                if value and not value.startswith(MASK):
                    yield match["name"] or "user of a URL", value


def redact_url(url: str) -> str:
    """The URL without user, password and the values of secret-looking parameters. Takes any text."""
    return _QUERY_PAIR.sub(_masked_pair, _URL_USER.sub(_masked, url, count=1))


def redact_hook(url: str) -> str:
    """The address of a webhook without what lets anybody in who knows it.

    Of one that is not on the web, such as `tgram://…`, any part may be that.
    """
    scheme, there, _ = url.partition("://")
    if there and scheme.lower() not in {"http", "https"}:
        return f"{scheme}://{MASK}"
    return redact_mentions(url, redact_url(url))


def redact_mentions(url: str, text: str) -> str:
    """A text about a webhook's address. Slack, Lark and others ask for nothing but the last part of its path."""
    path = url.partition("://")[2].partition("?")[0].partition("/")[2]
    last = path.rstrip("/").rpartition("/")[2]
    return text.replace(last, MASK) if len(last) >= _LEAST_TOKEN else text


def _masked(match: re.Match[str]) -> str:
    name, separator, quote = match["name"], match["sep"], match["quote"] or ""
    if name == "web_session" and separator.endswith("="):
        return f"{name}{separator}{MASK}"
    return f"{name}{separator}{quote}{MASK}{quote}"


def _masked_pair(match: re.Match[str]) -> str:
    return f"{match['name']}={MASK}" if is_secret_name(match["name"]) else match[0]
