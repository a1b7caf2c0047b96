"""Where notes of Xiaohongshu are: from what people paste to the note, and back to an address that others can open."""

from __future__ import annotations

import re
from typing import Final
from urllib.parse import quote, unquote, urlsplit

from catchment.domain.note import NoteRef, Platform

#: The listing that a token belongs to when nobody says another.
SEARCH_SOURCE: Final = "pc_search"
NOTE_ID: Final = re.compile(r"[0-9a-f]{24}")
_HOSTS: Final = frozenset({"xiaohongshu.com", "rednote.com"})
#: Everything before the id. A profile lists its notes below the id of its owner.
_FOLDERS: Final = re.compile(r"/(?:explore|discovery/item|search_result|user/profile/[0-9a-f]{24})/([0-9a-f]{24})/?")
#: What people share is often a sentence around the address.
_ADDRESS: Final = re.compile(r"(?<![a-z0-9.-])(?:https?://)?[a-z0-9.-]++(?::\d+)?/[!-~]+", re.IGNORECASE | re.ASCII)
#: Base64 for addresses. Other characters can be written into a query in two ways, and a signature holds for one.
_TOKEN: Final = re.compile(r"[A-Za-z0-9_=.-]{1,500}")
_LONGEST: Final = 4_000


def read_token(text: str) -> str | None:
    """What the platform hands out to be given back: tokens, their sources, cursors."""
    return text if _TOKEN.fullmatch(text) else None


def ref_of(given: str, *, site_url: str) -> NoteRef | None:
    """The note that an id, an address or a sentence with an address in it stands for."""
    given = given.strip()[:_LONGEST]
    if NOTE_ID.fullmatch(given.lower()):
        return NoteRef(platform=Platform.XHS, note_id=given.lower())
    hosts = _HOSTS | {urlsplit(site_url).hostname or ""}
    found = (_ref_of_address(match[0], hosts) for match in _ADDRESS.finditer(given))
    return next((ref for ref in found if ref is not None), None)


def url_of(ref: NoteRef, *, site_url: str) -> str:
    url = f"{site_url}/explore/{ref.note_id}"
    if ref.token is None:
        return url
    return f"{url}?xsec_token={quote(ref.token, safe='=')}&xsec_source={ref.token_source or SEARCH_SOURCE}"


def _ref_of_address(address: str, hosts: frozenset[str]) -> NoteRef | None:
    try:
        parts = urlsplit(address if "://" in address else f"https://{address}")
        host = parts.hostname or ""
    except ValueError:
        return None
    place = _FOLDERS.fullmatch(parts.path.lower())
    if place is None or not hosts & {host, host.removeprefix("www.")}:
        return None
    query = _query(parts.query)
    token = read_token(query.get("xsec_token", ""))
    source = read_token(query.get("xsec_source", "")) or SEARCH_SOURCE
    return NoteRef(
        platform=Platform.XHS, note_id=place[1], token=token, token_source=source if token is not None else None
    )


def _query(query: str) -> dict[str, str]:
    """A plus in a token is a plus, and not a blank."""
    pairs = (pair.partition("=") for pair in query.split("&"))
    return {name: unquote(value) for name, _, value in pairs}
