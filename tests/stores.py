"""On which stores a test runs: a mark on it, on its class or its file, whichever is nearest.

Both by default. SQLite is enough where the store plays no part, and where every statement that the test makes reaches
PostgreSQL in others.
"""

from __future__ import annotations

import pytest

STORES = ("sqlite", "postgres")
on_sqlite_alone = pytest.mark.stores("sqlite")
on_both_stores = pytest.mark.stores(*STORES)
#: The last is SQLite as a process has it that serves nobody.
IN_PLACE = "in_place"
on_sqlite_in_both_ways = pytest.mark.stores("sqlite", IN_PLACE)
on_every_store = pytest.mark.stores(*STORES, IN_PLACE)


def stores_of(test: pytest.Function) -> tuple[str, ...]:
    mark = test.get_closest_marker("stores")
    return mark.args if mark else STORES
