"""Secrets taken out of text before it is logged, stored as an error, or shown."""

from __future__ import annotations

import re
from typing import Final

MASK: Final = "***REDACTED***"

_VALUE = r"""[ \t]?(?:"[^"\r\n]*"|'[^'\r\n]*'|["']?[^\s;&,"']*)"""
_SEPARATOR = r"""["']?[ \t]?(?:[:=]|%3[Dd])"""

# Short cookie names are anchored, or `a1=` would also eat the value of `data1=`. `web_session` is not:
# nothing may follow it anywhere, whatever stands before.
_COOKIE_VALUE = re.compile(
    rf"(?P<name>web_session|(?<![\w%-])(?:a1|webId|gid|xsecappid|abRequestId))(?P<sep>{_SEPARATOR}){_VALUE}"
)
_NAMED_SECRET = re.compile(
    r"(?P<name>api[_-]?key|secret(?:[_-]key)?|passw(?:or)?d|token|master[_-]key|cookie[_-](?:value|encrypted|string))"
    rf"(?P<sep>{_SEPARATOR}){_VALUE}",
    re.IGNORECASE,
)
_CREDENTIAL_HEADER = re.compile(
    r"(?P<name>(?:proxy-)?authorization|(?:set-)?cookie)(?P<sep>[\"']?\s?[:=]\s?)"
    r"""(?:"[^"\r\n]*"|'[^'\r\n]*'|[^"'\r\n]*)""",
    re.IGNORECASE,
)
_BEARER = re.compile(r"\b(?P<name>bearer)(?P<sep>\s+)[^\s\"',;]+", re.IGNORECASE)
_URL_USER = re.compile(r"(?P<name>[a-zA-Z][a-zA-Z0-9+.-]{0,20})(?P<sep>://)[^\s/?#]+(?=@)")
_MASKED: Final = rf"\g<name>\g<sep>{MASK}"
_RULES: Final = (_CREDENTIAL_HEADER, _BEARER, _COOKIE_VALUE, _NAMED_SECRET, _URL_USER)

_SECRET_WORDS: Final = frozenset({
    "auth", "authorization", "apikey", "bearer", "cookie", "credential", "credentials", "jwt", "key", "pass",
    "passwd", "password", "pwd", "secret", "session", "sid", "sig", "signature", "token",
})  # fmt: skip
_SECRET_NAMES: Final = frozenset({"a1", "webid", "gid"})
_WORD = re.compile(r"[A-Z]?[a-z0-9]+|[A-Z0-9]+")


def is_secret_name(name: str) -> bool:
    """Whether a query parameter, header or field of this name holds something to hide."""
    if name.lower() in _SECRET_NAMES:
        return True
    words = [word.lower() for word in _WORD.findall(name)]
    return any(word in _SECRET_WORDS for word in words)


def redact_text(text: str) -> str:
    for rule in _RULES:
        text = rule.sub(_MASKED, text)
    return text


def redact_url(url: str) -> str:
    """The URL without user, password and the values of secret-looking parameters. Takes any text."""
    url = _URL_USER.sub(_MASKED, url, count=1)
    head, mark, tail = url.partition("?")
    if not mark:
        return url
    query, hash_mark, fragment = tail.partition("#")
    masked = "&".join(_masked_pair(pair) for pair in query.split("&"))
    return f"{head}?{masked}{hash_mark}{fragment}"


def _masked_pair(pair: str) -> str:
    name, equals, _ = pair.partition("=")
    return f"{name}={MASK}" if equals and is_secret_name(name) else pair
