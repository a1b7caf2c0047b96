"""A whole store into another one, of the same kind or not: table by table, and counted on both sides.

The source is read as it is at one moment, whoever goes on writing to it. The target is filled in one transaction: it
ends up with everything, or as it was. Whoever works on a store meanwhile is named, and nothing is done.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from datetime import datetime
from itertools import groupby
from operator import attrgetter
from pathlib import Path

from sqlalchemy import Connection, Engine, Table, func, inspect, literal_column, select, text
from sqlalchemy.engine import URL

from catchment.domain.run import Run
from catchment.errors import Conflict, DamagedStore, InvalidInput, NotFound, StoreError
from catchment.processes import is_gone, shown_owner
from catchment.store import runs
from catchment.store.bulk import BulkInsert
from catchment.store.database import make_folder, migration_engine, reading_engine, refuse_emptied, translated_errors
from catchment.store.migrate import current_revision, head_revision, migrate_url, refuse_unknown_schema
from catchment.store.tables import metadata

ROWS_AT_ONCE = 2_000
#: By table, in the order in which they are filled: those that others refer to come first.
Counts = Mapping[str, int]
#: How many rows of how many.
Progress = Callable[[int, int], None]


def copy_store(source: URL, target: URL, *, replace: bool = False, progress: Progress | None = None) -> Counts:
    """Copy every row and say how many of each table. With `replace`, what the target held is gone.

    Raises Conflict when the target holds something and is not to be replaced.
    """
    if is_same_place(source, target):
        raise InvalidInput(f"{shown(target)} is the store to be copied: name another one to copy it to.")
    _require_there(source)
    with connected(reading_engine(source)) as given:
        _require_this_schema(given, source)
        if target.get_backend_name() == "sqlite":
            make_folder(target)
        migrate_url(target)
        with connected(migration_engine(target)) as taken:
            _make_room(taken, target, replace=replace)
            counts = _copy_rows(given, taken, progress)
            _require_same_counts(counts, count_rows(taken))
            _number_on(taken)
    return counts


def count_rows(conn: Connection) -> Counts:
    return {table.name: _count(conn, table) for table in metadata.sorted_tables}


def shown(url: URL) -> str:
    """The address of a store as a person writes it, without its password."""
    return url.set(drivername=url.get_backend_name()).render_as_string(hide_password=True)


def is_same_place(one: URL, other: URL) -> bool:
    return _place(one) == _place(other)


def _place(url: URL) -> URL:
    """Where it is, however its path was written."""
    if url.get_backend_name() != "sqlite" or not url.database:
        return url
    return url.set(database=str(Path(url.database).resolve()))


@contextmanager
def connected(engine: Engine) -> Iterator[Connection]:
    """One transaction on an engine that is for nothing else."""
    try:
        with translated_errors(engine.url), engine.begin() as conn:
            yield conn
    finally:
        engine.dispose()


def _require_there(url: URL) -> None:
    """A file that is not there would be made, and copied as a store that holds nothing."""
    if url.get_backend_name() == "sqlite" and not Path(url.database or "").is_file():
        raise NotFound(f"There is no store at {shown(url)}.")
    if url.get_backend_name() == "sqlite":
        refuse_emptied(url)


def _require_this_schema(conn: Connection, url: URL) -> None:
    revision = current_revision(conn)
    if revision is None:
        raise StoreError(f"{shown(url)} is not a store of Catchment: it has no schema.")
    refuse_unknown_schema(revision, f"The store {shown(url)}")
    if revision != head_revision():
        raise StoreError(
            f"The store {shown(url)} is at schema {revision} and this release works on {head_revision()}: "
            "start this release on it once, then try again."
        )


def _make_room(conn: Connection, url: URL, *, replace: bool) -> None:
    if replace:
        for table in reversed(metadata.sorted_tables):
            conn.execute(table.delete())
    else:
        _require_nothing_held(conn, url)


def refuse_to_replace(url: URL) -> None:
    """Raises Conflict when the store, of whatever release, holds something."""
    with connected(reading_engine(url)) as conn:
        _require_nothing_held(conn, url)


def _require_nothing_held(conn: Connection, url: URL) -> None:
    there = set(inspect(conn).get_table_names())
    counts = {table.name: _count(conn, table) for table in metadata.sorted_tables if table.name in there}
    held = [f"{name} {rows:,}" for name, rows in counts.items() if rows]
    if held:
        raise Conflict(
            f"The store {shown(url)} is not empty ({', '.join(held)}), so nothing was copied. "
            "Use --replace to have all of it replaced."
        )


def _copy_rows(source: Connection, target: Connection, progress: Progress | None) -> Counts:
    counts = count_rows(source)
    total, done = sum(counts.values()), 0
    for table in metadata.sorted_tables:
        insert = BulkInsert(table, varying=[column.name for column in table.c])
        rows = source.execute(select(table), execution_options={"yield_per": ROWS_AT_ONCE})
        for some in rows.partitions():
            insert(target, [tuple(row) for row in some])
            done += len(some)
            if progress is not None:
                progress(done, total)
    return counts


def _require_same_counts(given: Counts, taken: Counts) -> None:
    differing = [f"{name} {rows:,} and {taken[name]:,}" for name, rows in given.items() if rows != taken[name]]
    if differing:
        raise StoreError(f"The copy is not complete, so it was undone: {'; '.join(differing)}.")


def _number_on(conn: Connection) -> None:
    """PostgreSQL numbers rows by sequences, which do not see what was copied. SQLite goes on by itself."""
    if conn.dialect.name != "postgresql":
        return
    for table in metadata.sorted_tables:
        sequence = _sequence_of(conn, table)
        if sequence is not None:
            highest = select(func.coalesce(func.max(table.c.id), 0) + 1)
            conn.execute(select(func.setval(sequence, highest.scalar_subquery(), literal_column("false"))))


def _sequence_of(conn: Connection, table: Table) -> str | None:
    if "id" not in table.c:
        return None
    asked = {"table": table.name}
    return conn.execute(text("SELECT pg_get_serial_sequence(:table, 'id')"), asked).scalar_one_or_none()


def _count(conn: Connection, table: Table) -> int:
    return conn.execute(select(func.count()).select_from(table)).scalar_one()


def refuse_while_worked_on(*stores: URL, now: datetime) -> None:
    """Raises Conflict, and names who works on what, while collectors or jobs hold leases in one of the stores."""
    for url in stores:
        working = _who_works(url, now)
        if working:
            raise Conflict(
                f"The store {shown(url)} is being worked on by {_described(working)}, so nothing was done. "
                "Stop that first, or use --while-collecting: what is stored meanwhile is lost then."
            )


def _who_works(url: URL, now: datetime) -> list[Run]:
    if url.get_backend_name() == "sqlite" and not _holds_something(Path(url.database or "")):
        return []
    try:
        with connected(reading_engine(url)) as conn:
            held = runs.list_held(conn, now=now) if inspect(conn).has_table(runs.TABLE_NAME) else []
    except DamagedStore:
        # Nobody can work on that.
        return []
    return [run for run in held if not is_gone(run.owner)]


def _holds_something(file: Path) -> bool:
    return file.is_file() and file.stat().st_size > 0


def _described(working: Iterable[Run]) -> str:
    by_owner = groupby(sorted(working, key=attrgetter("owner")), key=attrgetter("owner"))
    return "; ".join(f"{shown_owner(owner)} ({_kinds(theirs)})" for owner, theirs in by_owner)


def _kinds(working: Iterable[Run]) -> str:
    counts = Counter(run.kind.value for run in working)
    return ", ".join(f"{kind} {count}" if count > 1 else kind for kind, count in sorted(counts.items()))
