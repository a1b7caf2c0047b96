"""The starter pack: a few public feeds that need no key, so that a new catalogue is not empty."""

from __future__ import annotations

from datetime import datetime

from sqlalchemy import Connection

from catchment.clock import Clock
from catchment.domain.caller import Caller
from catchment.manage.catalog import Added, Catalog, Draft
from catchment.store import config
from catchment.store.door import Store

#: Kept in the config table once the pack was offered, so that what a person removed does not return.
OFFERED = "CATCHMENT_STARTER_PACK"


def _feed(name: str, url: str, *tags: str) -> Draft:
    return Draft(type="rss", name=name, config={"url": url}, tags=tags)


STARTER_PACK = (
    _feed("Hacker News", "https://news.ycombinator.com/rss", "tech"),
    _feed("LWN.net", "https://lwn.net/headlines/rss", "tech"),
    _feed("Python Insider", "https://blog.python.org/feeds/posts/default", "python"),
    _feed("BBC News: World", "https://feeds.bbci.co.uk/news/world/rss.xml", "news"),
    _feed("Nature", "https://www.nature.com/nature.rss", "science"),
    _feed("少数派", "https://sspai.com/feed", "中文"),
    _feed("阮一峰的网络日志", "https://www.ruanyifeng.com/blog/atom.xml", "中文"),
    _feed("Solidot", "https://www.solidot.org/index.rss", "中文", "tech"),
)


async def add_starter_pack(catalog: Catalog, store: Store, clock: Clock, caller: Caller) -> int:
    """Add the pack where there is no source yet and it was never offered; how many were added."""
    if not await store.write(_offer, now=clock.now()) or await catalog.list(caller):
        return 0
    outcomes = await catalog.add_many(STARTER_PACK, caller)
    return sum(isinstance(outcome, Added) for outcome in outcomes)


def _offer(conn: Connection, *, now: datetime) -> bool:
    """True for the first to ask, also when several start at once."""
    if OFFERED in config.read_config(conn):
        return False
    config.set_config(conn, {OFFERED: "offered"}, now=now)
    return True
