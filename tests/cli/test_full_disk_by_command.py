"""What the commands say of a store that cannot be written, or that was emptied."""

from __future__ import annotations

import asyncio
import json
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from command import Command
from test_searching_by_command import store_items

from catchment.errors import ReadOnlyStore
from catchment.store import database
from catchment.store.database import open_store
from catchment.store.migrate import current_revision, migrate
from small_disk import fill_until_refused, small_disk


@pytest.mark.proves("R-25")
async def test_the_doctor_and_the_status_name_a_full_disk(tmp_path: Path) -> None:
    with small_disk(tmp_path / "disk") as disk:
        store = open_store(f"sqlite:///{disk.folder}/catchment.sqlite3")
        await migrate(store)
        # Whoever collects has it open: SQLite has its files beside it.
        await store.read(current_revision)
        disk.fill()
        await fill_until_refused(store)
        catchment = Command(disk.folder)
        examined = await asyncio.to_thread(catchment, "doctor", "--json")
        assert examined.exit_code == 1
        findings = {finding["name"]: finding for finding in json.loads(examined.stdout)}
        assert findings["writing"]["verdict"] == "fail"
        assert "disk is full" in findings["writing"]["found"]
        shown = await asyncio.to_thread(catchment, "status", "--json")
        assert json.loads(shown.stdout)["store"] == {"writable": False, "trouble": "full"}
        assert "full" in (await asyncio.to_thread(catchment, "status")).stdout
        await store.close()


@pytest.mark.proves("R-25")
@pytest.mark.parametrize(
    "words",
    [
        ("status",),
        ("sources", "list"),
        ("items", "list"),
        ("items", "search", "x"),
        ("why", "1"),
        ("alerts",),
        ("doctor",),
    ],
    ids=" ".join,
)
async def test_a_command_that_reads_does_not_wait_for_a_store_that_another_program_holds(
    sqlite_url: str, tmp_path: Path, words: tuple[str, ...]
) -> None:
    catchment = Command(tmp_path)
    assert (await asyncio.to_thread(catchment, "add", "https://example.org/feed", "--no-check")).exit_code == 0
    with closing(sqlite3.connect(tmp_path / "catchment.sqlite3", isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        async with asyncio.timeout(database.BUSY_SECONDS / 2):
            result = await asyncio.to_thread(catchment, *words)
    assert result.exit_code == 0, result.output


@pytest.mark.proves("R-25")
@pytest.mark.parametrize("words", ["items search chips", "jobs list"])
def test_a_store_that_cannot_be_written_is_read_all_the_same(
    catchment: Command, monkeypatch: pytest.MonkeyPatch, words: str
) -> None:
    added = catchment.json("add", "https://news.example/feed", "--no-check")
    catchment.json("jobs", "list")
    store_items(catchment.home, added["id"], Chips="more")
    catchment.json("items", "search", "chips")
    store_items(catchment.home, added["id"], Rain="wet")

    async def refuse(*_: object, **__: object) -> None:
        raise ReadOnlyStore("The store cannot be written, it is read-only.")

    monkeypatch.setattr(database.SqliteStore, "write", refuse)
    assert len(catchment.json(*words.split())) > 0


@pytest.mark.proves("R-26")
def test_an_emptied_store_is_named_and_nothing_is_put_in_its_place(catchment: Command) -> None:
    store = catchment.home / "catchment.sqlite3"
    store.write_bytes(b"")
    for words in (
        ["status"],
        ["collect"],
        ["up", "--port", "0"],
        ["backup"],
        ["migrate-store", "--to", "x.sqlite3"],
        ["doctor"],
    ):
        refused = catchment(*words)
        assert refused.exit_code == 1, refused.output
        assert store.stat().st_size == 0, words
    assert "is empty (0 bytes)" in " ".join(catchment("collect").stderr.split())
    assert "empty" in catchment("doctor").stdout
