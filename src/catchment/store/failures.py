"""What a database says when it fails, in our words."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager

from sqlalchemy.engine import URL
from sqlalchemy.exc import DBAPIError, OperationalError
from sqlalchemy.exc import TimeoutError as NoneFree

from catchment.errors import DamagedStore, StoreError

#: What SQLite says of a file that it cannot read.
DAMAGE = ("malformed", "not a database")


@contextmanager
def translated_errors(url: URL) -> Iterator[None]:
    """Turn what an operator can mend into a StoreError; let our own mistakes pass as they are."""
    try:
        yield
    except OperationalError as error:
        raise StoreError(f"The store {url.render_as_string(hide_password=True)} failed: {error.orig}") from error
    except NoneFree as error:
        shown = url.render_as_string(hide_password=True)
        raise StoreError(f"The store {shown} is busy: none of our connections to it came free.") from error
    except DBAPIError as error:
        if isinstance(error.orig, sqlite3.DatabaseError) and any(sign in str(error.orig) for sign in DAMAGE):
            raise DamagedStore(f"The store {url.database} is damaged: {error.orig}") from error
        raise
