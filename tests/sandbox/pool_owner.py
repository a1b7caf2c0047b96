"""A process with a parser process, which is idle or has something to read that never ends; prints its number."""

from __future__ import annotations

import asyncio
import sys

import psutil

from catchment.eventloop import run
from catchment.sandbox.pool import ParserPool
from catchment.sources.items import read_items


async def main(state: str) -> None:
    pool = ParserPool(size=1, seconds=1.0, idle_seconds=600)
    feed = b"<rss><channel><item><title>a</title></item></channel></rss>"
    await pool.read(read_items, feed, url="", content_type="")
    (pid,) = pool.pids
    if state == "reading":
        pool.seconds = 600  # of what the process itself was told, so much is left
        endless = feed.replace(
            b"</channel>", b"<item><title>a</title><description>&lt;b</description></item>" * 500_000
        )
        reading = asyncio.create_task(pool.read(read_items, endless, url="", content_type=""))
        # It holds all of it, and more that it made of it.
        while psutil.Process(pid).memory_info().rss < 3 * len(endless):  # noqa: ASYNC110
            await asyncio.sleep(0)  # nobody tells how far another process has come
        assert not reading.done()
    print(pid, flush=True)
    await asyncio.Event().wait()


if __name__ == "__main__":
    run(main(sys.argv[1]))
