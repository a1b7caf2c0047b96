"""A first look at a source before it is added: does it answer, and what is it called."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from datetime import datetime

from loguru import logger

from catchment.clock import Clock
from catchment.domain.caller import Caller
from catchment.domain.item import Item
from catchment.domain.source import NewSource, NextCheck, Source, Why
from catchment.domain.visit import Fetched
from catchment.errors import BadConfig, CatchmentError, HttpError, ParseError, RefusedAddress
from catchment.manage.catalog import Catalog, Draft
from catchment.redact import redact_text
from catchment.sources.base import Context, CrawlingType, Previewable, SourceType
from catchment.sources.client import ClientFactory
from catchment.sources.full_crawl import sample
from catchment.sources.registry import Registry

#: What is wrong with the source itself: it would never work. All else may be better tomorrow.
HOPELESS = (RefusedAddress, ParseError, BadConfig)
_MISSING = frozenset({404, 410})
#: Of what lists more than is fetched at one visit, so many are fetched to see.
MAX_SAMPLED = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Preview:
    #: What the source calls itself, where it says so.
    title: str = ""
    items: Sequence[Item] = ()
    #: Why it could not be looked at this time; it may be added all the same.
    doubt: str | None = None
    #: The doubt is that there is nothing at that address, rather than that it is out of order.
    is_missing: bool = False


class Previewer:
    def __init__(self, *, catalog: Catalog, registry: Registry, clients: ClientFactory, clock: Clock) -> None:
        self._catalog = catalog
        self._registry = registry
        self._clients = clients
        self._clock = clock

    async def look(self, draft: Draft, caller: Caller) -> Preview:
        """Visit the source once. What can never work is raised; what may be better tomorrow is a doubt."""
        new = self._catalog.check(draft, caller)
        fetcher = self._registry.get(new.type)
        if fetcher is None:
            return Preview(doubt=self._registry.why_skipped(new.type))
        now = self._clock.now()
        _, context = self._clients.context(unsaved(new, now), now)
        try:
            fetched = await _first_look(fetcher, context)
        except HOPELESS:
            raise
        except CatchmentError as error:
            return Preview(doubt=str(error), is_missing=is_missing(error))
        except Exception as error:  # noqa: BLE001 - the edge: a plug-in that breaks costs a preview, nothing else
            logger.opt(exception=error).error("the fetcher for {!r} broke at a first look", new.type)
            return Preview(doubt=f"the fetcher for {new.type!r} broke: {redact_text(repr(error))}")
        return Preview(title=fetched.title, items=fetched.items)


async def _first_look(fetcher: SourceType, context: Context) -> Fetched:
    if isinstance(fetcher, CrawlingType):
        return await sample(fetcher.start_crawl(context), most=MAX_SAMPLED)
    return await (fetcher.preview(context) if isinstance(fetcher, Previewable) else fetcher.fetch(context))


def is_missing(error: Exception) -> bool:
    """Whether it says that there is nothing at that address."""
    return isinstance(error, HttpError) and error.status in _MISSING


def unsaved(new: NewSource, now: datetime) -> Source:
    """What a fetcher is shown of a source that is not stored."""
    given = {one.name: getattr(new, one.name) for one in fields(new)}
    return Source(id=0, **given, created_at=now, updated_at=now, next_check=NextCheck(at=now, why=Why.NEW))
