"""What a fetcher brings beside items: values of types that have tables of their own.

A type is made known by who keeps it; each keeper is handed all records of its type in one piece, inside the transaction
that stores the items.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from typing import Any

from sqlalchemy import Connection

Keeper = Callable[[Connection, Sequence[Any], datetime], None]
KeepRecords = Callable[[Connection, Sequence[object], datetime], None]


class Keepers:
    def __init__(self, by_type: Mapping[type, Keeper]) -> None:
        self._by_type = by_type

    def __call__(self, conn: Connection, records: Sequence[object], now: datetime) -> None:
        """Store the records. One that nobody keeps is as unstorable as a value that no column can hold."""
        grouped: defaultdict[type, list[object]] = defaultdict(list)
        for record in records:
            grouped[type(record)].append(record)
        for kind, some in grouped.items():
            if kind not in self._by_type:
                raise TypeError(f"nobody keeps records of type {kind.__name__}")
            self._by_type[kind](conn, some, now)


keep_no_records = Keepers({})
