"""What to do with a SQLite file that can no longer be read: keep it, out of the way."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path

from sqlalchemy.engine import make_url

from catchment.store.files import COMPANIONS


def set_aside(url: str, now: datetime) -> Path:
    """Rename the file of a closed store and say what it is called now; the next to open the store begins a new one."""
    path = Path(make_url(url).database or "")
    kept = path.with_name(f"{path.name}.damaged-{now:%Y%m%dT%H%M%S}")
    for companion in ("", *COMPANIONS):
        beside = Path(f"{path}{companion}")
        if beside.exists():
            beside.rename(f"{kept}{companion}")
    return kept
