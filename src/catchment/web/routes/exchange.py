"""Lists of sources in and out: OPML, YAML and JSON."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Query, Request, Response

from catchment.manage.import_export import LineResult, ListFormat, count_results, export_sources, import_sources
from catchment.web.auth import Known, TheSystem
from catchment.web.errors import OF_A_BODY, problems, problems_of_page
from catchment.web.outputs import Out

router = APIRouter(prefix="/api/sources", tags=["sources"])

_MEDIA = {ListFormat.OPML: "text/x-opml", ListFormat.JSON: "application/json", ListFormat.YAML: "application/yaml"}
#: What each is to who reads it by its media type.
_SHAPES = {ListFormat.OPML: "string", ListFormat.JSON: "object", ListFormat.YAML: "object"}
_FILE: dict[str, Any] = {
    "requestBody": {
        "required": True,
        "description": "The file as it is, in any of the formats; its content shows which it is.",
        "content": {
            media: {"schema": {"type": "string", "format": "binary"}} for media in ["text/x-opml", "text/plain"]
        },
    }
}


class LineOut(Out):
    """What became of one source of the list."""

    line: int
    name: str
    url: str
    result: LineResult
    source_id: int | None
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
        200: {"content": {media: {"schema": {"type": _SHAPES[form]}} for form, media in _MEDIA.items()}},
        **problems_of_page(401, 422),
    },
)
async def export_list(
    system: TheSystem, caller: Known, form: Annotated[ListFormat, Query(alias="format")] = ListFormat.OPML
) -> Response:
    """The sources that you may change, without their secrets."""
    exported = await export_sources(system.catalog, caller, form, now=system.clock.now())
    name = f'attachment; filename="catchment.{form}"'
    return Response(exported.body, media_type=_MEDIA[form], headers={"Content-Disposition": name})
