"""`catchment mcp`: the collection as tools for agents, over standard input and output."""

from __future__ import annotations

import signal
from typing import TYPE_CHECKING, Annotated

import typer

from catchment.cli.session import with_system
from catchment.domain.caller import OPERATOR, Caller, Scope
from catchment.errors import SettingsError

if TYPE_CHECKING:
    from catchment.bootstrap import System


def mcp(
    *,
    write: Annotated[bool, typer.Option("--write", help="Let it add sources; without it, it only reads.")] = False,
) -> None:
    """Serve agents by the Model Context Protocol, over standard input and output, until the input ends.

    It has the rights of whoever runs it, or of the key in CATCHMENT_MCP_KEY. Over HTTP it is at /mcp.

    Example: catchment mcp
    """
    try:
        from mcp.server.stdio import stdio_server

        from catchment.agents import Agent, make_server
    except ImportError as error:
        raise SettingsError(f"Agents need an extra: pip install 'catchment[mcp]' ({error}).") from error

    async def work(system: System) -> None:
        caller = await _caller(system)
        may_write = write and caller.scope.holds(Scope.WRITE)
        server = make_server(Agent(system=system, caller=caller, may_write=may_write))
        # Whoever waits for a line hears of no stop: a signal ends it at once, as it would any program of the shell.
        signal.signal(signal.SIGINT, signal.SIG_DFL)
        # Only the protocol goes to standard output: while this is open, what is printed there goes to the other one.
        async with stdio_server() as (reading, writing):
            await server.run(reading, writing, server.create_initialization_options())

    with_system(work)


async def _caller(system: System) -> Caller:
    key = system.settings.mcp_key
    if not key:
        return OPERATOR
    caller = await system.authenticator.identify(key)
    if caller is None:
        raise SettingsError("CATCHMENT_MCP_KEY is no key of this store: `catchment keys create` makes one.")
    return caller
