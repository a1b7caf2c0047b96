"""Rows as files: CSV that a spreadsheet opens without running anything, JSON Lines, and Parquet by pyarrow (an extra).

A writer takes rows as they come and gives out bytes; it holds no more than one group of rows.
"""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from typing import Any, Protocol

from catchment.clock import iso
from catchment.domain.export import COLUMNS, ColumnKind, ExportFormat, ExportKind, ExportRow
from catchment.errors import SettingsError

MEDIA_TYPES: Mapping[ExportFormat, str] = {
    ExportFormat.CSV: "text/csv",
    ExportFormat.JSONL: "application/x-ndjson",
    ExportFormat.PARQUET: "application/vnd.apache.parquet",
}
#: What a spreadsheet takes for the beginning of a formula, full-width forms included.
FORMULA_STARTS = ("=", "+", "-", "@", "\t", "\r", "\n", "＝", "＋", "－", "＠")
#: A group of a Parquet file is held in memory until it is written, and what is told of it until the end: so it is
#: closed after so many rows, or sooner where their texts are long.
GROUP_ROWS, GROUP_CHARS = 2_000, 1_000_000

Columns = Mapping[str, ColumnKind]


class ExportWriter(Protocol):
    def write(self, rows: Sequence[ExportRow]) -> bytes: ...

    def finish(self) -> bytes:
        """What is left, and the end of the file."""
        ...


def make_writer(form: ExportFormat, what: ExportKind) -> ExportWriter:
    """SettingsError where it takes an extra that is not installed."""
    return _WRITERS[form](COLUMNS[what])


class _CsvWriter:
    def __init__(self, columns: Columns) -> None:
        self._columns = columns
        self._text = io.StringIO(newline="")
        self._csv = csv.writer(self._text)
        self._csv.writerow(columns)

    def write(self, rows: Sequence[ExportRow]) -> bytes:
        for row in rows:
            self._csv.writerow([_cell(row.get(name), kind) for name, kind in self._columns.items()])
        return self.finish()

    def finish(self) -> bytes:
        written = self._text.getvalue().encode()
        self._text.seek(0)
        self._text.truncate()
        return written


def _cell(value: Any, kind: ColumnKind) -> Any:
    plain = _plain(value, kind)
    return f"'{plain}" if isinstance(plain, str) and plain.startswith(FORMULA_STARTS) else plain


def _plain(value: Any, kind: ColumnKind) -> Any:
    """As a cell can hold it."""
    if kind is ColumnKind.JSON:
        return json.dumps(value, ensure_ascii=False)
    return iso(value) if isinstance(value, datetime) else value


class _JsonLinesWriter:
    def __init__(self, columns: Columns) -> None:
        self._columns = columns

    def write(self, rows: Sequence[ExportRow]) -> bytes:
        return b"".join(self._line(row) for row in rows)

    def finish(self) -> bytes:
        return b""

    def _line(self, row: ExportRow) -> bytes:
        shown = {name: row.get(name) for name in self._columns}
        return json.dumps(shown, ensure_ascii=False, default=iso).encode() + b"\n"


class _ParquetWriter:
    def __init__(self, columns: Columns) -> None:
        try:
            import pyarrow as pa
            from pyarrow import parquet
        except ImportError as error:
            raise SettingsError(f"Parquet needs an extra: pip install 'catchment[parquet]' ({error}).") from error
        types = {ColumnKind.NUMBER: pa.int64(), ColumnKind.MOMENT: pa.timestamp("us", tz="UTC")}
        self._columns = columns
        self._schema = pa.schema([(name, types.get(kind, pa.string())) for name, kind in columns.items()])
        self._table = pa.Table.from_pylist
        # Of the system's memory, so that what a group took goes back to it, and what was read for it from threads.
        self._pool = pa.system_memory_pool()
        pa.set_memory_pool(self._pool)
        self._sink = _Sink()
        # The least and the largest text of each group would be kept until the end.
        short = [name for name, kind in columns.items() if kind in types]
        self._writer = parquet.ParquetWriter(self._sink, self._schema, write_statistics=short)
        self._waiting: list[dict[str, Any]] = []
        self._chars = 0

    def write(self, rows: Sequence[ExportRow]) -> bytes:
        for row in map(self._row, rows):
            self._waiting.append(row)
            self._chars += sum(len(cell) for cell in row.values() if isinstance(cell, str))
            if len(self._waiting) >= GROUP_ROWS or self._chars >= GROUP_CHARS:
                self._write_group()
        return self._sink.taken()

    def finish(self) -> bytes:
        if self._waiting:
            self._write_group()
        self._writer.close()
        return self._sink.taken()

    def _row(self, row: ExportRow) -> dict[str, Any]:
        return {
            name: row.get(name) if kind is ColumnKind.MOMENT else _plain(row.get(name), kind)
            for name, kind in self._columns.items()
        }

    def _write_group(self) -> None:
        self._writer.write_table(self._table(self._waiting, schema=self._schema))
        self._pool.release_unused()
        self._waiting, self._chars = [], 0


class _Sink(io.RawIOBase):
    """A file that gives out what was written to it and keeps nothing."""

    def __init__(self) -> None:
        super().__init__()
        self._written = bytearray()
        self._place = 0

    def writable(self) -> bool:
        return True

    def tell(self) -> int:
        return self._place

    def write(self, written: Any) -> int:
        size = memoryview(written).nbytes
        self._written += written
        self._place += size
        return size

    def taken(self) -> bytes:
        taken = bytes(self._written)
        self._written.clear()
        return taken


_WRITERS: Mapping[ExportFormat, Callable[[Columns], ExportWriter]] = {
    ExportFormat.CSV: _CsvWriter,
    ExportFormat.JSONL: _JsonLinesWriter,
    ExportFormat.PARQUET: _ParquetWriter,
}
