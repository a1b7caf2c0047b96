"""The command line: `catchment`. Exit codes: 0 done, 1 failed, 2 wrong usage."""

from __future__ import annotations

import typer

from catchment.cli.accounts import keys, users
from catchment.cli.adding import add
from catchment.cli.collecting import collect
from catchment.cli.demonstrating import demo
from catchment.cli.diagnosing import doctor
from catchment.cli.exchanging import export_feeds, import_feeds
from catchment.cli.failing import Commands
from catchment.cli.items import items
from catchment.cli.options import config
from catchment.cli.serving import up
from catchment.cli.sources import sources
from catchment.cli.status import status

app = typer.Typer(
    name="catchment",
    help="Everything you follow, collected on time, exactly once, and given back anywhere.",
    cls=Commands,
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)

for command in (up, demo, collect, add):
    app.command()(command)
app.add_typer(sources)
app.add_typer(items)
app.command("import")(import_feeds)
app.command("export")(export_feeds)
app.command()(status)
app.add_typer(config)
app.add_typer(keys)
app.add_typer(users)
app.command()(doctor)


def run() -> None:
    app()
