"""Where the server is reached: as the settings say, or as it was asked."""

from __future__ import annotations

from urllib.parse import urlsplit

from fastapi import Request

from catchment.bootstrap import System


def base_url(request: Request) -> str:
    """For addresses that leave the server, without a slash at the end."""
    return (_public_url(request) or str(request.base_url)).rstrip("/")


def is_own_origin(request: Request, origin: str) -> bool:
    """Whether its pages are ours. A proxy may ask by a name of its own, so the public one counts too."""
    host = _host_of(origin)
    return host != "" and host in {request.headers.get("host", "").lower(), _host_of(_public_url(request))}


def _public_url(request: Request) -> str:
    system: System = request.app.state.system
    return system.settings.public_url


def _host_of(url: str) -> str:
    """With its port, as a Host header has it; empty if there is none."""
    try:
        return urlsplit(url).netloc.lower()
    except ValueError:
        return ""
