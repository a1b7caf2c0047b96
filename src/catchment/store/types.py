"""What both stores mean alike: column types, the metadata of all tables, partial indexes, and rows as dataclasses."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields
from datetime import UTC, datetime
from functools import cache
from typing import Any, Final, TypeVar

from pydantic_core import PydanticSerializationError, from_json, to_json
from sqlalchemy import (
    JSON,
    BigInteger,
    Boolean,
    ColumnElement,
    Connection,
    DateTime,
    Dialect,
    Executable,
    Integer,
    MetaData,
    Row,
    String,
    TextClause,
    bindparam,
    literal,
)
from sqlalchemy.dialects.postgresql import ARRAY, JSONB
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.sql.compiler import SQLCompiler
from sqlalchemy.sql.functions import FunctionElement
from sqlalchemy.types import TypeDecorator, TypeEngine

T = TypeVar("T")

metadata = MetaData(
    naming_convention={
        "ix": "ix_%(table_name)s_%(column_0_N_name)s",
        "uq": "uq_%(table_name)s_%(column_0_N_name)s",
        "ck": "ck_%(table_name)s_%(constraint_name)s",
        "fk": "fk_%(table_name)s_%(column_0_name)s_%(referred_table_name)s",
        "pk": "pk_%(table_name)s",
    }
)

#: SQLite numbers rows by itself only where the key is a plain INTEGER.
Id = BigInteger().with_variant(Integer(), "sqlite")


def where(condition: ColumnElement[bool] | TextClause) -> dict[str, Any]:
    """Of an index: which rows are in it."""
    return {"sqlite_where": condition, "postgresql_where": condition}


def read_row(kind: Callable[..., T], row: Row[Any], /, **parts: Any) -> T:
    """The dataclass that a row is of, column by field; `parts` are the fields that are not as their columns are."""
    # A dict of its own, as a page reads a thousand rows: to ask the row's for every name takes longer.
    columns = dict(zip(row._fields, row, strict=True))
    columns |= parts
    return kind(**{name: columns[name] for name in _names(kind) if name in columns})


def read_one(conn: Connection, statement: Executable, read: Callable[[Row[Any]], T]) -> T | None:
    """The one row that a statement finds, read; None where it finds none."""
    row = conn.execute(statement).one_or_none()
    return read(row) if row else None


def as_row(value: Any) -> dict[str, Any]:
    """What a dataclass says, by column."""
    kind: Any = type(value)
    return {name: getattr(value, name) for name in _names(kind)}


@cache
def _names(kind: Any) -> tuple[str, ...]:
    return tuple(field.name for field in fields(kind))


def dumps(value: Any) -> str:
    try:
        return to_json(value, inf_nan_mode="constants").decode()
    except PydanticSerializationError:  # half a surrogate pair, which JSON can spell; or a value it has no word for
        return json.dumps(value)


def loads(text: str | bytes) -> Any:
    try:
        return from_json(text)
    except ValueError:  # the same half
        return json.loads(text)


#: For whoever makes an engine.
AS_JSON: Final[Mapping[str, Any]] = {"json_serializer": dumps, "json_deserializer": loads}


#: JSON text on SQLite, `jsonb` on PostgreSQL.
Json = JSON().with_variant(JSONB(), "postgresql")


class UtcDateTime(TypeDecorator[datetime]):
    """An aware moment in UTC: `timestamptz` on PostgreSQL; on SQLite ISO text whose order is the order of time."""

    impl = DateTime
    cache_ok = True

    def load_dialect_impl(self, dialect: Dialect) -> TypeEngine[Any]:
        if dialect.name == "sqlite":
            return dialect.type_descriptor(String(32))
        return dialect.type_descriptor(DateTime(timezone=True))

    # The processors themselves, rather than the hooks that they would call: every row passes here several times.
    def bind_processor(self, dialect: Dialect) -> Callable[[datetime | None], Any]:
        return _as_text if dialect.name == "sqlite" else _in_utc

    def result_processor(self, dialect: Dialect, coltype: object) -> Callable[[Any], datetime | None]:  # noqa: ARG002
        return _from_text if dialect.name == "sqlite" else _in_utc


def _in_utc(value: datetime | None) -> datetime | None:
    if value is None or value.tzinfo is UTC:
        return value
    if value.tzinfo is None:
        raise ValueError(f"a naive datetime cannot be stored: {value!r}")
    return value.astimezone(UTC)


def _as_text(value: datetime | None) -> str | None:
    moment = _in_utc(value)
    return None if moment is None else moment.isoformat(timespec="microseconds")


def _from_text(value: str | None) -> datetime | None:
    return None if value is None else datetime.fromisoformat(value)


class IdList(TypeDecorator[Sequence[int]]):
    """Any number of ids as one parameter: an array on PostgreSQL, JSON on SQLite."""

    impl = String
    cache_ok = True

    def load_dialect_impl(self, dialect: Dialect) -> TypeEngine[Any]:
        return dialect.type_descriptor(String() if dialect.name == "sqlite" else ARRAY(BigInteger))

    def bind_processor(self, dialect: Dialect) -> Callable[[Any], Any]:
        return dumps if dialect.name == "sqlite" else list


class _Among(FunctionElement[bool]):
    type = Boolean()
    inherit_cache = True

    def self_group(self, against: Any = None) -> Any:  # noqa: ARG002
        """As it is: what SQLite has no type for would be compared with 1, which no index serves."""
        return self


def among(column: ColumnElement[int], ids: str | Sequence[int]) -> ColumnElement[bool]:
    """Whether the column is one of these ids, or of those that the parameter of this name will hold.

    `IN` with a parameter for each would be written anew at every execution, which takes longer than the query.
    """
    return _Among(column, bindparam(ids, type_=IdList) if isinstance(ids, str) else literal(ids, IdList))


@compiles(_Among, "sqlite")
def _among_on_sqlite(element: _Among, compiler: SQLCompiler, **options: Any) -> str:
    column, ids = (compiler.process(part, **options) for part in element.clauses)
    return f"{column} IN (SELECT value FROM json_each({ids}))"  # noqa: S608 - the parts are compiled


@compiles(_Among, "postgresql")
def _among_on_postgres(element: _Among, compiler: SQLCompiler, **options: Any) -> str:
    column, ids = (compiler.process(part, **options) for part in element.clauses)
    return f"{column} = ANY({ids})"
