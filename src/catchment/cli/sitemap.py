"""`catchment sitemap`: a site without a feed as a feed, at once; or every site of a file."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Sequence
from dataclasses import asdict, dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

import typer

from catchment.cli.console import AsJson, print_json, print_list, read_file, say, watched_progress
from catchment.cli.session import FAILED, read_settings, run_async, with_system
from catchment.cli.signals import collect_unless_stopped
from catchment.domain.caller import OPERATOR
from catchment.errors import CatchmentError, DamagedStore

if TYPE_CHECKING:
    from catchment.bootstrap import System
    from catchment.manage.site_feeds import SiteRun
    from catchment.manage.sites import BadSite, Site
    from catchment.publish.feed import FeedFormat
    from catchment.settings import Settings

T = TypeVar("T")
FORMATS = ("rss", "atom", "json")
DISABLED = "disabled"


@dataclass(frozen=True, slots=True, kw_only=True)
class SitemapReport:
    site: str
    mode: str | None = None
    source_id: int | None = None
    items: int = 0
    new: int = 0
    changed: int = 0
    #: What was written or sent because it is not what it was.
    written: list[str] = field(default_factory=list)
    error: str | None = None


def sitemap(
    url: Annotated[str | None, typer.Argument(help="The site or its sitemap.", metavar="URL")] = None,
    *,
    config: Annotated[str | None, typer.Option(metavar="FILE|-", help="A YAML of sites instead; - for stdin.")] = None,
    output: Annotated[Path | None, typer.Option("--output", "-o", help="Where to; without it, stdout.")] = None,
    format_: Annotated[str, typer.Option("--format", metavar="|".join(FORMATS), help="Of the feed.")] = "rss",
    max_items: Annotated[int, typer.Option(min=1, max=10_000, help="How many at most.")] = 50,
    site_name: Annotated[str, typer.Option(help="Names the site and its state.")] = "",
    full: Annotated[bool, typer.Option("--full", help="Fetch the newest pages anew, and remember nothing.")] = False,
    as_json: AsJson = False,
) -> None:
    """Make a feed of any site by its sitemap. The next time only what is new or changed is fetched.

    The site is remembered as a paused source, which the collector leaves alone. With --config every site of the file
    becomes a source with a schedule, is collected, and its feed written where the file says.

    Example: catchment sitemap https://example.org --output feed.xml
    """
    if (url is None) == (config is None):
        raise typer.BadParameter("say either a URL or --config.")
    if format_ not in FORMATS:
        raise typer.BadParameter(f"--format is one of {', '.join(FORMATS)}.")
    if config is not None:
        if output is not None or site_name or full:
            raise typer.BadParameter("--config goes with none of --output, --site-name and --full: the file says it.")
        _sites_of_file(config, as_json=as_json)
        return
    from catchment.manage.sites import Site
    from catchment.publish.feed import FeedFormat

    named = Site(sitemap_url=_address(url or ""), name=site_name, max_items=max_items, is_incremental=not full)
    _one_site(named, FeedFormat(format_), output, as_json=as_json)


def _address(given: str) -> str:
    """A host alone will do."""
    return given if "://" in given else f"https://{given}"


# One site


def _one_site(site: Site, format_: FeedFormat, output: Path | None, *, as_json: bool) -> None:
    from catchment.publish.files import write_if_changed

    async def work(system: System) -> SiteRun | None:
        async with watched_progress(f"Collecting {site.title}", lambda: (0, None)):
            return await collect_unless_stopped(system, lambda: system.site_feeds.run(site, OPERATOR))

    run = _unless_cut_off(lambda: _on_store(work, lambda error: _in_full(site, read_settings(), error)))
    body = run.document(format_)
    written = [str(output)] if output is not None and write_if_changed(output, body) else []
    if as_json:
        shape = _shape(_reported(run, written))
        print_json(shape if output is not None else {**shape, "document": body.decode()})
    elif output is None:
        sys.stdout.buffer.write(body)
        sys.stdout.flush()
    tally = run.tally
    say(f"{site.title}: {tally.inserted} new, {tally.updated} changed, {len(run.shown)} in the feed.")


def _on_store(
    work: Callable[[System], Coroutine[Any, Any, T]], otherwise: Callable[[DamagedStore], Coroutine[Any, Any, T]]
) -> T:
    """The work, or what is done in its place when the store cannot be read any more."""
    try:
        return with_system(work, makes_store=True)
    except DamagedStore as error:
        return run_async(otherwise(error))


async def _in_full(site: Site, settings: Settings, error: DamagedStore) -> SiteRun:
    """A run that needs no store. The broken one is left where it is."""
    from catchment.flows.state import State, start_over

    return await start_over(site, State(settings=settings, is_own=False), error)


def _unless_cut_off(work: Callable[[], SiteRun | None]) -> SiteRun:
    try:
        run = work()
    except TimeoutError as error:
        say(f"Error: {error}")
        raise typer.Exit(FAILED) from None
    if run is None:
        say("Stopped before the site was collected.")
        raise typer.Exit(FAILED)
    return run


# The sites of a file


def _sites_of_file(file: str, *, as_json: bool) -> None:
    from catchment.manage.sites import read_sites

    listed = read_sites(read_file(file))
    reports: list[SitemapReport] = []

    async def work(system: System) -> None:
        async with watched_progress("Sites", lambda: (len(reports), len(listed))):
            await collect_unless_stopped(system, lambda: _run_all(system, listed, reports))

    async def work_without_store(error: DamagedStore) -> None:
        settings = read_settings()
        for site in listed:
            run = partial(_run_anywhere, settings, error)
            reports.append(await _run_one(site, run, settings))

    try:
        _on_store(work, work_without_store)
    except TimeoutError as error:
        say(f"Error: {error}")
    _print_reports(reports, as_json=as_json)
    if len(reports) < len(listed):
        say(f"Stopped before {len(listed) - len(reports)} sites were done.")
    if len(reports) < len(listed) or any(report.error for report in reports):
        raise typer.Exit(FAILED)


async def _run_all(system: System, listed: Sequence[Site | BadSite], reports: list[SitemapReport]) -> None:
    """Several at once, each by itself: what goes wrong with one is its own affair."""
    gate = asyncio.Semaphore(system.settings.concurrency)

    async def run(site: Site | BadSite) -> None:
        async with gate:
            reports.append(await _run_one(site, partial(_run_on_store, system), system.settings))

    await asyncio.gather(*(run(site) for site in listed))


async def _run_one(
    site: Site | BadSite, run: Callable[[Site], Awaitable[SiteRun | None]], settings: Settings
) -> SitemapReport:
    from catchment.manage.sites import BadSite

    if isinstance(site, BadSite):
        return SitemapReport(site=site.name, error=site.reason)
    try:
        done = await run(site)
        if done is None:
            return SitemapReport(site=site.title, mode=DISABLED)
        return _reported(done, [name async for name in _written(done, settings)])
    except CatchmentError as error:
        return SitemapReport(site=site.title, error=str(error))


async def _run_on_store(system: System, site: Site) -> SiteRun | None:
    """On the state that the site names, else in the store. None for a site that is disabled: it is paused."""
    from catchment.flows.state import run_or_start_over, state_at

    if not site.is_enabled:
        await system.site_feeds.pause(site, OPERATOR)
        return None
    if site.state_db and site.is_incremental:
        return await run_or_start_over(site, state_at(site.state_db, system.settings))
    try:
        return await system.site_feeds.run(site, OPERATOR)
    except DamagedStore as error:
        return await _in_full(site, system.settings, error)


async def _run_anywhere(settings: Settings, error: DamagedStore, site: Site) -> SiteRun | None:
    """Where there is no store that could be read."""
    from catchment.flows.state import run_or_start_over, state_at

    if not site.is_enabled:
        return None
    if site.state_db and site.is_incremental:
        return await run_or_start_over(site, state_at(site.state_db, settings))
    return await _in_full(site, settings, error)


async def _written(run: SiteRun, settings: Settings) -> AsyncIterator[str]:
    """Write the feed wherever its site says, and name where it was not the same already."""
    from catchment.bootstrap import open_outside
    from catchment.clock import SystemClock
    from catchment.publish.files import open_bucket, write_if_changed
    from catchment.publish.views import format_of

    file, key = run.site.output.local_file, run.site.output.r2_object_key
    if file:
        is_new = await asyncio.to_thread(write_if_changed, Path(file), run.document(format_of(file)))
        if is_new:
            yield file
    if key:
        async with open_outside(settings) as outside:
            bucket, format_ = open_bucket(settings, outside.http, SystemClock()), format_of(key)
            document = run.document(format_, served_at=bucket.url(key))
            if await bucket.put_if_changed(key, document, media_type=format_.media_type):
                yield key


def _reported(run: SiteRun, written: list[str]) -> SitemapReport:
    return SitemapReport(
        site=run.site.title,
        mode=run.mode,
        source_id=run.source.id or None,
        items=len(run.shown),
        new=run.tally.inserted,
        changed=run.tally.updated,
        written=written,
    )


def _shape(report: SitemapReport) -> dict[str, Any]:
    return {"sourceId" if name == "source_id" else name: value for name, value in asdict(report).items()}


def _print_reports(reports: Sequence[SitemapReport], *, as_json: bool) -> None:
    ordered = sorted(reports, key=lambda report: report.site)
    columns = ("site", "mode", "new", "changed", "in the feed", "written", "error")
    rows = (
        (one.site, one.mode, one.new, one.changed, one.items, ", ".join(one.written), one.error or "")
        for one in ordered
    )
    print_list({"sites": [_shape(report) for report in ordered]}, columns, rows, as_json=as_json)
