"""`catchment audit`: whether a secret stands where it should not."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from catchment.cli.console import AsJson, print_json, print_table, progress_bar, say
from catchment.cli.session import FAILED, read_settings, run_async

if TYPE_CHECKING:
    from catchment.monitor.audit import AuditReport, Issue
    from catchment.settings import Settings


def audit(
    *,
    source: Annotated[Path | None, typer.Option(metavar="DIR", help="Look through source code as well.")] = None,
    check_logs: Annotated[Path | None, typer.Option(metavar="DIR", help="Look through log files as well.")] = None,
    database: Annotated[
        str | None, typer.Option(metavar="URL", help="The store to look through; that of the settings without.")
    ] = None,
    no_env: Annotated[bool, typer.Option("--no-env", help="Leave out the settings and the rights of files.")] = False,
    as_json: AsJson = False,
) -> None:
    """Look for secrets in the clear: in the store, in settings, and if you like in source code and logs.

    It ends with 1 when a finding is critical or high. What it finds it does not show.

    Example: catchment audit --json --check-logs /var/log/catchment
    """
    from catchment.monitor.audit import audit_logs, audit_source, report_of

    settings = read_settings()
    issues, holds_cookies = run_async(_in_store(settings, database))
    if source is not None:
        issues += audit_source(source)
    if check_logs is not None:
        issues += audit_logs(check_logs)
    if not no_env:
        issues += _in_environment(settings, holds_cookies=holds_cookies)
    report = report_of(issues)
    print_json(report.as_json()) if as_json else _print(report)
    if not report.passed:
        raise typer.Exit(FAILED)


async def _in_store(settings: Settings, database: str | None) -> tuple[list[Issue], bool]:
    """What is found there, and whether it holds cookies."""
    from catchment.monitor.audit import audit_store
    from catchment.settings import store_url_of
    from catchment.store.cookies import has_any
    from catchment.store.database import open_store, sqlite_file, store_url

    url = store_url_of(database) if database else settings.store_url()
    file = sqlite_file(store_url(url))
    if file is not None and not file.is_file():
        if database:
            raise typer.BadParameter(f"There is no database at {file}.", param_hint="--database")
        say(f"There is no store at {file} yet.")
        return [], False
    store = open_store(url)
    try:
        with progress_bar() as progress:
            return await audit_store(store, progress=progress), await store.read(has_any)
    finally:
        await store.close()


def _in_environment(settings: Settings, *, holds_cookies: bool) -> list[Issue]:
    from catchment.monitor.audit import audit_environment
    from catchment.store.database import sqlite_file, store_url

    files = (settings.home / "secret.key", Path(".env"), sqlite_file(store_url(settings.store_url())))
    named = [file for file in files if file is not None]
    return list(audit_environment(settings, files=named, holds_cookies=holds_cookies))


def _print(report: AuditReport) -> None:
    if report.issues:
        rows = ((one.severity, one.kind, one.where, one.line, one.message, one.what_to_do) for one in report.issues)
        print_table(("severity", "kind", "where", "line", "found", "what to do"), rows)
    counts = report.counts()
    typer.echo(f"{'Passed' if report.passed else 'Failed'}: " + ", ".join(f"{n} {name}" for name, n in counts.items()))
