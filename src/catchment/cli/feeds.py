"""`catchment feeds`: what is given out, here, as files or in a bucket."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from catchment.cli.console import (
    AsJson,
    ShowAll,
    Yes,
    columns_of,
    confirm,
    print_facts,
    print_json,
    print_list,
    print_one,
    print_result,
    read_json_object,
    say_changes,
)
from catchment.cli.session import FAILED, with_new_store, with_system
from catchment.domain.caller import OPERATOR
from catchment.errors import InvalidInput, VisitError
from catchment.redact import redact_text

if TYPE_CHECKING:
    from catchment.bootstrap import System
    from catchment.domain.feed import SavedFeed
    from catchment.manage.feeds import Published

feeds = typer.Typer(
    name="feeds", help="Publish views of what was collected as RSS, Atom and JSON Feed.", no_args_is_help=True
)

Slug = Annotated[str, typer.Argument(help="The feed's short name.")]
Sources = Annotated[list[int] | None, typer.Option("--source", metavar="ID", help="Only this source.")]
Types = Annotated[list[str] | None, typer.Option("--type", help="Only sources of this type.")]
Tags = Annotated[list[str] | None, typer.Option("--tag", help="Only sources with this tag.")]
Slugs = Annotated[
    list[str] | None, typer.Option("--slug", help="Only this feed, public or not; may be given several times.")
]
BaseUrl = Annotated[
    str,
    typer.Option(
        metavar="URL", help="Where the files will be found; without it, CATCHMENT_PUBLIC_URL with /feeds behind it."
    ),
]


@dataclass(frozen=True, slots=True, kw_only=True)
class FeedDocument:
    name: str
    media_type: str
    body: bytes
    is_public: bool


@feeds.command()
def create(
    slug: Slug,
    *,
    title: Annotated[str, typer.Option(help="Its title; a feed of one source has the source's.")] = "",
    description: Annotated[str, typer.Option(help="What it is about.")] = "",
    link: Annotated[str, typer.Option(metavar="URL", help="The page that it belongs to.")] = "",
    language: Annotated[str, typer.Option(help="Its language, such as en or zh-CN.")] = "",
    source: Sources = None,
    type_: Types = None,
    tag: Tags = None,
    search: Annotated[str, typer.Option(help="Only items with all of these words.")] = "",
    q: Annotated[str, typer.Option(help="Only what this search finds, as `items search` takes it.")] = "",
    limit: Annotated[int, typer.Option(min=1, max=500, help="How many items at most.")] = 50,
    filter_: Annotated[str, typer.Option("--filter", metavar="JSON", help="More of the filter, as an object.")] = "{}",
    public: Annotated[bool, typer.Option("--public", help="Anybody may read it; else it takes a token.")] = False,
    as_json: AsJson = False,
) -> None:
    """Publish a view; --source, --type and --tag may be given several times.

    Example: catchment feeds create news --title "News" --tag news --public
    """
    from catchment.manage.feeds import FeedDraft

    named = {"sources": source, "types": type_, "tags": tag, "search": search, "q": q}
    draft = FeedDraft(
        slug=slug,
        title=title,
        description=description,
        link=link,
        language=language,
        filter={**_read_filter(filter_), **{key: value for key, value in named.items() if value}, "limit": limit},
        is_public=public,
    )
    made = with_new_store(lambda system: system.feeds.add(draft, OPERATOR))
    if not as_json:
        typer.echo(f"Published {made.feed.slug}: /feeds/{made.feed.slug}.rss, .atom and .json")
    _print_made(made, as_json=as_json)


@feeds.command("list")
def list_(*, show_all: ShowAll = False, as_json: AsJson = False) -> None:
    """List every feed.

    Example: catchment feeds list --json
    """
    shown = [feed.shown() for feed in with_system(lambda system: system.feeds.list(OPERATOR))]
    columns = ("slug", "title", "public", "filter", "owner_id", "updated_at")
    print_list(shown, *columns_of(columns, shown), as_json=as_json, show_all=show_all)


@feeds.command()
def show(slug: Slug, *, as_json: AsJson = False) -> None:
    """Show everything about one feed.

    Example: catchment feeds show news
    """
    print_one(with_system(lambda system: system.feeds.get(slug, OPERATOR)).shown(), as_json=as_json)


@feeds.command("set")
def set_(
    slug: Slug,
    *,
    title: Annotated[str | None, typer.Option(help="Its title.")] = None,
    description: Annotated[str | None, typer.Option(help="What it is about.")] = None,
    link: Annotated[str | None, typer.Option(metavar="URL", help="The page that it belongs to.")] = None,
    language: Annotated[str | None, typer.Option(help="Its language, such as en or zh-CN.")] = None,
    source: Sources = None,
    type_: Types = None,
    tag: Tags = None,
    q: Annotated[str | None, typer.Option(help="Only what this search finds; '' for all.")] = None,
    limit: Annotated[int | None, typer.Option(min=1, max=500, help="How many items at most.")] = None,
    filter_: Annotated[
        str | None, typer.Option("--filter", metavar="JSON", help="The whole filter from now on, as an object.")
    ] = None,
    public: Annotated[bool | None, typer.Option("--public/--private", help="Who may read it.")] = None,
    new_token: Annotated[bool, typer.Option("--new-token", help="Make another token; the old one is void.")] = False,
    as_json: AsJson = False,
) -> None:
    """Change a feed; what is not named stays.

    Example: catchment feeds set news --title "Good news" --q 人工智能 --private
    """
    from catchment.domain.audit_trail import changed_values
    from catchment.domain.feed import filter_shape
    from catchment.manage.feeds import FeedChange

    named = {"sources": source, "types": type_, "tags": tag, "q": q, "limit": limit}
    parts = {key: value for key, value in named.items() if value is not None}

    async def work(system: System) -> tuple[SavedFeed, Published]:
        before = await system.feeds.get(slug, OPERATOR)
        kept = filter_shape(before.filter) if filter_ is None else _read_filter(filter_)
        change = FeedChange(
            title=title,
            description=description,
            link=link,
            language=language,
            filter={**kept, **parts} if parts or filter_ is not None else None,
            is_public=public,
            new_token=new_token,
        )
        if change == FeedChange():
            raise InvalidInput("Nothing to change: `catchment feeds set --help` shows what can be.")
        return before, await system.feeds.change(slug, change, OPERATOR)

    before, made = with_system(work)
    shown = made.feed.shown()
    settled = ("created_at", "updated_at")
    say_changes(changed_values(before.shown(), {key: value for key, value in shown.items() if key not in settled}))
    if not as_json:
        print_facts(shown)
    _print_made(made, as_json=as_json)


def _print_made(made: Published, *, as_json: bool) -> None:
    """The feed for machines; for people, who were told of it, the token that is shown this once."""
    if as_json:
        print_json({**made.feed.shown(), **({"token": made.token} if made.token else {})})
    elif made.token:
        typer.echo(f"Token (shown only now): {made.token}")


@feeds.command()
def remove(
    slug: Slug,
    *,
    yes: Yes = False,
    as_json: AsJson = False,
) -> None:
    """Stop publishing a feed; what it showed stays.

    Example: catchment feeds remove news
    """
    if not (yes or as_json):
        confirm(f"Stop publishing the feed {slug}?")
    with_system(lambda system: system.feeds.remove(slug, OPERATOR))
    print_result({"slug": slug, "removed": True}, f"Removed feed {slug}.", as_json=as_json)


@feeds.command()
def write(
    folder: Annotated[Path, typer.Argument(help="Where the files go; made if it is not there.")],
    *,
    slug: Slugs = None,
    base_url: BaseUrl = "",
    as_json: AsJson = False,
) -> None:
    """Write public feeds as files in every format, only those that changed.

    Example: catchment feeds write /srv/www/feeds --base-url https://example.org/feeds
    """
    from catchment.publish.files import write_if_changed

    async def work(system: System) -> dict[str, bool]:
        documents = _documents(system, slug or [], base_url)
        return {one.name: write_if_changed(folder / one.name, one.body) async for one in documents}

    _report(with_system(work), as_json=as_json, done="written")


@feeds.command()
def upload(*, slug: Slugs = None, base_url: BaseUrl = "", as_json: AsJson = False) -> None:
    """Send public feeds to the bucket that CATCHMENT_S3_ENDPOINT and its kin name, only those that changed.

    Example: catchment feeds upload --base-url https://feeds.example.org
    """
    from catchment.publish.files import open_bucket

    failed: dict[str, str] = {}

    async def work(system: System) -> dict[str, bool]:
        bucket = open_bucket(system.settings, system.http, system.clock)
        sent: dict[str, bool] = {}
        async for one in _documents(system, slug or [], base_url):
            try:
                sent[one.name] = await bucket.put_if_changed(
                    one.name, one.body, media_type=one.media_type, is_public=one.is_public
                )
            except VisitError as error:
                failed[one.name] = redact_text(str(error))
        return sent

    _report(with_system(work), as_json=as_json, done="sent", failed=failed)
    if failed:
        raise typer.Exit(FAILED)


async def _documents(system: System, slugs: list[str], base_url: str) -> AsyncIterator[FeedDocument]:
    """Every format of the feeds that are named, or of all public ones."""
    from catchment.publish.feed import FeedFormat

    folder = _folder_url(system, base_url)
    named = slugs or [feed.slug for feed in await system.feeds.list(OPERATOR) if feed.is_public]
    for slug in named:
        feed = await system.feeds.get(slug, OPERATOR)
        for format_ in FeedFormat:
            rendered = await system.renderer.look(feed.slug, format_, folder_url=folder)
            if rendered is not None:
                body = await system.renderer.document(rendered)
                name = f"{slug}.{format_}"
                yield FeedDocument(name=name, media_type=format_.media_type, body=body, is_public=feed.is_public)


def _folder_url(system: System, base_url: str) -> str:
    if base_url and not base_url.startswith(("https://", "http://")):
        raise InvalidInput("--base-url begins with https:// or http://.")
    if not base_url and not system.settings.public_url:
        raise InvalidInput("A feed names its own address: say where it will be by --base-url or CATCHMENT_PUBLIC_URL.")
    return base_url.rstrip("/") or f"{system.settings.public_url}/feeds"


def _read_filter(text: str) -> dict[str, Any]:
    return read_json_object(text, "--filter", example='{"since_days": 7}')


def _report(outcomes: dict[str, bool], *, as_json: bool, done: str, failed: Mapping[str, str] | None = None) -> None:
    changed = [name for name, is_new in outcomes.items() if is_new]
    same = [name for name, is_new in outcomes.items() if not is_new]
    if as_json:
        print_json({done: changed, "unchanged": same} | ({} if failed is None else {"failed": failed}))
        return
    for name, error in (failed or {}).items():
        typer.echo(f"{name} was not {done}: {error}", err=True)
    for name in changed:
        typer.echo(name)
    typer.echo(f"{len(changed)} {done}, {len(same)} unchanged{f', {len(failed)} failed' if failed else ''}.")
