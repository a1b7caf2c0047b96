"""A process that borrows cookies: told how often, or to hold one until it is killed.

Whoever holds a cookie has made a file of its name, which two cannot do at once.
"""

from __future__ import annotations

import asyncio
import os
import sys
from datetime import timedelta
from pathlib import Path

from catchment.clock import SystemClock
from catchment.domain.note import Platform
from catchment.engine.leases import LeasePolicy, owner_name
from catchment.platforms.cookies import StoredCookiePool
from catchment.store.database import open_store
from cookie_factory import POLICY, a_seal


async def borrow(pool, folder: Path) -> None:
    async with pool.lend(Platform.XHS) as cookie:
        held = os.open(folder / cookie.name, os.O_CREAT | os.O_EXCL)
        await asyncio.sleep(0.002)
        os.close(held)
        (folder / cookie.name).unlink()


async def main(url: str, folder: str, times: int) -> None:
    store = open_store(url)
    leases = LeasePolicy(owner=owner_name(), duration=timedelta(seconds=60))
    pool = StoredCookiePool(store=store, seal=a_seal(), clock=SystemClock(), leases=leases, policy=POLICY)
    if times == 0:
        async with pool.lend(Platform.XHS) as cookie:
            print(f"holds {cookie.name}", flush=True)
            await asyncio.Event().wait()
    await asyncio.gather(*(borrow(pool, Path(folder)) for _ in range(times)))
    await store.close()
    print("done", flush=True)


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], sys.argv[2], int(sys.argv[3])))
