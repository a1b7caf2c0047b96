"""On which stores a test runs. Both by default; where the store plays no part, SQLite is enough."""

from __future__ import annotations

import pytest

on_sqlite_alone = pytest.mark.parametrize("store_url", ["sqlite"], indirect=True)
