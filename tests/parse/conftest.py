"""Where the captures of real feeds are."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

_PROJECT = Path(__file__).resolve().parents[2]
REAL_FEEDS = Path(os.environ.get("CATCHMENT_REAL_DATA", _PROJECT.parent / "shared/data/real")) / "feeds"


@pytest.fixture(scope="session")
def real_feeds() -> Path:
    if not REAL_FEEDS.is_dir():
        pytest.skip(f"no captures of real feeds in {REAL_FEEDS}; set CATCHMENT_REAL_DATA to their folder")
    return REAL_FEEDS
