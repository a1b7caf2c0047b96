"""Lists of sources into the catalogue, line by line: OPML from other readers, YAML and JSON."""

from __future__ import annotations

import asyncio
import json
import re
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from enum import StrEnum

from yarl import URL

from catchment.domain.caller import Caller
from catchment.domain.confidential import (
    ADDRESS_KEYS,
    BODY_KEY,
    RISKY_OPTIONS,
    mask_paths,
    masked,
    names_of,
    secret_paths,
    without,
)
from catchment.domain.listing import HTML_URL, BadLine, ListedSource, ListFormat, SourceList, read_listed
from catchment.domain.options import HEADERS_KEY
from catchment.domain.source import PausedBy, Source
from catchment.errors import Conflict, InvalidInput, ParserFailed
from catchment.manage.catalog import BATCH, MAX_TAG, MAX_TAGS, Added, Catalog, Change, Draft, Refused, split_tags
from catchment.parse.opml import MAX_DEPTH, FeedOutline, read_opml
from catchment.parse.source_lists import read_listing
from catchment.publish.opml import by_folder, folder_of, list_writer
from catchment.redact import redact_url
from catchment.sandbox.pool import ParserPool
from catchment.sources.shortcuts import address_in

#: Told how many of how many lines are done.
Progress = Callable[[int, int], None]
_NOT_FROM_STRANGERS = "which is taken only from a file that you trust (catchment import --trust)"
#: What of a config goes out, and could take along what a variable holds.
_SENT = (*ADDRESS_KEYS, HEADERS_KEY, BODY_KEY)
_WEB = ("http://", "https://")
_OPML = re.compile(rb"\A\s*<|<(?:[\w-]{1,64}:)?(?:opml|outline)\b", re.IGNORECASE)


class LineResult(StrEnum):
    ADDED = "added"
    DUPLICATE = "duplicate"
    REFUSED = "refused"


@dataclass(frozen=True, slots=True, kw_only=True)
class ImportedLine:
    """What became of one source of the list."""

    line: int
    name: str
    #: Its address, or the config of a type that has none.
    url: str
    result: LineResult
    #: The source that was added, or that was there before.
    source_id: int | None = None
    #: Why it was not added, or not as it stands in the file.
    reason: str = ""


def count_results(lines: Sequence[ImportedLine]) -> dict[str, int]:
    counts = Counter(line.result for line in lines)
    return {str(result): counts[result] for result in LineResult}


def read_sources(body: bytes) -> SourceList:
    """The sources of a file, whichever of the formats it is in."""
    return _listing_of(read_opml(body)) if _is_opml(body) else read_listing(body)


def _is_opml(body: bytes) -> bool:
    return _OPML.search(body.replace(b"\0", b"")) is not None


def _listing_of(outlines: Iterable[FeedOutline]) -> SourceList:
    return SourceList(entries=tuple(_of_outline(outline) for outline in _with_all_folders(outlines)))


async def read_sources_apart(parsers: ParserPool, body: bytes) -> SourceList:
    """As `read_sources`, for a file of a stranger: it is read where it holds up nobody."""
    try:
        if not _is_opml(body):
            return await parsers.read(read_listing, body)
        outlines = await parsers.read(read_opml, body)
    except ParserFailed as error:
        raise InvalidInput(f"This file cannot be read: {error}.") from error
    return await asyncio.to_thread(_listing_of, outlines)


async def import_sources(
    catalog: Catalog,
    parsers: ParserPool,
    body: bytes,
    caller: Caller,
    *,
    trusted: bool = False,
    progress: Progress | None = None,
) -> list[ImportedLine]:
    """Add every source of the list that is not there yet. One bad line spoils no other.

    What opens doors (`allow_private`, `verify_tls`, variables such as `${TOKEN}`) is taken only from a file that is
    trusted.
    """
    listing = await read_sources_apart(parsers, body)
    lines: list[ImportedLine] = []
    for start in range(0, len(listing.entries), BATCH):
        entries = listing.entries[start : start + BATCH]
        safe = entries if trusted else [refuse_risky(entry, _NOT_FROM_STRANGERS) for entry in entries]
        lines += await add_entries(catalog, safe, caller)
        if progress is not None:
            progress(len(lines), len(listing.entries))
    return lines


async def add_entries(
    catalog: Catalog, entries: Sequence[ListedSource | BadLine], caller: Caller
) -> list[ImportedLine]:
    """What becomes of each entry, in the order given. Masked secrets are left out, and the line says so."""
    sources = [entry for entry in entries if isinstance(entry, ListedSource)]
    outcomes = iter(await catalog.add_many([draft_of(_without_masks(source)) for source in sources], caller))
    lines = []
    for entry in entries:
        if isinstance(entry, BadLine):
            lines.append(_refused(entry))
            continue
        outcome = next(outcomes)
        if isinstance(outcome, Added) and entry.is_active is False:
            await catalog.change(outcome.source.id, Change(is_active=False), caller)
        lines.append(_imported(entry, outcome))
    return lines


def draft_of(listed: ListedSource) -> Draft:
    return Draft(type=listed.type, config=listed.config, name=listed.name, is_public=listed.is_public, tags=listed.tags)


def refuse_risky(entry: ListedSource | BadLine, why: str) -> ListedSource | BadLine:
    """A bad line where the entry asks for what opens doors on the machine that reads it."""
    if isinstance(entry, BadLine):
        return entry
    risky = [name for name, usual in RISKY_OPTIONS.items() if entry.config.get(name, usual) != usual]
    risky += [f"a variable of this machine in {key}" for key in _SENT if "${" in json.dumps(entry.config.get(key))]
    if not risky:
        return entry
    return entry.refused(f"It asks for {' and '.join(risky)}, {why}.")


def _without_masks(listed: ListedSource) -> ListedSource:
    return replace(listed, config=without(listed.config, mask_paths(listed.config)))


def _refused(entry: BadLine) -> ImportedLine:
    return ImportedLine(
        line=entry.line, name=entry.name, url=entry.address, result=LineResult.REFUSED, reason=entry.reason
    )


def _imported(entry: ListedSource, outcome: Added | Refused) -> ImportedLine:
    line = ImportedLine(line=entry.line, name=entry.name, url=entry.address, result=LineResult.REFUSED)
    match outcome:
        case Added(source=source):
            hidden = names_of(mask_paths(entry.config))
            why = f"Added without what is masked in the file: {hidden}." if hidden else ""
            return replace(line, result=LineResult.ADDED, source_id=source.id, reason=why)
        case Refused(error=Conflict() as twin):
            return replace(line, result=LineResult.DUPLICATE, source_id=twin.existing_id, reason=str(twin))
        case Refused(error=error):
            return replace(line, reason=str(error))


def _with_all_folders(outlines: Iterable[FeedOutline]) -> list[FeedOutline]:
    """A feed that lies in several folders has the tags of them all, wherever it stands."""
    tags: dict[str, dict[str, None]] = {}
    named = [(_one_spelling(outline.url), outline) for outline in outlines]
    for address, outline in named:
        tags.setdefault(address, {}).update(dict.fromkeys(outline.tags))
    return [replace(outline, tags=tuple(tags[address])) if address else outline for address, outline in named]


def _one_spelling(url: str) -> str:
    """However an address is written: without its scheme, its host in capitals, with a fragment."""
    try:
        return str(URL(_with_scheme(url)).with_fragment(None))
    except ValueError:
        return url


def _of_outline(outline: FeedOutline) -> ListedSource | BadLine:
    try:
        return _listed(outline)
    except InvalidInput as error:
        return BadLine(line=outline.line, name=outline.name, address=redact_url(outline.url), reason=str(error))


def _with_scheme(url: str) -> str:
    """An address as people write it, without `https://`."""
    return address_in(url) or url


def _listed(outline: FeedOutline) -> ListedSource:
    """Folders are named more freely than tags: what is too long or too many is cut, not refused."""
    own = outline.own
    if not outline.url and "type" not in own:
        raise InvalidInput("It has no address (xmlUrl).")
    if outline.undefined:
        raise InvalidInput(f"What {outline.undefined} stands for is not defined; write &amp; for a plain &.")
    if outline.too_deep:
        raise InvalidInput(f"It lies deeper than {MAX_DEPTH} folders.")
    told = {
        "type": own.get("type"),
        "config": own.get("config"),
        "is_public": own.get("public") == "true",
        "is_active": {"true": True, "false": False}.get(own.get("active", "")),
        "options": {HTML_URL: outline.html_url} if outline.html_url.lower().startswith(_WEB) else None,
    }
    addressed = {**told, "url": _with_scheme(outline.url)} if outline.url else told
    tags = tuple(part[:MAX_TAG] for tag in outline.tags for part in split_tags(tag))[:MAX_TAGS]
    return replace(read_listed(addressed, line=outline.line), name=outline.name, tags=tags)


TITLE = "Catchment subscriptions"


#: Sources that are in memory at a time while they are exported.
AT_ONCE = 50


@dataclass(frozen=True, slots=True, kw_only=True)
class Exported:
    """A piece of the file."""

    body: bytes
    #: What is not in it, a sentence each.
    notes: tuple[str, ...] = ()


async def export_sources(
    catalog: Catalog, caller: Caller, form: ListFormat, *, now: datetime
) -> AsyncIterator[Exported]:
    """Every source that the caller may change, once each, without its secrets."""
    writer = list_writer(form, title=TITLE, created_at=now)
    chosen = await _chosen(catalog, caller, form)
    for start in range(0, len(chosen), AT_ONCE):
        sources = [listed_of(source) for source in await catalog.find(chosen[start : start + AT_ONCE], caller)]
        if form is ListFormat.OPML:
            bare = [replace(one, config=without(one.config, secret_paths(one.config))) for one in sources]
            yield Exported(body=writer.write(bare), notes=_notes(sources, "Left out"))
        else:
            shown = [replace(one, config=masked(one.config)) for one in sources]
            yield Exported(body=writer.write(shown), notes=_notes(sources, "Masked"))
    yield Exported(body=writer.finish())


async def _chosen(catalog: Catalog, caller: Caller, form: ListFormat) -> list[int]:
    """In the order of the file. Several users may have the same source; the caller's own is preferred."""
    found: dict[str, tuple[int, str]] = {}
    for source in await catalog.outlines(caller):
        is_own = source.created_by == caller.user_id
        if caller.may_change_what_is_of(source.created_by) and (source.identity not in found or is_own):
            found[source.identity] = (source.id, folder_of(source.tags))
    if form is not ListFormat.OPML:
        return [source_id for source_id, _ in found.values()]
    return [source_id for source_id, _ in by_folder(found.values(), lambda one: one[1])]


def listed_of(source: Source) -> ListedSource:
    """Only a person's pause goes into a file: what failed here may work elsewhere."""
    return ListedSource(
        type=source.type,
        config=source.config,
        name=source.name,
        tags=source.tags,
        is_public=source.is_public,
        is_active=False if source.paused_by is PausedBy.PERSON else None,
    )


def _notes(sources: Sequence[ListedSource], verb: str) -> tuple[str, ...]:
    hidden = ((one.name, names_of(secret_paths(one.config))) for one in sources)
    return tuple(f"{verb}: {secrets} of {name!r}." for name, secrets in hidden if secrets)
