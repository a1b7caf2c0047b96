"""What pasted text stands for, by the text alone: well-known services, by their exact hosts.

Nothing is asked of the network here. A service that brings its own type recognises its addresses itself; these are
the ones whose pages have a feed at an address that follows from theirs.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any
from urllib.parse import quote

from yarl import URL

from catchment.settings import Settings
from catchment.sources.base import Suggestion
from catchment.sources.config import web_address

_FEDIVERSE = re.compile(r"@([\w.-]{1,64})@([a-z0-9-]+(?:\.[a-z0-9-]+)+)", re.IGNORECASE | re.ASCII)
_REDDIT_USER = re.compile(r"/?u(?:ser)?/([\w-]{1,30})/?", re.ASCII)
_SCHEME = re.compile(r"[a-z][a-z0-9+.-]*:", re.IGNORECASE)
_FEED_SCHEME = re.compile(r"feed:(?://)?", re.IGNORECASE)
_BARE_HOST = re.compile(
    r"(?:(?:[^\s/?#@:\\.]+\.)+[^\s/?#@:\\.]{2,}\.?|(?:\d{1,3}\.){3}\d{1,3})(?::\d{1,5})?(?:[/?#].*)?"
    r"|localhost(?::\d+)?(?:/.*)?"
)
_FEED_PATH = re.compile(r"\.(?:rss|atom|rdf|xml)$|/(?:feeds?|rss|atom)(?:/|$)", re.IGNORECASE)
_FEDIVERSE_PATH = re.compile(r"/@[\w.-]{1,64}/?", re.ASCII)
_LABEL = re.compile(r"(?!www\b)[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?")
_APPLE_ID = re.compile(r"id(\d{1,15})")
_OVERCAST_ID = re.compile(r"itunes(\d{1,15})")

#: How the public page of a channel is read: each message an item.
TELEGRAM_SELECTORS: Mapping[str, str] = {
    "item_selector": ".tgme_widget_message[data-post]",
    "link_selector": "a.tgme_widget_message_date",
    "text_selector": ".tgme_widget_message_text",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Services:
    """Where the services are whose addresses are made here."""

    github: str
    reddit: str
    youtube: str
    telegram: str
    apple_podcasts: str

    @classmethod
    def of(cls, settings: Settings) -> Services:
        return cls(
            github=settings.github_base_url,
            reddit=settings.reddit_base_url,
            youtube=settings.youtube_base_url,
            telegram=settings.telegram_base_url,
            apple_podcasts=settings.apple_podcasts_base_url,
        )


def address_in(pasted: str) -> str | None:
    """The address that pasted text is, with a scheme; None for text that is something else."""
    text = _FEED_SCHEME.sub("", pasted, count=1) if _FEED_SCHEME.match(pasted) else pasted
    if text.startswith("//"):
        return f"https:{text}"
    if _BARE_HOST.fullmatch(text):
        return f"https://{text}"
    return text if _SCHEME.match(text) else None


def looks_like_feed(address: str) -> bool:
    """Whether an address is spelt as those of feeds are."""
    return _FEED_PATH.search(URL(address).path) is not None


def unnamed_feeds(address: str) -> tuple[str, ...]:
    """Where the feed of a page may be that names none: servers of the fediverse have one for each account."""
    url = URL(address)
    return (str(url.with_path(f"{url.path.rstrip('/')}.rss")),) if _FEDIVERSE_PATH.fullmatch(url.path) else ()


def podcast_id(address: str) -> str | None:
    """The number that the directory of Apple has for the podcast of a page."""
    url = URL(address)
    patterns = {"podcasts.apple.com": _APPLE_ID, "itunes.apple.com": _APPLE_ID, "overcast.fm": _OVERCAST_ID}
    pattern = patterns.get((url.raw_host or "").rstrip(".").lower())
    match = pattern.fullmatch(url.parts[-1]) if pattern and len(url.parts) > 1 else None
    return match[1] if match else None


def recognise(pasted: str, services: Services) -> Suggestion | None:
    """What the text stands for; None when only a look at the page can tell."""
    if match := _FEDIVERSE.fullmatch(pasted):
        return _MASTODON.suggest({"name": match[1], "host": match[2].lower()}, services)
    if match := _REDDIT_USER.fullmatch(pasted):
        return _REDDIT.suggest({"name": match[1]}, services)
    url = web_address(address_in(pasted) or "")
    if url is None:
        return None
    host = (url.raw_host or "").rstrip(".").lower()
    path = "/".join(part for part in url.raw_path.split("/") if part)
    for rule in _rules(host):
        found = rule.path.fullmatch(path)
        asked = {"value": quote(url.query.get(rule.query, ""))} if rule.query else {}
        if found and all(asked.values()):
            return rule.suggest({"host": host, **found.groupdict(), **asked}, services)
    return None


@dataclass(frozen=True, slots=True, kw_only=True)
class _PageRule:
    """Pages of a service, by their paths, and where the feed of such a page is."""

    path: re.Pattern[str]
    #: With the names of groups of the path, of the services and `host` in braces; as are names.
    feed: str
    name: str
    why: str
    type: str = "rss"
    config: Mapping[str, str] = field(default_factory=dict)
    #: The parameter that has to be there as well, and is `value` then.
    query: str = ""

    def suggest(self, found: Mapping[str, str], services: Services) -> Suggestion:
        known = {**asdict(services), **found}
        config = {"url": self.feed.format_map(known), **self.config}
        return Suggestion(type=self.type, config=config, name=self.name.format_map(known), why=self.why)


def _rules(host: str) -> Sequence[_PageRule]:
    label, _, parent = host.partition(".")
    return _BY_HOST.get(host) or (_BY_PARENT.get(parent) if _LABEL.fullmatch(label) else None) or ()


def _rule(path: str, feed: str, name: str, why: str, **others: Any) -> _PageRule:
    return _PageRule(path=re.compile(path, re.ASCII), feed=feed, name=name, why=why, **others)


def _not(pages: str) -> str:
    """Pages of the service itself, which look like names."""
    return rf"(?!(?i:{pages})(?:/|$))"


_MASTODON = _rule(
    r"@(?P<name>[^@/]+?)(?:\.rss)?(?:/.*)?",
    "https://{host}/@{name}.rss",
    "@{name}@{host}",
    "Accounts on Mastodon have a feed.",
)
_REDDIT = _rule(
    r"u(?:ser)?/(?P<name>[\w-]{1,30})(?:/.*)?",
    "{reddit}/user/{name}.rss",
    "u/{name}",
    "Users of Reddit have a feed.",
)
_PART = r"[\w.-]{1,100}"
_REPO = (
    _not(
        r"about|apps|collections|contact|customer-stories|enterprise|events|explore|features|issues|login"
        r"|marketplace|notifications|orgs|organizations|pricing|pulls|search|settings|site|sponsors|stars|team"
        r"|topics|trending|users"
    )
    + rf"(?P<repo>{_PART}/{_PART}?)(?:\.git)?"
)
_GITHUB = (
    _rule(
        rf"{_REPO}(?:/releases(?:/{_PART})*)?",
        "{github}/{repo}/releases.atom",
        "{repo} releases",
        "The releases of a repository have a feed.",
    ),
    _rule(
        rf"{_REPO}/tags(?:/{_PART})*",
        "{github}/{repo}/tags.atom",
        "{repo} tags",
        "The tags of a repository have a feed.",
    ),
    _rule(
        rf"{_REPO}/(?P<path>commits(?:/{_PART})*)",
        "{github}/{repo}/{path}.atom",
        "{repo} {path}",
        "The commits of a repository have a feed.",
    ),
)
_OF_YOUTUBE = ("YouTube {value}", "Channels and playlists on YouTube have a feed.")
#: A handle is not among them: which channel it is, only its page tells.
_YOUTUBE = (
    _rule(r"channel/(?P<value>UC[^/]*)(?:/.*)?", "{youtube}/feeds/videos.xml?channel_id={value}", *_OF_YOUTUBE),
    _rule(r"playlist", "{youtube}/feeds/videos.xml?playlist_id={value}", *_OF_YOUTUBE, query="list"),
    _rule(r"user/(?P<value>[^/]+)(?:/.*)?", "{youtube}/feeds/videos.xml?user={value}", *_OF_YOUTUBE),
)
_TELEGRAM = _rule(
    r"(?:s/)?"
    + _not(
        r"addemoji|addlist|addstickers|addtheme|boost|confirmphone|contact|giftcode|invoice|joinchat|login|proxy"
        r"|setlanguage|share|socks"
    )
    + r"(?P<name>[A-Za-z][A-Za-z0-9_]{3,31})(?:/.*)?",
    "{telegram}/s/{name}",
    "Telegram: {name}",
    "Public channels on Telegram have a page with their messages.",
    type="website",
    config=TELEGRAM_SELECTORS,
)
_OF_MEDIUM = ("https://medium.com/feed/{path}", "Medium: {path}", "Writers and publications on Medium have a feed.")
_MEDIUM = (
    _rule(r"feed/(?P<path>.+)", *_OF_MEDIUM),
    _rule(r"(?P<path>tag/[^/]+)(?:/.*)?", *_OF_MEDIUM),
    _rule(
        _not(r"about|jobs-at-medium|m|me|membership|new-story|p|plans|policy|search|signin|tag|topics")
        + r"(?P<path>[^/]+)(?:/.*)?",
        *_OF_MEDIUM,
    ),
)
_BLUESKY = _rule(
    r"profile/(?P<name>[^/]+)(?:/.*)?",
    "https://bsky.app/profile/{name}/rss",
    "{name}",
    "Profiles on Bluesky have a feed.",
)
_BY_HOST: Mapping[str, Sequence[_PageRule]] = {
    # Servers whose every account page is one of Mastodon's.
    **dict.fromkeys(
        ("mastodon.social", "mastodon.online", "fosstodon.org", "hachyderm.io", "mas.to", "mstdn.social"), (_MASTODON,)
    ),
    **dict.fromkeys(("reddit.com", *(f"{name}.reddit.com" for name in ("www", "old", "new", "np"))), (_REDDIT,)),
    **dict.fromkeys(("github.com", "www.github.com"), _GITHUB),
    **dict.fromkeys(("youtube.com", "www.youtube.com", "m.youtube.com"), _YOUTUBE),
    **dict.fromkeys(("t.me", "telegram.me", "www.t.me"), (_TELEGRAM,)),
    **dict.fromkeys(("medium.com", "www.medium.com"), _MEDIUM),
    "bsky.app": (_BLUESKY,),
}
#: For hosts of one label below these.
_BY_PARENT: Mapping[str, Sequence[_PageRule]] = {
    "substack.com": (_rule(".*", "https://{host}/feed", "{host}", "Publications on Substack have a feed."),),
    "medium.com": (_rule(".*", "https://{host}/feed", "{host}", "Writers and publications on Medium have a feed."),),
}
