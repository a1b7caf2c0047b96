"""`catchment packs`: lists of sources to pass on."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from catchment.cli.console import (
    STANDARD_INPUT,
    WEB,
    AsJson,
    FileOnce,
    ShowAll,
    print_facts,
    print_json,
    print_list,
    print_result,
    print_table,
    read_file,
    say,
    write_file,
)
from catchment.cli.import_export import Output, print_lines
from catchment.cli.session import with_new_store, with_system
from catchment.domain.caller import OPERATOR
from catchment.domain.listing import ListFormat

if TYPE_CHECKING:
    from catchment.bootstrap import System
    from catchment.manage.packs import Installed, Made

packs = typer.Typer(name="packs", help="Lists of sources: make, share and install them.", no_args_is_help=True)

Slug = Annotated[str, typer.Argument(metavar="SLUG", help="The pack's short name, as `packs list` shows it.")]


@packs.command()
def create(
    name: Annotated[str, typer.Argument(help="What it is called.")],
    *,
    description: Annotated[str, typer.Option(help="What is in it.")] = "",
    slug: Annotated[str, typer.Option(help="Its short name; without one, made from the name.")] = "",
    source: Annotated[list[int] | None, typer.Option("--source", metavar="ID", help="A source; repeatable.")] = None,
    tag: Annotated[list[str] | None, typer.Option("--tag", help="Every source with this tag; repeatable.")] = None,
    file: Annotated[str, typer.Option("--file", "-f", help="The sources of a YAML, JSON or OPML file.")] = "",
    private: Annotated[bool, typer.Option("--private", help="Only you see it.")] = False,
    as_json: AsJson = False,
) -> None:
    """Make a pack of all your sources, of those you name, or of a file. Secrets are left out.

    Example: catchment packs create "Morning reading" --tag news --tag tech
    """
    from catchment.domain.listing import SourceList
    from catchment.manage.import_export import read_sources
    from catchment.manage.packs import PackDraft

    listing = read_sources(read_file(file)) if file else SourceList(entries=())
    draft = PackDraft(name=name, description=description, slug=slug, is_public=not private, listing=listing)

    async def work(system: System) -> Made:
        if file:
            return await system.packs.make(draft, OPERATOR)
        return await system.packs.make_from_sources(draft, OPERATOR, ids=source or (), tags=tag or ())

    made = with_new_store(work)
    for note in made.notes:
        say(note)
    print_result(
        made.pack.shown(), f"Made the pack {made.pack.slug} with {len(made.pack.sources)} sources.", as_json=as_json
    )


@packs.command("list")
def list_(*, show_all: ShowAll = False, as_json: AsJson = False) -> None:
    """List every pack.

    Example: catchment packs list
    """
    found = with_system(lambda system: system.packs.list(OPERATOR))
    rows = [(one.slug, one.name, len(one.sources), one.install_count, one.is_public) for one in found]
    print_list(
        [pack.shown() for pack in found],
        ("slug", "name", "sources", "installed", "public"),
        rows,
        as_json=as_json,
        show_all=show_all,
    )


@packs.command()
def show(slug: Slug, *, as_json: AsJson = False) -> None:
    """Show a pack and its sources.

    Example: catchment packs show morning-reading
    """
    pack = with_system(lambda system: system.packs.show(slug, OPERATOR))
    if as_json:
        print_json(pack.shown())
        return
    print_facts({"name": pack.name, "description": pack.description, "installed": pack.install_count}, title=pack.slug)
    rows = ((one.get("name"), one["type"], one.get("tags"), one["config"]) for one in pack.sources)
    print_table(("name", "type", "tags", "config"), rows)


@packs.command()
def install(
    pack: Annotated[str, typer.Argument(metavar="SLUG|FILE|URL|-", help="A pack that is here, or the file of one.")],
    *,
    as_json: AsJson = False,
) -> None:
    """Add the sources of a pack that are not there yet. What you removed once is not brought back.

    Example: catchment packs install morning-reading.yaml
    """
    from catchment.manage.import_export import read_sources_apart

    body = FileOnce(pack)

    async def work(system: System) -> Installed:
        if not _is_file(pack):
            return await system.packs.install(pack, OPERATOR)
        listing = await read_sources_apart(system.parsers, await body.read(system))
        return await system.packs.install_entries(listing.entries, OPERATOR)

    installed = with_new_store(work)
    if as_json:
        totals = {"ok": True, "added": installed.added, "skipped": installed.skipped}
        print_json({**totals, "results": installed.lines})
        return
    print_lines(installed.lines)
    typer.echo(f"{installed.added} added, {installed.skipped} skipped.")


@packs.command()
def export(
    slug: Slug,
    *,
    output: Output = None,
    form: Annotated[
        ListFormat | None, typer.Option("--format", help="yaml or json; without, by the file's name.")
    ] = None,
) -> None:
    """Write a pack as a file that anybody can install.

    Example: catchment packs export morning-reading --output morning-reading.yaml
    """
    from catchment.manage.packs import write_pack

    chosen = form or (ListFormat.JSON if output is not None and output.suffix == ".json" else ListFormat.YAML)
    write_file(output, write_pack(with_system(lambda system: system.packs.show(slug, OPERATOR)), chosen))


@packs.command()
def remove(slug: Slug, *, as_json: AsJson = False) -> None:
    """Remove a pack; the sources that came from it stay.

    Example: catchment packs remove morning-reading
    """

    async def work(system: System) -> None:
        await system.packs.remove((await system.packs.show(slug, OPERATOR)).id, OPERATOR)

    with_system(work)
    print_result({"slug": slug, "removed": True}, f"Removed the pack {slug}.", as_json=as_json)


def _is_file(text: str) -> bool:
    """A short name has neither dot nor slash."""
    return (
        text == STANDARD_INPUT
        or text.lower().startswith(WEB)
        or bool({".", "/", "\\"} & set(text))
        or Path(text).is_file()
    )
