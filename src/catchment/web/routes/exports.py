"""Everything that a caller may see, as one file that is written while it is sent."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, HTTPException, Query, Request, Response

from catchment.domain.export import ExportFormat, ExportKind, ExportQuery
from catchment.errors import SettingsError
from catchment.publish.exports import MEDIA_TYPES
from catchment.web.auth import Known, TheSystem
from catchment.web.errors import problems_of_page
from catchment.web.inputs import MAX_ID, Instant, Since, check_window
from catchment.web.middleware import only_looks
from catchment.web.outputs import stream

router = APIRouter(prefix="/api/items", tags=["items"])
Until = Annotated[Instant | None, Query(description="Only what was collected before; a time without zone is UTC.")]
_BEGINNINGS = {
    ExportFormat.CSV: "id,source_id,title\r\n12,3,A title\r\n",
    ExportFormat.JSONL: '{"id": 12, "title": "A title"}\n',
}
_FILES: dict[str, Any] = {
    media: {"schema": {"type": "string", "format": "binary"}, "example": _BEGINNINGS.get(form, "PAR1…")}
    for form, media in sorted(MEDIA_TYPES.items())
}


@router.get(
    "/export",
    response_class=Response,
    responses={200: {"content": _FILES}, **problems_of_page(401, 422, 501)},
)
async def export_items(
    request: Request,
    system: TheSystem,
    caller: Known,
    *,
    form: Annotated[ExportFormat, Query(alias="format")] = ExportFormat.CSV,
    what: Annotated[ExportKind, Query(description="What to export.")] = ExportKind.ITEMS,
    source_id: Annotated[int | None, Query(ge=1, le=MAX_ID)] = None,
    since: Since = None,
    until: Until = None,
) -> Response:
    """All that you may see as CSV, JSON Lines or Parquet, the oldest first. In CSV, what a spreadsheet would take for a
    formula has an apostrophe before it.
    """
    check_window(since, until)
    query = ExportQuery(what=what, caller=caller, source_id=source_id, since=since, until=until)
    headers = {"Content-Disposition": f'attachment; filename="catchment-{what}.{form}"'}
    try:
        parts = await system.exports.start(query, form)
    except SettingsError as error:
        raise HTTPException(501, str(error)) from error
    if only_looks(request):
        return Response(media_type=MEDIA_TYPES[form], headers=headers)
    return await stream(parts, media_type=MEDIA_TYPES[form], headers=headers)
