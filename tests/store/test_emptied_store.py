"""An empty file where a store was is a loss to be told of, not a store to be begun."""

from __future__ import annotations

from pathlib import Path

import pytest

from catchment.errors import DamagedStore
from catchment.store import database
from catchment.store.backups import make_backup, restore_backup
from catchment.store.database import open_store
from catchment.store.database import store_url as as_url
from catchment.store.migrate import migrate
from filled_store import fill, rows_in


@pytest.fixture(autouse=True)
def _impatient(monkeypatch):
    monkeypatch.setattr(database, "NEWBORN_SECONDS", 0.0)


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


@pytest.mark.proves("R-26")
def test_a_store_that_another_process_is_just_making_is_waited_for(sqlite_url, tmp_path, monkeypatch):
    file = tmp_path / "newborn.sqlite3"
    file.touch()
    monkeypatch.setattr(database, "NEWBORN_SECONDS", 5.0)
    monkeypatch.setattr(database, "sleep", lambda _: file.write_bytes(b"SQLite format 3\0"))
    database.refuse_emptied(as_url(f"sqlite:///{file}"))
