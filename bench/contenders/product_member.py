"""One of the collectors of Catchment: collects what is due whenever it is told to, by a line on its standard input."""

from __future__ import annotations

import asyncio
import json
import sys

from loguru import logger

from bench.contenders.product import Visited, settings_of
from bench.contest import Plan
from catchment.bootstrap import open_system
from catchment.eventloop import run

GRACE_SECONDS = 10.0


async def main() -> None:
    plan = Plan(**json.loads(sys.stdin.readline()))
    async with open_system(settings_of(plan)) as system, system.collector.working(grace_seconds=GRACE_SECONDS):
        while await asyncio.to_thread(sys.stdin.readline):
            results = await system.collector.collect_due()
            errors = [result.error for result in results if result.error]
            print(json.dumps(Visited(feeds=len(results), errors=errors)), flush=True)


if __name__ == "__main__":
    logger.remove()
    logger.add(sys.stderr, level="WARNING")
    run(main())
