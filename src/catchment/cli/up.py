"""`catchment up`: migrate, collect, serve and show the dashboard, in one process, with others while many feeds
are due; `signin`: a link to it.
"""

from __future__ import annotations

import asyncio
from contextlib import nullcontext
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

import typer

from catchment.cli.collector_processes import ALONE, ForkServer, fork_server, helpers, import_what_collects
from catchment.cli.console import AsJson, print_json, say
from catchment.cli.session import FAILED, command_for, read_settings, with_system
from catchment.cli.signals import collect_until_stopped, stop_on_signals
from catchment.domain.caller import OPERATOR
from catchment.domain.outbox import WebhookFormat
from catchment.processes import is_gone, is_here, owner_name

if TYPE_CHECKING:
    from pathlib import Path

    from catchment.bootstrap import System
    from catchment.settings import Settings


Host = Annotated[str | None, typer.Option(help="Address to listen on; else CATCHMENT_HOST.")]
Port = Annotated[int | None, typer.Option(min=0, max=65_535, help="Port to listen on; else CATCHMENT_PORT.")]


def up(
    *,
    host: Host = None,
    port: Port = None,
    no_collect: Annotated[bool, typer.Option("--no-collect", help="Serve only; collect in another process.")] = False,
    no_starter: Annotated[bool, typer.Option("--no-starter", help="Leave a new store empty.")] = False,
) -> None:
    """Collect, serve the API and show the dashboard, until stopped.

    A new store starts with a handful of public feeds, once.

    Example: catchment up --port 8767
    """

    async def work(system: System, forks: ForkServer) -> bool:
        if not no_starter:
            await _add_starter_pack(system)
        async with stop_on_signals() as stop:
            return await serve_and_collect(system, stop, forks, collect=not no_collect)

    settings = listening_on(read_settings(), host, port)
    if not no_collect:
        import_what_collects()
    with nullcontext(ALONE) if no_collect else fork_server(settings) as forks:
        # Imported only now: what was forked needs nothing of it.
        from catchment.web.server import require_free_port

        require_free_port(settings)
        clean = with_system(lambda system: work(system, forks), settings, makes_store=True)
    if not clean:
        raise typer.Exit(FAILED)


def listening_on(settings: Settings, host: str | None, port: int | None) -> Settings:
    return settings.as_told(host=settings.host if host is None else host, port=settings.port if port is None else port)


async def serve_and_collect(
    system: System, stop: asyncio.Event, forks: ForkServer = ALONE, *, collect: bool = True
) -> bool:
    """Both side by side until the stop; False when collecting had to be cut off."""
    from catchment.web.server import serve

    # Before anybody is told that it listens: whoever comes would only see it end.
    await system.store.checked.require(system.clock.now())
    await seal_plain(system)
    await follow_environment(system)
    listening: asyncio.Future[str] = asyncio.get_running_loop().create_future()
    async with asyncio.TaskGroup() as tasks:
        tasks.create_task(system.jobs.keep(stop))
        tasks.create_task(serve(system, stop=stop, on_ready=listening.set_result))
        tasks.create_task(_welcome(system, listening))
        collecting = tasks.create_task(_collect(system, stop, forks)) if collect else None
    return collecting is None or collecting.result()


async def seal_plain(system: System) -> None:
    """Secrets that an earlier release stored as they are."""
    sealed = await system.catalog.seal_plain() + await system.webhooks.seal_plain()
    if sealed:
        from loguru import logger

        logger.info("The secrets of {} sources and webhooks were stored as they are, and are sealed now.", sealed)


async def follow_environment(system: System) -> None:
    """Have in the store what the environment asks for."""
    settings = system.settings
    await system.webhooks.follow_environment(url=settings.summarization_url, is_enabled=settings.summarization_enabled)
    await system.webhooks.follow_alerts(
        url=settings.alert_webhook_url,
        form=WebhookFormat(settings.alert_webhook_format),
        secret=settings.alert_webhook_secret,
    )


async def _collect(system: System, stop: asyncio.Event, forks: ForkServer) -> bool:
    async with helpers(system, forks, stop) as others:
        clean = await collect_until_stopped(system, stop)
    return clean and not others.was_cut_off


async def _add_starter_pack(system: System) -> None:
    from catchment.manage.packs import add_starter_pack

    added = await add_starter_pack(system.catalog, system.store, system.clock, OPERATOR)
    if added:
        say(f"{added} public feeds to start with were added; remove what you do not want.")


async def _welcome(system: System, listening: asyncio.Future[str]) -> None:
    """The first key is made when somebody can use it: a start that fails must not use it up."""
    address = await listening
    remember_address(system.settings, address)
    typer.echo(f"Catchment is at {address}")
    first_key = await system.accounts.ensure_first_key()
    if first_key is not None:
        link = first_key.link
        typer.echo(f"Admin key (shown only now): {first_key.secret}")
        way_in = sign_in_address(system.settings.public_url or address, link.token)
        typer.echo(f"Sign in once, until {link.expires_at:%H:%M} UTC: {way_in}")
    typer.echo(f"A new link to sign in, at any time: {command_for(system.settings)} signin")


#: In the data folder: where servers were reached when they began to listen, and which processes they are.
ADDRESS_FILE = "server.address"


@dataclass(frozen=True, slots=True)
class _RememberedServer:
    address: str
    owner: str

    @property
    def is_running(self) -> bool:
        """Of a server on another machine nobody here can tell."""
        return not is_gone(self.owner)


def signin(*, as_json: AsJson = False) -> None:
    """Print a new link that signs one browser in as an administrator, once and within a quarter of an hour.

    It leads to the server that runs, the last one to start where there are several, or to CATCHMENT_PUBLIC_URL.

    Example: catchment signin
    """
    settings = read_settings()
    link = with_system(lambda system: system.accounts.make_sign_in_link(), settings)
    address = sign_in_address(server_address(settings), link.token)
    if as_json:
        print_json({"url": address, "expires_at": link.expires_at})
        return
    typer.echo(address)
    say(f"It signs one browser in, once, until {link.expires_at:%H:%M} UTC.")
    if not settings.public_url and not any(server.is_running for server in _remembered(settings)):
        say(f"The server is not running: start it by `{command_for(settings)} up` before the link is opened.")


def sign_in_address(server: str, token: str) -> str:
    return f"{server}/signin?token={token}"


def server_address(settings: Settings) -> str:
    """Where the server is reached, as far as this process can know."""
    if settings.public_url:
        return settings.public_url
    if remembered := _remembered(settings):
        return next((server for server in remembered if server.is_running), remembered[0]).address
    host = f"[{settings.host}]" if ":" in settings.host else settings.host
    return f"http://{host}:{settings.port}"


def _remembered(settings: Settings) -> list[_RememberedServer]:
    """The servers that listened last, the last one first."""
    try:
        words = iter(_address_file(settings).read_text(encoding="utf-8").split())
    except FileNotFoundError:
        return []
    return [_RememberedServer(address, owner) for address, owner in zip(words, words, strict=False)]


def remember_address(settings: Settings, address: str) -> None:
    """The port may be one that was free, or come from the command line: `signin` could not know it."""
    file = _address_file(settings)
    try:
        # Of those on other machines nobody could tell that they ended.
        others = [server for server in _remembered(settings) if is_here(server.owner) and server.is_running]
        listening = [_RememberedServer(address, owner_name()), *others]
        file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        file.write_text("".join(f"{one.address}\n{one.owner}\n" for one in listening), encoding="utf-8")
    except OSError as error:
        from loguru import logger

        logger.warning("{} cannot be written: {}; set CATCHMENT_PUBLIC_URL for `signin`", file, error.strerror)


def _address_file(settings: Settings) -> Path:
    return settings.home / ADDRESS_FILE
