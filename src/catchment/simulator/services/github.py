"""GitHub's page of trending repositories, with the links that stand in the way of the one that matters."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from html import escape
from urllib.parse import parse_qs, unquote

from catchment.simulator.messages import Answer, IncomingRequest, not_found, page
from catchment.simulator.prose import WorldTime
from catchment.simulator.services.stream import EventStream

#: How long until another repository trends.
PERIOD = timedelta(hours=1)
BACKLOG = 60
SHOWN = 16
LANGUAGES = ("Python", "Rust", "Go", "TypeScript", "C++")
WORDS = {"daily": "today", "weekly": "this week", "monthly": "this month"}
#: A language that nobody wrote in.
DESERTED = "brainfuck"


class GithubTrending:
    """Answers at `/trending`."""

    def __init__(self, timeline: WorldTime) -> None:
        self._stream = EventStream(timeline=timeline, name="github", period=PERIOD, backlog=BACKLOG)

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
        latest = self._stream.latest(at, BACKLOG)
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
