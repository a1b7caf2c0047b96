"""What went wrong, in our own errors and in words that say what to do."""

from __future__ import annotations

import errno
import re
import socket
import ssl
from collections.abc import Mapping
from datetime import datetime
from typing import Final

from yarl import URL

from catchment.errors import (
    BadAnswer,
    BadBody,
    Blocked,
    HttpError,
    OutOfDescriptors,
    TimedOut,
    Unreachable,
    VisitError,
)
from catchment.fetch.freshness import retry_after
from catchment.redact import redact_url

#: Challenge pages say what they are early; the rest of a long page is not searched.
_SEARCHED_BYTES: Final = 16_384
_LARGEST_CHALLENGE: Final = 256 * 1024

# The whole title, so that an article about a security check is still an article.
_TITLES: Final = re.compile(
    rb"<title[^<>]*>\s*(?:just a moment|attention required|access denied|human verification|security check"
    rb"|are you (?:a )?(?:human|robot)|verify(?:ing)? (?:that )?you are (?:a )?human|ddos-guard|robot check"
    rb"|pardon our interruption|bot verification|please wait)[\s.!?]*(?:\|[^<]{0,300}cloudflare[^<]{0,300})?</title>",
    re.IGNORECASE,
)
# Machinery that only a page put in front of the content carries. A captcha beside a comment form is none.
_MACHINERY: Final = re.compile(
    rb"/cdn-cgi/challenge-platform/[^\"']{0,300}/orchestrate/|window\._cf_chl_opt|id=[\"']cf-challenge"
    rb"|geo\.captcha-delivery\.com|/_Incapsula_Resource\?[^\"']{0,300}incident|px-captcha|ct\.captcha-delivery\.com",
    re.IGNORECASE,
)


def block_reason(headers: Mapping[str, str], body: bytes) -> str | None:
    """Why the answer counts as a block page, or None when it looks like what was asked for."""
    if headers.get("cf-mitigated", "").lower() == "challenge":
        return "Cloudflare asks for a browser challenge"
    if len(body) > _LARGEST_CHALLENGE or not _is_html(headers, body):
        return None
    start = body[:_SEARCHED_BYTES]
    if _TITLES.search(start) or _MACHINERY.search(start):
        return "a page that asks whether the visitor is human stands in front of the content"
    return None


def _is_html(headers: Mapping[str, str], body: bytes) -> bool:
    if "html" not in headers.get("Content-Type", "").lower():
        return False
    # A feed served as text/html is still a feed.
    return not body[:200].lstrip().startswith((b"<?xml", b"<rss", b"<feed", b"<rdf:RDF", b"{"))


_ADVICE: Final = {
    206: "it gave a part, though the whole was asked for",
    300: "it offers several addresses instead of one: give the address of the one that is wanted",
    401: "it wants credentials: give the source a key or sign in",
    403: "it does not let this collector in: check the address or the credentials",
    404: "there is nothing at this address: check the URL",
    406: "it cannot give what was asked for in a form that we read",
    407: "a proxy stands in between and wants credentials",
    410: "it is gone for good: remove the source or find its new address",
    429: "it asks for fewer requests: the next visit waits",
    451: "it may not be shown for legal reasons",
}
_SERVER_FAULT: Final = 500
REDIRECTS: Final = frozenset({301, 302, 303, 307, 308})
_NO_DESCRIPTORS: Final = frozenset({errno.EMFILE, errno.ENFILE})
_OUR_NETWORK: Final = frozenset({errno.ENETUNREACH, errno.ENETDOWN})


def status_error(status: int, url: URL, headers: Mapping[str, str], now: datetime) -> HttpError:
    fallback = "the server is in trouble: tried again later" if status >= _SERVER_FAULT else "it was refused"
    if status in REDIRECTS:
        fallback = "it redirects without saying where"
    return HttpError(
        f"{url.host} answered HTTP {status} for {redact_url(str(url))}: {_ADVICE.get(status, fallback)}",
        status=status,
        retry_after=retry_after(headers.get("Retry-After"), now),
    )


def redirect_error(status: int, url: URL, location: str) -> BadAnswer:
    """For what follows no redirect. Of where it points only the origin is told: the rest may be a secret."""
    return BadAnswer(
        f"{url.host} redirects to {_origin_of(url, location)} (HTTP {status}), and nothing was handed over: "
        "give the address that takes it in itself"
    )


def _origin_of(url: URL, location: str) -> str:
    try:
        return str(url.join(URL(location.strip())).origin())
    except ValueError:
        return "something that is not a URL"


def blocked_error(reason: str, url: URL, headers: Mapping[str, str], now: datetime) -> Blocked:
    return Blocked(
        f"{url.host} did not give {redact_url(str(url))}: {reason}",
        retry_after=retry_after(headers.get("Retry-After"), now),
    )


def unconnected(cause: OSError, host: str) -> VisitError:
    """Our error for what came of looking a host up, dialling it and agreeing on TLS."""
    if cause.errno in _NO_DESCRIPTORS:
        return _out_of_descriptors(host)
    if isinstance(cause, ssl.SSLError):
        return _insecure(cause, host)
    if isinstance(cause, socket.gaierror):
        ours = cause.errno == socket.EAI_AGAIN
        return Unreachable(f"the name {host} could not be looked up; check it, or the network", host=host, ours=ours)
    if cause.errno in _OUR_NETWORK:
        return Unreachable(f"no way out to {host}: our own network seems down", host=host, ours=True)
    if cause.errno == errno.ECONNREFUSED:
        return Unreachable(f"{host} refuses connections; check the address and port", host=host)
    return Unreachable(f"no connection to {host} could be made; tried again later", host=host)


def _insecure(cause: ssl.SSLError, host: str) -> BadAnswer:
    if isinstance(cause, ssl.SSLCertVerificationError):
        return BadAnswer(
            f"{host} showed a TLS certificate that cannot be trusted ({cause.verify_message}); check the address, "
            "or set verify_tls to false for a server of yours"
        )
    return BadAnswer(f"{host} could not agree on a secure connection (TLS); check the URL")


def _out_of_descriptors(host: str) -> VisitError:
    message = f"no file descriptor was left here to reach {host}, which is not to blame; raise the limit (ulimit -n)"
    return OutOfDescriptors(message, host=host, ours=True)


def not_in_time(host: str) -> Unreachable:
    return Unreachable(f"{host} did not take the connection in time; tried again later", host=host)


def too_slow(host: str) -> TimedOut:
    return TimedOut(f"{host} took too long to answer; tried again later")


def not_http(host: str) -> BadAnswer:
    return BadAnswer(f"{host} answered with something that is not HTTP; tried again later")


def too_long_head(host: str) -> BadAnswer:
    return BadAnswer(f"{host} answered with more headers than are read; tried again later")


def broken_off(host: str) -> BadAnswer:
    return BadAnswer(f"{host} broke off the connection; tried again later")


def broken_body(host: str) -> BadBody:
    return BadBody(f"{host} broke off in the middle of the body; tried again later")


def garbled_body(host: str) -> BadBody:
    return BadBody(f"{host} sent a body in pieces that cannot be put together; tried again later")
