"""The real newsboat on a running Catchment: it lists, reads and marks, and both sides agree afterwards."""

from __future__ import annotations

import asyncio
import os
import pty
import select
import shutil
import sqlite3
import subprocess
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from time import monotonic

import pytest
from greader_app import READ, STARRED, ReaderApp, app_of
from web_site import Site

NEWSBOAT = shutil.which("newsboat")
pytestmark = [
    pytest.mark.proves("H-01"),
    pytest.mark.readers,
    pytest.mark.skipif(NEWSBOAT is None, reason="no newsboat on this machine"),
]
CONFIG = """
urls-source "feedhq"
feedhq-url "{url}/greader"
feedhq-login "alice@example.org"
feedhq-password "{password}"
feedhq-show-special-feeds no
feedhq-flag-star "s"
show-read-feeds yes
show-read-articles yes
confirm-exit no
"""
SECONDS = 60


class Newsboat:
    """A home of its own, in which newsboat is run as often as wanted."""

    def __init__(self, folder: Path, url: str, password: str) -> None:
        self._folder = folder
        self._url, self._password = url, password
        folder.mkdir()
        (folder / "config").write_text(CONFIG.format(url=url.rstrip("/"), password=password))
        parts = {"-C": "config", "-u": "urls", "-c": "cache.db"}
        self._command = [str(NEWSBOAT), *(word for flag, name in parts.items() for word in (flag, str(folder / name)))]
        self._environment = {**os.environ, "HOME": str(folder), "TERM": "xterm", "LC_ALL": "C.UTF-8"}

    def moved(self, folder: Path) -> Newsboat:
        """Another one of the same user, with nothing in its cache."""
        return Newsboat(folder, self._url, self._password)

    async def run(self, *commands: str) -> str:
        """Without a screen, as from cron."""
        process = await asyncio.create_subprocess_exec(
            *self._command, "-x", *commands, env=self._environment, stdout=asyncio.subprocess.PIPE
        )
        output, _ = await asyncio.wait_for(process.communicate(), SECONDS)
        return output.decode()

    def unread_titles(self) -> set[str]:
        with sqlite3.connect(self._folder / "cache.db") as cache:
            return {title for (title,) in cache.execute("SELECT title FROM rss_item WHERE unread = 1")}

    @contextmanager
    def on_screen(self) -> Iterator[Screen]:
        terminal, its_side = pty.openpty()
        process = subprocess.Popen(
            self._command,
            env=self._environment,
            stdin=its_side,
            stdout=its_side,
            stderr=its_side,
            start_new_session=True,
        )
        os.close(its_side)
        try:
            yield Screen(terminal)
        finally:
            process.kill()
            process.wait()
            os.close(terminal)


class Screen:
    def __init__(self, terminal: int) -> None:
        self._terminal = terminal
        self._shown = ""

    async def wait_for(self, text: str) -> None:
        await asyncio.to_thread(self._read_until, text)

    async def press(self, keys: str) -> None:
        self._shown = ""
        os.write(self._terminal, keys.encode())

    def _read_until(self, text: str) -> None:
        deadline = monotonic() + SECONDS
        while text not in self._shown:
            ready, _, _ = select.select([self._terminal], [], [], max(0.0, deadline - monotonic()))
            assert ready, f"{text!r} did not come; there is {self._shown!r}"
            self._shown += os.read(self._terminal, 65_536).decode("utf-8", "replace")


async def until(is_so: Callable[[], Awaitable[bool]]) -> None:
    """Newsboat tells the server beside what it shows."""
    deadline = monotonic() + SECONDS
    while not await is_so():
        assert monotonic() < deadline
        await asyncio.sleep(0.02)


@pytest.fixture
async def app(lean_site: Site, served_url: str) -> ReaderApp:
    source = await lean_site.add_source(lean_site.alice, "blog")
    await lean_site.add_items(source, "Alpha", "Beta", "Gamma")
    other = await lean_site.add_source(lean_site.alice, "journal")
    await lean_site.add_items(other, "Delta", "Epsilon")
    return await app_of(lean_site, "alice")


@pytest.fixture
def newsboat(lean_site: Site, served_url: str, tmp_path: Path) -> Newsboat:
    return Newsboat(tmp_path / "newsboat", served_url, lean_site.keys["alice"])


async def test_newsboat_lists_what_is_followed_and_what_is_unread(app: ReaderApp, newsboat: Newsboat):
    assert await newsboat.run("reload", "print-unread") == "5 unread articles\n"
    assert newsboat.unread_titles() == {"Alpha", "Beta", "Gamma", "Delta", "Epsilon"}


async def test_what_another_app_read_is_read_at_the_first_reload(app: ReaderApp, newsboat: Newsboat):
    await app.done("edit-tag", i=(await app.ids())[:2], a=READ)
    assert await newsboat.run("reload", "print-unread") == "3 unread articles\n"
    assert newsboat.unread_titles() == {"Alpha", "Beta", "Gamma"}


async def test_what_is_read_in_newsboat_is_read_here_and_stays_so(app: ReaderApp, newsboat: Newsboat, tmp_path: Path):
    assert await newsboat.run("reload", "print-unread") == "5 unread articles\n"
    with newsboat.on_screen() as screen:
        await screen.wait_for("journal")
        await screen.press("\r")
        await screen.wait_for("Gamma")
        await screen.press("\r")
        await screen.wait_for("https://x.example/")
        await screen.press("q")
        await screen.wait_for("2 unread, 3 total")

        async def is_one_read() -> bool:
            return len(await app.titles(READ)) == 1

        await until(is_one_read)
        (opened,) = await app.titles(READ)
        # The rest of the feed, at once.
        await screen.press("A")

        async def is_feed_read() -> bool:
            return len(await app.titles(READ)) == 3

        await until(is_feed_read)
    assert opened in {"Alpha", "Beta", "Gamma"}
    assert set(await app.titles(READ)) == {"Alpha", "Beta", "Gamma"}
    assert await newsboat.run("reload", "print-unread") == "2 unread articles\n"
    # And in another newsboat, which knows only what we tell it.
    elsewhere = newsboat.moved(tmp_path / "elsewhere")
    assert await elsewhere.run("reload", "print-unread") == "2 unread articles\n"


async def test_a_star_in_newsboat_is_a_star_here(app: ReaderApp, newsboat: Newsboat):
    await newsboat.run("reload")
    with newsboat.on_screen() as screen:
        await screen.wait_for("journal")
        await screen.press("\r")
        await screen.wait_for("Gamma")
        await screen.press("\x05")
        await screen.wait_for("Flags")
        await screen.press("s\r")

        async def is_starred() -> bool:
            return len(await app.titles(STARRED)) == 1

        await until(is_starred)
