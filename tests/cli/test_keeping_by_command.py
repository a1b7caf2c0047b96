"""Backup, restore and the move to another database, as an operator does them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from command import Command

from catchment.store.door import store_url as as_url
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
