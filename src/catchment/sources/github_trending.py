"""GitHub Trending: the repositories of a day, week or month."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from html import escape
from typing import Any, Final

from yarl import URL

from catchment.domain.item import Item, Reading
from catchment.domain.visit import Fetched
from catchment.errors import BadConfig
from catchment.fetch.client import Request
from catchment.fetch.pacing import host_of
from catchment.parse.trending import Repository, read_rows
from catchment.sources.base import Context, Parts, Suggestion
from catchment.sources.config import choice, path_of, text, web_address
from catchment.sources.items import ItemMaker
from catchment.sources.page import visit_page

PERIODS: Final = ("daily", "weekly", "monthly")
_HOSTS: Final = frozenset({"github.com", "www.github.com"})
#: A page beside the languages that lists people.
_DEVELOPERS: Final = "developers"
_LONGEST: Final = 50


class GithubTrendingFetcher:
    type = "github_trending"
    display_names: Mapping[str, str] = {"en": "GitHub Trending", "zh": "GitHub 热门"}
    default_minutes = 240
    config_keys = frozenset({"language", "since", "spoken_language"})

    def __init__(self, base_url: str) -> None:
        self._base_url = base_url
        self.host = host_of(base_url)

    @classmethod
    def from_parts(cls, parts: Parts) -> GithubTrendingFetcher:
        return cls(parts.settings.github_base_url)

    def identity(self, config: Mapping[str, Any]) -> str:
        wanted = _wanted(config)
        return f"{wanted.language}?since={wanted.since}&spoken={wanted.spoken_language}"

    async def fetch(self, context: Context) -> Fetched:
        wanted = _wanted(context.source.config)
        request = Request(url=wanted.address(self._base_url))
        return await visit_page(context, request, partial(read_repositories, title=wanted.title, base=self._base_url))

    def recognise(self, pasted: str) -> Suggestion | None:
        url = web_address(pasted)
        match path_of(url) if url is not None and url.host in _HOSTS else []:
            case ["trending", *language] if url is not None and len(language) <= 1 and language != [_DEVELOPERS]:
                return self._suggestion(_config("".join(language), url.query))
        return None

    def _suggestion(self, config: Mapping[str, str]) -> Suggestion | None:
        try:
            title = _wanted(config).title
        except BadConfig:
            return None
        return Suggestion(type=self.type, config=config, name=title, why="It is the trending page of GitHub.")


@dataclass(frozen=True, slots=True, kw_only=True)
class _TrendingOptions:
    #: As in the address of its page; "" is all.
    language: str
    since: str
    spoken_language: str

    @property
    def title(self) -> str:
        return f"GitHub Trending: {self.language or 'all'} ({self.since})"

    def address(self, base_url: str) -> str:
        page = URL(base_url) / "trending"
        query = {"since": self.since}
        if self.spoken_language:
            query["spoken_language_code"] = self.spoken_language
        return str((page / self.language if self.language else page).with_query(query))


def _config(language: str, query: Mapping[str, str]) -> dict[str, str]:
    """What a pasted address says; a period that does not exist is a day, as on GitHub."""
    since, spoken = query.get("since", ""), query.get("spoken_language_code", "")
    config = {"language": language, "since": since if since in PERIODS else "daily"}
    return {**config, "spoken_language": spoken} if spoken else config


def _wanted(config: Mapping[str, Any]) -> _TrendingOptions:
    language = _word(config, "language").replace(" ", "-")
    return _TrendingOptions(
        language="" if language == "all" else language,
        since=choice(config, "since", PERIODS, default="daily"),
        spoken_language=_word(config, "spoken_language"),
    )


def _word(config: Mapping[str, Any], name: str) -> str:
    word = text(config, name, default="").lower() if config.get(name) else ""
    if len(word) > _LONGEST or not word.isprintable() or "/" in word or word.startswith("."):
        raise BadConfig(f"{name} is the name of a language, like python; {word[:_LONGEST]!r} is none.")
    return word


def read_repositories(
    body: bytes,
    *,
    url: str,  # noqa: ARG001 - a reader is given it
    content_type: str,
    title: str,
    base: str,
) -> Reading:
    maker = ItemMaker(base)
    rows = read_rows(body, content_type)
    items = tuple(_item(repository, maker) for repository in rows if repository is not None)
    return Reading(title=title, items=items, left_out=len(rows) - len(items))


def _item(repository: Repository, maker: ItemMaker) -> Item:
    name = f"{repository.owner}/{repository.name}"
    return maker.make(
        native_id=name.lower(),  # so that one which trends again is the same, however its name is written
        url=f"/{name}",
        title=name,
        author=repository.owner,
        content=escape(repository.description, quote=False),
        metadata={
            "stars_today": repository.stars_gained,
            "stars": repository.stars,
            "forks": repository.forks,
            "language": repository.language,
        },
    )
