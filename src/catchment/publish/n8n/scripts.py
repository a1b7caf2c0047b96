"""What our workflows decide by themselves, in the language of n8n; and the table of errors that they decide by."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Final

from catchment.domain.crawling import HANDLING

_FOLDER: Final = Path(__file__).parent / "js"
_TABLE: Final = "/* the table */ {}"


def script_text(name: str) -> str:
    return (_FOLDER / f"{name}.js").read_text(encoding="utf-8")


def by_the_rules(name: str) -> str:
    """A script that acts on errors, below the table it acts by."""
    return f"{script_text('rules').replace(_TABLE, _table())}\n{script_text(name)}"


def _table() -> str:
    rows = {
        code.value: {"waits": [int(pause.total_seconds()) for pause in handling.waits], "halts": handling.halts}
        for code, handling in HANDLING.items()
    }
    return "{\n" + "".join(f"  {code}: {json.dumps(row)},\n" for code, row in rows.items()) + "}"
