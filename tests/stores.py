"""On which stores a test runs: a mark on it, on its class or its file, whichever is nearest.

Both by default. SQLite is enough where the store plays no part, and where every statement that the test makes reaches
PostgreSQL in others.
"""

from __future__ import annotations

import pytest

STORES = ("sqlite", "postgres")
on_sqlite_alone = pytest.mark.stores("sqlite")
on_both_stores = pytest.mark.stores(*STORES)


def stores_of(test: pytest.Function) -> tuple[str, ...]:
    mark = test.get_closest_marker("stores")
    return mark.args if mark else STORES
