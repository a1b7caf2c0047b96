"""The state of sitemaps for whoever fetches the pages themselves: what is new, and what became of it.

    async with IncrementalStateManager("rss_incremental.db") as manager:
        for url in await manager.detect_new_urls("example", entries):
            ...
        await manager.mark_urls_processed("example", urls)

A site is a source that the collector leaves alone, and its URLs are candidates like any other's.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from itertools import islice
from pathlib import Path
from types import TracebackType
from typing import Protocol, Self, TypeVar

from loguru import logger
from sqlalchemy import Connection

from catchment.clock import Clock, SystemClock
from catchment.domain.candidate import CandidatePolicy, CrawlTarget, Listed
from catchment.domain.source import NewSource, NextCheck, PausedBy
from catchment.errors import DamagedStore
from catchment.redact import redact_url
from catchment.settings import Settings, load_settings, store_url_of
from catchment.store import candidates, crawls, sources
from catchment.store.database import Store, open_store, set_aside
from catchment.store.migrate import migrate

_T = TypeVar("_T")
TYPE = "sitemap"
CHUNK = 1000
INCREMENTAL, FULL_FALLBACK = "incremental", "full_fallback"


class Entry(Protocol):
    """An entry of a sitemap, as any reader of sitemaps gives it."""

    @property
    def url(self) -> str: ...

    @property
    def lastmod(self) -> datetime | None:
        """Without a time zone it is UTC."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class SiteState:
    site_name: str
    sitemap_url: str
    last_run: datetime | None


@dataclass(frozen=True, slots=True, kw_only=True)
class IncrementalResult:
    #: New, or changed since.
    new_urls: list[str]
    #: Left over from earlier runs, or failed in them.
    pending_urls: list[str]
    skipped_urls: list[str]
    total_to_process: int
    #: `full_fallback` when the state was lost, so that everything counts as new.
    mode: str = INCREMENTAL


class IncrementalStateManager:
    """`db_path` is a file or a database URL; without it RSS_STATE_DB says where, and without that the main store."""

    def __init__(
        self,
        db_path: str | Path | None = None,
        *,
        policy: CandidatePolicy | None = None,
        settings: Settings | None = None,
        clock: Clock | None = None,
    ) -> None:
        settings = settings or load_settings()
        own = str(db_path or settings.rss_state_db)
        self._url = store_url_of(own) if own else settings.store_url()
        #: The main store holds more than this state: it is nobody's to put aside.
        self._is_own = bool(own)
        self._policy = policy or CandidatePolicy()
        self._clock = clock or SystemClock()
        self._opened: Store | None = None

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    async def close(self) -> None:
        if self._opened is not None:
            await self._opened.close()
            self._opened = None

    async def get_site_state(self, site_name: str) -> SiteState:
        """Of a site that nobody knows, and where the state is damaged, that it never ran."""
        found = None
        with _left_where_it_is():
            found = await (await self._store()).read(crawls.find, site_name)
        if found is None:
            return SiteState(site_name=site_name, sitemap_url="", last_run=None)
        _, state = found
        return SiteState(site_name=site_name, sitemap_url=state.where.address, last_run=state.last_run_at)

    async def detect_new_urls(
        self, site_name: str, current_entries: Iterable[Entry], *, sitemap_url: str = ""
    ) -> list[str]:
        """What is to be processed: new and changed URLs, and those that are pending or to be tried again."""
        found = await self.detect(site_name, current_entries, sitemap_url=sitemap_url)
        return [*found.new_urls, *found.pending_urls]

    async def detect(
        self, site_name: str, current_entries: Iterable[Entry], *, sitemap_url: str = ""
    ) -> IncrementalResult:
        """Take in a whole sitemap. What is to be processed stays pending until it is marked, whatever happens."""
        listed = _each_once(Listed(entry.url, _in_utc(entry.lastmod)) for entry in current_entries)
        try:
            return await self._detect(site_name, listed, sitemap_url, self._policy)
        except DamagedStore as error:
            if not self._is_own:
                _warn_of(error)
                everywhere = {one.key for one in listed}
                return replace(_sorted(listed, everywhere, {one.url for one in listed}), mode=FULL_FALLBACK)
            await self._put_aside(error)
            everything = replace(self._policy, baseline_items=None)
            return replace(await self._detect(site_name, listed, sitemap_url, everything), mode=FULL_FALLBACK)

    async def mark_urls_processed(self, site_name: str, urls: Sequence[str], success: bool = True) -> None:
        """Say what became of URLs that were to be processed; those nobody knows are passed over."""
        error = None if success else "reported as failed"
        with _left_where_it_is():
            store = await self._store()
            found = await store.read(crawls.find, site_name)
            if found is None:
                return
            for some in _chunks(urls):
                keys = [Listed(url).key for url in some]
                await store.write(candidates.mark_keys, found[0], keys, error=error, now=self._clock.now())

    async def cleanup_old_states(self, days_to_keep: int = 30) -> int:
        """Forget what no sitemap listed for so many days, of all sites; returns how many URLs went."""
        policy, cleaned = replace(self._policy, max_history_days=days_to_keep), 0
        with _left_where_it_is():
            store = await self._store()
            for source_id in await store.read(crawls.list_ids):
                cleaned += await store.write(crawls.clean, source_id, policy, now=self._clock.now())
        return cleaned

    async def _detect(
        self, site_name: str, listed: Sequence[Listed], sitemap_url: str, policy: CandidatePolicy
    ) -> IncrementalResult:
        store, now = await self._store(), self._clock.now()
        source_id = await store.write(_begin, site_name, sitemap_url, now=now)
        fresh: set[str] = set()
        for some in _chunks(listed):
            judged = await store.write(candidates.record_listed, source_id, some, listing_id=None, now=now)
            fresh |= {one.url for _, one in judged.new} | {one.url for _, one in judged.changed}
        await store.write(_settle, source_id, site_name, policy, now=now)
        pending: set[bytes] = set()
        for some in _chunks(listed):
            pending |= await store.read(candidates.pending_keys, source_id, [one.key for one in some])
        return _sorted(listed, pending, fresh)

    async def _store(self) -> Store:
        if self._opened is None:
            store = open_store(self._url)
            try:
                await migrate(store)
            except BaseException:
                await store.close()
                raise
            self._opened = store
        return self._opened

    async def _put_aside(self, error: DamagedStore) -> None:
        await self.close()
        kept = await asyncio.to_thread(set_aside, self._url, self._clock.now())
        logger.warning("{} It is kept as {}; everything is processed once, in full.", error, kept)


@contextmanager
def _left_where_it_is() -> Iterator[None]:
    """What is damaged is found so by the next detection, which then gives everything: nothing else begins anew."""
    try:
        yield
    except DamagedStore as error:
        _warn_of(error)


def _warn_of(error: DamagedStore) -> None:
    logger.warning("{} It is left where it is; nothing is remembered, and everything is to be processed.", error)


def _each_once(listed: Iterable[Listed]) -> list[Listed]:
    """Of several addresses of one page the first."""
    pages: dict[bytes, Listed] = {}
    for one in listed:
        pages.setdefault(one.key, one)
    return list(pages.values())


def _in_utc(moment: datetime | None) -> datetime | None:
    """A moment that names no time zone is one of UTC."""
    return moment.replace(tzinfo=UTC) if moment is not None and moment.tzinfo is None else moment


def _begin(conn: Connection, site_name: str, sitemap_url: str, *, now: datetime) -> int:
    # It is only shown, and whoever fetches it knows its token.
    sitemap_url = redact_url(sitemap_url)
    found = crawls.find(conn, site_name)
    source_id = found[0] if found else _add_site(conn, site_name, sitemap_url, now)
    where = found[1].where if found else CrawlTarget(identity="", site_name=site_name, address="")
    where = replace(where, address=sitemap_url or where.address)
    crawls.begin_round(conn, source_id, where, now=now, resume_since=now)
    return source_id


def _add_site(conn: Connection, site_name: str, sitemap_url: str, now: datetime) -> int:
    """A source to hang the state on, which the collector leaves alone."""
    config = {"url": sitemap_url, "site_name": site_name} if sitemap_url else {"site_name": site_name}
    new = NewSource(name=site_name, type=TYPE, config=config, identity=f"state of {site_name}")
    source = sources.add(conn, new, now=now)
    never = sources.schedule_columns(NextCheck(at=None, why=None))
    sources.change(conn, source.id, {"is_active": False, "paused_by": PausedBy.PERSON, **never}, now=now)
    return source.id


def _settle(conn: Connection, source_id: int, site_name: str, policy: CandidatePolicy, *, now: datetime) -> None:
    settled = crawls.settle(conn, source_id, policy, now=now)
    # Whoever fetches the pages is not us: there is nothing to look into.
    candidates.believe(conn, source_id)
    crawls.end_round(conn, source_id, policy, now=now)
    if not settled.vanished_believed:
        logger.warning(
            "{}: {} of {} known URLs are no longer listed, which is too many to believe; none is marked deleted",
            site_name,
            settled.vanished,
            settled.known,
        )


def _sorted(listed: Iterable[Listed], pending: set[bytes], fresh: set[str]) -> IncrementalResult:
    to_process = [one.url for one in listed if one.key in pending]
    return IncrementalResult(
        new_urls=[url for url in to_process if url in fresh],
        pending_urls=[url for url in to_process if url not in fresh],
        skipped_urls=[one.url for one in listed if one.key not in pending],
        total_to_process=len(to_process),
    )


def _chunks(values: Iterable[_T]) -> Iterator[list[_T]]:
    rest = iter(values)
    while some := list(islice(rest, CHUNK)):
        yield some
