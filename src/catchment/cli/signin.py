"""`catchment signin`: a new link that signs a browser in, at any time."""

from __future__ import annotations

from typing import TYPE_CHECKING

import typer
from loguru import logger

from catchment.cli.console import AsJson, print_json, say
from catchment.cli.session import read_settings, with_system

if TYPE_CHECKING:
    from pathlib import Path

    from catchment.settings import Settings

#: In the data folder: where the server was reached when it last began to listen.
ADDRESS_FILE = "server.address"


def signin(*, as_json: AsJson = False) -> None:
    """Print a new link that signs one browser in as an administrator, once and within a quarter of an hour.

    It leads to where the server listened last, or to CATCHMENT_PUBLIC_URL.

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


def sign_in_address(server: str, token: str) -> str:
    return f"{server}/signin?token={token}"


def server_address(settings: Settings) -> str:
    """Where the server is reached, as far as this process can know."""
    if settings.public_url:
        return settings.public_url
    try:
        return _address_file(settings).read_text(encoding="utf-8").strip()
    except FileNotFoundError:
        host = f"[{settings.host}]" if ":" in settings.host else settings.host
        return f"http://{host}:{settings.port}"


def remember_address(settings: Settings, address: str) -> None:
    """The port may be one that was free, or come from the command line: `signin` could not know it."""
    file = _address_file(settings)
    try:
        file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        file.write_text(f"{address}\n", encoding="utf-8")
    except OSError as error:
        logger.warning("{} cannot be written: {}; set CATCHMENT_PUBLIC_URL for `signin`", file, error.strerror)


def _address_file(settings: Settings) -> Path:
    return settings.home / ADDRESS_FILE
