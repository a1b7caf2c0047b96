"""`catchment collect`: one round, one source, or a loop; `catchment worker`: one of several on many machines."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Annotated, Any

import typer

from catchment.cli.collector_processes import ForkServer, fork_server, helpers
from catchment.cli.console import MAX_ROWS, AsJson, ShowAll, print_json, print_page, say, storable, watched_progress
from catchment.cli.session import FAILED, read_settings, with_system
from catchment.cli.signals import collect_before, collect_unless_stopped, collect_until_stopped, stop_on_signals
from catchment.errors import SettingsError

if TYPE_CHECKING:
    from catchment.bootstrap import System
    from catchment.domain.visit import VisitResult
    from catchment.engine.round import Round
    from catchment.settings import Settings


def collect(
    *,
    loop: Annotated[bool, typer.Option("--loop", help="Keep going, looking every COLLECTOR_TICK seconds.")] = False,
    source: Annotated[
        int | None, typer.Option(help="Collect this source at once, due or not.", metavar="ID", callback=storable)
    ] = None,
    show_all: ShowAll = False,
    as_json: AsJson = False,
) -> None:
    """Collect everything that is due and wait until it is done.

    A source that fails is recorded on that source and is no failure of the round; with --source it is.

    Example: catchment collect --source 5 --json
    """
    if loop and (source is not None or as_json):
        raise typer.BadParameter("--loop goes with neither --source nor --json.")
    if loop:
        settings = read_settings()
        with fork_server(settings) as forks:
            clean = with_system(lambda system: _loop(system, forks), settings, makes_store=True)
    elif source is not None:
        clean = _collect_source(source, as_json=as_json)
    else:
        clean = _collect_round(show_all=show_all, as_json=as_json)
    if not clean:
        raise typer.Exit(FAILED)


async def _loop(system: System, forks: ForkServer) -> bool:
    async with stop_on_signals() as stop, helpers(system, forks, stop) as others, asyncio.TaskGroup() as tasks:
        tasks.create_task(system.jobs.keep(stop))
        clean = await collect_until_stopped(system, stop)
    return clean and not others.was_cut_off


def _collect_source(source_id: int, *, as_json: bool) -> bool:
    async def visit(system: System) -> VisitResult | None:
        return await collect_unless_stopped(system, lambda: system.collector.collect_source(source_id))

    try:
        result = with_system(visit)
    except TimeoutError as error:
        say(f"Error: {error}")
        return False
    if result is None:
        say("Stopped before the source was collected.")
        return True
    print_json(visit_shape(result)) if as_json else print_results([result])
    if result.error is not None:
        say(f"Error: source {source_id} ({result.name}): {result.error}")
    return result.error is None


@dataclass(slots=True)
class _DueRound:
    """What is collected at once of all that is due, here and by helping processes."""

    rounds: list[Round] = field(default_factory=list)
    is_stopped: bool = False
    _ids: set[int] = field(default_factory=set)

    async def collect(self, system: System, forks: ForkServer) -> bool:
        """Whether collecting is paused."""
        collect = partial(system.collector.collect_due, on_round=self._follow)
        shown = watched_progress("Collecting", self._progress)
        async with shown, stop_on_signals() as stop, helpers(system, forks, stop) as others:
            await others.prepare()
            try:
                await collect_before(stop, system, collect)
            finally:
                self.is_stopped = stop.is_set()
        if others.was_cut_off:
            raise TimeoutError("work in flight of another process was cut off")
        if self.is_stopped:
            from catchment.engine.collector import log_stop

            log_stop()
        return await _is_paused(system)

    def results(self) -> list[VisitResult]:
        """A source that had to wait for its host is in several rounds: the last word counts."""
        results = (result for round_ in self.rounds for result in round_.results)
        return list({result.source_id: result for result in results}.values())

    def count_left(self) -> int:
        """Of all that was due, what was not begun, or was cut off."""
        return len(self._ids - {one.source_id for one in self.results()})

    def _follow(self, round_: Round) -> None:
        self.rounds.append(round_)
        self._ids.update(round_.ids)

    def _progress(self) -> tuple[int, int | None]:
        """Of the sources: one may be in several rounds."""
        left = self.rounds[-1].left if self.rounds else 0
        return len(self._ids) - left, len(self._ids) or None


def _collect_round(*, show_all: bool, as_json: bool) -> bool:
    settings, due = read_settings(), _DueRound()
    clean, is_paused = True, False
    try:
        with fork_server(settings) as forks:
            is_paused = with_system(lambda system: due.collect(system, forks), settings, makes_store=True)
    except TimeoutError as error:
        say(f"Error: {error}")
        clean = False
    results, found = due.results(), any(round_.ids for round_ in due.rounds)
    if as_json:
        print_json({"sources": [visit_shape(result) for result in results], "totals": totals(results)})
    elif found:
        print_results(results, show_all=show_all)
    elif not is_paused:
        say("Nothing is due.")
    if due.is_stopped and (left := due.count_left()):
        say(f"Stopped: {left:,} of what was due was not collected, and is due still.")
    if is_paused and not found:
        say("Collecting is paused: `catchment jobs resume collector_tick` lets it go on.")
    return clean


async def _is_paused(system: System) -> bool:
    from catchment.domain.run import COLLECTOR_TICK
    from catchment.store import jobs

    return await system.store.read(jobs.is_paused, COLLECTOR_TICK)


def visit_shape(result: VisitResult) -> dict[str, Any]:
    return {
        "sourceId": result.source_id,
        "name": result.name,
        "type": result.type,
        "fetched": result.fetched,
        "inserted": result.inserted,
        "updated": result.updated,
        "skipped": result.skipped is not None,
        "reason": result.skipped or result.postponed_because or None,
        "error": result.error,
        "postponedUntil": result.postponed_until,
    }


def totals(results: Sequence[VisitResult]) -> dict[str, int]:
    outcomes = Counter(map(outcome, results))
    return {
        "sources": len(results),
        "collected": outcomes["ok"],
        "failed": outcomes["failed"],
        "excused": sum(result.excuse is not None and not result.fenced for result in results),
        "skipped": sum(result.skipped is not None for result in results),
        "takenOver": outcomes["taken over"],
        "fetched": sum(result.fetched for result in results),
        "inserted": sum(result.inserted for result in results),
        "updated": sum(result.updated for result in results),
    }


def outcome(result: VisitResult) -> str:
    if result.fenced:
        # Whatever became of it here: it is told by whoever took it over.
        return "taken over"
    if result.excuse is not None:
        return result.excuse.replace("_", " ")
    if result.error is not None:
        return "failed"
    if result.skipped is not None:
        return "skipped"
    return "postponed" if result.postponed_until else "ok"


def print_results(results: Sequence[VisitResult], *, show_all: bool = True) -> None:
    """What failed comes first, so that no page hides it; of more than a page, what brought nothing is only counted."""
    shown = results if show_all or len(results) <= MAX_ROWS else [one for one in results if _has_news(one)]
    rows = [
        (one.source_id, one.name, one.type, outcome(one), one.inserted, one.updated, _remark(one))
        for one in sorted(shown, key=lambda one: one.error is None)
    ]
    if rows:
        columns = ("id", "name", "type", "result", "new", "changed", "error")
        print_page(columns, rows, show_all=show_all, total=len(results))
    elif results:
        say("Nothing new: --all shows every source.")
    say(_summary(results))


def _summary(results: Sequence[VisitResult]) -> str:
    """What there is none of is left out, but for what everybody looks for."""
    counts, outcomes = totals(results), Counter(map(outcome, results))
    rare = {
        "postponed": outcomes["postponed"],
        "skipped": outcomes["skipped"],
        "taken over by others": counts["takenOver"],
        "not counted (network away, or our fault)": counts["excused"],
    }
    parts = [f"{counts['collected']} collected", f"{counts['failed']} failed"]
    parts += [f"{count} {what}" for what, count in rare.items() if count]
    parts.append(_counted(counts["inserted"], "new item"))
    return f"{_counted(counts['sources'], 'source')}: {', '.join(parts)}."


def _counted(count: int, noun: str) -> str:
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"


def _has_news(result: VisitResult) -> bool:
    return outcome(result) != "ok" or bool(result.inserted or result.updated or result.failed)


def _remark(result: VisitResult) -> str:
    return (
        result.error
        or result.skipped
        or result.postponed_because
        or (f"{result.failed} left out" if result.failed else "")
    )


def worker() -> None:
    """Collect what is due, together with any number of other workers on any number of machines, until stopped.

    They share one PostgreSQL. When one is killed, the others take its work over.

    Example: catchment worker
    """
    settings = read_settings()
    _require_postgres(settings)
    _require_procrastinate()
    from catchment.workers import for_a_worker

    if not with_system(_work, for_a_worker(settings), makes_store=True):
        raise typer.Exit(FAILED)


def _require_postgres(settings: Settings) -> None:
    if settings.store_url().startswith("sqlite"):
        raise SettingsError(
            "Workers share their work by PostgreSQL: set DATABASE_URL to postgresql://…. "
            "On SQLite, which is one machine, `collect --loop` uses every core while much is due (COLLECTOR_PROCESSES)."
        )


def _require_procrastinate() -> None:
    try:
        import catchment.workers  # noqa: F401
    except ModuleNotFoundError as error:
        raise SettingsError(f"Workers need an extra: pip install 'catchment[workers]' ({error}).") from error


async def _work(system: System) -> bool:
    from catchment.workers import Worker

    async with stop_on_signals() as stop, asyncio.TaskGroup() as tasks:
        tasks.create_task(system.jobs.keep(stop))
        try:
            await Worker(system).serve(stop)
        except TimeoutError as error:
            say(f"Error: {error}")
            return False
        return True
