"""Files that commands read and write; `-` is standard input."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from catchment.errors import InvalidInput

if TYPE_CHECKING:
    from catchment.bootstrap import System

STANDARD_INPUT = "-"
WEB = ("http://", "https://")


async def read_file_or_url(system: System, file: str) -> bytes:
    if file.lower().startswith(WEB):
        return (await system.http.get(file)).body
    return await asyncio.to_thread(read_file, file)


def read_file(file: str) -> bytes:
    from catchment.parse.opml import MAX_BYTES

    # One byte more than is allowed is enough to know that it is too much.
    if file == STANDARD_INPUT:
        return sys.stdin.buffer.read(MAX_BYTES + 1)
    try:
        with Path(file).open("rb") as stream:
            return stream.read(MAX_BYTES + 1)
    except OSError as error:
        raise InvalidInput(f"{file} cannot be read: {error.strerror}.") from error


def write_file(path: Path | None, written: bytes) -> None:
    """To stdout where no file is named."""
    if path is None:
        sys.stdout.buffer.write(written)
        sys.stdout.flush()
        return
    try:
        path.write_bytes(written)
    except OSError as error:
        raise InvalidInput(f"{path} cannot be written: {error.strerror}.") from error
