"""Weibo as its mobile site shows it: search, posts and comments, with a cookie and without a signature."""

from __future__ import annotations

import json
import re
from collections.abc import AsyncIterator, Iterator, Mapping
from html import escape, unescape
from typing import Any, Final
from urllib.parse import parse_qs, urlencode, urlsplit

from catchment.domain.crawl_errors import CrawlError
from catchment.domain.note import (
    Author,
    Comment,
    Counts,
    Note,
    NoteCard,
    NoteRef,
    NoteSort,
    NoteType,
    Platform,
    Search,
    SearchPage,
    read_count,
)
from catchment.fetch.client import Request, Response
from catchment.parse.dates import parse_date
from catchment.parse.entry import absolute
from catchment.parse.html import plain_text, storable
from catchment.parse.json_values import list_at, object_at, objects_at, text_at
from catchment.sources.platforms.answers import (
    ACCESS,
    BANNED,
    GONE,
    LOGIN_EXPIRED,
    STALE,
    CommentPage,
    Patience,
    Reason,
    Refusals,
    Sender,
    ask,
    first_comments,
    is_signed_out,
    read_json,
    unexpected,
)

_GONE_PAGE: Final = ("不存在", "暂无查看权限", "没有权限查看", "已被删除", "暂不可见", "打开微博客户端")
#: Of an author who is banned only the posts are gone.
_GONE_WORDS: Final = (*_GONE_PAGE, "该作者", "该用户", "该博主")
#: A page for whoever is not signed in. Elsewhere on a page words about logins stand in menus and in posts.
_LOGIN_PAGE: Final = re.compile(r"Sina Visitor System|<title>[^<]{0,50}(?:登录|登陆)", re.IGNORECASE)
_WEIBO: Final = Refusals(
    platform="Weibo",
    statuses={404: GONE, 418: ACCESS, 429: ACCESS, 432: STALE},
    words=(
        (_GONE_WORDS, GONE),
        # Who is banned is asked to log in as well, so this comes first.
        (("封禁", "冻结", "帐号异常", "账号异常"), BANNED),
        (("频繁", "频次", "频率"), ACCESS),
        (("登录", "登陆"), LOGIN_EXPIRED),
    ),
)
_GONE_NUMBERS: Final = frozenset({"20101", "20112"})
_LOGIN_ASKED: Final = -100
#: An envelope that says no where there is merely nothing yet.
_NOTHING_YET: Final = ("还没有", "暂无", "快来")


def read_envelope(response: Response, *, cookie: str) -> Mapping[str, Any]:
    """The answer as JSON where it is one that says yes, or says that there is nothing yet."""
    _check_head(response)
    if response.body.lstrip().startswith(b"<"):
        raise _WEIBO.error(STALE)
    envelope = read_json(response)
    if envelope.get("ok") == 1:
        return envelope
    said = text_at(envelope, "msg") or text_at(envelope, "message")
    if reason := _reason(envelope, said):
        raise _WEIBO.error(reason)
    if envelope.get("ok") == 0 and (not said or any(words in said for words in _NOTHING_YET)):
        return envelope
    raise _WEIBO.unknown(said, cookie=cookie)


def read_page(response: Response, *, cookie: str) -> str:
    """The page; where it is refused, an envelope may come in its place."""
    _check_head(response)
    if response.body.lstrip().startswith(b"{"):
        read_envelope(response, cookie=cookie)
    return response.body.decode(errors="replace")


def page_refusal(html: str) -> CrawlError:
    """Why a page is not that of a post. What it says of bans is never taken for the account's: it holds many words."""
    if _LOGIN_PAGE.search(html):
        return _WEIBO.error(LOGIN_EXPIRED)
    if any(words in html for words in _GONE_PAGE):
        return _WEIBO.error(GONE)
    return unexpected("The page of a post on Weibo does not hold the post")


def _check_head(response: Response) -> None:
    _WEIBO.check_status(response)
    if _leads_to_login(response.url):
        raise _WEIBO.error(LOGIN_EXPIRED)


def _reason(envelope: Mapping[str, Any], said: str) -> Reason | None:
    if envelope.get("ok") == _LOGIN_ASKED or _leads_to_login(text_at(envelope, "url")):
        return LOGIN_EXPIRED
    return GONE if text_at(envelope, "errno") in _GONE_NUMBERS else _WEIBO.by_words(said)


def _leads_to_login(url: str) -> bool:
    try:
        return (urlsplit(url).hostname or "").startswith("passport.")
    except ValueError:  # a bracket that opens no IPv6 address
        return False


SITE: Final = "https://m.weibo.cn"
#: The kind of card that is a post.
_POST_CARD: Final = 9
_MAX_TEXT: Final = 100_000
_MAX_TITLE: Final = 80
_MAX_NAME: Final = 200

_BREAK: Final = re.compile(r"<br\b[^<>]*>", re.IGNORECASE)
_PICTURE: Final = re.compile(r"<img\b[^<>]*>", re.IGNORECASE)
_SAID_BY_PICTURE: Final = re.compile(r"\balt=[\"']?([^\"'\s>]+)")
#: What stands inside ends at the next link, so that links without an end cost nothing.
_LINK: Final = re.compile(r"<a\b([^<>]*)>((?:[^<]|<(?!/?a\b))*)</a>", re.IGNORECASE)
_TARGET: Final = re.compile(r"\bhref=(?:\"([^\"]*)\"|'([^']*)'|([^\s\"'>]+))", re.IGNORECASE)
#: Topics and people; these are links into Weibo, and say all with their names. So do those to its lists: super topics,
#: places.
_NAMES: Final = ("#", "@")
_LISTS_OF_POSTS: Final = re.compile(r"https?://m\.weibo\.cn/(?:p/index|search)\?", re.IGNORECASE)
#: Links that lead elsewhere lead through here.
_REDIRECTOR: Final = re.compile(r"https?://(?:[\w-]+\.)?weibo\.(?:cn|com)/sinaurl\?", re.IGNORECASE)
_BEHIND: Final = ("u", "toasturl", "url")
_WEB: Final = ("https://", "http://")
_WEB_ADDRESS: Final = re.compile(r"https?://\S+")
_QUOTE: Final = "> "
_TAG: Final = re.compile(r"#([^#\n]{1,100})#")
_TOPIC_PAGES: Final = frozenset({"search_topic", "topic"})
_STATE: Final = re.compile(r"\$render_data\s*=\s*(?=\[)")
#: The best first. The names are those of the player.
_STREAMS: Final = ("mp4_1080p_mp4", "mp4_720p_mp4", "mp4_hd_mp4", "mp4_ld_mp4")
_OLD_STREAMS: Final = ("mp4_720p_mp4", "stream_url_hd", "stream_url")


#: Where a page of comments begins: by Weibo's names `max_id` and `max_id_type`.
CommentCursor = tuple[str, str]


def read_cards(data: Mapping[str, Any]) -> tuple[NoteCard, ...]:
    """The posts among the cards of a list; advice, topics, users and advertisements stand between them."""
    posts = [card["mblog"] for card in _cards(data) if isinstance(card.get("mblog"), dict)]
    return tuple(_card(post) for post in posts if _note_id(post) and not _is_paid_for(post))


def read_state(html: str) -> Mapping[str, Any] | None:
    """The post inside its page, which a script there is given to draw; None when the page has none."""
    found = _STATE.search(html)
    if found is None:
        return None
    try:
        state, _ = json.JSONDecoder().raw_decode(html, found.end())
    except (ValueError, RecursionError) as error:
        raise unexpected("The page of a post on Weibo holds a state that cannot be read") from error
    holder = state[0] if state and isinstance(state[0], dict) else {}
    return object_at(holder, "status") or None


def read_note(post: Mapping[str, Any]) -> Note:
    note_id = _note_id(post)
    if not note_id:
        raise unexpected("Weibo gave a post without an id")
    original = object_at(post, "retweeted_status")
    content, title = _content(post, original), _title(_words(post) or _words(original))
    return Note(
        ref=_ref(note_id),
        url=note_url(note_id),
        title=title,
        content=content,
        type=_type(post),
        author=_author(post),
        published_at=parse_date(text_at(post, "created_at")),
        updated_at=parse_date(text_at(post, "edit_at")),
        counts=_counts(post),
        images=_images(post) or _images(original) or _cover(post) or _cover(original),
        video_url=_video(post) or _video(original),
        tags=_tags(content),
    )


def read_comments(answer: Mapping[str, Any]) -> CommentPage[CommentCursor]:
    """A page of comments: paging stands beside them, with one layer around both at some addresses."""
    inner = answer.get("data")
    page = inner if isinstance(inner, dict) else answer
    comments = tuple(_comment(comment) for comment in objects_at(page, "data"))
    max_id = text_at(page, "max_id")
    following = (max_id, text_at(page, "max_id_type") or "0") if max_id not in {"", "0"} else None
    return CommentPage(comments=comments, next=following)


def note_url(note_id: str) -> str:
    return f"{SITE}/detail/{note_id}"


def lines_of(html: str) -> str:
    """The text of a post: line by line, emoticons as the words that stand for them."""
    spoken = _LINK.sub(_with_target, _PICTURE.sub(_words_of_picture, html[:_MAX_TEXT]))
    lines = (plain_text(line, _MAX_TEXT) for line in _BREAK.split(spoken.replace("\n", "<br>")))
    return "\n".join(lines).strip()


def _cards(data: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    for card in objects_at(data, "cards"):
        grouped = objects_at(card, "card_group")
        yield from (one for one in [card, *grouped] if one.get("card_type") == _POST_CARD)


def _is_paid_for(post: Mapping[str, Any]) -> bool:
    return text_at(object_at(post, "promotion"), "type") == "ad"


def _card(post: Mapping[str, Any]) -> NoteCard:
    note_id = _note_id(post)
    return NoteCard(
        ref=_ref(note_id),
        url=note_url(note_id),
        title=_title(_words(post) or _words(object_at(post, "retweeted_status"))),
        type=_type(post),
        author=_author(post),
        counts=_counts(post),
        published_at=parse_date(text_at(post, "created_at")),
    )


def _comment(comment: Mapping[str, Any], *, deep: bool = True) -> Comment:
    picture = object_at(comment, "pic")
    replies = objects_at(comment, "comments") if deep else []
    likes = comment.get("like_count", comment.get("like_counts"))
    return Comment(
        id=storable(text_at(comment, "id")),
        content=lines_of(text_at(comment, "text")),
        author=_author(comment),
        created_at=parse_date(text_at(comment, "created_at")),
        likes=read_count(likes),
        reply_count=read_count(comment.get("total_number")) or len(replies),
        # Weibo shows replies beside each other; what claims to stand deeper is not looked at.
        replies=tuple(_comment(reply, deep=False) for reply in replies),
        images=_pictures([picture]),
    )


def _note_id(post: Mapping[str, Any]) -> str:
    note_id = text_at(post, "id") or text_at(post, "mid")
    return note_id if note_id.isascii() and note_id.isdigit() else ""


def _ref(note_id: str) -> NoteRef:
    return NoteRef(platform=Platform.WEIBO, note_id=note_id)


def _content(post: Mapping[str, Any], original: Mapping[str, Any]) -> str:
    """What was written, and below it what was passed on: without that, most reposts say nothing."""
    quoted = "\n".join(f"{_QUOTE}{line}".rstrip() for line in _words(original).splitlines())
    return "\n\n".join(text for text in (_words(post), quoted) if text)


def _words(post: Mapping[str, Any]) -> str:
    """What it says, or where it says nothing, what the page is called that it shows."""
    whole = text_at(object_at(post, "longText"), "longTextContent")
    page = object_at(post, "page_info")
    return lines_of(whole or text_at(post, "text")) or lines_of(text_at(page, "page_title") or text_at(page, "title"))


def _tags(content: str) -> tuple[str, ...]:
    """Not from addresses, where the sign means something else."""
    found = (tag.strip() for tag in _TAG.findall(_WEB_ADDRESS.sub(" ", content)))
    return tuple(dict.fromkeys(tag for tag in found if tag))


def _title(content: str) -> str:
    """Posts have no titles: the first line stands for one."""
    return plain_text(content.partition("\n")[0], _MAX_TITLE)


def _type(post: Mapping[str, Any]) -> NoteType:
    is_video = text_at(object_at(post, "page_info"), "type") == "video"
    return NoteType.VIDEO if is_video else NoteType.NORMAL


def _author(written: Mapping[str, Any]) -> Author:
    user = object_at(written, "user")
    return Author(id=storable(text_at(user, "id")), name=plain_text(text_at(user, "screen_name"), _MAX_NAME))


def _counts(post: Mapping[str, Any]) -> Counts:
    return Counts(
        likes=read_count(post.get("attitudes_count")),
        comments=read_count(post.get("comments_count")),
        shares=read_count(post.get("reposts_count")),
    )


def _images(post: Mapping[str, Any]) -> tuple[str, ...]:
    # Some posts number their pictures instead of listing them.
    numbered = [one for one in object_at(post, "pics").values() if isinstance(one, dict)]
    return _pictures([one for one in list_at(post, "pics") if isinstance(one, dict)] or numbered)


def _cover(post: Mapping[str, Any]) -> tuple[str, ...]:
    """The picture of the page or film that a post shows. A topic's own is no picture of the post."""
    page = object_at(post, "page_info")
    if text_at(page, "type") in _TOPIC_PAGES:
        return ()
    return _pictures([object_at(page, "page_pic") or {"url": text_at(page, "page_pic")}])


def _pictures(pictures: list[dict[str, Any]]) -> tuple[str, ...]:
    found = (text_at(object_at(one, "large"), "url") or text_at(one, "url") for one in pictures)
    return tuple(dict.fromkeys(address for one in found if (address := absolute(one, SITE))))


def _video(post: Mapping[str, Any]) -> str | None:
    page = object_at(post, "page_info")
    urls, media = object_at(page, "urls"), object_at(page, "media_info")
    found = [text_at(urls, name) for name in _STREAMS] + [text_at(media, name) for name in _OLD_STREAMS]
    return next((address for one in found if (address := absolute(one, SITE))), None)


def _with_target(link: re.Match[str]) -> str:
    name = plain_text(link[2], _MAX_TEXT)
    target = _target(link[1])
    # Where text was cut, a link without a whole address leads to all of it.
    if not target.startswith(_WEB) or name.startswith(_NAMES) or _LISTS_OF_POSTS.match(target) or target in name:
        return link[2]
    return f"{link[2]} {escape(target)} "


def _target(attributes: str) -> str:
    found = _TARGET.search(attributes)
    target = unescape(next((one for one in found.groups() if one), "")).strip() if found else ""
    if _REDIRECTOR.match(target):
        behind = parse_qs(target.partition("?")[2])
        target = next((behind[name][0] for name in _BEHIND if name in behind), target)
    return absolute(target, SITE) if target.startswith(_WEB) else ""


def _words_of_picture(picture: re.Match[str]) -> str:
    said = _SAID_BY_PICTURE.search(picture[0])
    return said[1] if said else ""


USER_AGENT: Final = (
    "Mozilla/5.0 (iPhone; CPU iPhone OS 16_6 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) "
    "Version/16.6 Mobile/15E148 Safari/604.1"
)
_LISTS: Final[Mapping[NoteSort, str]] = {NoteSort.GENERAL: "1", NoteSort.NEWEST: "61", NoteSort.POPULAR: "60"}
_VIDEOS: Final = "64"

_ID: Final = re.compile(r"[0-9]{6,20}")
#: `/detail/…`, `/status/…`, or the post below its author.
_ADDRESS: Final = re.compile(
    r"(?:https?://)?(?:m\.|www\.)?weibo\.(?:cn|com)/(?:detail|status|[0-9]{4,20})/([0-9A-Za-z]{6,20})/?(?:[?#].*)?",
    re.IGNORECASE | re.ASCII,
)
_DIGITS: Final = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
#: Four letters of a short name are seven digits of the id, from the right.
_LETTERS_AT_ONCE: Final = 4
_DIGITS_AT_ONCE: Final = 7


class Weibo:
    name = Platform.WEIBO
    needs_token = False

    def __init__(self, *, base_url: str = "https://m.weibo.cn", patience: Patience | None = None) -> None:
        self._base_url = base_url.rstrip("/")
        self._patience = patience or Patience()

    def require_signer(self) -> None:
        """Nothing is signed there."""

    def ref_of(self, given: str) -> NoteRef | None:
        note_id = id_of(given.strip())
        return None if note_id is None else NoteRef(platform=self.name, note_id=note_id)

    async def search(self, http: Sender, cookie: str, search: Search) -> SearchPage:
        """Pages are as long as Weibo makes them: cut to another length, what is cut would be on no page."""
        kind = _VIDEOS if search.type is NoteType.VIDEO else _LISTS[search.sort]
        query = {
            "containerid": f"100103type={kind}&q={storable(search.keyword)}",
            "page_type": "searchall",
            "page": str(search.page),
        }
        response = await self._get(
            http, cookie, f"/api/container/getIndex?{urlencode(query)}", seconds=self._patience.search
        )
        cards = read_cards(object_at(read_envelope(response, cookie=cookie), "data"))
        wanted = tuple(card for card in cards if search.type in {None, card.type})
        return SearchPage(cards=wanted, has_more=bool(cards))

    async def detail(self, http: Sender, cookie: str, ref: NoteRef) -> Note:
        response = await self._get(http, cookie, f"/detail/{ref.note_id}", seconds=self._patience.detail)
        html = read_page(response, cookie=cookie)
        state = read_state(html)
        if state is None:
            raise page_refusal(html)
        return read_note(state)

    def comments(self, http: Sender, cookie: str, ref: NoteRef, *, limit: int) -> AsyncIterator[tuple[Comment, ...]]:
        async def read_page(place: CommentCursor) -> CommentPage[CommentCursor]:
            return read_comments(await self._comments(http, cookie, ref, *place))

        return first_comments(read_page, start=("", "0"), limit=limit)

    async def is_valid(self, http: Sender, cookie: str) -> bool:
        try:
            response = await self._get(http, cookie, "/api/config", seconds=self._patience.validate)
            return object_at(read_envelope(response, cookie=cookie), "data").get("login") is True
        except CrawlError as error:
            if is_signed_out(error):
                return False
            raise

    async def _comments(
        self, http: Sender, cookie: str, ref: NoteRef, max_id: str, max_id_type: str
    ) -> Mapping[str, Any]:
        query = {"id": ref.note_id, "mid": ref.note_id, "max_id_type": max_id_type}
        if max_id:
            query["max_id"] = max_id
        path = f"/comments/hotflow?{urlencode(query)}"
        referer = f"{self._base_url}/detail/{ref.note_id}"
        response = await self._get(http, cookie, path, seconds=self._patience.detail, referer=referer)
        return read_envelope(response, cookie=cookie)

    async def _get(
        self, http: Sender, cookie: str, path: str, *, seconds: float, referer: str | None = None
    ) -> Response:
        headers = {
            "Accept": "application/json, text/plain, */*",
            "Cookie": cookie,
            "Origin": self._base_url,
            "Referer": referer or f"{self._base_url}/",
            "User-Agent": USER_AGENT,
        }
        return await ask(http, Request(url=f"{self._base_url}{path}", headers=headers, timeout_seconds=seconds))


def id_of(given: str) -> str | None:
    """The id of a post, by itself or in the address of the post's page, where it may be written short."""
    if _ID.fullmatch(given):
        return given
    found = _ADDRESS.fullmatch(given)
    if found is None:
        return None
    return found[1] if found[1].isdigit() else _long_id(found[1])


def _long_id(short: str) -> str | None:
    """Short names are the id in base 62, seven digits at a time: `M1VT3jzNX` is 4804608494665869."""
    places = range(len(short), 0, -_LETTERS_AT_ONCE)
    groups = [short[max(0, end - _LETTERS_AT_ONCE) : end] for end in places]
    numbers = [str(_from_base_62(group)).zfill(_DIGITS_AT_ONCE) for group in reversed(groups)]
    return "".join(numbers).lstrip("0") or None


def _from_base_62(letters: str) -> int:
    number = 0
    for letter in letters:
        number = number * len(_DIGITS) + _DIGITS.index(letter)
    return number
