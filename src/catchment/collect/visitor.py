"""Visit a source: let its fetcher work, and turn whatever happens into an ending."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

from loguru import logger

from catchment.clock import Clock
from catchment.domain.options import Options
from catchment.domain.run import Run
from catchment.domain.source import Source
from catchment.domain.visit import Collected, Ending, Failed, Fetched, Postponed, Skipped, Visit
from catchment.errors import BadConfig, RefusedAddress, TimedOut, Unreachable, VisitError
from catchment.fetch.pacing import Deferred
from catchment.redact import redact_text
from catchment.sources.base import Context, Fetcher, Registry
from catchment.sources.outfit import Outfitter


class Visitor:
    def __init__(self, *, registry: Registry, outfitter: Outfitter, clock: Clock) -> None:
        self._registry = registry
        self._outfitter = outfitter
        self._clock = clock
        self._warned_types: set[str] = set()

    async def visit(self, run: Run, source: Source) -> Visit:
        return Visit(run=run, source=source, ending=await self._end(source))

    async def _end(self, source: Source) -> Ending:
        fetcher = self._registry.get(source.type)
        if fetcher is None:
            return self._skip(source)
        try:
            return Collected(fetched=await self._fetch(fetcher, source))
        except Deferred as deferred:
            return Postponed(until=self._clock.now() + timedelta(seconds=deferred.seconds))
        except VisitError as error:
            return _failure(error)
        except Exception as error:  # noqa: BLE001 - the edge: a plug-in's mistake is its source's failure, nobody else's
            logger.opt(exception=error).error("source {} ({}): its fetcher broke", source.id, source.name)
            return Failed(message=f"The fetcher for {source.type!r} broke: {redact_text(repr(error))}")

    async def _fetch(self, fetcher: Fetcher, source: Source) -> Fetched:
        options, http = self._outfitter.outfit(source.config)
        fetched = await fetcher.fetch(Context(source=source, now=self._clock.now(), http=http))
        return _filtered(fetched, options) if options.filters else fetched

    def _skip(self, source: Source) -> Skipped:
        reason = f"no fetcher for type '{source.type}'"
        if source.type not in self._warned_types:
            self._warned_types.add(source.type)
            logger.warning("{}: such sources are skipped until there is one", reason)
        return Skipped(reason=reason)


def _filtered(fetched: Fetched, options: Options) -> Fetched:
    """Only what the source's filters keep. What they drop is not remembered, so nothing is told of missed items."""
    return replace(fetched, items=options.filters.apply(fetched.items), is_window=False)


def _failure(error: VisitError) -> Failed:
    unreachable = error if isinstance(error, Unreachable) else None
    return Failed(
        message=redact_text(str(error)),
        retry_after=timedelta(seconds=error.retry_after) if error.retry_after is not None else None,
        answered=not isinstance(error, Unreachable | RefusedAddress | BadConfig | TimedOut),
        unreachable_host=unreachable.host if unreachable else None,
        ours=unreachable.ours if unreachable else False,
    )
