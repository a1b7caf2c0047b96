"""Cookies for tests, made so that one which gets out is known by sight.

Every value holds `MARKER`. At the end of a run `leak_watch` looks for it in all that the run wrote: files, stores, and
what was printed. A test that leaks on purpose, to see the leak found, takes `leaky_cookie` instead; one that hands over
a cookie in a file writes it by `cookie_file`.
"""

from __future__ import annotations

from pathlib import Path
from typing import Final

#: It says what it is, which is also why the audit takes it for a placeholder.
MARKER: Final = "planted-test-secret"
LEAKED: Final = "real-as-7f3e9c2b8d"
COOKIE_FILE: Final = "cookie-to-hand-over.txt"

_FORMS: Final = {
    "xhs": "a1={value}a1; webId={value}id; web_session=040069b{value}; gid={value}gid; xsecappid=xhs-pc-web",
    "wb": "SUB=_2A25{value}; SUBP=0033{value}; SSOLoginState=1740800000; WBPSESS={value}",
    "dy": "sessionid={value}; sid_tt={value}; ttwid=1%7C{value}; msToken={value}; LOGIN_STATUS=1",
}


def planted_cookie(name: str = "first", *, platform: str = "xhs") -> str:
    """A cookie as the platform's browser page would send it; another name gives another cookie."""
    return _FORMS[platform].format(value=f"{MARKER}-{name}-")


def leaky_cookie(name: str = "first", *, platform: str = "xhs") -> str:
    """The same with values that look real and that nobody looks for: for tests of what finds a leak."""
    return _FORMS[platform].format(value=f"{LEAKED}{name}")


def cookie_file(folder: Path, cookie: str) -> Path:
    """A file to hand a cookie over in. It is the test's own, and no leak."""
    path = folder / COOKIE_FILE
    path.write_text(f"{cookie}\n", encoding="utf-8")
    return path
