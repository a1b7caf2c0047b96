"""The server: listens, serves until told to stop, and then lets everybody finish."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import uvicorn
from fastapi import FastAPI

from catchment.bootstrap import System
from catchment.errors import SettingsError
from catchment.settings import Settings
from catchment.web.app import create_app
from catchment.web.connection_limits import bounded_protocol, limits_of, raise_descriptor_limit
from catchment.web.live import Live

#: Requests in flight have this long to end once a stop was asked for.
GRACE_SECONDS = 5


class _Server(uvicorn.Server):
    """Leaves signals to whoever runs the whole, and says when it listens."""

    def __init__(self, config: uvicorn.Config, on_started: Callable[[], None]) -> None:
        super().__init__(config)
        self._on_started = on_started

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        self._on_started()


async def serve(system: System, *, stop: asyncio.Event, on_ready: Callable[[str], None]) -> None:
    """Serve until `stop` is set. `on_ready` is told the base URL once requests are answered."""
    settings = system.settings
    await serve_app(create_app(system), host=settings.host, port=settings.port, stop=stop, on_ready=on_ready)


async def serve_app(
    app: FastAPI, *, host: str, port: int, stop: asyncio.Event, on_ready: Callable[[str], None]
) -> None:
    listener = _listen(host, port)
    settings: Settings = app.state.system.settings
    config = uvicorn.Config(
        app,
        log_config=None,
        access_log=False,
        server_header=False,
        lifespan="off",
        ws="none",
        # What others say of where they come from is not believed, on this machine either.
        proxy_headers=bool(settings.trusted_proxies),
        forwarded_allow_ips=settings.trusted_proxies,
        http=bounded_protocol(limits_of(settings, descriptors=raise_descriptor_limit())),
        timeout_graceful_shutdown=GRACE_SECONDS,
    )
    server = _Server(config, lambda: on_ready(_base_url(listener)))
    with listener:
        async with asyncio.TaskGroup() as tasks:
            stopping = tasks.create_task(_stop_when_told(stop, server, app))
            await server.serve(sockets=[listener])
            stopping.cancel()


async def _stop_when_told(stop: asyncio.Event, server: uvicorn.Server, app: FastAPI) -> None:
    await stop.wait()
    # Streams never end by themselves, so they are ended first.
    live: Live = app.state.live
    await live.close()
    server.should_exit = True


def require_free_port(settings: Settings) -> None:
    """SettingsError where a server could not listen: for whoever would say or make much before it does."""
    _listen(settings.host, settings.port).close()


def _listen(host: str, port: int) -> socket.socket:
    try:
        family, _, _, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)[0]
        return socket.create_server(address[:2], family=family)
    except OSError as error:
        raise SettingsError(
            f"The server cannot listen on {host}:{port}: {error.strerror}. "
            "Choose another with --port, or by CATCHMENT_PORT and CATCHMENT_HOST (0 takes any free port)."
        ) from error


def _base_url(listener: socket.socket) -> str:
    host, port = listener.getsockname()[:2]
    reachable = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(host, host)  # noqa: S104 (compared, not bound)
    return f"http://[{reachable}]:{port}" if ":" in reachable else f"http://{reachable}:{port}"
