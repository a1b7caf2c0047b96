"""What was added while it could not be reached is looked at when it can be, and becomes what it is."""

from __future__ import annotations

from catchment.domain.caller import OPERATOR
from catchment.domain.options import SEALED_KEY, UNRESOLVED_KEY
from catchment.domain.source import Source
from catchment.errors import Conflict, InvalidInput, VisitError
from catchment.manage.catalog import Catalog, Change, default_name
from catchment.manage.resolve import Pasted, Resolved, Resolver


class FirstContact:
    def __init__(self, *, resolver: Resolver, catalog: Catalog) -> None:
        self._resolver = resolver
        self._catalog = catalog

    async def resolve(self, source: Source) -> Source:
        """The source as what it turned out to be; as it is where it still cannot be reached, or leads nowhere."""
        url = source.config.get("url")
        if SEALED_KEY in source.config or not isinstance(url, str):
            # An address that is sealed opens only where it is collected: it stays what it was taken for.
            return source
        rest = {key: value for key, value in source.config.items() if key not in {"url", UNRESOLVED_KEY}}
        try:
            found = await self._resolver.resolve(Pasted(text=url, config=rest), OPERATOR)
        except (InvalidInput, VisitError):
            return source
        return source if found.doubt else await self._become(source, found)

    async def _become(self, source: Source, found: Resolved) -> Source:
        """The catalogue leaves it alone where somebody changed it while it was looked at."""
        try:
            return await self._catalog.change(source.id, _as(source, found), OPERATOR)
        except Conflict:
            # Its feed is followed already: this one goes on as the page that was asked for.
            config = {key: value for key, value in source.config.items() if key != UNRESOLVED_KEY}
            return await self._catalog.change(source.id, Change(config=config, seen_version=source.version), OPERATOR)


def _as(source: Source, found: Resolved) -> Change:
    """A name that somebody gave it stays."""
    is_unnamed = source.name == default_name(source.type, source.config)
    name = found.name or None if is_unnamed else None
    return Change(type=found.type, config=found.config, name=name, seen_version=source.version)
