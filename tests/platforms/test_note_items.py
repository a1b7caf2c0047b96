"""From a note to an item."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime

import pytest

from catchment.sources.platforms.search import item_of
from crawl_notes import note


@pytest.mark.proves("E-13")
def test_an_item_says_when_its_note_was_last_changed():
    changed = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)
    shown = item_of(replace(note(1), updated_at=changed)).metadata["updated_at"]
    assert datetime.fromisoformat(shown) == changed
    assert "updated_at" not in item_of(replace(note(1), updated_at=None)).metadata
