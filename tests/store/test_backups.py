"""Backups: one file, read back into either store, by hand or on a schedule."""

from __future__ import annotations

import sqlite3
import stat
from datetime import timedelta

import pytest
from sqlalchemy.engine import make_url

from catchment.domain.caller import OPERATOR
from catchment.domain.run import RunKind
from catchment.errors import Conflict, NotFound, StoreError
from catchment.jobs.builtin import BACKUP
from catchment.monitor.status import read_collector
from catchment.store import runs
from catchment.store.backups import backup_name, keep_newest, make_backup, restore_backup
from catchment.store.copy import connected
from catchment.store.database import reading_engine
from catchment.store.database import store_url as as_url
from filled_store import fill, rows_in


@pytest.mark.proves("F-10")
def test_a_backup_read_back_is_the_store_that_it_was_made_of(store_url, tmp_path):
    url = as_url(store_url)
    before = fill(url)
    made = make_backup(url, tmp_path / "new" / "backup.sqlite3")
    assert made.rows == {name: len(rows) for name, rows in before.items()}
    assert made.size_bytes == made.file.stat().st_size
    assert [path.name for path in made.file.parent.iterdir()] == ["backup.sqlite3"], "nothing else is left there"
    assert stat.S_IMODE(made.file.stat().st_mode) == 0o600
    assert stat.S_IMODE(made.file.parent.stat().st_mode) == 0o700
    with pytest.raises(Conflict, match="--replace"):
        restore_backup(made.file, url)
    other = make_url(f"sqlite+pysqlite:///{tmp_path}/other.sqlite3")
    assert restore_backup(made.file, other) == made.rows
    assert rows_in(other) == before
    restore_backup(made.file, url, replace=True)
    assert rows_in(url) == before


@pytest.mark.proves("F-10")
async def test_nobody_works_on_a_store_that_was_restored_from_a_backup_of_a_busy_one(store, store_url, clock, tmp_path):
    until = clock.now() + timedelta(minutes=5)
    for kind, owner in ((RunKind.COLLECTOR, "elsewhere:1:x"), (RunKind.WORKFLOW, "execution")):
        await store.write(runs.start, kind, "1", owner=owner, now=clock.now(), until=until)
    made = make_backup(as_url(store_url), tmp_path / "backup.sqlite3")
    assert (await store.read(read_collector, OPERATOR, now=clock.now())).running
    restored = make_url(f"sqlite+pysqlite:///{tmp_path}/restored.sqlite3")
    assert restore_backup(made.file, restored) == made.rows
    with connected(reading_engine(restored)) as conn:
        assert not read_collector(conn, OPERATOR, now=clock.now()).running
        assert [run.kind for run in runs.list_held(conn, now=clock.now())] == [RunKind.WORKFLOW]
        assert [run.lease_until for run in runs.list_running(conn, RunKind.COLLECTOR)] == [clock.now()]


def test_no_backup_is_written_over_and_none_is_left_half_done(sqlite_url, tmp_path):
    taken = tmp_path / "taken.sqlite3"
    taken.write_text("mine")
    with pytest.raises(Conflict, match="exists already"):
        make_backup(as_url(sqlite_url), taken)
    assert taken.read_text() == "mine"
    with pytest.raises(StoreError, match="cannot be written"):
        make_backup(as_url(sqlite_url), taken / "in a file")

    def fail(_done: int, _total: int) -> None:
        raise KeyboardInterrupt

    fill(as_url(sqlite_url))
    with pytest.raises(KeyboardInterrupt):
        make_backup(as_url(sqlite_url), tmp_path / "folder" / "backup.sqlite3", progress=fail)
    assert not list((tmp_path / "folder").iterdir())


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"", "is empty, not a backup of Catchment"),
        (b"this is no database, " * 100, "not a backup of Catchment"),
        (None, "There is no backup at"),
    ],
)
def test_what_is_no_backup_replaces_nothing(content, said, store_url, tmp_path):
    url = as_url(store_url)
    before = fill(url)
    file = tmp_path / "file"
    if content is not None:
        file.write_bytes(content)
    with pytest.raises((StoreError, NotFound), match=said):
        restore_backup(file, url, replace=True)
    assert rows_in(url) == before


def test_a_damaged_backup_replaces_nothing(sqlite_url, tmp_path):
    url = as_url(sqlite_url)
    before = fill(url)
    made = make_backup(url, tmp_path / "backup.sqlite3")
    with sqlite3.connect(made.file) as db:
        (page,) = db.execute("SELECT rootpage FROM sqlite_master WHERE name = 'sources'").fetchone()
        (size,) = db.execute("PRAGMA page_size").fetchone()
    with made.file.open("r+b") as file:
        file.seek((page - 1) * size)
        file.write(b"\xff" * 64)
    with pytest.raises(StoreError, match=r"damaged|not a backup"):
        restore_backup(made.file, url, replace=True)
    assert rows_in(url) == before


def test_only_old_backups_are_cleaned_away(tmp_path, clock):
    names = []
    for _ in range(5):
        names.append(backup_name(clock.now()))
        clock.advance(timedelta(hours=1))
    for name in [*names, "mine.sqlite3", "catchment-before-the-move.sqlite3", "catchment.sqlite3"]:
        (tmp_path / name).touch()
    gone = keep_newest(tmp_path, 2)
    assert sorted(file.name for file in gone) == names[:3]
    kept = {file.name for file in tmp_path.iterdir()}
    assert kept == {*names[3:], "mine.sqlite3", "catchment-before-the-move.sqlite3", "catchment.sqlite3"}


@pytest.mark.proves("F-10")
async def test_backups_are_made_on_their_schedule_and_the_newest_are_kept(open_test_system, tmp_path, clock):
    folder = tmp_path / "kept"
    async with open_test_system(backup_hours=24.0, backup_keep=2, backup_folder=str(folder)) as system:
        await system.jobs.prepare()
        seen = []
        for _ in range(3):
            await system.jobs.look_after(BACKUP)
            seen.append(folder / backup_name(clock.now()))
            await system.jobs.look_after(BACKUP)
            clock.advance(timedelta(hours=23))
            await system.jobs.look_after(BACKUP)
            clock.advance(timedelta(hours=1))
        assert set(folder.iterdir()) == set(seen[1:])
        (state,) = [state for state in await system.jobs.list() if state.name == BACKUP]
        assert "1 old one(s) gone" in state.last_message
    restored = make_url(f"sqlite+pysqlite:///{tmp_path}/restored.sqlite3")
    assert restore_backup(seen[-1], restored)["jobs"] > 0


@pytest.mark.proves("F-10")
async def test_an_interval_that_was_shortened_counts_from_the_next_start(open_test_system, tmp_path, clock):
    async def due(**settings):
        async with open_test_system(backup_folder=str(tmp_path), **settings) as system:
            await system.jobs.prepare()
            await system.jobs.look_after(BACKUP)
            (state,) = [state for state in await system.jobs.list() if state.name == BACKUP]
            return state.due_at

    yearly = await due(backup_hours=8760.0)
    assert yearly == clock.now() + timedelta(hours=8760)
    clock.advance(timedelta(hours=1))
    daily = clock.now() + timedelta(hours=24)
    assert await due(backup_hours=24.0) == daily
    clock.advance(timedelta(hours=1))
    assert await due(backup_hours=24.0) == daily, "a start by itself puts nothing off"
    assert await due(backup_hours=8760.0) == daily, "nor does a longer interval, before its time"


def test_a_backup_that_cannot_be_read_replaces_nothing(sqlite_url, tmp_path, monkeypatch):
    def refuse(*_):
        raise PermissionError(13, "Permission denied")

    before = fill(as_url(sqlite_url))
    made = make_backup(as_url(sqlite_url), tmp_path / "backup.sqlite3")
    monkeypatch.setattr("shutil.copyfileobj", refuse)
    with pytest.raises(StoreError, match=r"backup\.sqlite3 cannot be restored: Permission denied"):
        restore_backup(made.file, as_url(sqlite_url), replace=True)
    assert rows_in(as_url(sqlite_url)) == before
