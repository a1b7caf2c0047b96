"""`catchment items export`."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from command import Command

from feed_site import FeedSite

ITEMS = "items"


@pytest.mark.proves("H-05")
async def test_items_go_to_standard_output_or_into_a_file(catchment: Command, site: FeedSite, tmp_path: Path):
    await catchment.aside("add", site.feed("a", "b"))
    await catchment.aside("collect")
    printed = await catchment.aside(ITEMS, "export", "--format", "jsonl")
    assert sorted(json.loads(line)["title"] for line in printed.stdout.splitlines()) == ["Title a", "Title b"]
    assert "Exported 2 items." in printed.stderr
    file = tmp_path / "items.csv"
    written = await catchment.aside(ITEMS, "export", "--output", str(file))
    assert (written.exit_code, written.stdout) == (0, "")
    assert file.read_text().count("Title ") == 2
    assert not file.with_name("items.csv.part").exists()
    parquet = await catchment.aside(ITEMS, "export", "--format", "parquet", "--what", "comments")
    assert (parquet.exit_code, parquet.stdout_bytes[:4]) == (0, b"PAR1")


@pytest.mark.proves("H-05")
def test_a_file_that_cannot_be_written_is_named(catchment: Command, tmp_path: Path):
    answer = catchment(ITEMS, "export", "--output", str(tmp_path / "nowhere" / "items.csv"))
    assert answer.exit_code == 1
    assert "nowhere/items.csv cannot be written: No such file or directory." in answer.stderr
