"""Reddit: the posts of a subreddit, by its listing in JSON."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from html import escape
from typing import Any, Final

from yarl import URL

from catchment.domain.item import Item, Reading
from catchment.domain.visit import Fetched
from catchment.errors import BadConfig, Blocked, HttpError, ParseError, VisitError
from catchment.fetch.client import Request, Response
from catchment.fetch.failures import status_error
from catchment.fetch.freshness import retry_after
from catchment.fetch.pacing import host_of
from catchment.parse.dates import from_epoch
from catchment.parse.entry import absolute
from catchment.parse.html import plain_text
from catchment.parse.json_values import number_at, object_at, read_object, text_at
from catchment.sources.base import Context, Parts, Suggestion
from catchment.sources.config import choice, path_of, text, web_address, whole
from catchment.sources.items import ItemMaker
from catchment.sources.page import visit_page

SORTS: Final = ("hot", "new", "top", "rising", "controversial")
DEFAULT_LIMIT, MAX_POSTS, PASTED_LIMIT = 25, 100, 20
#: The wait after a block that names none.
UNSAID_WAIT_SECONDS: Final = 900.0
_HOSTS: Final = frozenset({"reddit.com", *(f"{name}.reddit.com" for name in ("www", "old", "new", "np", "m"))})
# One name, or several joined by a plus, as Reddit itself takes them.
_NAMES: Final = re.compile(r"[A-Za-z0-9_]{2,40}(?:\+[A-Za-z0-9_]{2,40}){0,20}")
_LONGEST_NAME: Final = 200
_FAILURE, _NOT_FOUND, _TOO_MANY = 400, 404, 429
BLOCK_WORDS: Final = (
    b"whoa there, pardner",
    b"blocked due to a network policy",
    b"blocked by network security",
    b"prove your humanity",
    b"too many requests",
)
_SEARCHED_BYTES: Final = 16_384
#: Where Reddit sends those who ask for a subreddit that does not exist.
_SEARCH: Final = "/subreddits/search"
_REASONS: Final = {
    "private": "is private: only its members can read it",
    "banned": "was banned by Reddit: remove the source",
    "quarantined": "is quarantined: it can only be read by people who sign in",
    "gated": "shows a warning first: it can only be read by people who sign in",
    "gold_only": "is for paying members of Reddit only",
}


class RedditFetcher:
    type = "reddit"
    display_names: Mapping[str, str] = {"en": "Reddit", "zh": "Reddit"}
    default_minutes = 60
    config_keys = frozenset({"subreddit", "sort", "limit"})

    def __init__(self, base_url: str) -> None:
        self._base_url = base_url
        self.host = host_of(base_url)

    @classmethod
    def from_parts(cls, parts: Parts) -> RedditFetcher:
        return cls(parts.settings.reddit_base_url)

    def identity(self, config: Mapping[str, Any]) -> str:
        wanted = _wanted(config)
        return f"{wanted.subreddit.lower()}/{wanted.sort}"

    async def fetch(self, context: Context) -> Fetched:
        wanted = _wanted(context.source.config)
        url = f"{self._base_url}/r/{wanted.subreddit}/{wanted.sort}.json?limit={wanted.limit}&raw_json=1"
        return await visit_page(
            context,
            Request(url=url, keep_failures=True),
            partial(read_listing, base=self._base_url, wanted=wanted),
            is_window=wanted.sort == "new",
            judge=partial(judge, subreddit=wanted.subreddit),
        )

    def recognise(self, pasted: str) -> Suggestion | None:
        match _parts(pasted):
            case ["r", name, *rest] if _NAMES.fullmatch(name) and (not rest or (rest[0] in SORTS and len(rest) == 1)):
                sort = rest[0] if rest else "hot"
                return Suggestion(
                    type=self.type,
                    config={"subreddit": name, "sort": sort, "limit": PASTED_LIMIT},
                    name=f"r/{name}",
                    why=f"It is the subreddit {name} on Reddit, sorted by {sort}.",
                )
        return None


@dataclass(frozen=True, slots=True, kw_only=True)
class RedditConfig:
    subreddit: str
    sort: str = "hot"
    limit: int = DEFAULT_LIMIT


def _wanted(config: Mapping[str, Any]) -> RedditConfig:
    name = text(config, "subreddit", example="python").removeprefix("/").removeprefix("r/").rstrip("/")
    if not _NAMES.fullmatch(name) or len(name) > _LONGEST_NAME:
        raise BadConfig(f"A subreddit has a name of letters, digits and underscores, like python; {name!r} is none.")
    return RedditConfig(
        subreddit=name,
        sort=choice(config, "sort", SORTS, default="hot"),
        limit=whole(config, "limit", default=DEFAULT_LIMIT, least=1, most=MAX_POSTS),
    )


def read_listing(
    body: bytes,
    *,
    url: str,  # noqa: ARG001 - a reader is given both
    content_type: str,  # noqa: ARG001
    base: str,
    wanted: RedditConfig,
) -> Reading:
    """The posts of a listing, without what moderators pinned on top of it and what advertisers paid for."""
    listing = read_object(body)
    children = object_at(listing, "data").get("children")
    if listing.get("kind") != "Listing" or not isinstance(children, list):
        raise ParseError("Reddit gave something else than a listing of posts; tried again later")
    objects = [child for child in children if isinstance(child, dict)]
    posts = [object_at(child, "data") for child in objects if child.get("kind") == "t3"]
    named = [post for post in posts if text_at(post, "name") or text_at(post, "id")]
    maker = ItemMaker(base)
    shown = [post for post in named if not (post.get("stickied") or post.get("promoted"))]
    return Reading(
        title=f"r/{wanted.subreddit}",
        items=tuple(_item(post, base, maker) for post in shown[: wanted.limit]),
        left_out=len(children) - len(objects) + len(posts) - len(named),
    )


def judge(response: Response, now: datetime, *, subreddit: str) -> None:
    """Raise what a refusal means: Reddit says it by the body rather than by the status."""
    if _asks_for_fewer_requests(response):
        raise _slow_down(response, now, subreddit)
    if _SEARCH in URL(response.url).path:
        raise _no_such(subreddit)
    if response.status >= _FAILURE:
        raise _refusal(response, now, subreddit)


def _asks_for_fewer_requests(response: Response) -> bool:
    start = response.body[:_SEARCHED_BYTES].lower()
    is_json = start.lstrip()[:1] in {b"{", b"["}
    if response.status < _FAILURE and is_json:
        return False
    return response.status == _TOO_MANY or any(words in start for words in BLOCK_WORDS)


def _slow_down(response: Response, now: datetime, subreddit: str) -> VisitError:
    asked = (retry_after(response.headers.get(name), now) for name in ("Retry-After", "x-ratelimit-reset"))
    wait = next((seconds for seconds in asked if seconds), UNSAID_WAIT_SECONDS)
    if response.status == _TOO_MANY:
        return HttpError(f"Reddit asks for fewer requests (r/{subreddit})", status=_TOO_MANY, retry_after=wait)
    advice = "it wants fewer requests, or a user_agent of your own in the source's options"
    return Blocked(f"Reddit shows its block page instead of r/{subreddit}: {advice}", retry_after=wait)


def _refusal(response: Response, now: datetime, subreddit: str) -> VisitError:
    meaning = _REASONS.get(_reason(response.body))
    if meaning is not None:
        return HttpError(f"r/{subreddit} {meaning}", status=response.status)
    if response.status == _NOT_FOUND:
        return _no_such(subreddit)
    return status_error(response.status, URL(response.url), response.headers, now)


def _reason(body: bytes) -> str:
    try:
        refusal = json.loads(body)
    except ValueError:
        return ""  # a page for people
    return text_at(refusal, "reason") if isinstance(refusal, dict) else ""


def _no_such(subreddit: str) -> HttpError:
    return HttpError(f"there is no subreddit r/{subreddit}: check its name", status=_NOT_FOUND)


def _item(post: Mapping[str, Any], base: str, maker: ItemMaker) -> Item:
    permalink = absolute(text_at(post, "permalink"), base)
    title, words = text_at(post, "title"), text_at(post, "selftext")
    return maker.make(
        native_id=text_at(post, "name") or text_at(post, "id"),
        url=text_at(post, "url") or permalink,
        title=title,
        author=text_at(post, "author"),
        content=text_at(post, "selftext_html") or escape(words or title, quote=False),
        published_at=from_epoch(post.get("created_utc")),
        metadata={
            "score": number_at(post, "score"),
            "comments": number_at(post, "num_comments"),
            "subreddit": plain_text(text_at(post, "subreddit"), _LONGEST_NAME),
            "discussion": permalink,
        },
        has_plain_title="<" in title,  # asked for with raw_json
    )


def _parts(pasted: str) -> list[str]:
    """The path that was pasted: by itself, or of an address on Reddit."""
    alone = pasted.strip().strip("/").split("/")
    if alone[0] == "r":
        return alone
    url = web_address(pasted)
    return path_of(url) if url is not None and url.host in _HOSTS else []
