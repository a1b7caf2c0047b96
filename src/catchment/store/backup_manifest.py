"""What a backup says of itself. It is written last, behind the pages of the database, and checked first.

    pages of SQLite | manifest as JSON | its length | SHA-256 of all before | mark

A file that was cut off lacks the mark, and no byte can change without the digest telling. SQLite itself reads the
pages and minds nothing that follows them.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from hashlib import sha256
from io import SEEK_END
from pathlib import Path
from typing import IO

from catchment.errors import StoreError

_MARK = b"catchment-backup"
_LENGTH_BYTES, _DIGEST_BYTES = 8, 32
_CHUNK_BYTES = 1 << 20


@dataclass(frozen=True, slots=True, kw_only=True)
class Manifest:
    #: The release that made the backup.
    version: str
    #: The revision that the store was at.
    schema: str
    #: How much of the file is the database.
    size_bytes: int
    #: By table.
    rows: Mapping[str, int]


def seal(file: Path, manifest: Manifest) -> None:
    """Complete a backup."""
    text = json.dumps(asdict(manifest)).encode()
    with file.open("r+b") as backup:
        size = backup.seek(0, SEEK_END)
        backup.write(text + len(text).to_bytes(_LENGTH_BYTES))
        digest = _digest(backup, size + len(text) + _LENGTH_BYTES)
        backup.write(digest + _MARK)
        backup.flush()
        os.fsync(backup.fileno())


def read_manifest(file: Path, *, name: Path) -> Manifest | None:
    """None where there is none. Raises StoreError, by the name of the backup, when it is not as it was sealed."""
    with file.open("rb") as backup:
        end = backup.seek(0, SEEK_END) - _DIGEST_BYTES - len(_MARK)
        if end < _LENGTH_BYTES or _read(backup, end + _DIGEST_BYTES, len(_MARK)) != _MARK:
            return None
        if _digest(backup, end) != _read(backup, end, _DIGEST_BYTES):
            raise StoreError(
                f"The backup {name} is damaged: it is not what it was when it was made. "
                "Nothing was changed; use another backup."
            )
        length = int.from_bytes(_read(backup, end - _LENGTH_BYTES, _LENGTH_BYTES))
        return Manifest(**json.loads(_read(backup, end - _LENGTH_BYTES - length, length)))


def _digest(backup: IO[bytes], length: int) -> bytes:
    """Of the first so many bytes."""
    digest = sha256()
    backup.seek(0)
    while chunk := backup.read(min(length, _CHUNK_BYTES)):
        digest.update(chunk)
        length -= len(chunk)
    return digest.digest()


def _read(backup: IO[bytes], start: int, length: int) -> bytes:
    backup.seek(start)
    return backup.read(length)
