"""The example of a receiver in the guide to webhooks, tried on a real delivery."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from aiohttp import web

from catchment.jobs.builtin import OUTBOX
from catchment.manage.webhooks import LISTENABLE, NewWebhook
from feed_site import FeedSite
from stores import on_sqlite_alone

pytestmark = on_sqlite_alone

GUIDE = Path(__file__).parent.parent.parent / "docs" / "guides" / "notices.md"
#: The clock of the tests stands still, and not where that of the example is.
EVER = 10**10


def example():
    [block] = re.findall(r"^```python\n(.*?)^```", GUIDE.read_text(), re.DOTALL | re.MULTILINE)
    names = {}
    exec(block, names)
    return names["is_genuine"]


@pytest.mark.proves("D-10")
async def test_the_example_takes_in_what_we_sign_and_nothing_else(open_test_system, tmp_path):
    is_genuine, came = example(), []

    async def receive(request):
        came.append((request.headers, await request.read()))
        return web.Response(status=204)

    async with FeedSite() as site, open_test_system(home=tmp_path / "home") as system:
        new = NewWebhook(name="example", url=site.script(receive, path="/hook"), topics=LISTENABLE)
        hook, secret = await system.webhooks.add(new)
        await system.webhooks.ping(hook.id)
        await system.jobs.prepare()
        await system.jobs.look_after(OUTBOX)
    [(headers, body)] = came
    assert is_genuine(headers, body, secret, seconds=EVER)
    assert not is_genuine(headers, body + b" ", secret, seconds=EVER)
    assert not is_genuine(headers, body, "guessed", seconds=EVER)
    later = {**headers, "X-Catchment-Timestamp": str(int(headers["X-Catchment-Timestamp"]) + 60)}
    assert not is_genuine(later, body, secret, seconds=EVER)
    assert not is_genuine(headers, body, secret), "it is old"
