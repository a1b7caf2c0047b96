from __future__ import annotations

import asyncio
import json
import signal
import sys
from pathlib import Path

import aiohttp

ROOT = Path(__file__).parents[2]


async def test_the_simulator_runs_as_a_process_and_stops_when_told() -> None:
    words = [
        "--sites",
        "40",
        "--faulty",
        "0.33",
        "--speed",
        "60",
        "--window",
        "5",
        "--format",
        "atom10",
        "--warm",
    ]
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "bench.serving", *words, cwd=ROOT, stdout=asyncio.subprocess.PIPE
    )
    assert process.stdout is not None
    ready = json.loads(await process.stdout.readline())
    async with aiohttp.ClientSession() as visitor:
        async with visitor.get(ready["opml"]) as answer:
            assert (await answer.text()).count("<outline") == ready["feeds"] == 40
        async with visitor.get(f"http://127.0.0.1:{ready['port']}/world.json") as answer:
            feeds = (await answer.json())["feeds"]
    assert sum(bool(feed["faults"]) for feed in feeds.values()) == 13
    process.send_signal(signal.SIGTERM)
    assert await process.wait() == 0
