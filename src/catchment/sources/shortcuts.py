"""What pasted text stands for, by the text alone: well-known services, by their exact hosts.

Nothing is asked of the network here. A service that brings its own type recognises its addresses itself; these are
the ones whose pages have a feed at an address that follows from theirs.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from yarl import URL

from catchment.sources.addresses import web_address
from catchment.sources.base import Suggestion

_HANDLE = re.compile(r"@([A-Za-z0-9_]{1,15})")
_FEDIVERSE = re.compile(r"@([\w.-]{1,64})@([a-z0-9-]+(?:\.[a-z0-9-]+)+)", re.IGNORECASE | re.ASCII)
_REDDIT_USER = re.compile(r"/?u(?:ser)?/([\w-]{1,30})/?", re.ASCII)
_SCHEME = re.compile(r"[a-z][a-z0-9+.-]*:", re.IGNORECASE)
_FEED_SCHEME = re.compile(r"feed:(?://)?", re.IGNORECASE)
_BARE_HOST = re.compile(
    r"(?:[^\s/?#@:\\.]+\.)+[^\s/?#@:\\.]{2,}\.?(?::\d{1,5})?(?:[/?#].*)?|localhost(?::\d+)?(?:/.*)?"
)
_FEED_PATH = re.compile(r"\.(?:rss|atom|rdf|xml)$|/(?:feeds?|rss|atom)(?:/|$)", re.IGNORECASE)
_FEDIVERSE_PATH = re.compile(r"/@[\w.-]{1,64}/?", re.ASCII)

_X_HOSTS = ("x.com", "www.x.com", "mobile.x.com", "twitter.com", "www.twitter.com", "mobile.twitter.com")
_X_NAME = re.compile(r"[A-Za-z0-9_]{1,15}")
# Pages of the service itself, which look like names.
_X_PAGES = re.compile(
    r"about|account|compose|download|explore|hashtag|home|i|intent|jobs|login|logout|messages|notifications"
    r"|privacy|search|settings|share|signup|tos|who_to_follow",
    re.IGNORECASE,
)
_GITHUB_NAME = re.compile(r"[\w.-]{1,100}", re.ASCII)
_GITHUB_PAGES = re.compile(
    r"about|apps|collections|contact|customer-stories|enterprise|events|explore|features|issues|login"
    r"|marketplace|notifications|orgs|organizations|pricing|pulls|search|settings|site|sponsors|stars|team"
    r"|topics|trending|users",
    re.IGNORECASE,
)
_TELEGRAM_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_]{3,31}")
_TELEGRAM_PAGES = re.compile(
    r"addemoji|addlist|addstickers|addtheme|boost|confirmphone|contact|giftcode|invoice|joinchat|login|proxy"
    r"|setlanguage|share|socks",
    re.IGNORECASE,
)
_MEDIUM_PAGES = re.compile(
    r"about|jobs-at-medium|m|me|membership|new-story|p|plans|policy|search|signin|tag|topics",
    re.IGNORECASE,
)
_LABEL = re.compile(r"(?!www\b)[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?")
_APPLE_ID = re.compile(r"id(\d{1,15})")
_OVERCAST_ID = re.compile(r"itunes(\d{1,15})")
#: Servers whose every account page is one of Mastodon's.
_MASTODON_HOSTS = ("mastodon.social", "mastodon.online", "fosstodon.org", "hachyderm.io", "mas.to", "mstdn.social")

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
    pattern = {"podcasts.apple.com": _APPLE_ID, "itunes.apple.com": _APPLE_ID, "overcast.fm": _OVERCAST_ID}.get(
        _host(url)
    )
    match = pattern.fullmatch(url.parts[-1]) if pattern and len(url.parts) > 1 else None
    return match[1] if match else None


def recognise(pasted: str, services: Services) -> Suggestion | None:
    """What the text stands for; None when only a look at the page can tell."""
    named = _recognise_name(pasted, services)
    if named is not None:
        return named
    url = web_address(address_in(pasted) or "")
    service = _service(_host(url)) if url is not None else None
    return service(url, _parts(url), services) if url is not None and service else None


def _recognise_name(pasted: str, services: Services) -> Suggestion | None:
    if match := _HANDLE.fullmatch(pasted):
        return _x_account(match[1], "A name that begins with @ is an account on X.")
    if match := _FEDIVERSE.fullmatch(pasted):
        return _mastodon_account(match[1], match[2].lower())
    if match := _REDDIT_USER.fullmatch(pasted):
        return _reddit_user(match[1], services)
    return None


Service = Callable[[URL, tuple[str, ...], Services], Suggestion | None]


def _service(host: str) -> Service | None:
    label, _, parent = host.partition(".")
    return _BY_HOST.get(host) or (_BY_PARENT.get(parent) if _LABEL.fullmatch(label) else None)


def _x(_url: URL, parts: tuple[str, ...], _services: Services) -> Suggestion | None:
    match parts:
        case ("i", "lists", number, *_) if number.isascii() and number.isdecimal():
            config = {"list_url": f"https://x.com/i/lists/{number}"}
            return Suggestion(type="twitter_list", config=config, name=f"X list {number}", why="It is a list on X.")
        case (name, *_) if _X_NAME.fullmatch(name) and not _X_PAGES.fullmatch(name):
            return _x_account(name, "It is an account on X.")
    return None


def _x_account(name: str, why: str) -> Suggestion:
    return Suggestion(type="twitter_feed", config={"handle": f"@{name}"}, name=f"@{name}", why=why)


def _mastodon(url: URL, parts: tuple[str, ...], _services: Services) -> Suggestion | None:
    match parts:
        case (account, *_) if account.startswith("@") and "@" not in account[1:]:
            return _mastodon_account(account[1:].removesuffix(".rss"), _host(url))
    return None


def _mastodon_account(name: str, host: str) -> Suggestion:
    return _feed(f"https://{host}/@{name}.rss", f"@{name}@{host}", "Accounts on Mastodon have a feed.")


def _reddit(_url: URL, parts: tuple[str, ...], services: Services) -> Suggestion | None:
    match = _REDDIT_USER.fullmatch("/".join(parts[:2]))
    return _reddit_user(match[1], services) if match else None


def _reddit_user(name: str, services: Services) -> Suggestion:
    return _feed(f"{services.reddit}/user/{name}.rss", f"u/{name}", "Users of Reddit have a feed.")


def _github(_url: URL, parts: tuple[str, ...], services: Services) -> Suggestion | None:
    match parts:
        case (owner, repo, *rest) if not _GITHUB_PAGES.fullmatch(owner) and _are_names(owner, repo, *rest):
            return _github_repo(f"{owner}/{repo.removesuffix('.git')}", tuple(rest), services)
    return None


def _github_repo(repo: str, rest: tuple[str, ...], services: Services) -> Suggestion | None:
    home = f"{services.github}/{repo}"
    match rest:
        case () | ("releases", *_):
            return _feed(f"{home}/releases.atom", f"{repo} releases", "The releases of a repository have a feed.")
        case ("tags", *_):
            return _feed(f"{home}/tags.atom", f"{repo} tags", "The tags of a repository have a feed.")
        case ("commits", *branch):
            path = "/".join(["commits", *branch])
            return _feed(f"{home}/{path}.atom", f"{repo} {path}", "The commits of a repository have a feed.")
    return None


def _are_names(*names: str) -> bool:
    return all(_GITHUB_NAME.fullmatch(name) for name in names)


def _youtube(url: URL, parts: tuple[str, ...], services: Services) -> Suggestion | None:
    """A handle is not among them: which channel it is, only its page tells."""
    match parts:
        case ("channel", channel, *_) if channel.startswith("UC"):
            return _youtube_feed(services, "channel_id", channel)
        case ("playlist",) if url.query.get("list"):
            return _youtube_feed(services, "playlist_id", url.query["list"])
        case ("user", name, *_):
            return _youtube_feed(services, "user", name)
    return None


def _youtube_feed(services: Services, kind: str, value: str) -> Suggestion:
    address = URL(f"{services.youtube}/feeds/videos.xml").with_query({kind: value})
    return _feed(str(address), f"YouTube {value}", "Channels and playlists on YouTube have a feed.")


def _telegram(_url: URL, parts: tuple[str, ...], services: Services) -> Suggestion | None:
    match parts[1:] if parts[:1] == ("s",) else parts:
        case (name, *_) if _TELEGRAM_NAME.fullmatch(name) and not _TELEGRAM_PAGES.fullmatch(name):
            config: dict[str, Any] = {"url": f"{services.telegram}/s/{name}", **TELEGRAM_SELECTORS}
            why = "Public channels on Telegram have a page with their messages."
            return Suggestion(type="website", config=config, name=f"Telegram: {name}", why=why)
    return None


def _medium(_url: URL, parts: tuple[str, ...], _services: Services) -> Suggestion | None:
    match parts:
        case ("feed", *rest) if rest:
            path = "/".join(rest)
        case ("tag", name, *_):
            path = f"tag/{name}"
        case (name, *_) if not _MEDIUM_PAGES.fullmatch(name):
            path = name
        case _:
            return None
    return _feed(
        f"https://medium.com/feed/{path}", f"Medium: {path}", "Writers and publications on Medium have a feed."
    )


def _own_medium(url: URL, _parts: tuple[str, ...], _services: Services) -> Suggestion:
    return _feed(f"https://{_host(url)}/feed", _host(url), "Writers and publications on Medium have a feed.")


def _substack(url: URL, _parts: tuple[str, ...], _services: Services) -> Suggestion:
    return _feed(f"https://{_host(url)}/feed", _host(url), "Publications on Substack have a feed.")


def _bluesky(_url: URL, parts: tuple[str, ...], _services: Services) -> Suggestion | None:
    match parts:
        case ("profile", name, *_):
            return _feed(f"https://bsky.app/profile/{name}/rss", name, "Profiles on Bluesky have a feed.")
    return None


_BY_HOST: Mapping[str, Service] = {
    **dict.fromkeys(_X_HOSTS, _x),
    **dict.fromkeys(_MASTODON_HOSTS, _mastodon),
    **dict.fromkeys(("reddit.com", "www.reddit.com", "old.reddit.com", "new.reddit.com", "np.reddit.com"), _reddit),
    **dict.fromkeys(("github.com", "www.github.com"), _github),
    **dict.fromkeys(("youtube.com", "www.youtube.com", "m.youtube.com"), _youtube),
    **dict.fromkeys(("t.me", "telegram.me", "www.t.me"), _telegram),
    **dict.fromkeys(("medium.com", "www.medium.com"), _medium),
    "bsky.app": _bluesky,
}
#: For hosts of one label below these.
_BY_PARENT: Mapping[str, Service] = {"substack.com": _substack, "medium.com": _own_medium}


def _feed(address: str, name: str, why: str) -> Suggestion:
    return Suggestion(type="rss", config={"url": address}, name=name, why=why)


def _host(url: URL) -> str:
    return (url.raw_host or "").rstrip(".").lower()


def _parts(url: URL) -> tuple[str, ...]:
    """The parts of the path, as they are spelt: what is escaped in them stays so."""
    return tuple(part for part in url.raw_path.split("/") if part)
