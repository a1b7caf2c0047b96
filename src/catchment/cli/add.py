"""`catchment add`: whatever was pasted becomes a source, looked at once before it is stored."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

import typer

from catchment.cli.console import AsJson, print_facts, print_json, read_json_object, say
from catchment.cli.session import with_new_store, with_store_if_any
from catchment.cli.sources import source_shape
from catchment.domain.caller import OPERATOR
from catchment.domain.confidential import masked

if TYPE_CHECKING:
    from catchment.bootstrap import System
    from catchment.manage.catalog import Draft
    from catchment.manage.resolve import Pasted, Resolved


def _something(text: str) -> str:
    if not text.strip():
        raise typer.BadParameter("it is empty; name an address, or a name such as @handle.")
    return text


Tags = Annotated[
    list[str] | None, typer.Option("--tag", help="A tag, or several with commas; may be given several times.")
]


def add(
    text: Annotated[
        str,
        typer.Argument(
            metavar="URL", help="An address of any kind, or a name: @handle, r/python, hn.", callback=_something
        ),
    ],
    *,
    type_: Annotated[
        str | None, typer.Option("--type", help="What kind of source it is, if not what it looks like.")
    ] = None,
    name: Annotated[str, typer.Option(help="Its name; without one, what it calls itself.")] = "",
    config: Annotated[str, typer.Option(metavar="JSON", help="More of its config, as a JSON object.")] = "{}",
    tag: Tags = None,
    interval: Annotated[int | None, typer.Option(metavar="MINUTES", help="How often it is looked at.")] = None,
    public: Annotated[bool, typer.Option("--public", help="Show it to everybody.")] = False,
    no_check: Annotated[bool, typer.Option("--no-check", help="Store it without a look at it.")] = False,
    force: Annotated[
        bool, typer.Option("--force", help="Add it although there is nothing at its address (404, 410).")
    ] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Show what would be stored, and store nothing.")] = False,
    as_json: AsJson = False,
) -> None:
    """Add whatever is pasted: a feed, a page that leads to one, a page to watch, an account, a subreddit.

    It is looked at once before. What can never work is refused, and so is an address at which there is nothing, unless
    by --force; what only does not answer now is added with a warning, and looked at when it can be reached.
    With --type xhs_search, weibo_search or douyin_search the text is what is searched for.

    Example: catchment add https://example.org/blog --tag reading --dry-run
    """
    from catchment.manage.resolve import Pasted

    pasted = Pasted(text=text, type=type_, config=read_config(config))
    wishes = _Arguments(name=name, is_public=public, tags=tuple(tag or ()), interval=interval)

    looked: list[Resolved] = []

    async def work(system: System) -> tuple[Resolved, dict[str, Any]]:
        if not looked:
            looked.append(await _resolve(system, pasted, check=not no_check))
        [resolved] = looked
        if not force:
            resolved.refuse_missing("--force adds it all the same.")
        draft = wishes.draft(resolved)
        if dry_run:
            return resolved, await _planned(system, draft, resolved)
        return resolved, await source_shape(system, await system.catalog.add(draft, OPERATOR))

    resolved, shape = with_store_if_any(work) if dry_run else with_new_store(work)
    _tell(resolved, shape, dry_run=dry_run, as_json=as_json)


def _tell(resolved: Resolved, shape: dict[str, Any], *, dry_run: bool, as_json: bool) -> None:
    if resolved.is_missing:
        say(f"Warning: there is nothing to follow yet: {resolved.doubt}")
    elif resolved.doubt:
        say(f"Warning: it could not be checked now, which does not keep it from being added: {resolved.doubt}")
    if dry_run and shape["existing_id"]:
        say(f"Already followed: it is source {shape['existing_id']}.")
    if as_json:
        print_json(shape)
    elif dry_run:
        print_facts({**shape, "preview": [one["title"] for one in shape["preview"] or ()]}, title="Nothing was stored.")
    else:
        say(resolved.why)
        typer.echo(f"Added source {shape['id']}: {shape['name']} ({shape['type']})")


@dataclass(frozen=True, slots=True, kw_only=True)
class _Arguments:
    """What somebody wants of the source besides what it is."""

    name: str
    is_public: bool
    tags: tuple[str, ...]
    interval: int | None

    def draft(self, resolved: Resolved) -> Draft:
        from catchment.manage.catalog import Draft

        return Draft(
            type=resolved.type,
            config=resolved.config,
            name=self.name or resolved.name,
            is_public=self.is_public,
            tags=self.tags,
            fetch_interval_minutes=self.interval,
        )


def read_config(text: str) -> dict[str, Any]:
    return read_json_object(text, "--config", example='{"url": "https://…"}')


async def _resolve(system: System, pasted: Pasted, *, check: bool) -> Resolved:
    if check:
        return await system.resolver.resolve(pasted, OPERATOR)
    return system.resolver.guess(pasted, OPERATOR)


async def _planned(system: System, draft: Draft, resolved: Resolved) -> dict[str, Any]:
    """What would be stored, and why."""
    new = system.catalog.check(draft, OPERATOR)
    preview, twin = resolved.preview, await system.catalog.find_twin(draft, OPERATOR)
    return {
        "name": new.name,
        "type": new.type,
        "config": masked(new.config),
        "tags": list(new.tags),
        "is_public": new.is_public,
        "icon": resolved.icon,
        "why": resolved.why,
        "preview": None if preview is None else [{"title": one.title, "url": one.url} for one in preview],
        "doubt": resolved.doubt,
        "existing_id": twin.id if twin else None,
    }
