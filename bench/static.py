"""Feeds as files, served by nginx: it leaves the processors to whoever is measured. Its own share is shown as well.

Where nginx is not installed, a server in Python stands in, which answers from memory and does nothing else.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from getpass import getuser
from pathlib import Path
from urllib.parse import urlsplit

from bench.gauge import family, processor_seconds
from catchment.simulator.formats import Style, write_feed
from catchment.simulator.server import NETWORKS, host_address, wall_clock
from catchment.simulator.world import World

#: What the product has to be told to let it fetch from there.
ALLOW_NETWORKS = ",".join(NETWORKS)
ITEMS_PER_FEED = 30
START_SECONDS = 20
CONFIG = """
daemon off; user {user}; worker_processes 1; worker_rlimit_nofile 20000; pid {folder}/nginx.pid; error_log stderr crit;
events {{ worker_connections 20000; }}
http {{
  access_log off; sendfile on; keepalive_requests 100000; open_file_cache max=20000 inactive=1h;
  default_type application/rss+xml; client_body_temp_path {folder}/t; proxy_temp_path {folder}/t;
  fastcgi_temp_path {folder}/t; uwsgi_temp_path {folder}/t; scgi_temp_path {folder}/t;
  server {{ {listen} root {feeds}; {validators} }}
}}
"""
#: Without them only the same bytes tell that nothing changed.
WITHOUT_VALIDATORS = 'etag off; if_modified_since off; add_header Last-Modified "";'


@dataclass(frozen=True, slots=True, kw_only=True)
class Feeds:
    """RSS 2.0 of 30 items each; the links in every second item are relative."""

    folder: Path
    urls: Sequence[str]
    port: int
    hosts: int

    def listen(self) -> str:
        return " ".join(f"listen {host_address(host)}:{self.port};" for host in range(self.hosts))


def write_feeds(folder: Path, count: int, *, hosts: int) -> Feeds:
    port = _free_port()
    world = World(seed=1, sites=count, started_at=wall_clock(), speed=0, window=ITEMS_PER_FEED, styles=[Style()])
    urls = []
    for number, site in enumerate(world.sites):
        home = f"http://{host_address(number % hosts)}:{port}/s/{number}/"
        edition = site.edition(wall_clock())
        body = write_feed(Style().format, "utf-8", site.channel(home), edition.posts, edition.changed_at)
        (folder / "s" / str(number)).mkdir(parents=True)
        (folder / "s" / str(number) / "feed.xml").write_bytes(_with_relative_links(body, home.encode()))
        urls.append(f"{home}feed.xml")
    return Feeds(folder=folder, urls=urls, port=port, hosts=hosts)


def _with_relative_links(body: bytes, home: bytes) -> bytes:
    items = body.split(b"</item>")
    items[::2] = [item.replace(b'href="' + home, b'href="') for item in items[::2]]
    return b"</item>".join(items)


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
    return port


class Server:
    def __init__(self, pid: int, name: str) -> None:
        self.name = name
        self._pid = pid

    def processor_seconds(self) -> float:
        return processor_seconds(family(self._pid))


@contextmanager
def served(feeds: Feeds, *, validators: bool) -> Iterator[Server]:
    folder = feeds.folder.parent
    nginx = shutil.which("nginx") or shutil.which("nginx", path="/usr/sbin")
    if nginx:
        said = "" if validators else WITHOUT_VALIDATORS
        config = CONFIG.format(
            user=getuser(), folder=folder, feeds=feeds.folder, listen=feeds.listen(), validators=said
        )
        (folder / "nginx.conf").write_text(config, encoding="utf-8")
        command = [nginx, "-e", "stderr", "-p", str(folder), "-c", str(folder / "nginx.conf")]
    else:
        command = [sys.executable, "-m", "bench.static", str(feeds.folder), str(feeds.port), str(feeds.hosts)]
        command += ["validators"] if validators else []
    with subprocess.Popen(command, cwd=Path(__file__).parent.parent) as child:
        try:
            _wait_until_it_serves(feeds, child)
            yield Server(child.pid, "nginx" if nginx else "Python")
        finally:
            child.terminate()
            child.wait(START_SECONDS)


def _wait_until_it_serves(feeds: Feeds, child: subprocess.Popen[bytes]) -> None:
    deadline = time.monotonic() + START_SECONDS
    host = urlsplit(feeds.urls[-1]).hostname or ""
    while child.poll() is None and time.monotonic() < deadline:
        with socket.socket() as probe:
            if probe.connect_ex((host, feeds.port)) == 0:
                return
        time.sleep(0.05)
    raise RuntimeError("the server of the feeds did not start")


class _Visitor(asyncio.Protocol):
    """Answers from memory; requests are taken to arrive whole, and to be GETs."""

    def __init__(self, answers: dict[bytes, tuple[bytes, bytes, bytes]]) -> None:
        self._answers = answers

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        tag, whole, same = self._answers[data.split(b" ", 2)[1]]
        self._transport.write(same if tag and tag in data else whole)


def _answers(folder: Path, *, validators: bool) -> dict[bytes, tuple[bytes, bytes, bytes]]:
    found = {}
    for path in folder.rglob("feed.xml"):
        body = path.read_bytes()
        tag = json.dumps(hashlib.sha256(body).hexdigest()[:24]).encode() if validators else b""
        line = b"ETag: " + tag + b"\r\n" if tag else b""
        head = b"HTTP/1.1 200 OK\r\nContent-Type: application/rss+xml\r\n" + line
        whole = head + b"Content-Length: %d\r\n\r\n" % len(body) + body
        address = b"/" + str(path.relative_to(folder)).encode()
        found[address] = (tag, whole, b"HTTP/1.1 304 Not Modified\r\n" + line + b"\r\n")
    return found


async def _serve(folder: Path, port: int, hosts: int, *, validators: bool) -> None:
    answers = _answers(folder, validators=validators)
    addresses = [host_address(host) for host in range(hosts)]
    server = await asyncio.get_running_loop().create_server(lambda: _Visitor(answers), addresses, port)
    await server.serve_forever()


if __name__ == "__main__":
    from catchment.eventloop import run

    folder_, port_, hosts_, *more_ = sys.argv[1:]
    run(_serve(Path(folder_), int(port_), int(hosts_), validators=bool(more_)))
