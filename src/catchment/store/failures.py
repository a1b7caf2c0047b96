"""What a database says when it fails, in our words."""

from __future__ import annotations

import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from sqlalchemy.engine import URL
from sqlalchemy.exc import DBAPIError, OperationalError
from sqlalchemy.exc import TimeoutError as NoneFree

from catchment.errors import DamagedStore, FullStore, ReadOnlyStore, StoreError

#: What SQLite says of a file that it cannot read.
DAMAGE = ("malformed", "not a database")
#: How the stores call a disk without room, and a store that must not be written: by SQLSTATE, or by SQLite's code.
FULL, READ_ONLY = {"53100", sqlite3.SQLITE_FULL}, {"25006", sqlite3.SQLITE_READONLY}
#: SQLite tells more about an error in the bits above these.
_PRIMARY = 0xFF
#: Less than SQLite needs for a page and its log.
NO_ROOM_BYTES = 64 * 1024


@contextmanager
def translated_errors(url: URL) -> Iterator[None]:
    """Turn what an operator can mend into a StoreError; let our own mistakes pass as they are."""
    shown = url.render_as_string(hide_password=True)
    try:
        yield
    except NoneFree as error:
        raise StoreError(f"The store {shown} is busy: none of our connections to it came free.") from error
    except DBAPIError as error:
        if isinstance(error.orig, sqlite3.DatabaseError) and any(sign in str(error.orig) for sign in DAMAGE):
            raise DamagedStore(f"The store {url.database} is damaged: {error.orig}") from error
        if _is_full(error, url):
            raise FullStore(f"The store {shown} cannot be written, its disk is full: {error.orig}") from error
        if _code(error) in READ_ONLY:
            raise ReadOnlyStore(f"The store {shown} cannot be written, it is read-only: {error.orig}") from error
        if isinstance(error, OperationalError):
            raise StoreError(f"The store {shown} failed: {error.orig}") from error
        raise


def _is_full(error: DBAPIError, url: URL) -> bool:
    code = _code(error)
    if code == sqlite3.SQLITE_IOERR:
        # What SQLite says when it cannot lay its files beside the store, for want of room or for other reasons.
        return shutil.disk_usage(Path(url.database or "").absolute().parent).free < NO_ROOM_BYTES
    return code in FULL


def _code(error: DBAPIError) -> str | int:
    return getattr(error.orig, "sqlstate", None) or getattr(error.orig, "sqlite_errorcode", 0) & _PRIMARY
