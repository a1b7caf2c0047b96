"""What Xiaohongshu answers, read: search results, notes from the API or from inside a page, and pages of comments.

Counts are written for people, times are in milliseconds, pictures are listed in three ways. An entry that cannot be
read is left out; a list of which nothing can be read is an error, since then it is the platform that has changed.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from http import HTTPStatus
from typing import Any, Final, TypeVar
from urllib.parse import quote, unquote, urlsplit

from catchment.domain.crawl_errors import Code, CrawlError
from catchment.domain.note import (
    Author,
    Comment,
    Counts,
    Note,
    NoteCard,
    NoteRef,
    NoteType,
    Platform,
    SearchPage,
    read_count,
)
from catchment.errors import ParseError
from catchment.fetch.client import Response
from catchment.parse.html import storable
from catchment.parse.json_values import number_at, object_at, objects_at, read_object, text_at
from catchment.sources.platforms.answers import CommentPage, quoted, read_json, translated, unexpected

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


Json = Mapping[str, Any]
T = TypeVar("T")

#: Questions that the platform suggests stand between the notes.
_SUGGESTIONS: Final = frozenset({"rec_query", "hot_query"})
#: What a note is called, where anything is said; advertisements and live rooms may look like one.
_NOTES: Final = frozenset({"note", ""})
_VIDEOS: Final = "https://sns-video-bd.xhscdn.com/"
#: Before there was a Xiaohongshu, no id was made.
_FIRST_ID: Final = int(datetime(2013, 6, 1, tzinfo=UTC).timestamp())
#: The end of year 2999, in milliseconds.
_LAST_MOMENT: Final = 32_503_679_999_000
_TIME_DIGITS: Final = 8

_STATE: Final = re.compile(r"window\.__INITIAL_STATE__\s*=\s*(?=\{)")
#: A text is matched only to be stepped over: a note may well say "undefined".
_TEXT_OR_UNDEFINED: Final = re.compile(r'"[^"\\]*+(?:\\.[^"\\]*+)*(?:"|\\?\Z)|\bundefined\b', re.DOTALL)
_HUMP: Final = re.compile(r"(?<=[a-z0-9])([A-Z])")
#: How deep a note of a page is: note, video, media, stream, h264, entry, address.
_PAGE_DEPTH: Final = 8


def read_search(data: Json, url_of: Callable[[NoteRef], str]) -> SearchPage:
    listed = [entry for entry in _listed(data, "items") if not _is_suggestion(entry)]
    cards = _each(listed, lambda entry: _card(entry, url_of), what="a note of the search")
    return SearchPage(cards=cards, has_more=data.get("has_more") is True)


def read_feed(data: Json, ref: NoteRef, url_of: Callable[[NoteRef], str]) -> Note | None:
    """The note that was asked for; None when the platform gives another, or none."""
    for entry in _listed(data, "items"):
        if isinstance(entry, dict) and ref.note_id in {text_at(entry, "id"), _note_id(entry)}:
            return read_note(object_at(entry, "note_card"), ref, url_of)
    return None


def read_page(html: str, ref: NoteRef, url_of: Callable[[NoteRef], str]) -> Note:
    """The note inside its page, which a script there is given to draw."""
    notes = object_at(_state_of(html), "note").get("noteDetailMap")
    if not isinstance(notes, dict):
        raise _withheld()
    note = object_at(object_at(notes, ref.note_id), "note")
    if not note:
        raise gone()
    return read_note(_snaked(note, _PAGE_DEPTH), ref, url_of)


def read_note(card: Json, ref: NoteRef, url_of: Callable[[NoteRef], str]) -> Note:
    if not card:
        raise unexpected("Xiaohongshu gave a note without anything in it")
    return Note(
        ref=ref,
        url=url_of(ref),
        title=_text(card, "title") or _text(card, "display_title"),
        content=_text(card, "desc"),
        type=_type(card),
        author=_author(object_at(card, "user")),
        published_at=_moment(card.get("time")) or created_at(ref.note_id),
        updated_at=_moment(card.get("last_update_time")),
        counts=_counts(object_at(card, "interact_info")),
        images=_pictures(card, "image_list"),
        video_url=_video(object_at(card, "video")),
        tags=_tags(card),
    )


def read_comments(data: Json) -> CommentPage[str]:
    comments = _each(_listed(data, "comments"), _thread, what="a comment")
    more = data.get("has_more") is True and bool(comments)
    return CommentPage(comments=comments, next=read_token(text_at(data, "cursor")) if more else None)


def gone() -> CrawlError:
    return CrawlError(Code.NOT_FOUND, "Xiaohongshu no longer has the note, or does not show it")


def created_at(note_id: str) -> datetime | None:
    """An id begins with the second in which it was made."""
    second = int(note_id[:_TIME_DIGITS], 16) if NOTE_ID.fullmatch(note_id) else 0
    return datetime.fromtimestamp(second, UTC) if second >= _FIRST_ID else None


def _listed(data: Json, key: str) -> list[Any]:
    """Nothing found may also mean that there is no list."""
    listed = data.get(key)
    if listed is None:
        return []
    if not isinstance(listed, list):
        raise unexpected(f"Xiaohongshu gave {key} that are no list")
    return listed


def _each(listed: list[Any], read: Callable[[Json], T | None], *, what: str) -> tuple[T, ...]:
    readable = tuple(found for entry in listed if isinstance(entry, dict) and (found := read(entry)) is not None)
    if listed and not readable:
        raise unexpected(f"none of {len(listed)} entries that Xiaohongshu gave can be read as {what}")
    return readable


def _is_suggestion(entry: object) -> bool:
    return isinstance(entry, dict) and text_at(entry, "model_type") in _SUGGESTIONS


def _card(entry: Json, url_of: Callable[[NoteRef], str]) -> NoteCard | None:
    card = object_at(entry, "note_card")
    note_id = text_at(entry, "id") or _note_id(entry)
    if not (card and NOTE_ID.fullmatch(note_id)) or text_at(entry, "model_type") not in _NOTES:
        return None
    ref = NoteRef(
        platform=Platform.XHS,
        note_id=note_id,
        token=read_token(text_at(entry, "xsec_token")),
        token_source=read_token(text_at(entry, "xsec_source")) or SEARCH_SOURCE,
    )
    return NoteCard(
        ref=ref,
        url=url_of(ref),
        title=_text(card, "display_title") or _text(card, "title"),
        type=_type(card),
        author=_author(object_at(card, "user")),
        counts=_counts(object_at(card, "interact_info")),
        published_at=created_at(note_id),
    )


def _note_id(entry: Json) -> str:
    return text_at(object_at(entry, "note_card"), "note_id")


def _type(card: Json) -> NoteType:
    return NoteType.VIDEO if text_at(card, "type") == NoteType.VIDEO else NoteType.NORMAL


def _author(user: Json) -> Author:
    return Author(id=_text(user, "user_id"), name=_text(user, "nickname") or _text(user, "nick_name"))


def _counts(shown: Json) -> Counts:
    shares = shown.get("share_count", shown.get("shared_count"))
    return Counts(
        likes=read_count(shown.get("liked_count")),
        collects=read_count(shown.get("collected_count")),
        comments=read_count(shown.get("comment_count")),
        shares=read_count(shares),
    )


def _tags(card: Json) -> tuple[str, ...]:
    topics = (_text(tag, "name") for tag in objects_at(card, "tag_list") if text_at(tag, "type") == "topic")
    return tuple(dict.fromkeys(topic for topic in topics if topic))


def _pictures(found: Json, key: str) -> tuple[str, ...]:
    addresses = (_picture(picture) for picture in objects_at(found, key))
    return tuple(dict.fromkeys(address for address in addresses if address))


def _picture(picture: Json) -> str:
    """The address of the whole picture; without it the last of its forms, since previews come first."""
    forms = [_secure(text_at(form, "url")) for form in objects_at(picture, "info_list")]
    named = (_secure(text_at(picture, "url_default")), _secure(text_at(picture, "url")))
    return next((address for address in (*named, *reversed(forms)) if address), "")


def _video(video: Json) -> str | None:
    if key := _text(object_at(video, "consumer"), "origin_video_key"):
        return _VIDEOS + key.lstrip("/")
    streams = objects_at(object_at(object_at(video, "media"), "stream"), "h264")
    return next((address for stream in streams if (address := _secure(text_at(stream, "master_url")))), None)


def _secure(address: str) -> str:
    """The platform writes http:// for what it serves under https:// too."""
    address = storable(address)
    if address.startswith("http://"):
        return "https://" + address.removeprefix("http://")
    return address if address.startswith("https://") else ""


def _thread(entry: Json) -> Comment | None:
    replies = tuple(reply for one in objects_at(entry, "sub_comments") if (reply := _comment(one)) is not None)
    return _comment(entry, replies)


def _comment(entry: Json, replies: tuple[Comment, ...] = ()) -> Comment | None:
    comment_id = _text(entry, "id")
    if not comment_id:
        return None
    return Comment(
        id=comment_id,
        content=_text(entry, "content"),
        author=_author(object_at(entry, "user_info")),
        created_at=_moment(entry.get("create_time")),
        likes=read_count(entry.get("like_count")),
        reply_count=max(read_count(entry.get("sub_comment_count")) or 0, len(replies)),
        replies=replies,
        images=_pictures(entry, "pictures"),
    )


def _moment(milliseconds: object) -> datetime | None:
    if isinstance(milliseconds, bool) or not isinstance(milliseconds, int):
        return None
    if not 0 < milliseconds <= _LAST_MOMENT:
        return None
    return datetime.fromtimestamp(milliseconds / 1000, UTC)


def _text(found: Json, key: str) -> str:
    return storable(text_at(found, key))


def _state_of(html: str) -> Json:
    """What the page's own script starts from; nothing where the page is another one."""
    found = _STATE.search(html)
    end = html.find("</script>", found.end()) if found else -1
    if found is None or end < 0:
        return {}
    state = html[found.end() : end]
    text = _TEXT_OR_UNDEFINED.sub(lambda match: "null" if match[0] == "undefined" else match[0], state)
    try:
        return read_object(text.strip().removesuffix(";").encode(errors="replace"))
    except ParseError as error:
        raise translated(error) from error


def _snaked(value: Any, depth: int) -> Any:
    """Pages name in camel case what the API names in snake case."""
    if depth and isinstance(value, dict):
        return {_HUMP.sub(r"_\1", name).lower(): _snaked(inner, depth - 1) for name, inner in value.items()}
    if depth and isinstance(value, list):
        return [_snaked(inner, depth - 1) for inner in value]
    return value


_CAPTCHA: Final = frozenset({461, 471})
_ERROR_CODE: Final = re.compile(r"[?&]error_code=(-?\d{1,9})(?![0-9])", re.ASCII)
_RESTRICTED: Final = frozenset({HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN, HTTPStatus.TOO_MANY_REQUESTS})
_ACCOUNT_IN_DOUBT: Final = 300011
_IP_BLOCKED: Final = 300012
_TOO_OFTEN: Final = 300013
_OFTEN: Final = ("频次", "频繁")
#: That a note cannot be looked at just now, which is also said to whoever is taken for a program.
_NOT_NOW: Final = 300031
_GONE: Final = frozenset({-510000, -510001})
_BAD_SIGNATURES: Final = frozenset({-104, 300015})
#: That a login has expired, and that there is none.
_SIGNED_OUT: Final = frozenset({-100, -101})
_EXPIRED: Final = ("登录已过期", "无登录信息")
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
    """The page. A refusal leads to another one, whose address may name the code that the API would have given."""
    place = response.url.partition("?")[0]
    if response.status in _CAPTCHA or "captcha" in place:
        raise _captcha(response)
    if code := _ERROR_CODE.search(response.url):
        raise _refusal(response.status, int(code[1]), "")
    if response.status == HTTPStatus.NOT_FOUND or "/404" in place:
        raise gone()
    if place.endswith("/login"):
        raise _signed_out()
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
    no = _by_code(code) or _by_words(said) or _by_login(code, said) or _by_status(status)
    reason = said or "it gave no reason"
    return no or _no(Code.PLATFORM_ERROR, "refused", f"Xiaohongshu refused (HTTP {status}, code {code}): {reason}")


def _by_words(said: str) -> CrawlError | None:
    if any(word in said for word in _BANNED):
        return _no(Code.ACCOUNT_BANNED, "banned", f"Xiaohongshu has banned the cookie's account: {said}")
    return _slow_down() if any(word in said for word in _OFTEN) else None


def _by_login(code: int, said: str) -> CrawlError | None:
    if code not in _SIGNED_OUT and not any(words in said for words in _EXPIRED):
        return None
    return _signed_out()


def _by_code(code: int) -> CrawlError | None:
    if code == _IP_BLOCKED:
        message = "Xiaohongshu has blocked this network address for a while; ask less often, or from elsewhere"
        return _no(Code.PLATFORM_ERROR, "ip_blocked", message, retry_after=_IP_REST_SECONDS)
    if code == _TOO_OFTEN:
        return _slow_down()
    if code == _ACCOUNT_IN_DOUBT:
        return _restricted()
    if code in _BAD_SIGNATURES:
        return _unsigned()
    if code == _NOT_NOW:
        return _withheld()
    return gone() if code in _GONE else None


def _by_status(status: int) -> CrawlError | None:
    if status in _RESTRICTED:
        return _restricted()
    # Said of signatures in a form that the call does not take.
    return _unsigned() if status == HTTPStatus.NOT_ACCEPTABLE else None


def _restricted() -> CrawlError:
    return _no(Code.COOKIE_INVALID, "access", "Xiaohongshu restricts what this cookie may see; use another one")


def _slow_down() -> CrawlError:
    return _no(Code.RATE_LIMITED, "access", "Xiaohongshu wants fewer requests; raise CRAWL_SPACING_SECONDS")


def _signed_out() -> CrawlError:
    return _no(Code.COOKIE_INVALID, "login_expired", "the cookie's login has expired: sign in anew and replace it")


def _withheld() -> CrawlError:
    message = "Xiaohongshu does not show the note now: it wants a captcha, or the note is gone; tried again later"
    return _no(Code.PLATFORM_ERROR, "withheld", message)


def _unsigned() -> CrawlError:
    return _no(Code.PLATFORM_ERROR, _SIGNATURE, "Xiaohongshu did not accept the signature; a newer xhshow may help")


def _no(code: Code, cause: str, message: str, *, retry_after: float | None = None) -> CrawlError:
    return CrawlError(code, message, details={"cause": cause}, retry_after=retry_after)
