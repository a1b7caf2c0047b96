"""The command line: `catchment`. Exit codes: 0 done, 1 failed, 2 wrong usage."""

from __future__ import annotations

from typing import Annotated

import typer

from catchment import __version__
from catchment.cli.add import add
from catchment.cli.alerts import alerts
from catchment.cli.apply import apply
from catchment.cli.audit import audit
from catchment.cli.backup import backup, migrate_store, restore
from catchment.cli.collect import collect
from catchment.cli.cookies import cookies
from catchment.cli.crawl import crawl
from catchment.cli.demo import demo
from catchment.cli.doctor import doctor
from catchment.cli.feeds import feeds
from catchment.cli.feishu import feishu
from catchment.cli.import_export import export, import_
from catchment.cli.items import items
from catchment.cli.jobs import jobs
from catchment.cli.options import config
from catchment.cli.packs import packs
from catchment.cli.session import Commands
from catchment.cli.signin import signin
from catchment.cli.sitemap import sitemap
from catchment.cli.sources import sources
from catchment.cli.status import status
from catchment.cli.up import up
from catchment.cli.users import keys, users
from catchment.cli.webhooks import hooks
from catchment.cli.worker import worker
from catchment.cli.x import schedule, scrape, x

app = typer.Typer(
    name="catchment",
    help="Everything you follow, collected on time, exactly once, and given back anywhere.",
    cls=Commands,
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)

for command in (up, signin, demo, collect, worker, add):
    app.command()(command)
app.add_typer(sources)
app.add_typer(items)
app.add_typer(feeds)
app.command()(sitemap)
app.command("import")(import_)
app.command()(export)
app.command()(apply)
app.add_typer(packs)
app.command()(status)
app.command()(alerts)
app.add_typer(config)
x.command()(scrape)
x.command()(schedule)
app.add_typer(x)
app.add_typer(cookies)
app.add_typer(crawl)
app.add_typer(jobs)
app.add_typer(hooks)
app.add_typer(feishu)
app.add_typer(keys)
app.add_typer(users)
app.command()(doctor)
app.command()(audit)
app.command()(backup)
app.command()(restore)
app.command("migrate-store")(migrate_store)


def _say_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"catchment {__version__}")
        raise typer.Exit


@app.callback()
def catchment(
    *,
    version: Annotated[
        bool, typer.Option("--version", help="Say which version this is.", is_eager=True, callback=_say_version)
    ] = False,
) -> None:
    pass


def run() -> None:
    app()
