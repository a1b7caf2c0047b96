"""Everything that somebody may see, as a stream of bytes, in memory that does not grow with it."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable

from catchment.domain.export import ExportFormat, ExportQuery
from catchment.publish.exports import ExportWriter, make_writer
from catchment.store import exports
from catchment.store.database import Store

#: Rows read at once. Items may be long: so many of the longest still fit.
PAGE_ROWS = 200

#: How many rows of how many were read.
ExportProgress = Callable[[int, int], None]


class Exports:
    def __init__(self, *, store: Store) -> None:
        self._store = store

    async def start(
        self, query: ExportQuery, form: ExportFormat, progress: ExportProgress | None = None
    ) -> AsyncIterator[bytes]:
        """The stream; what keeps it from being made is raised here, before anything was given out."""
        writer = make_writer(form, query.what)
        total = await self._store.read(exports.count, query) if progress else 0
        return self._stream(query, writer, lambda done: progress(done, total) if progress else None)

    async def _stream(
        self, query: ExportQuery, writer: ExportWriter, progress: Callable[[int], None]
    ) -> AsyncIterator[bytes]:
        done = after_id = 0
        while True:
            # Each page in a transaction of its own: a long export holds up nobody who writes.
            page = await self._store.read(exports.read_page, query, after_id=after_id, limit=PAGE_ROWS)
            if not page.read:
                break
            done, after_id = done + page.read, page.last_id
            if written := writer.write(page.rows):
                yield written
            progress(done)
        if rest := writer.finish():
            yield rest
