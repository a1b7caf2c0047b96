"""A process with a parser process, which is idle or has something to read that never ends; prints its number."""

from __future__ import annotations

import asyncio
import sys

from catchment.eventloop import run
from catchment.sandbox.pool import ParserPool
from catchment.sources.feed_items import read_items


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
        await asyncio.sleep(0.3)
        assert not reading.done()
    print(pid, flush=True)
    await asyncio.sleep(600)


if __name__ == "__main__":
    run(main(sys.argv[1]))
