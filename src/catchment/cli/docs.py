"""`catchment docs`: the documents of this release, runbooks among them, on a terminal and without a network."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

import catchment
from catchment.errors import NotFound
from catchment.settings.spec import likely_one

_PACKAGE = Path(catchment.__file__).parent


def folder_of_documents() -> Path:
    """Packed beside the code; in a clone, where they are written."""
    packed = _PACKAGE / "docs"
    return packed if packed.is_dir() else _PACKAGE.parent.parent / "docs"


def docs(
    page: Annotated[str, typer.Argument(help="Which one, as it is listed; the runbook that an alert names, too.")] = "",
) -> None:
    """Show a document, such as the runbook of an alert, or list them all.

    Example: catchment docs runbooks/source-broken
    """
    documents = folder_of_documents()
    pages = {path.relative_to(documents).with_suffix("").as_posix(): path for path in documents.rglob("*.md")}
    if page:
        typer.echo(_text(pages, page.removeprefix("docs/").removesuffix(".md")))
    else:
        typer.echo("\n".join(f"{name:44} {_title(pages[name])}" for name in sorted(pages)))


def _text(pages: dict[str, Path], name: str) -> str:
    if name not in pages:
        likely = likely_one(name, pages)
        raise NotFound(
            f"There is no document {name!r}" + (f"; {likely!r}?" if likely else "; `catchment docs` lists all.")
        )
    return pages[name].read_text(encoding="utf-8")


def _title(path: Path) -> str:
    with path.open(encoding="utf-8") as lines:
        return next(lines, "").lstrip("# ").rstrip()
