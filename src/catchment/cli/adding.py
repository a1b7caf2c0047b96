"""`catchment add`: a source, looked at once before it is stored."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Annotated, Any

import typer

from catchment.cli.printing import AsJson, print_json, say
from catchment.cli.session import with_system
from catchment.cli.sources import source_shape
from catchment.domain.caller import OPERATOR
from catchment.errors import InvalidInput

if TYPE_CHECKING:
    from catchment.bootstrap import System
    from catchment.domain.source import Source
    from catchment.manage.catalog import Draft

Tags = Annotated[list[str] | None, typer.Option("--tag", help="A tag; may be given several times.")]


def add(
    url: Annotated[str, typer.Argument(help="The address of the feed.")],
    *,
    type_: Annotated[str, typer.Option("--type", help="What kind of source it is.")] = "rss",
    name: Annotated[str, typer.Option(help="Its name; without one, what it calls itself.")] = "",
    config: Annotated[str, typer.Option(metavar="JSON", help="More of its config, as a JSON object.")] = "{}",
    tag: Tags = None,
    interval: Annotated[int | None, typer.Option(metavar="MINUTES", help="How often it is looked at.")] = None,
    public: Annotated[bool, typer.Option("--public", help="Show it to everybody.")] = False,
    no_check: Annotated[bool, typer.Option("--no-check", help="Store it without a look at it.")] = False,
    as_json: AsJson = False,
) -> None:
    """Add a source; it is collected at the next tick.

    It is tried once before. What can never work is refused; what only does not answer now is added with a warning.

    Example: catchment add https://example.org/feed.xml --name "An example" --tag reading
    """
    from catchment.manage.catalog import Draft

    draft = Draft(
        type=type_,
        config={"url": url, **read_config(config)},
        name=name,
        is_public=public,
        tags=tuple(tag or ()),
        fetch_interval_minutes=interval,
    )

    async def work(system: System) -> tuple[Source, dict[str, Any]]:
        source = await _add(system, draft, check=not no_check)
        return source, await source_shape(system, source)

    source, shape = with_system(work)
    if as_json:
        print_json(shape)
    else:
        typer.echo(f"Added source {source.id}: {source.name} ({source.type})")


def read_config(text: str) -> dict[str, Any]:
    try:
        config = json.loads(text)
    except ValueError as error:
        raise InvalidInput(f"--config is not JSON: {error}.") from error
    if not isinstance(config, dict):
        raise InvalidInput('--config is a JSON object, such as {"url": "https://…"}.')
    return config


async def _add(system: System, draft: Draft, *, check: bool) -> Source:
    if check:
        draft, preview = await system.previewer.named(draft, OPERATOR)
        if preview.doubt:
            say(f"Warning: it could not be checked now, and is added all the same: {preview.doubt}")
    return await system.catalog.add(draft, OPERATOR)
