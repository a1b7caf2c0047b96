"""Backup, restore and the move to another database, as an operator does them."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from command import Command, Start

from catchment.domain.run import RunKind
from catchment.store import runs
from catchment.store.database import migration_engine
from catchment.store.database import store_url as as_url
from catchment.store.migrate import migrate_url
from filled_store import Rows, rows_in

OPML = """<opml version="2.0"><body>
<outline type="rss" text="One" xmlUrl="https://one.example/feed"/>
<outline type="rss" text="Two" xmlUrl="https://two.example/feed"/>
</body></opml>"""


@pytest.fixture
def before(catchment: Command, sqlite_url: str) -> Rows:
    """What is in the store after some sources were imported."""
    assert catchment("import", "-", stdin=OPML).exit_code == 0
    rows = rows_in(as_url(sqlite_url))
    assert [row["name"] for row in rows["sources"]] == ["One", "Two"]
    return rows


@pytest.mark.proves("F-10")
def test_what_was_lost_after_a_backup_is_back_after_the_restore(
    catchment: Command, before: Rows, sqlite_url: str
) -> None:
    made = json.loads(catchment("backup", "--json").stdout)
    assert Path(made["file"]).parent == catchment.home / "backups"
    assert made["rows"]["sources"] == len(before["sources"])
    assert catchment("sources", "remove", "1").exit_code == 0
    refused = catchment("restore", made["file"])
    assert refused.exit_code == 1
    assert "--replace" in refused.stderr
    restored = catchment("restore", made["file"], "--replace")
    assert restored.exit_code == 0, restored.output
    assert "sources" in restored.stdout
    assert rows_in(as_url(sqlite_url)) == before


@pytest.mark.proves("F-03")
def test_a_store_moves_to_postgresql_and_says_what_to_do_next(
    catchment: Command, before: Rows, postgres_url: str
) -> None:
    moved = catchment("migrate-store", "--to", postgres_url.replace("+psycopg", ""))
    assert moved.exit_code == 0, moved.output
    assert "DATABASE_URL" in moved.stderr
    assert rows_in(as_url(postgres_url)) == before
    shown = catchment.json("sources", "list", DATABASE_URL=postgres_url)
    assert len(shown) == len(catchment.json("sources", "list"))
    again = catchment("migrate-store", "--to", postgres_url)
    assert again.exit_code == 1
    assert "is not empty" in again.stderr
    assert catchment("migrate-store", "--to", postgres_url, "--replace").exit_code == 0


def test_a_password_in_an_address_is_not_shown(catchment: Command) -> None:
    failed = catchment("migrate-store", "--to", "postgresql://me:verysecret@127.0.0.1:1/none")
    assert failed.exit_code == 1
    assert "verysecret" not in failed.output
    assert "127.0.0.1" in failed.stderr


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["migrate-store", "--to", "mysql://x/y"], "mysql is not supported"),
        (["migrate-store", "--from", "nowhere.sqlite3", "--to", "other.sqlite3"], "There is no store at"),
        (["migrate-store", "--to", "catchment.sqlite3"], "name another one to copy it to"),
        (["restore", "nowhere.sqlite3"], "There is no backup at nowhere.sqlite3"),
        (["backup", "catchment.sqlite3"], "exists already"),
    ],
)
def test_wrong_places_are_named_and_nothing_is_made_there(catchment: Command, words: list[str], said: str) -> None:
    before = {path.name for path in catchment.home.iterdir()}
    result = catchment(*words)
    assert result.exit_code in {1, 2}
    assert said in result.stderr
    assert {path.name.removesuffix("-wal").removesuffix("-shm") for path in catchment.home.iterdir()} <= before


def hold(url: str, kind: RunKind, owner: str, *, minutes: float = 1) -> None:
    """Have somebody work on a store."""
    now = datetime.now(UTC)
    engine = migration_engine(as_url(url))
    with engine.begin() as conn:
        runs.start(conn, kind, "5", owner=owner, now=now, until=now + timedelta(minutes=minutes))
    engine.dispose()


@pytest.mark.proves("R-46")
@pytest.mark.parametrize("kind", [RunKind.COLLECTOR, RunKind.SOURCE, RunKind.JOB, RunKind.WORKFLOW])
def test_nothing_is_restored_or_moved_under_who_works_on_the_store(
    catchment: Command, store_url: str, tmp_path: Path, kind: RunKind
) -> None:
    migrate_url(as_url(store_url))
    made = catchment.json("backup", str(tmp_path / "kept" / "one.sqlite3"), DATABASE_URL=store_url)["file"]
    hold(store_url, kind, "elsewhere/1a2b-3:4711:abcd")
    for words in (["restore", made, "--replace"], ["migrate-store", "--to", str(tmp_path / "other.sqlite3")]):
        refused = catchment(*words, DATABASE_URL=store_url)
        assert refused.exit_code == 1
        said = " ".join(refused.stderr.split())
        assert f"process 4711 on elsewhere ({kind})" in said
        assert "--while-collecting" in said
        assert rows_in(as_url(store_url))["runs"], "nothing was replaced"
        told = catchment(*words, "--while-collecting", DATABASE_URL=store_url)
        assert told.exit_code == 0, told.output
        if words[0] == "restore":
            assert not rows_in(as_url(store_url))["runs"]
            hold(store_url, kind, "elsewhere/1a2b-3:4711:abcd")


@pytest.mark.proves("R-46")
def test_nothing_is_moved_into_a_store_that_is_worked_on(catchment: Command, before: Rows, postgres_url: str) -> None:
    migrate_url(as_url(postgres_url))
    hold(postgres_url, RunKind.COLLECTOR, "elsewhere/1a2b-3:4711:abcd")
    refused = catchment("migrate-store", "--to", postgres_url, "--replace")
    assert refused.exit_code == 1
    assert "process 4711 on elsewhere" in " ".join(refused.stderr.split())


@pytest.mark.proves("R-46")
def test_who_is_dead_or_has_let_go_holds_up_no_restore(catchment: Command, before: Rows, sqlite_url: str) -> None:
    made = catchment.json("backup")["file"]
    hold(sqlite_url, RunKind.COLLECTOR, "elsewhere/1a2b-3:4711:abcd", minutes=-1)
    assert catchment("restore", made, "--replace").exit_code == 0


@pytest.mark.proves("R-46")
async def test_a_restore_waits_until_the_collector_has_stopped_or_was_killed(
    catchment: Command, before: Rows, start: Start
) -> None:
    made = catchment.json("backup")["file"]
    collector = await start("collect", "--loop", COLLECTOR_TICK="1")
    await collector.says("collector started")
    refused = catchment("restore", made, "--replace")
    assert refused.exit_code == 1
    assert "process" in refused.stderr
    await collector.kill()
    restored = catchment("restore", made, "--replace")
    assert restored.exit_code == 0, restored.output
