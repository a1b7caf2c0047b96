"""Where a sitemap is looked for, on a real socket."""

from __future__ import annotations

import threading

import pytest

from catchment.domain.caller import OPERATOR
from catchment.manage.resolve import Pasted
from catchment.parse.robots import Robots
from feed_site import FeedSite
from stores import on_sqlite_alone

pytestmark = [on_sqlite_alone, pytest.mark.proves("R-47")]


async def test_a_robots_txt_is_not_read_where_everybody_waits(system, monkeypatch):
    threads = []
    parse = Robots.parse

    def watched(body, url):
        threads.append(threading.current_thread())
        return parse(body, url)

    monkeypatch.setattr(Robots, "parse", watched)
    async with FeedSite() as site:
        site.serve("<!doctype html><title>The mill</title><main>Mind the step.</main>", path="/")
        site.serve("User-agent: *\nDisallow:", path="/robots.txt")
        await system.resolver.resolve(Pasted(text=site.url("/")), OPERATOR)
    assert threads
    assert threading.main_thread() not in threads
