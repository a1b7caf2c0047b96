"""Where the simulated web lives: a loopback address for each site, so that each looks like its own host.

Linux answers on all of 127.0.0.0/8 without being told. Each address has a listening socket on the same port:
10,000 of them take half a second and no noticeable memory, and nothing is ever bound beyond loopback.
"""

from __future__ import annotations

import asyncio
import errno
import resource
import sys
from collections.abc import Callable
from dataclasses import dataclass

ROOT = "127.0.0.1"
#: What a guard against private addresses has to let through.
NETWORKS = (ROOT, "127.77.0.0/16")
PER_BLOCK = 250
MAX_HOSTS = 256 * PER_BLOCK
BACKLOG = 256
PORT_ATTEMPTS = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class Addresses:
    port: int
    #: How many hosts the sites share; with none, all live at the root.
    hosts: int

    @property
    def root(self) -> str:
        return f"http://{ROOT}:{self.port}"

    def home(self, site: int) -> str:
        host = host_address(site % self.hosts) if self.hosts else ROOT
        return f"http://{host}:{self.port}/s/{site}/"


def host_address(host: int) -> str:
    block, place = divmod(host, PER_BLOCK)
    return f"127.77.{block}.{place + 1}"


def affordable_hosts(sites: int) -> int:
    """One for each site, but at most half of the files that may be open, and none where 127/8 is not ours."""
    if sys.platform != "linux":
        return 0
    open_files, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return min(sites, open_files // 2, MAX_HOSTS)


async def listen(
    visitor: Callable[[], asyncio.BaseProtocol], *, port: int, hosts: int
) -> tuple[Addresses, list[asyncio.Server]]:
    """Opens the same port on every address; port 0 means any that is free everywhere."""
    for attempts_left in reversed(range(PORT_ATTEMPTS)):
        servers = [await _open(visitor, [ROOT], port)]
        chosen = servers[0].sockets[0].getsockname()[1]
        try:
            if hosts:
                servers.append(await _open(visitor, [host_address(host) for host in range(hosts)], chosen))
        except OSError as error:
            servers[0].close()
            if port or not attempts_left or error.errno != errno.EADDRINUSE:
                raise
        else:
            return Addresses(port=chosen, hosts=hosts), servers
    raise AssertionError("the last attempt returns or raises")


async def _open(visitor: Callable[[], asyncio.BaseProtocol], hosts: list[str], port: int) -> asyncio.Server:
    return await asyncio.get_running_loop().create_server(visitor, hosts, port, backlog=BACKLOG)
