"""The catalogue as a file: OPML for other readers, YAML and JSON for `apply` and for a store elsewhere."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from catchment.domain.caller import Caller
from catchment.domain.confidential import masked, names_of, secret_paths, without
from catchment.domain.listing import Listed, as_entry
from catchment.domain.source import PausedBy, Source
from catchment.manage.catalog import Catalog
from catchment.manage.forms import Format
from catchment.publish.listing import write_json, write_yaml
from catchment.publish.opml import write_opml

TITLE = "Catchment subscriptions"


@dataclass(frozen=True, slots=True, kw_only=True)
class Exported:
    body: bytes
    #: What is not in the file, a sentence each.
    notes: tuple[str, ...]


async def export_sources(catalog: Catalog, caller: Caller, form: Format, *, now: datetime) -> Exported:
    """Every source that the caller may change, once each, without its secrets."""
    sources = [listed_of(source) for source in _once_each(await catalog.list(caller), caller)]
    if form is Format.OPML:
        bare = [replace(one, config=without(one.config, secret_paths(one.config))) for one in sources]
        return Exported(body=write_opml(bare, title=TITLE, created_at=now), notes=_notes(sources, "Left out"))
    document = {"sources": [as_entry(replace(one, config=masked(one.config))) for one in sources]}
    body = write_yaml(document) if form is Format.YAML else write_json(document)
    return Exported(body=body, notes=_notes(sources, "Masked"))


def listed_of(source: Source) -> Listed:
    """Only a person's pause goes into a file: what failed here may work elsewhere."""
    return Listed(
        type=source.type,
        config=source.config,
        name=source.name,
        tags=source.tags,
        is_public=source.is_public,
        is_active=False if source.paused_by is PausedBy.PERSON else None,
    )


def _once_each(sources: Sequence[Source], caller: Caller) -> list[Source]:
    """Several users may have the same one; the caller's own is preferred."""
    found: dict[str, Source] = {}
    for source in sources:
        if caller.may_change(source) and (source.identity not in found or source.created_by == caller.user_id):
            found[source.identity] = source
    return list(found.values())


def _notes(sources: Sequence[Listed], verb: str) -> tuple[str, ...]:
    hidden = ((one.name, names_of(secret_paths(one.config))) for one in sources)
    return tuple(f"{verb}: {secrets} of {name!r}." for name, secrets in hidden if secrets)
