"""`catchment demo`: the whole product against a simulated web, offline."""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import Awaitable, Callable, Mapping
from contextlib import AbstractAsyncContextManager, nullcontext, suppress
from dataclasses import dataclass
from enum import StrEnum
from functools import partial
from importlib.util import find_spec
from math import isfinite
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Annotated, Any, Final, TypeVar

import typer

from catchment.cli.console import say
from catchment.cli.session import FAILED, command_for, read_settings, run_async
from catchment.cli.signals import stop_on_signals
from catchment.cli.up import Host, listening_on, serve_and_collect
from catchment.domain.alert import Alert
from catchment.domain.alert_rules import AlertRule
from catchment.domain.caller import OPERATOR
from catchment.domain.cookie import CookieStatus
from catchment.domain.note import Platform
from catchment.errors import Conflict, InvalidInput, SettingsError

if TYPE_CHECKING:
    from catchment.bootstrap import System
    from catchment.manage.catalog import Draft
    from catchment.settings import Settings
    from catchment.simulator.server import SimulatedWeb
    from catchment.simulator.services.xhs import XhsService
    from catchment.simulator.world import World

#: What would cost money, tell others, or take the place of something real. It has its default in a demo.
LEFT_ALONE: Final = (
    "backup_hours",
    "backup_folder",
    "backup_keep",
    "twitter_api_key",
    "scraper_usernames",
    "feishu_app_id",
    "feishu_app_secret",
    "feishu_app_token",
    "feishu_table_id",
    "summarization_enabled",
    "summarization_url",
    # That of a real server.
    "public_url",
    # The store of the demo is known to this process alone.
    "processes",
)
#: Eager enough that one sees it live.
CONCURRENCY = 20
TICK_SECONDS = 1.0
CRAWL_SPACING_SECONDS = 0.02
#: What a demo takes for a backlog of notes.
MAX_PENDING = 20


def demo_settings(given: Settings, *, folder: Path, speed: float) -> Settings:
    """What a demo works by; its store is in the folder, unless the environment names another place."""
    from catchment.settings import Settings
    from catchment.simulator.server import NETWORKS

    usual = Settings()
    return given.as_told(
        **{name: getattr(usual, name) for name in LEFT_ALONE},
        home=given.home if given.is_store_named else folder,
        allow_networks=",".join(filter(None, (given.allow_networks, *NETWORKS))),
        concurrency=max(given.concurrency, CONCURRENCY),
        tick_seconds=min(given.tick_seconds, TICK_SECONDS),
        cookie_master_key=given.cookie_master_key or secrets.token_urlsafe(32),
        crawl_spacing_seconds=min(given.crawl_spacing_seconds, CRAWL_SPACING_SECONDS),
        alert_pending_notes=min(given.alert_pending_notes, MAX_PENDING),
        alert_success_minutes=given.alert_success_minutes / max(speed, 1),
        alert_pending_minutes=given.alert_pending_minutes / max(speed, 1),
    )


def pointed_at(web: SimulatedWeb, settings: Settings) -> Settings:
    """The services of the outside are asked for in the simulated web, and nobody outside is told of alerts."""
    root = web.url("")
    return settings.as_told(
        hackernews_base_url=root,
        reddit_base_url=root,
        github_base_url=root,
        xhs_base_url=root,
        xhs_site_url=root,
        weibo_base_url=root,
        alert_webhook_url=web.url("/inbox"),
        alert_webhook_format="json",
    )


COOKIES: Final[Mapping[Platform, tuple[str, ...]]] = {
    Platform.XHS: ("demo-xhs-1", "demo-xhs-2", "demo-xhs-3"),
    Platform.WEIBO: ("demo-weibo",),
}
#: What a browser sends of a session.
_FORMS: Final = {Platform.XHS: "a1={0}; webId={0}; web_session={0}", Platform.WEIBO: "SUB={0}; WBPSESS={0}"}
#: The demo asks for more in an hour than a person would in a day.
_DAILY_LIMIT: Final = 10_000


def _require_what_signs(scenario: Scenario | None) -> None:
    if scenario is Scenario.COOKIES and find_spec("xhshow") is None:
        raise SettingsError(
            "The scenario of cookies plays on Xiaohongshu, whose requests are signed by an extra: "
            "pip install 'catchment[xhs]'."
        )


async def give_cookies(system: System) -> None:
    """One session for each name, which is called by that name. Nobody's real cookies are mixed with them."""
    ours = {name for names in COOKIES.values() for name in names}
    if real := sorted({cookie.name for cookie in await system.cookies.list()} - ours):
        raise InvalidInput(f"This store has cookies of its own ({', '.join(real)}): give the demo another one.")
    for platform, names in COOKIES.items():
        for name in names:
            await give_cookie(system, platform, name, session=name)


async def give_cookie(system: System, platform: Platform, name: str, *, session: str) -> None:
    """The cookie of this name is of this session from now on."""
    from catchment.manage.cookies import CookieChanges

    settings = CookieChanges(daily_limit=_DAILY_LIMIT, description="Made up for the demo.")
    await system.cookies.add(name, platform, _FORMS[platform].format(session), settings=settings)


TAG = "demo"
SEED = 1
INTERVAL_MINUTES = 1
PLATFORM_NAMES = {Platform.XHS: "小红书", Platform.WEIBO: "微博"}
KEYWORD, PAGES, COMMENTS = "手冲咖啡", 5, 3


def _finite(number: float) -> float:
    """Lets pass what is a number: `nan` is in no range, and in none is it refused; no time runs as fast as `inf`."""
    if not isfinite(number):
        raise typer.BadParameter(f"{number} is no number that can be reckoned with.")
    return number


def demo(
    *,
    host: Host = None,
    port: Annotated[int | None, typer.Option(min=0, max=65_535, help="Port to listen on; else a free one.")] = None,
    sites: Annotated[int, typer.Option(min=1, max=10_000, help="How many sites the simulated web has.")] = 24,
    faulty: Annotated[
        float, typer.Option(min=0, max=1, help="Which share of them has troubles.", callback=_finite)
    ] = 0.2,
    speed: Annotated[
        float, typer.Option(min=0, help="How fast its time runs: 60 is an hour a minute.", callback=_finite)
    ] = 60.0,
    scenario: Annotated[Scenario | None, typer.Option(help="Have something go wrong, and put right again.")] = None,
) -> None:
    """Run everything against a simulated web on this machine, offline, until stopped.

    The environment counts as it does for `up`, but for what is real: no backup is made, neither X nor Feishu is asked.
    Without CATCHMENT_HOME or DATABASE_URL the data is in a temporary folder and gone afterwards; with them, the store
    has to be empty or an earlier demo's.

    What has to last for minutes before it is an alert lasts as the time of the simulated web runs: `--speed 60` makes
    half an hour of half a minute.

    `--scenario cookies`: the cookies of a platform die, alerts fire, new cookies come, and the alerts resolve.

    Example: catchment demo --port 8800 --sites 100 --faulty 0.3
    """

    async def session(settings: Settings) -> bool:
        from catchment.bootstrap import open_system
        from catchment.simulator.services.xhs import XhsService

        world = _world(sites, speed=speed)
        xhs = XhsService(world)
        async with (
            _simulated_web(world, xhs, faulty=faulty) as web,
            open_system(pointed_at(web, settings)) as system,
            stop_on_signals() as stop,
        ):
            await _follow(system, web, scenario)
            _show_the_way(system.settings, web, sites)
            async with _playing(scenario, system, xhs, stop, inbox=web.url("/inbox")):
                return await serve_and_collect(system, stop)

    from catchment.web.server import require_free_port

    _require_what_signs(scenario)
    # The port of the environment is meant for a real server.
    wanted = listening_on(read_settings(), host, port or 0)
    require_free_port(wanted)
    _quieten(wanted)
    with TemporaryDirectory(prefix="catchment-demo-") as folder:
        if not run_async(session(demo_settings(wanted, folder=Path(folder), speed=speed))):
            raise typer.Exit(FAILED)


def _show_the_way(settings: Settings, web: SimulatedWeb, sites: int) -> None:
    """Commands to be pasted into another terminal: the demo's store and its web are not where commands look."""
    command = command_for(settings, CATCHMENT_ALLOW_NETWORKS=settings.allow_networks)
    typer.echo(f"The simulated web is at {web.url('/opml')}: {sites} sites, some of them in trouble, and services.")
    if not settings.database_url:
        typer.echo(f"The data is in {settings.home}")
    typer.echo("Commands for another terminal:")
    for words in ("status", "items list --limit 5", f"add {web.url('/blog/')}"):
        typer.echo(f"  {command} {words}")


def _quieten(settings: Settings) -> None:
    """Unless another level is asked for, log nothing: a demo is full of troubles, and the page shows them."""
    from catchment.logs import set_up_logs
    from catchment.settings import Settings

    if settings.log_level == Settings().log_level:
        set_up_logs(level="ERROR", form=settings.log_format)


def _world(sites: int, *, speed: float) -> World:
    from catchment.simulator.server import wall_clock
    from catchment.simulator.world import World

    return World(seed=SEED, sites=sites, started_at=wall_clock(), speed=speed)


def _simulated_web(world: World, xhs: XhsService, *, faulty: float) -> SimulatedWeb:
    from catchment.simulator.faults import scattered
    from catchment.simulator.server import SimulatedWeb
    from catchment.simulator.services.places import blog, service_places

    # A site that is not followed yet, for whoever wants to add one.
    places = {**service_places(world), **xhs.places(), "/blog": blog}
    return SimulatedWeb(world, troubles=scattered(world, faulty), places=places)


def _playing(
    scenario: Scenario | None, system: System, xhs: XhsService, stop: asyncio.Event, *, inbox: str
) -> AbstractAsyncContextManager[None]:
    from catchment.eventloop import background_tasks

    if scenario is None:
        return nullcontext()

    async def play() -> None:
        async with background_tasks(CookieTrouble(system=system, xhs=xhs, inbox=inbox).play()):
            await stop.wait()

    return background_tasks(play())


async def _follow(system: System, web: SimulatedWeb, scenario: Scenario | None) -> None:
    """Add the sites and services of the simulated web, instead of those of an earlier demo on the same store."""
    known = await system.catalog.list(OPERATOR)
    ours = [source for source in known if TAG in source.tags]
    if known and not ours:
        raise InvalidInput(
            "This store has sources, and none of a demo: unset CATCHMENT_HOME and DATABASE_URL, or name another place."
        )
    for source in ours:
        await system.catalog.remove(source.id, OPERATOR)
    feeds = [
        _draft("rss", site.title, {"url": web.feed_url(site.number)}, site.vocabulary.code) for site in web.world.sites
    ]
    services = [
        _draft("hackernews", "Hacker News: top", {"filter": "top"}, "services"),
        _draft("reddit", "r/sailing", {"subreddit": "sailing", "sort": "new"}, "services"),
        _draft("github_trending", "GitHub Trending", {"since": "daily"}, "services"),
        _draft("sitemap", "The Harbour Museum", {"url": web.url("/museum/sitemap.xml")}, "en"),
    ]
    await give_cookies(system)
    await system.catalog.add_many([*feeds, *services, *_keywords(scenario)], OPERATOR)


def _keywords(scenario: Scenario | None) -> list[Draft]:
    """More is found for a scenario, as it needs a backlog."""
    pages = 1 if scenario is None else PAGES
    return [_search(Platform.XHS, KEYWORD, pages), _search(Platform.WEIBO, KEYWORD, 1)]


def _search(platform: Platform, keyword: str, pages: int) -> Draft:
    from catchment.domain.note import SOURCE_TYPES

    config = {"keyword": keyword, "pages": pages, "comments_limit": COMMENTS}
    return _draft(SOURCE_TYPES[platform], f"{PLATFORM_NAMES[platform]}：{keyword}", config, "keywords")


def _draft(source_type: str, name: str, config: Mapping[str, Any], tag: str) -> Draft:
    from catchment.manage.catalog import Draft

    return Draft(
        type=source_type,
        name=name,
        config=config,
        tags=(TAG, tag),
        fetch_interval_minutes=INTERVAL_MINUTES,
        is_public=True,
    )


T = TypeVar("T")

#: In the order of how soon each fires.
RULES: Final = (AlertRule.COOKIE_EXHAUSTED, AlertRule.API_SUCCESS_RATE_LOW, AlertRule.PROCESSING_BACKLOG)
#: So many notes are collected before anything goes wrong.
PEACEFUL_NOTES: Final = 5
LOOK_SECONDS: Final = 0.1
#: Nobody who watches wants to wait until it is time for a job that could as well be run by hand.
HURRY_SECONDS: Final = 0.5
#: So long all that fires can be looked at together.
SHOW_SECONDS: Final = 3.0


class Scenario(StrEnum):
    COOKIES = "cookies"


@dataclass(frozen=True, slots=True, kw_only=True)
class CookieTrouble:
    """The cookies of Xiaohongshu die one after the other, what follows from that is told, and new ones end it."""

    system: System
    xhs: XhsService
    inbox: str

    async def play(self) -> None:
        from catchment.eventloop import background_tasks

        await self._begin()
        async with background_tasks(self._hurry()):
            for name in COOKIES[Platform.XHS]:
                await self._lose(name)
            for rule in RULES:
                fires = await self._until(partial(self._alert, rule, is_open=True))
                _tell(f"{fires.severity} {rule} fires: {fires.message}")
            await asyncio.sleep(SHOW_SECONDS)
            await self._replace_all()
            async with asyncio.TaskGroup() as crawling:
                crawling.create_task(self._crawl())
                for rule in RULES:
                    over = await self._until(partial(self._alert, rule, is_open=False))
                    _tell(f"{over.severity} {rule} is resolved.")
            _tell(f"That was all. {self.inbox} shows every alert that was sent; the demo goes on until stopped.")

    async def _begin(self) -> None:
        _tell(f"Alerts are posted to {self.inbox}, and shown on the dashboard.")
        await self._until(self._is_collecting)
        _tell(f"{len(COOKIES[Platform.XHS])} cookies take turns at collecting what is found on Xiaohongshu.")

    async def _lose(self, name: str) -> None:
        from catchment.simulator.services.keyword_platforms import TroubleKind

        self.xhs.trouble(TroubleKind.LOGIN_EXPIRED, cookie=name)
        _tell(f"Xiaohongshu logs out {name}: its requests fail, and others take over.")
        status = await self._until(partial(self._lost_status, name))
        _tell(f"{name} has failed too often in a row, and is {status} from now on.")

    async def _replace_all(self) -> None:
        for name in COOKIES[Platform.XHS]:
            await give_cookie(self.system, Platform.XHS, name, session=f"{name}-renewed")
        _tell("Every cookie has a new value now, as `catchment cookies add` gives it, and the backlog is crawled.")

    async def _crawl(self) -> None:
        crawl = self.system.crawl
        await crawl.run(await crawl.keywords(platform=Platform.XHS), on_result=lambda _: None)

    async def _hurry(self) -> None:
        """Look for alerts, and deliver what is told of them, over and over."""
        from catchment.jobs.builtin import ALERTS, OUTBOX

        while True:
            for job in (ALERTS, OUTBOX):
                with suppress(Conflict):
                    await self.system.jobs.run_now(job)
            await asyncio.sleep(HURRY_SECONDS)

    async def _is_collecting(self) -> bool:
        used = [cookie.total_used for cookie in await self.system.cookies.list(Platform.XHS)]
        return sum(used) >= PEACEFUL_NOTES

    async def _lost_status(self, name: str) -> CookieStatus | None:
        status = (await self.system.cookies.get(name)).status
        return None if status is CookieStatus.ACTIVE else status

    async def _alert(self, rule: AlertRule, *, is_open: bool) -> Alert | None:
        from catchment.monitor.alerting import list_alerts

        shown = await self.system.store.read(list_alerts, OPERATOR, now=self.system.clock.now())
        first = next((alert for alert in shown if alert.rule is rule), None)
        return first if first and first.is_open is is_open else None

    async def _until(self, ask: Callable[[], Awaitable[T | None]]) -> T:
        while True:
            if answer := await ask():
                return answer
            await asyncio.sleep(LOOK_SECONDS)


def _tell(sentence: str) -> None:
    say(f"▸ {sentence}")
