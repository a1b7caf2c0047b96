"""Where the captures of what real sites sent are."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

_PROJECT = Path(__file__).resolve().parents[1]
REAL_DATA = Path(os.environ.get("CATCHMENT_REAL_DATA", _PROJECT.parent / "shared/data/real"))


def captured(kind: str) -> Path:
    folder = REAL_DATA / kind
    if not folder.is_dir():
        pytest.skip(f"no captures of real {kind} in {folder}; set CATCHMENT_REAL_DATA to the folder of all captures")
    return folder
