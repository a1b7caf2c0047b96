"""Hacker News, Reddit, GitHub and a JSON API; and all services of a world, by where they answer."""

from __future__ import annotations

import json
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from html import escape
from http import HTTPStatus
from typing import Any
from urllib.parse import parse_qs, unquote

from catchment.simulator.faults import Fault
from catchment.simulator.messages import Answer, Headers, IncomingRequest, Place, json_answer, not_found, page
from catchment.simulator.services.keyword_platforms import EventStream
from catchment.simulator.services.weibo import WeiboService
from catchment.simulator.services.xhs import XhsService
from catchment.simulator.words import WorldTime
from catchment.simulator.world import World

REDDIT_PERIOD = timedelta(minutes=6)
REDDIT_BACKLOG = 400
PINNED = 2
SORTS = ("hot", "new", "top", "rising", "controversial")
CLOSED = {"members": "private", "expelled": "banned", "hazard": "quarantined"}
UNKNOWN = frozenset({"nowhere"})
BLOCK_PAGE = """<!doctype html>
<html><head><title>Blocked</title></head><body><h1>whoa there, pardner!</h1>
<p>Your request has been blocked due to a network policy.</p>
<p>Try logging in or creating an account to get back to browsing.</p></body></html>"""


def block_page(status: int, *, headers: Headers = ()) -> Fault:
    """The page that says no, whatever its status says."""
    return Fault(
        name=f"block page {status}", spoil=lambda _request, _place: page(BLOCK_PAGE, status=status, headers=headers)
    )


def too_many(seconds_to_reset: int) -> Fault:
    refusal = {"message": "Too Many Requests", "error": 429}
    headers = (("x-ratelimit-remaining", "0"), ("x-ratelimit-reset", str(seconds_to_reset)))
    answer = json_answer(refusal, status=HTTPStatus.TOO_MANY_REQUESTS, headers=headers)
    return Fault(name="too many", spoil=lambda _request, _place: answer)


class Reddit:
    """Answers at `/r/` and `/subreddits/`. Every name is a subreddit, but for a few."""

    def __init__(
        self,
        timeline: WorldTime,
        *,
        closed: Mapping[str, str] = CLOSED,
        unknown: frozenset[str] = UNKNOWN,
    ) -> None:
        self._timeline = timeline
        self._closed = closed
        self._unknown = unknown

    def __call__(self, request: IncomingRequest) -> Answer:
        match request.path.split("/"):
            case ["", "r", name, file] if file.removesuffix(".json") in SORTS and file.endswith(".json"):
                return self._subreddit(name, file.removesuffix(".json"), request)
            case ["", "subreddits", "search.json"]:
                return json_answer(_listing([{"kind": "t5", "data": {"display_name": "somewhere"}}]))
        return not_found(request)

    def _subreddit(self, name: str, sort: str, request: IncomingRequest) -> Answer:
        if name in self._unknown:
            return Answer(status=HTTPStatus.FOUND, headers=(("Location", f"/subreddits/search.json?q={name}"),))
        reason = self._closed.get(name)
        if reason is not None:
            status = HTTPStatus.NOT_FOUND if reason == "banned" else HTTPStatus.FORBIDDEN
            return json_answer({"reason": reason, "message": status.phrase, "error": int(status)}, status=status)
        asked = parse_qs(request.query)
        limit = min(int(asked.get("limit", ["25"])[0]), 100)
        raw = asked.get("raw_json") == ["1"]
        return json_answer(_listing(self._posts(name, sort, limit, request.at, raw=raw)))

    def _posts(self, name: str, sort: str, limit: int, at: datetime, *, raw: bool) -> list[dict[str, Any]]:
        stream = EventStream(
            timeline=self._timeline, name=f"reddit/{name.lower()}", period=REDDIT_PERIOD, backlog=REDDIT_BACKLOG
        )
        numbers = list(stream.latest(at, limit))
        if sort in {"top", "controversial"}:
            numbers.sort(key=lambda number: -_votes(number))
        # What moderators pinned comes on top of the limit, and only where people look first.
        pinned = list(range(PINNED)) if sort == "hot" else []
        return [
            {"kind": "t3", "data": _post(stream, name, number, stickied=number in pinned, raw=raw)}
            for number in [*pinned, *numbers]
        ]


def _listing(children: list[dict[str, Any]]) -> dict[str, Any]:
    return {"kind": "Listing", "data": {"modhash": "", "after": None, "before": None, "children": children}}


def _votes(number: int) -> int:
    return 1 + number * 7919 % 5000


def _post(stream: EventStream, name: str, number: int, *, stickied: bool, raw: bool) -> dict[str, Any]:
    writer = stream.writer(number)
    title, author, body = writer.title(), writer.author(), writer.body("/wiki")
    permalink = f"/r/{name}/comments/{number:x}/{number}/"
    is_self = number % 3 == 0
    html = f'<!-- SC_OFF --><div class="md">{body}</div><!-- SC_ON -->' if is_self else None
    return {
        "id": f"{number:x}",
        "name": f"t3_{number:x}",
        "title": title if raw else escape(title, quote=False),
        "author": author,
        "subreddit": name,
        "selftext": title if is_self else "",
        "selftext_html": html if raw or html is None else escape(html),
        "is_self": is_self,
        "url": f"https://www.reddit.com{permalink}" if is_self else f"https://site-{number % 40}.example/{number}",
        "permalink": permalink,
        "score": _votes(number),
        "num_comments": number % 200,
        "created_utc": float(stream.posted(number)),
        "stickied": stickied,
        "over_18": False,
    }


#: How long until another repository trends.
GITHUB_PERIOD = timedelta(hours=1)
GITHUB_BACKLOG = 60
SHOWN = 16
LANGUAGES = ("Python", "Rust", "Go", "TypeScript", "C++")
WORDS = {"daily": "today", "weekly": "this week", "monthly": "this month"}
#: A language that nobody wrote in.
DESERTED = "brainfuck"


class GithubTrending:
    """Answers at `/trending`."""

    def __init__(self, timeline: WorldTime) -> None:
        self._stream = EventStream(timeline=timeline, name="github", period=GITHUB_PERIOD, backlog=GITHUB_BACKLOG)

    def __call__(self, request: IncomingRequest) -> Answer:
        match request.path.split("/"):
            case ["", "trending", *language] if len(language) <= 1:
                since = parse_qs(request.query).get("since", ["daily"])[0]
                return page(self._page(unquote("".join(language)).lower(), WORDS.get(since, "today"), request.at))
        return not_found(request)

    def _page(self, language: str, period: str, at: datetime) -> str:
        rows = "".join(self._row(number, period) for number in self._shown(language, at))
        empty = "<div class='blankslate'><h3>It looks like we don’t have any trending repositories.</h3></div>"
        return (
            "<!doctype html><html lang='en'><title>Trending repositories on GitHub today</title><main>"
            "<a href='/login'>Sign in</a><a href='/trending/developers'>Developers</a>"
            f"<div data-hpc>{rows or empty}</div></main></html>"
        )

    def _shown(self, language: str, at: datetime) -> Sequence[int]:
        latest = self._stream.latest(at, GITHUB_BACKLOG)
        return [number for number in latest if language in {"", _language(number).lower()}][:SHOWN]

    def _row(self, number: int, period: str) -> str:
        owner, name = f"workshop-{number % 23}", f"tool-{number}"
        home = f"/{owner}/{name}"
        described = escape(self._stream.writer(number).title())
        description = f"<p class='col-9 my-1'>\n {described}\n</p>" if number % 8 else ""
        language = f"<span itemprop='programmingLanguage'>{_language(number)}</span>" if number % 9 else ""
        sponsor = f"<a href='/sponsors/{owner}' aria-label='Sponsor @{owner}'>Sponsor</a>" if number % 2 else ""
        return f"""<article class="Box-row"><div class="float-right">{sponsor}
<a href="/login?return_to=%2F{owner}%2F{name}" rel="nofollow">Star</a></div>
<h2 class="h3"><a href="{home}" class="Link"><svg></svg><span>{owner} /</span> {name}</a></h2>{description}
<div class="f6">{language}<a href="{home}/stargazers">{1000 + number * 37:,}</a>
<a href="{home}/forks">{number * 3:,}</a><span>Built by <a href="/{owner}"><img alt="@{owner}"></a></span>
<span class="float-sm-right"><svg></svg> {number * 5 % 3000:,} stars {period}</span></div></article>"""


def _language(number: int) -> str:
    return LANGUAGES[number % len(LANGUAGES)]


API_PERIOD = timedelta(minutes=30)
POSTS = 25
PER_PAGE = 10
PAGES = -(-POSTS // PER_PAGE)


class JsonApi:
    """Answers at `/api/`: `cursor`, `pages`, `links` and `linked` hold the same posts; the others misbehave."""

    def __init__(self, timeline: WorldTime) -> None:
        self._stream = EventStream(timeline=timeline, name="api", period=API_PERIOD, backlog=POSTS)

    def __call__(self, request: IncomingRequest) -> Answer:
        kind = self._kinds().get(request.path.removeprefix("/api/"))
        if kind is None:
            return not_found(request)
        asked = {name: values[0] for name, values in parse_qs(request.query).items()}
        return kind(int(asked.get("page") or asked.get("after") or 1), request.at)

    def _kinds(self) -> Mapping[str, Callable[[int, datetime], Answer]]:
        return {
            "cursor": self._by_cursor,
            "pages": self._by_number,
            "links": self._by_header,
            "linked": self._by_link,
            "forever": self._without_end,
            "circle": self._in_a_circle,
            "elsewhere": self._elsewhere,
            "broken": self._broken,
        }

    def _by_cursor(self, page: int, at: datetime) -> Answer:
        return json_answer({"data": {"posts": self._posts(page, at)}, "meta": {"next": _following(page)}})

    def _by_number(self, page: int, at: datetime) -> Answer:
        return json_answer({"items": self._posts(page, at)})

    def _by_header(self, page: int, at: datetime) -> Answer:
        following = _following(page)
        link = () if following is None else (("Link", f'</api/links?page={following}>; rel="next"'),)
        return json_answer(self._posts(page, at), headers=link)

    def _by_link(self, page: int, at: datetime) -> Answer:
        following = _following(page)
        return json_answer({"items": self._posts(page, at), "next": following and f"?page={following}"})

    def _without_end(self, page: int, at: datetime) -> Answer:
        """Past the last page it shows the last one again."""
        return self._by_number(min(page, PAGES), at)

    def _in_a_circle(self, page: int, at: datetime) -> Answer:
        """The last cursor leads back to the first page."""
        return json_answer({"items": self._posts(page, at), "meta": {"next": _following(page) or 1}})

    def _elsewhere(self, page: int, at: datetime) -> Answer:
        return json_answer({"items": self._posts(page, at), "next": "https://elsewhere.example/api?page=2"})

    def _broken(self, _page: int, _at: datetime) -> Answer:
        return Answer(headers=(("Content-Type", "application/json"),), body=b'{"items": [{"id": 1,')

    def _posts(self, page: int, at: datetime) -> list[dict[str, Any]]:
        first = (page - 1) * PER_PAGE
        numbers = self._stream.latest(at, POSTS)[first : first + PER_PAGE]
        return [self._post(number) for number in numbers]

    def _post(self, number: int) -> dict[str, Any]:
        writer = self._stream.writer(number)
        return {
            "id": number,
            "url": f"/posts/{number}",
            "title": writer.title(),
            "author": {"name": writer.author()},
            "content": writer.body("/about"),
            "published_at": self._stream.posted(number),
        }


def _following(page: int) -> int | None:
    return page + 1 if page < PAGES else None


HN_PERIOD = timedelta(minutes=10)
LISTED = 500
MAX_POINTS = 900
#: What the last digit of an item makes it; all else are stories with a link.
ODD = {0: "missing", 1: "dead", 2: "deleted", 3: "ask", 4: "job", 5: "show", 6: "poll"}
TITLES = {"ask": "Ask HN: ", "show": "Show HN: ", "poll": "Poll: "}


class HackerNews:
    """Answers at `/v0/`."""

    def __init__(self, timeline: WorldTime, *, seed: int = 1) -> None:
        self.stream = EventStream(timeline=timeline, name=f"hackernews/{seed}", period=HN_PERIOD, backlog=LISTED)

    def __call__(self, request: IncomingRequest) -> Answer:
        match request.path.split("/"):
            case ["", "v0", "item", file] if file.removesuffix(".json").isdecimal():
                return json_answer(self._item(int(file.removesuffix(".json")), request.at))
            case ["", "v0", file] if file.endswith("stories.json"):
                return json_answer(self.numbers(file.removesuffix("stories.json"), request.at))
        return not_found(request)

    def numbers(self, name: str, at: datetime) -> Sequence[int] | None:
        """What a list holds; as with the real one, a list that does not exist is null."""
        latest = self.stream.latest(at, LISTED)
        if name in {"ask", "show", "job"}:
            return [number for number in latest if kind_of(number) == name]
        if name in {"top", "best"}:
            return sorted(latest, key=lambda number: -self.points(number, at))
        return list(latest) if name == "new" else None

    def points(self, number: int, at: datetime) -> int:
        if kind_of(number) == "job":
            return 1
        return min(MAX_POINTS, 1 + self.stream.minutes_old(number, at) * (1 + number % 7) // 10)

    def _item(self, number: int, at: datetime) -> dict[str, Any] | None:
        kind = kind_of(number)
        if kind == "missing" or not self.stream.has(number, at):
            return None
        item: dict[str, Any] = {"id": number, "time": self.stream.posted(number), "type": "story"}
        if kind == "deleted":
            return {**item, "deleted": True}
        item |= {"by": self.stream.writer(number).author(), "score": self.points(number, at)}
        return {**item, "dead": True} if kind == "dead" else item | self._words(number, kind)

    def _words(self, number: int, kind: str) -> dict[str, Any]:
        writer = self.stream.writer(number)
        words: dict[str, Any] = {"title": TITLES.get(kind, "") + writer.title()}
        words |= {"type": kind} if kind in {"job", "poll"} else {}
        if kind != "job":
            words["descendants"] = number % 90
        if kind in {"ask", "poll"}:
            return {**words, "text": writer.body(f"item?id={number}")}
        return {**words, "url": f"https://site-{number % 40}.example/{number}"}


def kind_of(number: int) -> str:
    return ODD.get(number % 10, "story")


ROOM_PERIOD = timedelta(hours=1)
ROOMS = 12


class Museum:
    """Answers at `/museum/`: a site without a feed, whose sitemap lists its rooms. Another one opens every hour."""

    def __init__(self, timeline: WorldTime) -> None:
        self._stream = EventStream(timeline=timeline, name="museum", period=ROOM_PERIOD, backlog=ROOMS)

    def __call__(self, request: IncomingRequest) -> Answer:
        match request.path.removeprefix("/museum").split("/"):
            case ["", ""]:
                return page("<!doctype html><html lang=en><title>The Harbour Museum</title><h1>The Harbour Museum</h1>")
            case ["", "sitemap.xml"]:
                return self._sitemap(request)
            case ["", "rooms", name] if name.isdecimal() and self._stream.has(int(name), request.at):
                return page(self._room(int(name)))
        return not_found(request)

    def _sitemap(self, request: IncomingRequest) -> Answer:
        home = f"http://{request.headers.get('host', '')}/museum/rooms"
        opened = {number: self._opened(number) for number in self._stream.latest(request.at, LISTED)}
        rows = "".join(f"<url><loc>{home}/{one}</loc><lastmod>{at}</lastmod></url>" for one, at in opened.items())
        body = f"<urlset xmlns='http://www.sitemaps.org/schemas/sitemap/0.9'>{rows}</urlset>"
        return Answer(headers=(("Content-Type", "application/xml; charset=utf-8"),), body=body.encode())

    def _room(self, number: int) -> str:
        writer = self._stream.writer(number)
        title = escape(writer.title())
        return (
            f"<!doctype html><html lang=en><head><title>{title}</title>"
            f"<meta property='article:published_time' content='{self._opened(number)}'></head>"
            f"<body><article><h1>{title}</h1>{writer.body('/museum/')}</article></body></html>"
        )

    def _opened(self, number: int) -> str:
        return datetime.fromtimestamp(self._stream.posted(number), UTC).isoformat()


#: The oldest make room for the newest.
MAX_LETTERS = 1000


class Inbox:
    def __init__(self) -> None:
        self._letters: deque[IncomingRequest] = deque(maxlen=MAX_LETTERS)

    def __call__(self, request: IncomingRequest) -> Answer:
        if request.method == "POST":
            self._letters.append(request)
            # A bot of Lark says in these words that all is well; others mind the status alone.
            return json_answer({"code": 0, "msg": "success"})
        shown = json.dumps({"letters": [_letter(one) for one in self._letters]}, ensure_ascii=False, indent=2)
        return Answer(headers=(("Content-Type", "application/json; charset=utf-8"),), body=f"{shown}\n".encode())


def _letter(request: IncomingRequest) -> dict[str, Any]:
    """As JSON where it is that, or else as text."""
    try:
        said = json.loads(request.body)
    except ValueError:
        said = request.body.decode(errors="replace")
    return {"at": request.at.isoformat(timespec="seconds"), "said": said}


def service_places(world: World) -> Mapping[str, Place]:
    """For the `places` of a simulated web: each service then has its base address at the root."""
    reddit = Reddit(world.timeline)
    return {
        "/v0": HackerNews(world.timeline, seed=world.seed),
        "/r": reddit,
        "/subreddits": reddit,
        "/trending": GithubTrending(world.timeline),
        "/api": JsonApi(world.timeline),
        "/museum": Museum(world.timeline),
        "/inbox": Inbox(),
        **XhsService(world).places(),
        **WeiboService(world).places(),
    }


NEWS = ("The ferry is late", "A seal in the basin", "The crane is painted", "Fog until noon", "The lighthouse is open")


def blog(request: IncomingRequest) -> Answer:
    """Names a feed of comments first, then its feed, then the same as JSON Feed."""
    match request.path.split("/", 2)[2:]:
        case [] | [""]:
            return page(
                "<!doctype html><html><head><title>The Harbour Blog</title><base href='/blog/'>"
                "<meta name=description content='Notes from the quay.'><link rel=icon href=lamp.png>"
                "<link rel=alternate type=application/rss+xml title=Comments href=comments.xml>"
                "<link rel=alternate type=application/rss+xml title=Posts href=feed.xml>"
                "<link rel=alternate type=application/feed+json href=feed.json></head>"
                "<body><main><h1>The Harbour Blog</h1><p>Notes from the quay.</p></main></body></html>"
            )
        case ["feed.xml"]:
            return rss_answer("The Harbour Blog", NEWS)
        case ["comments.xml"]:
            return rss_answer("Comments", ("I disagree",))
        case ["feed.json"]:
            return _json_feed("The Harbour Blog", NEWS)
    return not_found(request)


def rss_answer(title: str, posts: tuple[str, ...]) -> Answer:
    items = "".join(
        f"<item><guid isPermaLink='false'>{title}-{number}</guid><title>{escape(post)}</title>"
        f"<link>https://harbour.example/{number}</link></item>"
        for number, post in enumerate(posts)
    )
    body = f"<?xml version='1.0'?><rss version='2.0'><channel><title>{escape(title)}</title>{items}</channel></rss>"
    return Answer(headers=(("Content-Type", "application/rss+xml"),), body=body.encode())


def _json_feed(title: str, posts: tuple[str, ...]) -> Answer:
    items = [
        {"id": str(number), "url": f"https://harbour.example/{number}", "title": post, "content_text": post}
        for number, post in enumerate(posts)
    ]
    body = json.dumps({"version": "https://jsonfeed.org/version/1.1", "title": title, "items": items})
    return Answer(headers=(("Content-Type", "application/feed+json"),), body=body.encode())
