"""Captured feeds, and every way in which one of them may break for a while."""

from __future__ import annotations

import re
from collections.abc import Callable

from captures import captured

#: What breaks a document wherever it stands in a text.
JUNK = {
    "control character": b"\x0b",
    "bare bracket": b"<",
    "end of CDATA": b"]]>",
    "no character": b"&#0;",
    "unknown entity": b"&nosuchthing;",
}
# In CDATA the others are text like any other.
_BREAKS_CDATA = (b"\x0b", b"]]>")
_CDATA = b"<![CDATA["
_FEED_TITLE = re.compile(rb"<(?:\w+:)?title(?:\s[^<>]*)?>")
_ENTRY = re.compile(rb"<(?:\w+:)?(?:item|entry)[\s>]", re.IGNORECASE)
_DECLARED = re.compile(rb"(<\?xml[^>]{0,100}encoding\s*=\s*[\"'])[\w-]+")


def captured_feeds() -> dict[str, bytes]:
    folder = captured("feeds")
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in files}


def in_first_title(junk: bytes) -> Callable[[bytes], bytes]:
    return lambda body: _insert(body, _title_of_first_entry(body), junk)


def in_last_title(junk: bytes) -> Callable[[bytes], bytes]:
    def broken(body: bytes) -> bytes:
        titles = [match.end() for match in _FEED_TITLE.finditer(body)]
        return _insert(body, titles[-1] if titles else None, junk)

    return broken


def in_feed_title(junk: bytes) -> Callable[[bytes], bytes]:
    def broken(body: bytes) -> bytes:
        title = _FEED_TITLE.search(body)
        return _insert(body, title.end() if title else None, junk)

    return broken


def between_entries(junk: bytes) -> Callable[[bytes], bytes]:
    def broken(body: bytes) -> bytes:
        entries = [match.start() for match in _ENTRY.finditer(body)]
        return _insert(body, entries[len(entries) // 2] if entries else None, junk)

    return broken


def cut_at(share: float) -> Callable[[bytes], bytes]:
    return lambda body: body[: int(len(body) * share)]


def declared_as(encoding: bytes) -> Callable[[bytes], bytes]:
    def broken(body: bytes) -> bytes:
        if _DECLARED.search(body, 0, 200):
            return _DECLARED.sub(rb"\g<1>" + encoding, body, count=1)
        is_xml = body.lstrip().startswith(b"<") and not body.lstrip().startswith(b"<?xml")
        return b'<?xml version="1.0" encoding="%s"?>\n%s' % (encoding, body.lstrip()) if is_xml else body

    return broken


def is_utf8(body: bytes) -> bool:
    try:
        body.decode()
    except UnicodeDecodeError:
        return False
    return True


PLACES = {
    "first title": in_first_title,
    "last title": in_last_title,
    "title of the feed": in_feed_title,
    "between entries": between_entries,
}
BREAKS: dict[str, Callable[[bytes], bytes]] = {
    **{f"{what} in the {where}": at(junk) for where, at in PLACES.items() for what, junk in JUNK.items()},
    **{f"cut at {share:.0%}": cut_at(share) for share in (0.3, 0.77, 0.98)},
    **{f"declared as {name}": declared_as(name.encode()) for name in ("iso-8859-1", "utf-8", "windows-1251")},
}


def _title_of_first_entry(body: bytes) -> int | None:
    entry = _ENTRY.search(body)
    title = _FEED_TITLE.search(body, entry.start()) if entry else None
    return title.end() if title else None


def _insert(body: bytes, place: int | None, junk: bytes) -> bytes:
    """As it is where there is no such place, as in JSON or in UTF-16."""
    if place is None:
        return body
    if body.startswith(_CDATA, place) and junk in _BREAKS_CDATA:
        place += len(_CDATA)
    return body[:place] + junk + body[place:]


def groups(number: int) -> list[list[str]]:
    names = list(BREAKS)
    return [names[start::number] for start in range(number)]
