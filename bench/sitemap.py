"""What following a sitemap costs: a full run against an incremental one, and whether memory grows with the sitemap.

The site is simulated on this machine, its pages small articles. Every run is a process of its own, so that its memory
is its own. A full run is the product's full mode with its cut lifted: every page listed is fetched and read. Changed
pages are spread evenly, so that an incremental run has to read every sitemap of the tree anew: the worst case.
# proves: B-14
"""

from __future__ import annotations

import argparse
import asyncio
import json
import sys
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table

sys.path.insert(0, str(Path(__file__).parent.parent))

from bench.bars import Bar, all_met, bars_table
from bench.gauge import MEGABYTE, Stopwatch, family, peak_bytes
from bench.simulated_sitemap import SitemapSite
from bench.world import ALLOW_NETWORKS
from catchment.bootstrap import System, open_system
from catchment.domain.caller import OPERATOR
from catchment.domain.source import NewSource
from catchment.fetch.options import SourceClient
from catchment.manage.preview import unsaved
from catchment.manage.sites import SITEMAP, Site
from catchment.settings import Settings
from catchment.simulator.server import SimulatedWeb
from catchment.simulator.world import World
from catchment.sources.base import Context, CrawlingType
from catchment.sources.full_crawl import crawl_in_full

FULL, FIRST, CHANGED, UNCHANGED = "full", "first", "changed", "unchanged"
TITLES = {
    FULL: "full: every page",
    FIRST: "incremental, first run",
    CHANGED: "incremental, {changed:,} changed",
    UNCHANGED: "incremental, nothing changed",
}
#: Saved per cent of requests and of time.
LEAST_SAVED = 90.0
#: The page cache of SQLite, which is full at some size and not before, and a little for chance: nothing else may grow.
MAX_GROWTH_MB = 16 * 2**20 / MEGABYTE + 8


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    pages: int
    kind: str
    requests: int
    page_requests: int
    seconds: float
    peak_bytes: int


# The process that is measured


async def work(kind: str, url: str, folder: str, pages: int) -> dict[str, Any]:
    settings = Settings(database_url=f"sqlite:///{folder}/state.sqlite3", allow_networks=ALLOW_NETWORKS)
    async with open_system(settings) as system:
        with Stopwatch() as watch:
            fetched = await (_full(system, url, pages) if kind == FULL else _incremental(system, url))
    return {"seconds": watch.seconds, "fetched": fetched, "peak_bytes": peak_bytes(family())}


async def _incremental(system: System, url: str) -> int:
    async with system.collector.working(grace_seconds=60):
        return (await system.site_feeds.run(Site(sitemap_url=url), OPERATOR)).tally.fetched


async def _full(system: System, url: str, pages: int) -> int:
    crawling_type, now = system.registry.get(SITEMAP), system.clock.now()
    assert isinstance(crawling_type, CrawlingType)
    config = {"url": url, "enable_incremental": False}
    source = unsaved(NewSource(name="full", type=SITEMAP, config=config, identity=url), now)
    crawl_session = crawling_type.start_crawl(
        Context(source=source, now=now, http=SourceClient(system.http), parsers=system.parsers)
    )
    crawl_session.policy = replace(crawl_session.policy, max_items=pages)
    return len((await crawl_in_full(crawl_session)).items)


# The site, and who sends the runs out


class Course:
    """A site of so many pages, and the runs over it."""

    def __init__(self, web: SimulatedWeb, site: SitemapSite, *, pages: int, changed: int, folder: str) -> None:
        self._web = web
        self._site = site
        self._pages = pages
        self._changed = changed
        self._folder = folder

    async def run(self, kind: str, *, pages: int | None = None) -> Run:
        if kind == CHANGED:
            step = max(1, self._pages // self._changed)
            self._site.change(*range(0, step * self._changed, step), at=datetime.now(UTC))
        before = self._web.hits.of(), self._of_pages()
        told = await _in_a_process(kind, self._web.url(self._site.sitemap_path), self._folder, pages or self._pages)
        requests, of_pages = self._web.hits.of() - before[0], self._of_pages() - before[1]
        expected = {FULL: pages or self._pages, CHANGED: self._changed, UNCHANGED: 0}.get(kind, of_pages)
        if not expected == of_pages == told["fetched"]:
            raise RuntimeError(f"{kind}: {of_pages} pages asked for, {told['fetched']} read, {expected} expected")
        return Run(
            pages=self._pages,
            kind=kind,
            requests=requests,
            page_requests=of_pages,
            seconds=told["seconds"],
            peak_bytes=told["peak_bytes"],
        )

    def _of_pages(self) -> int:
        return self._web.hits.of(f"{self._site.prefix}/pages/")


async def _in_a_process(kind: str, url: str, folder: str, pages: int) -> dict[str, Any]:
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "bench.sitemap", "--run", kind, url, folder, str(pages)),
        cwd=Path(__file__).parent.parent,
        stdout=asyncio.subprocess.PIPE,
    )
    said, _ = await process.communicate()
    if process.returncode:
        raise RuntimeError(f"the run {kind!r} failed")
    told: dict[str, Any] = json.loads(said)
    return told


async def measure(
    pages: int, changed: int, kinds: Sequence[str], emit_events: Callable[[str], None], *, full_pages: int | None = None
) -> list[Run]:
    started = datetime.now(UTC) - timedelta(days=3)
    site = SitemapSite(pages=pages, started_at=started)
    world = World(seed=1, sites=1, started_at=started, period=timedelta(hours=1))
    with tempfile.TemporaryDirectory(prefix="catchment-bench-") as folder:
        async with SimulatedWeb(world, hosts=0, places=site.places()) as web:
            course = Course(web, site, pages=pages, changed=changed, folder=folder)
            runs = []
            for kind in kinds:
                emit_events(f"{pages:,} pages: {kind}")
                runs.append(await course.run(kind, pages=full_pages if kind == FULL else None))
            return runs


def bars(small: Sequence[Run], large: Sequence[Run]) -> list[Bar]:
    by_kind = {run.kind: run for run in small}
    found = []
    if FULL in by_kind:
        full, changed = by_kind[FULL], by_kind[CHANGED]
        # Where the full run was cut short, the rest would have cost the same a page.
        scale = full.pages / full.page_requests
        for name, measured in (
            ("requests saved", 1 - changed.requests / (full.requests * scale)),
            ("time saved", 1 - changed.seconds / (full.seconds * scale)),
        ):
            found.append(Bar(name=name, measured=100 * measured, least=LEAST_SAVED, unit="%"))
    if large:
        name = f"memory added from {small[0].pages:,} to {large[0].pages:,}"
        added = max(run.peak_bytes - by_kind[run.kind].peak_bytes for run in large) / MEGABYTE
        found.append(Bar(name=name, measured=added, most=MAX_GROWTH_MB, unit="MB"))
    return found


def runs_table(runs: Sequence[Run], changed: int) -> Table:
    table = Table(title="A site by its sitemap", box=SIMPLE_HEAD)
    for name in ("pages listed", "run", "requests", "of these pages", "seconds", "peak MB"):
        table.add_column(name, justify="left" if name == "run" else "right")
    for run in runs:
        table.add_row(
            f"{run.pages:,}",
            TITLES[run.kind].format(changed=changed),
            f"{run.requests:,}",
            f"{run.page_requests:,}",
            f"{run.seconds:,.1f}",
            f"{run.peak_bytes / MEGABYTE:,.0f}",
        )
    return table


def run(words: Sequence[str]) -> list[Bar]:
    given = _arguments(words)
    console = Console(stderr=given.json)
    kinds = [FIRST, UNCHANGED, CHANGED]
    with console.status("starting") as status:
        first = [] if given.no_full else [FULL]
        small = asyncio.run(
            measure(given.pages, given.changed, [*first, *kinds], status.update, full_pages=given.full_pages)
        )
        large = asyncio.run(measure(given.large, given.changed, kinds, status.update)) if given.large else []
    found = bars(small, large)
    if given.json:
        shapes = [asdict(one) for one in (*small, *large)]
        print(json.dumps({"runs": shapes, "bars": [bar.as_json() for bar in found]}, indent=2))
    else:
        console.print(runs_table([*small, *large], given.changed), bars_table(found))
        if given.full_pages:
            console.print(f"The full run was cut to {given.full_pages:,} pages; bars count the rest at the same rate.")
    return found


def _arguments(words: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m bench.sitemap", description="Full against incremental runs.")
    parser.add_argument("--pages", type=int, default=50_000, help="that the sitemap lists (%(default)s)")
    parser.add_argument("--changed", type=int, default=500, help="of them between two runs (%(default)s)")
    parser.add_argument("--large", type=int, default=500_000, help="pages to compare memory at; 0 for none")
    parser.add_argument("--full-pages", type=int, help="cut the full run to so many")
    parser.add_argument("--no-full", action="store_true", help="leave the full run out")
    parser.add_argument("--json", action="store_true", help="print JSON instead of tables")
    parser.add_argument("--run", nargs=4, metavar=("KIND", "URL", "FOLDER", "PAGES"), help=argparse.SUPPRESS)
    return parser.parse_args(words)


def main() -> int:
    one = _arguments(sys.argv[1:]).run
    if one:
        kind, url, folder, pages = one
        print(json.dumps(asyncio.run(work(kind, url, folder, int(pages)))))
        return 0
    return 0 if all_met(run(sys.argv[1:])) else 1


if __name__ == "__main__":
    sys.exit(main())
