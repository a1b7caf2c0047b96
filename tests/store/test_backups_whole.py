"""A backup is whole or it is none, and what a restore replaces is there until the new store is."""

from __future__ import annotations

import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from sqlalchemy import insert
from sqlalchemy.engine import URL, make_url

from catchment.errors import CatchmentError, Conflict, InvalidInput, StoreError
from catchment.store.backups import backup_name, keep_newest, make_backup, restore_backup
from catchment.store.copy import copy_store
from catchment.store.database import migration_engine
from catchment.store.database import store_url as as_url
from catchment.store.migrate import migrate_url
from catchment.store.tables import config
from filled_store import fill, rows_in
from first_store import first_store_in_file, set_schema

START = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)
#: Restores in a process of its own, which is killed as soon as it comes to a certain call of the standard library.
KILLED = """
import os, signal, sys
from pathlib import Path
from catchment.store import backups
from catchment.store.database import store_url

name, nth, file, target = sys.argv[1], int(sys.argv[2]), sys.argv[3], sys.argv[4]
module, _, function = name.rpartition(".")
owner = __import__(module, fromlist=[function])
real, calls = getattr(owner, function), 0

def die(*args, **kwargs):
    global calls
    calls += 1
    if calls >= nth:
        os.kill(os.getpid(), signal.SIGKILL)
    return real(*args, **kwargs)

setattr(owner, function, die)
backups.restore_backup(Path(file), store_url(target), replace=True)
"""


def sqlite_at(path: Path) -> URL:
    return make_url(f"sqlite+pysqlite:///{path}")


def file_of(url: URL) -> Path:
    return Path(url.database or "")


@pytest.fixture
def filled(sqlite_url: str) -> URL:
    url = as_url(sqlite_url)
    fill(url)
    return url


@pytest.fixture
def backup(filled: URL, tmp_path: Path) -> Path:
    return make_backup(filled, tmp_path / "kept" / "backup.sqlite3").file


def add_a_row(url: URL) -> None:
    """So that the store can be told from the backup."""
    engine = migration_engine(url)
    with engine.begin() as conn:
        conn.execute(insert(config), [{"key": "later", "value": "x", "updated_at": START}])
    engine.dispose()


def positions(size: int) -> Iterator[int]:
    """All of the beginning and the end, and some of what is between."""
    yield from range(0, 100, 7)
    yield from range(100, size - 700, size // 60)
    yield from range(size - 700, size, 13)
    yield size - 1


@pytest.mark.proves("R-21")
def test_a_byte_that_changed_anywhere_is_called_damage_and_replaces_nothing(backup, filled):
    add_a_row(filled)
    before = rows_in(filled)
    whole = backup.read_bytes()
    for position in positions(len(whole)):
        changed = bytearray(whole)
        changed[position] ^= 0x10
        backup.write_bytes(changed)
        with pytest.raises(StoreError, match="damaged"):
            restore_backup(backup, filled, replace=True)
    assert rows_in(filled) == before


@pytest.mark.proves("R-21")
def test_a_backup_that_was_cut_off_anywhere_replaces_nothing(backup, store_url):
    url = as_url(store_url)
    before = rows_in(url) if any(rows_in(url).values()) else fill(url)
    whole = backup.read_bytes()
    for length in (0, 1, 16, 100, 4096, 16384, len(whole) // 2, len(whole) - 700, len(whole) - 1):
        backup.write_bytes(whole[:length])
        with pytest.raises(StoreError, match=r"damaged|incomplete|empty|not a backup"):
            restore_backup(backup, url, replace=True)
    assert rows_in(url) == before


@pytest.mark.proves("R-21")
def test_what_a_killed_backup_left_is_no_backup_under_any_name(filled, tmp_path):
    """Half of one replaced 20,000 sources by none."""
    before = rows_in(filled)
    left = tmp_path / "catchment-20260301-120000.sqlite3.part"
    with pytest.raises(KeyboardInterrupt):
        make_backup(filled, left.with_suffix(""), progress=_keep_a_copy(left))
    shutil.copyfile(f"{left}.copy", left)
    with pytest.raises(StoreError, match="unfinished"):
        restore_backup(left, filled, replace=True)
    renamed = left.rename(tmp_path / "looks-finished.sqlite3")
    with pytest.raises(StoreError, match=r"incomplete|holds nothing"):
        restore_backup(renamed, filled, replace=True)
    assert rows_in(filled) == before


def _keep_a_copy(part: Path):
    def copy(_done: int, _total: int) -> None:
        shutil.copyfile(part, f"{part}.copy")
        raise KeyboardInterrupt

    return copy


@pytest.mark.proves("R-21")
def test_a_store_that_is_in_use_is_not_taken_for_a_backup(filled, tmp_path):
    """What is in its `-wal` would be left out."""
    with closing(sqlite3.connect(file_of(filled))) as db:
        db.execute("PRAGMA journal_mode = WAL")
        db.execute("DELETE FROM config")
        db.commit()
        with pytest.raises(StoreError, match="-wal"):
            restore_backup(file_of(filled), sqlite_at(tmp_path / "other.sqlite3"))
    with pytest.raises(InvalidInput, match="is the store itself"):
        restore_backup(file_of(filled), filled, replace=True)


@pytest.mark.proves("R-21", "F-10")
def test_a_backup_without_manifest_is_restored_where_it_is_sound_and_holds_something(filled, tmp_path):
    before = rows_in(filled)
    file = tmp_path / "earlier.sqlite3"
    first_store_in_file(file)
    content = file.read_bytes()
    restored = sqlite_at(tmp_path / "new" / "store.sqlite3")
    restore_backup(file, restored)
    same = first_store_in_file(tmp_path / "same.sqlite3")
    migrate_url(same)
    assert rows_in(restored) == rows_in(same)
    later = {"item_states", "item_labels", "item_versions", "audit_trail", "visit_hours"}
    assert all(rows for name, rows in rows_in(restored).items() if name not in later)
    assert file.read_bytes() == content, "the backup is as it was"
    file.write_bytes(content[: len(content) // 2])
    with pytest.raises(StoreError, match="damaged"):
        restore_backup(file, filled, replace=True)
    empty = sqlite_at(tmp_path / "empty.sqlite3")
    migrate_url(empty)
    with pytest.raises(StoreError, match="holds nothing"):
        restore_backup(file_of(empty), filled, replace=True)
    assert rows_in(filled) == before


@pytest.mark.proves("R-21")
def test_a_backup_of_an_older_schema_is_refused_with_the_way_here(filled, tmp_path):
    before = rows_in(filled)
    older = first_store_in_file(tmp_path / "older.sqlite3")
    engine = migration_engine(older)
    set_schema(engine, "0016")
    engine.dispose()
    with pytest.raises(StoreError, match=r"The backup .*older\.sqlite3 is at schema 0016; .* make a new one"):
        restore_backup(file_of(older), filled, replace=True)
    assert rows_in(filled) == before


@pytest.mark.proves("R-21")
def test_a_restore_makes_the_folder_that_it_is_to_restore_into(backup, filled, tmp_path):
    target = sqlite_at(tmp_path / "not" / "there" / "yet" / "store.sqlite3")
    restore_backup(backup, target)
    assert rows_in(target) == rows_in(filled)
    assert [path.name for path in file_of(target).parent.iterdir()] == ["store.sqlite3"]
    moved = sqlite_at(tmp_path / "nor" / "this" / "store.sqlite3")
    copy_store(filled, moved)
    assert rows_in(moved) == rows_in(filled)


@pytest.mark.proves("R-21")
@pytest.mark.parametrize(
    ("call", "nth"),
    [
        ("shutil.copyfileobj", 1),
        ("os.fsync", 1),
        ("catchment.store.backups.migrate_url", 1),
        ("catchment.store.backups.count_rows", 1),
        ("os.replace", 1),
        ("os.fsync", 2),
    ],
)
def test_a_restore_that_is_killed_leaves_the_old_store_and_nothing_that_matters(call, nth, backup, filled):
    add_a_row(filled)
    old = rows_in(filled)
    script = [sys.executable, "-c", KILLED, call, str(nth), str(backup), f"sqlite:///{file_of(filled)}"]
    killed = subprocess.run(script, capture_output=True, text=True, check=False)
    assert killed.returncode == -9, killed.stderr
    new = {name: [row for row in rows if row.get("key") != "later"] for name, rows in old.items()}
    assert rows_in(filled) == (new if nth == 2 else old), "one or the other, and nothing between"
    restore_backup(backup, filled, replace=True)
    assert rows_in(filled) == new
    assert not list(file_of(filled).parent.glob("*restor*")), "what was left is cleared away"


@pytest.mark.proves("R-21")
def test_a_restore_into_postgresql_that_is_killed_leaves_the_old_store(backup, postgres_url, tmp_path):
    url = as_url(postgres_url)
    migrate_url(url)
    fill(url)
    add_a_row(url)
    old = rows_in(url)
    script = [sys.executable, "-c", KILLED, "catchment.store.copy.count_rows", "2", str(backup), postgres_url]
    killed = subprocess.run(script, capture_output=True, text=True, check=False)
    assert killed.returncode == -9, killed.stderr
    assert rows_in(url) == old
    restore_backup(backup, url, replace=True)
    assert "later" not in {row["key"] for row in rows_in(url)["config"]}
    assert [path.name for path in backup.parent.iterdir()] == [backup.name], "what was left is cleared away"


@pytest.mark.proves("R-21")
async def test_the_next_start_clears_away_what_a_killed_restore_left(open_test_system, sqlite_url, request):
    store = file_of(as_url(sqlite_url))
    left = [store.with_name(f"{store.name}.restoring{end}") for end in ("", "-wal", "-shm")]
    for file in left:
        file.write_bytes(b"x")
    async with open_test_system(database_url=sqlite_url):
        assert not any(file.exists() for file in left)


@pytest.mark.proves("R-21")
def test_two_restores_at_once_do_not_meet(backup, filled, monkeypatch):
    """The second is refused, and the first is not disturbed."""
    refused = []

    def meanwhile(*args, **kwargs):
        monkeypatch.undo()
        with pytest.raises(Conflict, match="another process") as caught:
            restore_backup(backup, filled, replace=True)
        refused.append(caught)
        return migrate_url(*args, **kwargs)

    monkeypatch.setattr("catchment.store.backups.migrate_url", meanwhile)
    restore_backup(backup, filled, replace=True)
    assert refused


@pytest.mark.proves("R-21")
def test_a_store_that_another_process_has_open_is_not_swapped_under_it(backup, filled):
    add_a_row(filled)
    before = rows_in(filled)
    with closing(sqlite3.connect(file_of(filled))) as reader:
        reader.execute("PRAGMA journal_mode = WAL")
        reader.execute("SELECT count(*) FROM sources").fetchone()
        with pytest.raises(Conflict, match="another process"):
            restore_backup(backup, filled, replace=True)
        assert rows_in(filled) == before
        restore_backup(backup, filled, replace=True, in_use=True)
        (later,) = reader.execute("SELECT count(*) FROM config WHERE key = 'later'").fetchone()
        assert not later, "who reads it goes on reading, and finds what was restored"


@pytest.mark.proves("R-21")
def test_what_is_no_store_is_not_replaced_by_one(backup, tmp_path):
    """An address that was mistyped costs nobody a file."""
    mine = tmp_path / "thesis.txt"
    mine.write_text("my only copy " * 100)
    with pytest.raises(StoreError, match="move it away"):
        restore_backup(backup, sqlite_at(mine), replace=True)
    assert mine.read_text() == "my only copy " * 100


@pytest.mark.proves("R-21")
def test_a_restored_store_keeps_the_mode_of_the_one_it_replaces(backup, filled):
    file_of(filled).chmod(0o640)
    restore_backup(backup, filled, replace=True)
    assert file_of(filled).stat().st_mode & 0o777 == 0o640


@pytest.mark.proves("R-21")
def test_a_finished_backup_is_checked_before_it_is_called_one(filled, tmp_path, monkeypatch):
    """A disk that loses what it was given is found out at once, and not on the day the backup is needed."""

    def lose(file: Path, *args):
        seal(file, *args)
        content = bytearray(file.read_bytes())
        content[len(content) // 2] ^= 1
        file.write_bytes(content)

    from catchment.store.backups import seal

    monkeypatch.setattr("catchment.store.backups.seal", lose)
    with pytest.raises(StoreError, match="damaged"):
        make_backup(filled, tmp_path / "kept" / "backup.sqlite3")
    assert not list((tmp_path / "kept").iterdir())


@pytest.mark.proves("R-21")
def test_what_killed_backups_left_goes_with_the_old_ones(filled, tmp_path):
    kept = make_backup(filled, tmp_path / "kept" / backup_name(START)).file
    left = kept.with_name(f"{backup_name(START - timedelta(days=1))}.part")
    for file in (left, Path(f"{left}-wal"), Path(f"{left}-shm")):
        file.write_bytes(b"x")
    mine = kept.with_name("mine.part")
    mine.touch()
    keep_newest(kept.parent, 1)
    assert set(kept.parent.iterdir()) == {kept, mine}


@pytest.mark.proves("R-21")
def test_a_backup_says_of_what_it_is_and_can_be_opened_by_any_sqlite(backup, filled):
    with closing(sqlite3.connect(f"file:{backup}?mode=ro", uri=True)) as db:
        assert db.execute("PRAGMA integrity_check").fetchone() == ("ok",)
        assert db.execute("SELECT count(*) FROM sources").fetchone() == (2,)
    tail = backup.read_bytes()[-4000:]
    assert b'"schema"' in tail
    assert b'"sources": 2' in tail


@pytest.mark.proves("R-21")
def test_every_refusal_is_one_of_ours(tmp_path, filled):
    (tmp_path / "folder").mkdir()
    for place in (tmp_path / "folder", tmp_path / "nowhere", Path("/dev/null")):
        with pytest.raises(CatchmentError):
            restore_backup(place, filled, replace=True)
