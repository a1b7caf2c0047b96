"""The store on PostgreSQL."""

from __future__ import annotations

from collections.abc import Callable
from typing import Concatenate, ParamSpec, TypeVar

from sqlalchemy import Connection
from sqlalchemy.engine import URL
from sqlalchemy.ext.asyncio import create_async_engine

from catchment.store.failures import translated_errors
from catchment.store.json_text import AS_JSON
from catchment.store.writability import WriteCheck

P = ParamSpec("P")
T = TypeVar("T")


class PostgresStore:
    def __init__(self, url: URL) -> None:
        self.url = url
        self.checked = WriteCheck(self)
        self._engine = create_async_engine(url, pool_size=10, max_overflow=10, pool_pre_ping=True, **AS_JSON)

    async def read(self, query: Callable[Concatenate[Connection, P], T], *args: P.args, **kwargs: P.kwargs) -> T:
        return await self._run(lambda conn: query(conn, *args, **kwargs))

    async def write(self, change: Callable[Concatenate[Connection, P], T], *args: P.args, **kwargs: P.kwargs) -> T:
        with self.checked.watching():
            return await self._run(lambda conn: change(conn, *args, **kwargs))

    async def _run(self, function: Callable[[Connection], T]) -> T:
        with translated_errors(self.url):
            async with self._engine.begin() as conn:
                return await conn.run_sync(function)

    async def close(self) -> None:
        await self._engine.dispose()
