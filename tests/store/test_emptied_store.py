"""An empty file where a store was is a loss to be told of, not a store to be begun."""

from __future__ import annotations

import fcntl
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Barrier

import pytest

from catchment.errors import DamagedStore
from catchment.store import migrate as store_migrations
from catchment.store.backups import make_backup, restore_backup
from catchment.store.copy import connected
from catchment.store.database import open_store, reading_engine
from catchment.store.database import store_url as as_url
from catchment.store.migrate import current_revision, head_revision, migrate, migrate_url
from filled_store import fill, rows_in


@pytest.mark.proves("R-26")
def test_a_store_that_was_emptied_is_refused_and_stays_as_it_is(sqlite_url, tmp_path):
    file = Path(as_url(sqlite_url).database or "")
    file.write_bytes(b"")
    with pytest.raises(DamagedStore, match=r"is empty \(0 bytes\).*catchment restore.*delete"):
        open_store(sqlite_url)
    assert file.stat().st_size == 0


@pytest.mark.proves("R-26")
def test_a_store_whose_file_is_gone_while_its_log_is_there_is_refused(sqlite_url):
    file = Path(as_url(sqlite_url).database or "")
    file.unlink()
    Path(f"{file}-wal").write_bytes(b"what was written last")
    with pytest.raises(DamagedStore, match=r"is gone.*-wal"):
        open_store(sqlite_url)
    assert not file.exists()


@pytest.mark.proves("R-26")
async def test_a_new_place_is_fine_and_so_is_a_store_that_holds_nothing_yet(tmp_path):
    url = f"sqlite:///{tmp_path}/new/catchment.sqlite3"
    for _ in range(2):
        store = open_store(url)
        await migrate(store)
        await store.close()


@pytest.mark.proves("R-26")
def test_a_backup_can_be_restored_where_a_store_was_emptied(sqlite_url, tmp_path):
    before = fill(as_url(sqlite_url))
    made = make_backup(as_url(sqlite_url), tmp_path / "kept" / "backup.sqlite3")
    Path(as_url(sqlite_url).database or "").write_bytes(b"")
    restore_backup(made.file, as_url(sqlite_url))
    assert rows_in(as_url(sqlite_url)) == before


@pytest.mark.proves("R-21", "R-36")
@pytest.mark.parametrize("moment", range(4))
def test_whoever_is_killed_while_a_store_is_made_leaves_nothing_in_the_way(moment, tmp_path, monkeypatch):
    """Killed before anything is written, when the file is there, in the middle, and when all is done but the move."""
    file = tmp_path / "catchment.sqlite3"
    url = as_url(f"sqlite:///{file}")
    with monkeypatch.context() as patched:
        patched.setattr(*_PLACES[moment])
        with pytest.raises(Killed):
            migrate_url(url)
    assert not file.exists()
    migrate_url(url)
    assert list(tmp_path.iterdir()) == [file]
    with connected(reading_engine(url)) as conn:
        assert current_revision(conn) == head_revision()


class Killed(BaseException):
    pass


def _kill(*_):
    raise Killed


_PLACES = [
    (fcntl, "flock", _kill),
    (store_migrations, "migration_engine", _kill),
    (store_migrations, "_move", _kill),
    (Path, "rename", _kill),
]


@pytest.mark.proves("R-36")
def test_several_who_make_the_same_store_at_once_all_find_it_made(tmp_path):
    file = tmp_path / "catchment.sqlite3"
    start = Barrier(4)

    def make(_):
        start.wait()
        migrate_url(as_url(f"sqlite:///{file}"))

    with ThreadPoolExecutor(4) as threads:
        list(threads.map(make, range(4)))
    assert list(tmp_path.iterdir()) == [file]
