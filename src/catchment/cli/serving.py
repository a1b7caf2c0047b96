"""`catchment up`: migrate, collect, serve and show the dashboard, in one process."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated

import typer
from loguru import logger

from catchment.cli.failing import FAILED
from catchment.cli.printing import say
from catchment.cli.session import read_settings, with_system
from catchment.cli.stopping import collect_until_stopped, stop_on_signals
from catchment.domain.caller import OPERATOR
from catchment.domain.outbox import Format

if TYPE_CHECKING:
    from catchment.bootstrap import System
    from catchment.manage.accounts import FirstKey
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

    async def work(system: System) -> bool:
        if not no_starter:
            await _add_starter_pack(system)
        async with stop_on_signals() as stop:
            return await serve_and_collect(system, stop, collect=not no_collect)

    if not with_system(work, listening_on(read_settings(), host, port)):
        raise typer.Exit(FAILED)


def listening_on(settings: Settings, host: str | None, port: int | None) -> Settings:
    return replace(settings, host=settings.host if host is None else host, port=settings.port if port is None else port)


async def serve_and_collect(system: System, stop: asyncio.Event, *, collect: bool = True) -> bool:
    """Both side by side until the stop; False when collecting had to be cut off."""
    from catchment.web.server import serve

    await seal_plain(system)
    first_key = await system.accounts.ensure_first_key()
    await follow_environment(system)
    async with asyncio.TaskGroup() as tasks:
        tasks.create_task(system.jobs.keep(stop))
        tasks.create_task(serve(system, stop=stop, on_ready=lambda address: _welcome(address, first_key)))
        collecting = tasks.create_task(_collect(system, stop)) if collect else None
    return collecting is None or collecting.result()


async def seal_plain(system: System) -> None:
    """Secrets that an earlier release stored as they are."""
    sealed = await system.catalog.seal_plain() + await system.webhooks.seal_plain()
    if sealed:
        logger.info("The secrets of {} sources and webhooks were stored as they are, and are sealed now.", sealed)


async def follow_environment(system: System) -> None:
    """Have in the store what the environment asks for."""
    settings = system.settings
    await system.webhooks.follow_environment(url=settings.summarization_url, is_enabled=settings.summarization_enabled)
    await system.webhooks.follow_alerts(
        url=settings.alert_webhook_url,
        form=Format(settings.alert_webhook_format),
        secret=settings.alert_webhook_secret,
    )


async def _collect(system: System, stop: asyncio.Event) -> bool:
    from catchment.cli.crew import crew

    async with crew(system.settings.processes - 1, stop) as others:
        clean = await collect_until_stopped(system, stop)
    return clean and not others.was_cut_off


async def _add_starter_pack(system: System) -> None:
    from catchment.manage.starter import add_starter_pack

    added = await add_starter_pack(system.catalog, system.store, system.clock, OPERATOR)
    if added:
        say(f"{added} public feeds to start with were added; remove what you do not want.")


def _welcome(address: str, first_key: FirstKey | None) -> None:
    typer.echo(f"Catchment is at {address}")
    if first_key is not None:
        typer.echo(f"Admin key (shown only now): {first_key.secret}")
        typer.echo(f"Sign in once, until {first_key.link_expires_at:%H:%M} UTC: {sign_in_link(address, first_key)}")


def sign_in_link(address: str, first_key: FirstKey) -> str:
    return f"{address}/signin?token={first_key.link_token}"
