"""What Douyin answers, read: works in search results, one work with all there is to it, and pages of comments."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from catchment.domain.crawling import CrawlError
from catchment.domain.note import Author, Comment, Counts, Note, NoteCard, NoteRef, NoteType, Platform, read_count
from catchment.fetch.client import Response
from catchment.parse.dates import from_epoch
from catchment.parse.entry import absolute
from catchment.parse.html import storable
from catchment.parse.json_values import list_at, object_at, objects_at, text_at
from catchment.sources.platforms.answers import (
    ACCESS,
    BANNED,
    BLOCKED,
    CAPTCHA,
    GONE,
    LOGIN_EXPIRED,
    CommentPage,
    Refusals,
    read_json,
    unexpected,
)

_DOUYIN: Final = Refusals(
    platform="Douyin",
    statuses={403: ACCESS, 404: GONE, 429: ACCESS},
    words=(
        # Of an author who is banned only the works are gone.
        (("不存在", "已删除", "已被删除", "无法观看", "该作者", "该用户"), GONE),
        # Who is banned is asked to log in as well, so this comes first.
        (("封禁", "冻结", "账号异常"), BANNED),
        (("频繁", "稍后再试"), ACCESS),
        (("登录",), LOGIN_EXPIRED),
    ),
)
_LOGIN_NUMBERS: Final = frozenset({8, 2483})
_CAPTCHA_MARKS: Final = (b"captcha", "验证码".encode())


def read_answer(response: Response, *, cookie: str) -> Mapping[str, Any]:
    """The answer as JSON, if it says yes."""
    _check_head(response)
    answer = read_json(response)
    number = answer.get("status_code")
    if not isinstance(number, int):
        raise unexpected("Douyin answered without a status")
    if number:
        raise _refusal(number, text_at(answer, "status_msg"), cookie)
    if text_at(object_at(answer, "search_nil_info"), "search_nil_type") == "verify_check":
        raise _DOUYIN.error(CAPTCHA)
    return answer


def missing_work(answer: Mapping[str, Any]) -> CrawlError:
    """Why there is no work where one was asked for."""
    if object_at(answer, "filter_detail"):
        return _DOUYIN.error(GONE)
    return unexpected("Douyin gave no work, and did not say why")


def _check_head(response: Response) -> None:
    _DOUYIN.check_status(response)
    body = response.body.strip()
    if body in {b"", b"blocked"}:
        raise _DOUYIN.error(BLOCKED)
    if body.startswith(b"<") and any(mark in body for mark in _CAPTCHA_MARKS):
        raise _DOUYIN.error(CAPTCHA)


def _refusal(number: int, said: str, cookie: str) -> CrawlError:
    reason = LOGIN_EXPIRED if number in _LOGIN_NUMBERS else _DOUYIN.by_words(said)
    return _DOUYIN.error(reason) if reason else _DOUYIN.unknown(said or f"status {number}", cookie=cookie)


SITE: Final = "https://www.douyin.com"
_MAX_TITLE: Final = 80
_MAX_NAME: Final = 200


def read_cards(answer: Mapping[str, Any]) -> tuple[NoteCard, ...]:
    """The works among the results; users, topics and live rooms stand between them."""
    return tuple(_card(work) for work in _works(answer) if _note_id(work))


def read_note(work: Mapping[str, Any]) -> Note:
    note_id = _note_id(work)
    if not note_id:
        raise unexpected("Douyin gave a work without an id")
    content = storable(text_at(work, "desc")).strip()
    images = _images(work)
    return Note(
        ref=_ref(note_id),
        url=note_url(note_id),
        title=_title(content),
        content=content,
        type=_type(work),
        author=_author(object_at(work, "author")),
        published_at=from_epoch(work.get("create_time")),
        updated_at=None,
        counts=_counts(work),
        images=images,
        # Pictures come with a film of themselves to music, which nobody would miss.
        video_url=None if images else _first(object_at(object_at(work, "video"), "play_addr")) or None,
        tags=_tags(work),
    )


def read_comments(answer: Mapping[str, Any]) -> CommentPage[str]:
    comments = tuple(_comment(comment) for comment in objects_at(answer, "comments"))
    cursor = text_at(answer, "cursor")
    return CommentPage(comments=comments, next=cursor if has_more(answer) and cursor else None)


def has_more(answer: Mapping[str, Any]) -> bool:
    """Both `1` and `true` are in use."""
    return answer.get("has_more") in (1, True)


def note_url(note_id: str) -> str:
    """Pictures are shown there too: Douyin leads on to them."""
    return f"{SITE}/video/{note_id}"


def _works(answer: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    for result in objects_at(answer, "data"):
        mixed = objects_at(object_at(result, "aweme_mix_info"), "mix_items")[:1]
        yield object_at(result, "aweme_info") or (mixed[0] if mixed else {})


def _card(work: Mapping[str, Any]) -> NoteCard:
    note_id = _note_id(work)
    return NoteCard(
        ref=_ref(note_id),
        url=note_url(note_id),
        title=_title(storable(text_at(work, "desc")).strip()),
        type=_type(work),
        author=_author(object_at(work, "author")),
        counts=_counts(work),
        published_at=from_epoch(work.get("create_time")),
    )


def _comment(comment: Mapping[str, Any], *, deep: bool = True) -> Comment:
    replies = objects_at(comment, "reply_comment") if deep else []
    pictures = (object_at(picture, "origin_url") for picture in objects_at(comment, "image_list"))
    return Comment(
        id=text_at(comment, "cid"),
        content=storable(text_at(comment, "text")).strip(),
        author=_author(object_at(comment, "user")),
        created_at=from_epoch(comment.get("create_time")),
        likes=read_count(comment.get("digg_count")),
        reply_count=read_count(comment.get("reply_comment_total")) or len(replies),
        # Douyin shows replies beside each other; what claims to stand deeper is not looked at.
        replies=tuple(_comment(reply, deep=False) for reply in replies),
        images=tuple(url for picture in pictures if (url := _first(picture))),
    )


def _note_id(work: Mapping[str, Any]) -> str:
    note_id = text_at(work, "aweme_id")
    return note_id if note_id.isascii() and note_id.isdigit() else ""


def _ref(note_id: str) -> NoteRef:
    return NoteRef(platform=Platform.DOUYIN, note_id=note_id)


def _title(content: str) -> str:
    """Works have no titles: the first line stands for one."""
    return content.partition("\n")[0].strip()[:_MAX_TITLE]


def _type(work: Mapping[str, Any]) -> NoteType:
    return NoteType.NORMAL if list_at(work, "images") else NoteType.VIDEO


def _author(user: Mapping[str, Any]) -> Author:
    return Author(id=text_at(user, "uid"), name=storable(text_at(user, "nickname")).strip()[:_MAX_NAME])


def _counts(work: Mapping[str, Any]) -> Counts:
    shown = object_at(work, "statistics")
    return Counts(
        likes=read_count(shown.get("digg_count")),
        collects=read_count(shown.get("collect_count")),
        comments=read_count(shown.get("comment_count")),
        shares=read_count(shown.get("share_count")),
    )


def _images(work: Mapping[str, Any]) -> tuple[str, ...]:
    return tuple(url for image in objects_at(work, "images") if (url := _first(image)))


def _first(holder: Mapping[str, Any]) -> str:
    """The first address of those that lead to one and the same file, or none."""
    given = (url for url in list_at(holder, "url_list") if isinstance(url, str))
    return next((address for url in given if (address := absolute(url, SITE))), "")


def _tags(work: Mapping[str, Any]) -> tuple[str, ...]:
    named = (storable(text_at(extra, "hashtag_name")).strip() for extra in objects_at(work, "text_extra"))
    return tuple(dict.fromkeys(name for name in named if name))
