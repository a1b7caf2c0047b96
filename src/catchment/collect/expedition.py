"""An expedition: what an explorer lists is taken in document by document, settled, and then collected.

It may take several visits, as the host's budget allows: the round that one of them begins, the next goes on with.
Everything is written while the run holds its lease, in short transactions, so that whatever happens in between, the
next run finds a state from which nothing is lost and nothing comes twice.
"""

from __future__ import annotations

from datetime import datetime, timedelta

from loguru import logger
from sqlalchemy import Connection

from catchment.clock import Clock
from catchment.collect.details import Gatherer, different_items
from catchment.collect.fencing import FencedStore
from catchment.domain.candidate import (
    Expedition,
    Read,
    Remark,
    Settled,
    Stretch,
    Vouched,
    Whereabouts,
    is_untrue,
)
from catchment.domain.filters import Filters
from catchment.domain.source import Source
from catchment.domain.visit import Tally
from catchment.redact import redact_url
from catchment.sources.base import Journey, Rechecker
from catchment.store import candidates, expeditions

#: A round that was left lying for longer begins anew, with what is listed by now.
RESUMED_WITHIN = timedelta(hours=1)
#: So many details are looked at to find out whether a site's lastmod is to be believed.
SAMPLE = 10


class Traveller:
    """Makes one visit of an expedition."""

    def __init__(self, *, store: FencedStore, clock: Clock, source: Source, journey: Journey, filters: Filters) -> None:
        self._store = store
        self._clock = clock
        self._source = source
        self._journey = journey
        self._who = f"source {source.id} ({source.name})"
        self._gatherer = Gatherer(store=store, clock=clock, source=source, journey=journey, filters=filters)

    @property
    def tally(self) -> Tally:
        """What was stored so far, however the visit ends."""
        return self._gatherer.tally

    async def travel(self) -> None:
        """List what is there, unless that was done a moment ago, and collect what is pending."""
        now = self._clock.now()
        expedition = await self._store.write(
            expeditions.begin_round,
            self._source.id,
            Whereabouts(
                identity=self._source.identity, site_name=self._journey.name, address=redact_url(self._journey.address)
            ),
            now=now,
            resume_since=now - RESUMED_WITHIN,
        )
        if expedition.listed_at is None:
            await self._list(expedition)
        await self._look_into_doubts()
        await self._gatherer.gather()
        # What was collected at the first round was collected a moment ago.
        if self._journey.policy.rechecks and isinstance(self._journey, Rechecker) and expedition.baseline_at:
            await self._gatherer.recheck(self._journey)
        await self._store.write(expeditions.end_round, self._source.id, self._journey.policy, now=self._clock.now())

    async def _list(self, expedition: Expedition) -> None:
        now = self._clock.now()
        known = await self._store.read(
            expeditions.list_listings, self._source.id, round_began_at=expedition.round_began_at
        )
        async for told in self._journey.explore(known):
            if isinstance(told, Remark):
                logger.warning("{}: {}", self._who, told.message)
            else:
                await self._store.write(_take_in, self._source.id, told, now=now)
        settled = await self._store.write(
            expeditions.settle, self._source.id, self._journey.policy, now=self._clock.now()
        )
        self._report(settled, expedition)

    async def _look_into_doubts(self) -> None:
        """Compare a few of those that are said to have changed with what they were."""
        if not (claimed := await self._gatherer.claim(SAMPLE, doubted=True)):
            return
        batch = await self._gatherer.fetch(claimed)
        different = different_items(batch)
        same = sum(one.candidate.fingerprint == one.item.fingerprint for one in batch.brought)
        # What cannot be compared is remembered for the next time, and is no news.
        await self._gatherer.store_batch(batch, publish=different)
        if not batch.brought:
            return
        if is_untrue(same=same, different=len(different)):
            await self._store.write(candidates.dismiss, self._source.id)
        else:
            await self._store.write(_believe, self._source.id, now=self._clock.now())

    def _report(self, settled: Settled, before: Expedition) -> None:
        if not settled.vanished_believed:
            logger.warning(
                "{}: {} of {} known are no longer listed, which is too many to believe; none is marked deleted",
                self._who,
                settled.vanished,
                settled.known,
            )
        if settled.doubted and before.doubted_since is None:
            logger.warning(
                "{}: {} of {} known are said to have changed at once; {} are looked into before that is believed",
                self._who,
                settled.changed,
                settled.known,
                SAMPLE,
            )


def _take_in(conn: Connection, source_id: int, told: Stretch | Read | Vouched, *, now: datetime) -> None:
    match told:
        case Stretch(url=url, listed=listed):
            listing_id = expeditions.open_listing(conn, source_id, url, now=now)
            candidates.note(conn, source_id, listed, listing_id=listing_id, now=now)
        case Read(listing=listing):
            expeditions.close_listing(conn, source_id, listing, now=now)
        case Vouched(url=url):
            expeditions.vouch(conn, source_id, url, now=now)


def _believe(conn: Connection, source_id: int, *, now: datetime) -> None:
    candidates.believe(conn, source_id)
    expeditions.save(conn, source_id, {"doubted_since": None}, now=now)
