"""Who may read a store on a machine that others use as well."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from pathlib import Path

import pytest
from sqlalchemy.engine import make_url

from catchment.errors import StoreError
from catchment.store.backups import make_backup, restore_backup
from catchment.store.database import open_store
from catchment.store.database import store_url as as_url
from catchment.store.jobs import list_all
from catchment.store.migrate import migrate, migrate_url


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


@pytest.fixture(autouse=True)
def usual_umask() -> Iterator[None]:
    before = os.umask(0o022)
    yield
    os.umask(before)


async def test_a_new_store_is_for_its_owner_alone(tmp_path: Path) -> None:
    file = tmp_path / "data" / "catchment.sqlite3"
    store = open_store(f"sqlite:///{file}")
    assert not file.exists(), "to open is not to make: `doctor` looks and leaves no trace"
    await migrate(store)
    await store.read(list_all)
    assert mode(file.parent) == 0o700
    assert {path.name: oct(mode(path)) for path in file.parent.iterdir()} == {
        file.name: "0o600",
        f"{file.name}-wal": "0o600",
        f"{file.name}-shm": "0o600",
    }
    await store.close()


def test_a_store_that_is_there_keeps_the_mode_that_it_has(sqlite_url: str, tmp_path: Path) -> None:
    file = Path(as_url(sqlite_url).database or "")
    file.chmod(0o640)
    tmp_path.chmod(0o755)
    migrate_url(as_url(sqlite_url))
    assert (mode(file), mode(tmp_path)) == (0o640, 0o755)


def test_a_store_that_is_made_by_restoring_is_for_its_owner_alone(sqlite_url: str, tmp_path: Path) -> None:
    restored = tmp_path / "restored.sqlite3"
    backup = make_backup(as_url(sqlite_url), tmp_path / "backup.sqlite3")
    restore_backup(backup.file, make_url(f"sqlite+pysqlite:///{restored}"))
    assert mode(restored) == 0o600


def test_a_folder_that_is_missing_is_told_of(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match=r"cannot be made: .*/missing/.*No such file"):
        migrate_url(make_url(f"sqlite+pysqlite:///{tmp_path}/missing/catchment.sqlite3"))
