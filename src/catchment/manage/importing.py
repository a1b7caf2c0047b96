"""Lists of feeds in and out: OPML from other readers, line by line, and OPML for them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from enum import StrEnum

from catchment.domain.caller import Caller
from catchment.domain.source import Source
from catchment.errors import Conflict, InvalidInput
from catchment.manage.catalog import MOST_TAG, MOST_TAGS, Added, Catalog, Draft, Refused
from catchment.parse.opml import MAX_DEPTH, FeedOutline, read_opml
from catchment.publish.opml import OpmlFeed, write_opml

#: The types whose address is a feed that any reader can follow.
FEED_TYPES = frozenset({"rss", "digest_feed"})


class LineResult(StrEnum):
    ADDED = "added"
    DUPLICATE = "duplicate"
    REFUSED = "refused"


@dataclass(frozen=True, slots=True, kw_only=True)
class ImportedLine:
    """What became of one feed of the list."""

    line: int
    name: str
    url: str
    result: LineResult
    #: The source that was added, or that was there before.
    source_id: int | None = None
    #: Why it was not added.
    reason: str = ""


def count_results(lines: Sequence[ImportedLine]) -> dict[str, int]:
    counts = Counter(line.result for line in lines)
    return {str(result): counts[result] for result in LineResult}


async def import_opml(catalog: Catalog, body: bytes, caller: Caller) -> list[ImportedLine]:
    """Add every feed of the list that is not there yet. One bad line spoils no other."""
    outlines = read_opml(body)
    faults = [_fault(outline) for outline in outlines]
    drafts = [_draft(outline) for outline, fault in zip(outlines, faults, strict=True) if fault is None]
    outcomes = iter(await catalog.add_many(drafts, caller))
    return [
        _imported(outline, next(outcomes) if fault is None else Refused(error=fault))
        for outline, fault in zip(outlines, faults, strict=True)
    ]


async def export_opml(catalog: Catalog, caller: Caller, *, now: datetime) -> tuple[bytes, list[Source]]:
    """Every feed that the caller sees as OPML, and the sources left out because no other reader could follow them."""
    everything = await catalog.list(caller)
    feeds = [source for source in everything if source.type in FEED_TYPES]
    written = write_opml(
        (OpmlFeed(name=source.name, url=source.config["url"], tags=source.tags) for source in feeds),
        title="Catchment subscriptions",
        created_at=now,
    )
    return written, [source for source in everything if source.type not in FEED_TYPES]


def _fault(outline: FeedOutline) -> InvalidInput | None:
    """What is wrong with a line before anybody looks at its address."""
    if not outline.url:
        return InvalidInput("It has no address (xmlUrl).")
    if outline.too_deep:
        return InvalidInput(f"It lies deeper than {MAX_DEPTH} folders.")
    return None


def _draft(outline: FeedOutline) -> Draft:
    """Folders are named more freely than tags: what is too long or too many is cut, not refused."""
    tags = tuple(tag[:MOST_TAG] for tag in outline.tags[:MOST_TAGS])
    return Draft(type="rss", config={"url": outline.url}, name=outline.name, tags=tags)


def _imported(outline: FeedOutline, outcome: Added | Refused) -> ImportedLine:
    line = ImportedLine(line=outline.line, name=outline.name, url=outline.url, result=LineResult.REFUSED)
    match outcome:
        case Added(source=source):
            return replace(line, result=LineResult.ADDED, source_id=source.id)
        case Refused(error=Conflict() as twin):
            return replace(line, result=LineResult.DUPLICATE, source_id=twin.existing_id, reason=str(twin))
        case Refused(error=error):
            return replace(line, reason=str(error))
