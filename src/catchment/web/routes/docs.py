"""`/docs`: the API to try out, with the interface that a package ships; nothing comes from elsewhere."""

from __future__ import annotations

from fastapi import APIRouter, Request, Response
from fastapi.responses import HTMLResponse
from fastapi.staticfiles import StaticFiles

from catchment.web.auth import OPEN
from catchment.web.errors import problems_of_page
from catchment.web.pages import render
from catchment.web.translations import TheLanguage

router = APIRouter(tags=["pages"], dependencies=[OPEN])


def interface_files() -> StaticFiles:
    """Swagger UI, as fastapi-offline ships it; of that package nothing is imported."""
    return StaticFiles(packages=[("fastapi_offline", "static")])


@router.get("/docs", response_class=HTMLResponse, responses=problems_of_page(401))
async def show_docs(request: Request, language: TheLanguage) -> Response:
    """The API, to read and to try out."""
    return render(request, language, "docs.html", {})
