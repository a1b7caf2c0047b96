from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import psycopg
import pytest
from sqlalchemy.engine import make_url

from catchment.bootstrap import System
from catchment.errors import StoreError
from catchment.workers import Worker

pytestmark = pytest.mark.proves("F-04")


@contextmanager
def no_more_connections(server: str, database_url: str) -> Iterator[None]:
    """Those that are open stay open."""
    name = make_url(database_url).database
    with psycopg.connect(server, autocommit=True) as conn:
        conn.execute(f"ALTER DATABASE {name} ALLOW_CONNECTIONS false")
        try:
            yield
        finally:
            conn.execute(f"ALTER DATABASE {name} ALLOW_CONNECTIONS true")


async def test_a_database_that_takes_no_more_connections_is_an_error_that_says_so(
    system: System, postgres_server: str, shared_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with Worker(system).queue.opened():
        pass
    monkeypatch.setattr("catchment.workers.CONNECT_SECONDS", 0.3)
    worker = Worker(system)
    with no_more_connections(postgres_server, shared_url):
        async with worker.queue.opened():
            with pytest.raises(StoreError, match="jobs of the workers cannot be reached"):
                await worker.look()
    async with worker.queue.opened():
        assert await worker.look() == 0
