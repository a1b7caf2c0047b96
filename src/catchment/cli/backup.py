"""`catchment backup`, `restore` and `migrate-store`: a whole store, kept, read back, or moved to another database."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from catchment.cli.console import AsJson, print_list, progress_bar, say
from catchment.cli.session import read_settings

if TYPE_CHECKING:
    from catchment.store.copy import Counts

Replace = Annotated[bool, typer.Option("--replace", help="Replace all that the store holds.")]
WhileCollecting = Annotated[
    bool,
    typer.Option("--while-collecting", help="Even while something works on the store; what it stores then is lost."),
]


def backup(
    file: Annotated[
        Path | None, typer.Argument(metavar="[FILE]", help="Where to; without, a new file in the folder of backups.")
    ] = None,
    *,
    as_json: AsJson = False,
) -> None:
    """Write the whole store into one file, while it goes on working; SQLite and PostgreSQL alike.

    Stored passwords and cookies are in it as they are in the store, sealed: keep secret.key and your
    passphrases elsewhere.

    Example: catchment backup /mnt/disk/catchment.sqlite3
    """
    from catchment.clock import SystemClock
    from catchment.store.backups import backup_name, make_backup
    from catchment.store.database import store_url
    from catchment.store.migrate import require_file

    settings = read_settings()
    require_file(store_url(settings.store_url()))
    place = file or settings.backups() / backup_name(SystemClock().now())
    with progress_bar() as progress:
        made = make_backup(store_url(settings.store_url()), place, progress=progress)
    _tell(made.rows, as_json=as_json, file=str(made.file), size_bytes=made.size_bytes)
    say(f"Everything is in {made.file} ({made.size_bytes:,} bytes). Read it back by `catchment restore`.")


def restore(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="A backup, also one of an earlier release.")],
    *,
    replace: Replace = False,
    while_collecting: WhileCollecting = False,
    as_json: AsJson = False,
) -> None:
    """Read a backup back into the store of the settings: all of it, or nothing. Stop `catchment up` first.

    The backup may come from the other kind of store. One that is not whole restores nothing, and what is
    replaced stays until the new store is in place.

    Example: catchment restore backups/catchment-20260301-120000.sqlite3 --replace
    """
    from catchment.clock import SystemClock
    from catchment.store.backups import restore_backup
    from catchment.store.copy import refuse_while_worked_on
    from catchment.store.database import store_url

    settings = read_settings()
    target = store_url(settings.store_url())
    if not while_collecting:
        refuse_while_worked_on(target, now=SystemClock().now())
    with progress_bar() as progress:
        rows = restore_backup(
            file, target, replace=replace, in_use=while_collecting, workplace=settings.home, progress=progress
        )
    _tell(rows, as_json=as_json, file=str(file))
    say(f"Restored {file}, {sum(rows.values()):,} rows. Start again by `catchment up`.")


def migrate_store(
    *,
    to: Annotated[str, typer.Option("--to", metavar="URL", help="The store to fill, such as postgresql://…")],
    from_: Annotated[
        str | None, typer.Option("--from", metavar="URL", help="The store to read; that of the settings without.")
    ] = None,
    replace: Replace = False,
    while_collecting: WhileCollecting = False,
    as_json: AsJson = False,
) -> None:
    """Move to another database: copy every row, count them on both sides, and leave the old store as it is.

    Stop `catchment up` first: what it collects meanwhile is not copied.

    Example: catchment migrate-store --to postgresql://catchment@localhost/catchment
    """
    from catchment.clock import SystemClock
    from catchment.settings import store_url_of
    from catchment.store.copy import copy_store, refuse_while_worked_on, shown
    from catchment.store.database import store_url
    from catchment.store.migrate import require_file

    source = store_url(store_url_of(from_) if from_ else read_settings().store_url())
    require_file(source)
    target = store_url(store_url_of(to))
    if not while_collecting:
        refuse_while_worked_on(source, target, now=SystemClock().now())
    with progress_bar() as progress:
        rows = copy_store(source, target, replace=replace, progress=progress)
    _tell(rows, as_json=as_json, to=shown(target))
    say(f"{sum(rows.values()):,} rows are in {shown(target)}. Set DATABASE_URL to it, then start again.")


def _tell(rows: Counts, *, as_json: bool, **facts: object) -> None:
    print_list(
        {**facts, "rows": rows},
        ("table", "rows"),
        [(name, f"{count:,}") for name, count in rows.items() if count],
        as_json=as_json,
    )
