"""Telling a challenge or block page from the content that was asked for."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

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
