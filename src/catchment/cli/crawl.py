"""`catchment crawl` and `catchment feishu`: notes of the platforms that are searched by keyword, and their table."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from catchment.cli.collect import print_results
from catchment.cli.console import (
    AsJson,
    columns_of,
    print_json,
    print_line,
    print_list,
    print_one,
    print_result,
    print_table,
    progress_bar,
    say,
    storable,
)
from catchment.cli.session import FAILED, with_system
from catchment.cli.signals import collect_unless_stopped
from catchment.domain.execution import ALREADY_RUNNING, MEDIA_CRAWLER
from catchment.domain.note import Platform, Search, SortType
from catchment.domain.note_json import card_to_json, note_to_json

if TYPE_CHECKING:
    from catchment.bootstrap import System
    from catchment.domain.execution import Execution
    from catchment.domain.note import Note, SearchPage
    from catchment.domain.visit import VisitResult


crawl = typer.Typer(name="crawl", help="Notes by keyword: search, read, run, free locks, n8n.", no_args_is_help=True)

ThePlatform = Annotated[Platform, typer.Option(help="Where.")]
CookieName = Annotated[str | None, typer.Option(metavar="NAME", help="Only with this cookie.")]
STOPPED = "Stopped before everything was crawled."
COLUMNS = ("workflow_name", "execution_id", "status", "started_at", "heartbeat_at", "items_processed", "items_failed")


@crawl.command()
def run(
    *,
    platform: Annotated[Platform | None, typer.Option(help="Only keyword sources of this platform.")] = None,
    source: Annotated[int | None, typer.Option(help="Only this source.", metavar="ID", callback=storable)] = None,
    as_json: AsJson = False,
) -> None:
    """Crawl the keyword sources now, one after the other, due or not.

    While another execution of the workflow runs nothing is done, which is no failure. A source whose platform has no
    cookie left is put off.

    Example: catchment crawl run --platform xhs
    """
    results: list[VisitResult] = []

    async def work(system: System) -> tuple[bool, Execution | None]:
        chosen = await system.crawl.keywords(platform=platform, source_id=source)
        with progress_bar() as advance:

            def note(result: VisitResult) -> None:
                results.append(result)
                if advance is not None:
                    advance(len(results), len(chosen))

            async def crawl_them() -> tuple[bool, Execution | None]:
                return True, await system.crawl.run(chosen, on_result=note)

            return await collect_unless_stopped(system, crawl_them) or (False, None)

    try:
        is_over, execution = with_system(work)
    except TimeoutError as error:
        say(f"Error: {error}")
        is_over, execution = False, None
    if as_json:
        print_line(_run_shape(execution, is_over=is_over))
    else:
        _tell_run(execution, results, is_over=is_over)
    if not is_over or any(result.error is not None for result in results):
        raise typer.Exit(FAILED)


def _run_shape(execution: Execution | None, *, is_over: bool) -> dict[str, object]:
    if execution is None:
        reason = ALREADY_RUNNING if is_over else STOPPED
        return {"locked": not is_over, "execution_id": None, "processed": 0, "failed": 0, "reason": reason}
    return {
        "locked": True,
        "execution_id": execution.execution_id,
        "processed": execution.items_processed,
        "failed": execution.items_failed,
        "reason": execution.error_summary,
    }


def _tell_run(execution: Execution | None, results: Sequence[VisitResult], *, is_over: bool) -> None:
    if not is_over:
        say(STOPPED)
    elif execution is None:
        say(f"Nothing was done: another execution of the workflow {MEDIA_CRAWLER} is running ({ALREADY_RUNNING}).")
    else:
        print_results(results)
        counts = f"{execution.items_processed} processed, {execution.items_failed} failed"
        say(f"Execution {execution.execution_id} ({execution.trace_id}): {execution.status}, {counts}.")


@crawl.command()
def search(
    keyword: Annotated[str, typer.Argument(help="What is searched for.")],
    *,
    platform: ThePlatform,
    page: Annotated[int, typer.Option(min=1, max=100, help="Which page of what is found.")] = 1,
    sort: Annotated[SortType, typer.Option(help="What comes first.")] = SortType.GENERAL,
    cookie: CookieName = None,
    as_json: AsJson = False,
) -> None:
    """Search a platform once and show what it finds. Nothing is kept.

    Example: catchment crawl search 手冲咖啡 --platform xhs
    """
    wanted = Search(keyword=keyword, page=page, sort=sort.sort)

    async def work(system: System) -> SearchPage:
        return (await system.reader.search(platform, wanted, cookie_name=cookie)).result()

    found = with_system(work)
    if as_json:
        print_json({"items": [card_to_json(card) for card in found.cards], "has_more": found.has_more})
    else:
        shown = [(card.ref.note_id, card.title, card.author.name, card.counts.likes, card.url) for card in found.cards]
        print_table(("note id", "title", "author", "likes", "address"), shown)


@crawl.command()
def detail(
    note: Annotated[str, typer.Argument(help="The note's id or address; Xiaohongshu wants the address.")],
    *,
    platform: ThePlatform,
    comments: Annotated[int, typer.Option(min=0, max=200, help="How many comments are read as well.")] = 0,
    cookie: CookieName = None,
    as_json: AsJson = False,
) -> None:
    """Read one note and show it. Nothing is kept.

    Example: catchment crawl detail 4990000000000001 --platform wb --comments 10
    """

    async def work(system: System) -> Note:
        ref = system.reader.ref_of(platform, note)
        return (await system.reader.note(ref, comments_limit=comments, cookie_name=cookie)).result()

    shown = note_to_json(with_system(work))
    said = {name: value for name, value in shown.items() if value not in (None, [], "")}
    print_one(shown if as_json else said, as_json=as_json)


@crawl.command()
def executions(
    *,
    workflow: Annotated[str | None, typer.Option(help="Only of this workflow.")] = None,
    limit: Annotated[int, typer.Option(min=1, max=1000, help="How many, the latest first.")] = 20,
    as_json: AsJson = False,
) -> None:
    """List executions of workflows: who holds a lock, since when, and what came of the others.

    Example: catchment crawl executions --workflow media_crawler
    """
    found = with_system(lambda system: system.workflow.latest(workflow_name=workflow, limit=limit))
    print_list(found, *columns_of(COLUMNS, found), as_json=as_json)


@crawl.command()
def recover(*, as_json: AsJson = False) -> None:
    """Free the locks of executions that were not heard of for LOCK_TIMEOUT_MINUTES, and of the records they held.

    This happens by itself every RECOVERY_INTERVAL_MINUTES.

    Example: catchment crawl recover
    """
    recovered = with_system(lambda system: system.workflow.recover())
    told = f"{recovered.executions} execution(s) and {recovered.records} record(s) recovered."
    print_result(recovered, told, as_json=as_json)


@crawl.command()
def n8n(
    *,
    out: Annotated[Path, typer.Option(help="The directory that the files are written to.")],
    url: Annotated[str, typer.Option(help="Where n8n finds Catchment.")] = "http://127.0.0.1:8767",
    as_json: AsJson = False,
) -> None:
    """Write the workflow files for n8n: the crawl, the recovery of locks, and the check of cookies.

    Example: catchment crawl n8n --out n8n
    """
    from catchment.publish.files import write_workflows

    written = write_workflows(out, url)
    print_result([str(path) for path in written], "\n".join(str(path) for path in written), as_json=as_json)


feishu = typer.Typer(name="feishu", help="The table of Feishu Bitable that notes are copied to.", no_args_is_help=True)


@feishu.callback()
def _group() -> None:
    """The table of Feishu Bitable that notes are copied to."""


@feishu.command()
def check(
    *,
    create: Annotated[bool, typer.Option("--create", help="Make the fields that are missing.")] = False,
    as_json: AsJson = False,
) -> None:
    """Check that the table can be reached and has the fields of a note; if so, copying goes on at once.

    Example: catchment feishu check --create
    """
    from catchment.platforms.bitable import faults_told
    from catchment.platforms.feishu import set_up

    checks = with_system(lambda system: set_up(system.copier, system.settings).check(create=create))
    rows = ((one.name, one.wanted, one.verdict) for one in checks)
    print_list(checks, ("field", "type", "verdict"), rows, as_json=as_json)
    if faults := faults_told(checks):
        say(f"Error: {faults}")
        raise typer.Exit(FAILED)
