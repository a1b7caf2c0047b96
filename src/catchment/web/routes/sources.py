"""Sources: what is pasted told, lists in and out, and each: list, show, add, change, remove."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from http import HTTPStatus
from typing import Annotated, Any

from fastapi import APIRouter, HTTPException, Query, Request, Response
from pydantic import AliasChoices, Field, StrictInt, StrictStr, TypeAdapter

from catchment.bootstrap import System
from catchment.domain.caller import Caller
from catchment.domain.listing import ListFormat
from catchment.domain.source import Source, SourceStatus
from catchment.manage.catalog import Change, Draft
from catchment.manage.import_export import LineResult, count_results, export_sources, import_sources
from catchment.manage.resolve import MAX_PREVIEWED, Pasted, Resolved
from catchment.monitor.status import Mark
from catchment.web.auth import Anyone, Known, TheSystem
from catchment.web.errors import OF_A_BODY, problems, problems_of_page
from catchment.web.inputs import MAX_ID, Config, In, ListCursor, PathId, Text, next_link, read_cursor, write_cursor
from catchment.web.middleware import only_looks
from catchment.web.outputs import BacklogOut, ErrorOut, Moment, Ok, Out, stream, stream_list

MAX_LISTED, AT_ONCE = 200, 50
#: Of a list that is whole without it.
MostListed = Annotated[int | None, Query(ge=1, le=MAX_ID, description="So many; the whole list without it.")]
# What has a name of its own comes before the numbers of sources: "export" is none.
router = APIRouter(prefix="/api/sources", tags=["sources"])


class PastedIn(In):
    url: Text | None = Field(
        default=None,
        description="An address of any kind, or a name: @handle, r/python, hn.",
        examples=["https://example.org/blog"],
    )
    force: bool = Field(default=False, description="Tell it although there is nothing at the address (404, 410).")


class PreviewItemOut(Out):
    title: str
    url: str


class ResolvedOut(Out):
    """What `POST /api/sources` would take. `preview` is left out when there was none to be had; `doubt` says why."""

    name: str = Field(examples=["Example blog"])
    type: str = Field(examples=["rss"])
    config: dict[str, Any] = Field(examples=[{"url": "https://example.org/feed"}])
    icon: str | None
    why: str = Field(examples=["The page names this feed."])
    preview: list[PreviewItemOut] = Field(default=[], max_length=MAX_PREVIEWED)
    doubt: str = ""
    existing_id: int | None = Field(default=None, description="The source that it is, where it is followed already.")

    @classmethod
    def of(cls, resolved: Resolved, twin: Source | None) -> ResolvedOut:
        known: dict[str, Any] = {}
        if resolved.preview is not None:
            known["preview"] = [PreviewItemOut(title=one.title, url=one.url) for one in resolved.preview]
        if resolved.doubt is not None:
            known["doubt"] = resolved.doubt
        if twin is not None:
            known["existing_id"] = twin.id
        return cls(
            name=resolved.name,
            type=resolved.type,
            config=dict(resolved.config),
            icon=resolved.icon,
            why=resolved.why,
            **known,
        )


@router.post("/resolve", response_model_exclude_unset=True, responses=problems(401, *OF_A_BODY))
async def resolve(body: PastedIn, system: TheSystem, caller: Known) -> ResolvedOut:
    """Tell what is pasted, with a look at it. What cannot be looked at now is told all the same, with a doubt.

    An address at which there is nothing (404, 410) is a 422, unless by `force`.
    """
    if not body.url or not body.url.strip():
        raise HTTPException(HTTPStatus.BAD_REQUEST, "The body needs a url: an address of any kind, or a name.")
    resolved = await system.resolver.resolve(Pasted(text=body.url), caller)
    if not body.force:
        resolved.refuse_missing('"force": true takes it all the same.')
    return ResolvedOut.of(resolved, await system.catalog.find_twin(resolved.draft, caller))


_MEDIA = {ListFormat.OPML: "text/x-opml", ListFormat.JSON: "application/json", ListFormat.YAML: "application/yaml"}
_LISTED = {"sources": [{"name": "Example blog", "type": "rss", "config": {"url": "https://example.org/feed"}}]}
_OPML = '<opml version="2.0"><body><outline xmlUrl="https://example.org/feed"/></body></opml>'
#: What each is to who reads it by its media type.
_SHAPES: dict[ListFormat, dict[str, Any]] = {
    ListFormat.OPML: {"schema": {"type": "string"}, "example": _OPML},
    ListFormat.JSON: {"schema": {"type": "object"}, "example": _LISTED},
    ListFormat.YAML: {"schema": {"type": "object"}, "example": _LISTED},
}
_FILE: dict[str, Any] = {
    "requestBody": {
        "required": True,
        "description": "The file as it is, in any of the formats; its content shows which it is.",
        "content": {
            media: {"schema": {"type": "string", "format": "binary"}, "example": example}
            for media, example in {
                "text/x-opml": _OPML,
                "text/plain": "- https://example.org/feed\n",
            }.items()
        },
    }
}


class LineOut(Out):
    """What became of one source of the list."""

    line: int = Field(examples=[1])
    name: str = Field(examples=["Example blog"])
    url: str = Field(examples=["https://example.org/feed"])
    result: LineResult
    source_id: int | None = Field(examples=[7])
    reason: str


class ImportedOut(Out):
    results: list[LineOut]
    totals: dict[LineResult, int]


@router.post("/import", responses=problems(401, 403, *OF_A_BODY), openapi_extra=_FILE)
async def import_list(request: Request, system: TheSystem, caller: Known) -> ImportedOut:
    """Add every source of a file that is not there yet. A bad line is told with its number and spoils no other."""
    lines = await import_sources(system.catalog, system.parsers, await request.body(), caller)
    totals = {LineResult(name): count for name, count in count_results(lines).items()}
    return ImportedOut(results=[LineOut.model_validate(line) for line in lines], totals=totals)


@router.get(
    "/export",
    response_class=Response,
    responses={
        200: {"content": {media: _SHAPES[form] for form, media in _MEDIA.items()}},
        **problems_of_page(401, 422),
    },
)
async def export_list(
    request: Request,
    system: TheSystem,
    caller: Known,
    form: Annotated[ListFormat, Query(alias="format")] = ListFormat.OPML,
) -> Response:
    """The sources that you may change, without their secrets. The file is written while it is sent."""
    headers = {"Content-Disposition": f'attachment; filename="catchment.{form}"'}
    if only_looks(request):
        return Response(media_type=_MEDIA[form], headers=headers)
    exported = export_sources(system.catalog, caller, form, now=system.clock.now())
    return await stream((part.body async for part in exported), media_type=_MEDIA[form], headers=headers)


class SourceOut(Out):
    """A source. Fields that a caller may not see are left out."""

    id: int
    name: str
    type: str
    is_active: bool
    is_public: bool
    tags: list[str]
    status: SourceStatus
    created_by: int | None
    creator_name: str | None
    created_at: Moment
    updated_at: Moment
    last_fetched_at: Moment | None
    fetch_count: int
    fetch_error_count: int
    config: dict[str, Any] = Field(
        description="All of it for those who may change the source, for others its address at most."
    )
    #: The rest only for known callers.
    subscribed: bool = False
    last_error: ErrorOut | None = None
    fetch_interval_minutes: int = 0
    next_fetch_at: Moment | None = None
    next_check_at: Moment | None = None
    next_check_reason: str = ""
    marks: list[Mark] = Field(default=[])
    gap_at: Moment | None = None
    quiet_since: Moment | None = None
    pages: BacklogOut | None = None


class SourceIn(In):
    answer = ResolvedOut

    type: Text = Field(examples=["rss"])
    config: Config = Field(examples=[{"url": "https://example.org/feed"}])
    name: Text = Field(default="", examples=["Example"])
    is_public: bool = Field(default=False, validation_alias=AliasChoices("is_public", "isPublic"))
    tags: tuple[Text, ...] = ()
    fetch_interval_minutes: StrictInt | StrictStr | None = None


class SourceChange(In):
    answer = SourceOut

    name: Text | None = Field(default=None, examples=["Morning paper"])
    type: Text | None = None
    config: Config | None = None
    is_active: bool | None = Field(default=None, validation_alias=AliasChoices("is_active", "isActive"))
    is_public: bool | None = Field(default=None, validation_alias=AliasChoices("is_public", "isPublic"))
    tags: tuple[Text, ...] | None = None
    fetch_interval_minutes: StrictInt | StrictStr | None = Field(
        default=None, description="0 goes back to the interval of the type."
    )


@router.get("", response_model=list[SourceOut], response_model_exclude_unset=True, responses=problems(401, 422))
async def list_sources(
    request: Request, system: TheSystem, caller: Anyone, limit: MostListed = None, cursor: ListCursor = None
) -> Response:
    """Public sources; with a key also your own, with the service's or an admin's all.

    With `limit` (at most 200) by pages: the `Link` header leads to the next one. Without it the whole list is streamed.
    """
    if limit is None and cursor is None:
        if only_looks(request):
            return Response(media_type="application/json")
        return await stream_list(_all(system, caller))
    most = min(limit or MAX_LISTED, MAX_LISTED)
    after_id = read_cursor(cursor) if cursor else 0
    found = await system.catalog.list(caller, most=most + 1, after_id=after_id)
    shown = await show_sources_to(system, caller, found[:most])
    further = next_link(request, write_cursor(found[most - 1].id)) if len(found) > most else {}
    body = _LIST.dump_json(shown, exclude_unset=True)
    return Response(body, media_type="application/json", headers=further)


async def _all(system: System, caller: Caller) -> AsyncIterator[Sequence[SourceOut]]:
    async for found in system.catalog.pages(caller, most=AT_ONCE):
        yield await show_sources_to(system, caller, found)


@router.post("", status_code=201, response_model_exclude_unset=True, responses=problems(401, 403, 409, *OF_A_BODY))
async def add_source(body: SourceIn, system: TheSystem, caller: Known) -> SourceOut:
    """Add a source; it is collected at the next tick, or once the round under way is over.

    One that exists already is a conflict that names it.
    """
    return (await show_sources_to(system, caller, [await system.catalog.add(Draft(**dict(body)), caller)]))[0]


@router.get("/{source_id}", response_model_exclude_unset=True, responses=problems(401, 404, 422))
async def show_source(source_id: PathId, system: TheSystem, caller: Anyone) -> SourceOut:
    return (await show_sources_to(system, caller, [await system.catalog.get(source_id, caller)]))[0]


@router.put("/{source_id}", response_model_exclude_unset=True, responses=problems(401, 403, 404, 409, *OF_A_BODY))
async def change_source(source_id: PathId, body: SourceChange, system: TheSystem, caller: Known) -> SourceOut:
    """Change what is named and leave the rest. Resuming clears the error count."""
    return (
        await show_sources_to(system, caller, [await system.catalog.change(source_id, Change(**dict(body)), caller)])
    )[0]


@router.delete("/{source_id}", responses=problems(401, 403, 404, 422))
async def remove_source(source_id: PathId, system: TheSystem, caller: Known) -> Ok:
    """Remove a source from every list. Those who subscribed are still told of it."""
    await system.catalog.remove(source_id, caller)
    return Ok()


_LIST = TypeAdapter(list[SourceOut])


async def show_sources_to(system: System, caller: Caller, sources: Sequence[Source]) -> list[SourceOut]:
    return [SourceOut.model_validate(shown) for shown in await system.show_sources(sources, caller)]
