"""Feeds as plain files, for hosting elsewhere."""

from __future__ import annotations

import os
import secrets
from pathlib import Path

from catchment.errors import InvalidInput


def write_if_changed(path: Path, body: bytes) -> bool:
    """True if the file was written. Whoever reads it meanwhile has the old one or the new one, never a part."""
    try:
        if path.is_file() and path.read_bytes() == body:
            return False
        path.parent.mkdir(parents=True, exist_ok=True)
        _replace(path, body)
    except OSError as error:
        raise InvalidInput(f"{path} cannot be written: {error.strerror}.") from error
    return True


def _replace(path: Path, body: bytes) -> None:
    draft = path.with_name(f".{path.name}.{secrets.token_hex(4)}")
    try:
        with draft.open("xb") as file:
            file.write(body)
            file.flush()
            os.fsync(file.fileno())
        draft.replace(path)
    finally:
        draft.unlink(missing_ok=True)
