#!/usr/bin/env python3
"""The audit of this working copy: `catchment audit` over its source, with the same options and exit codes."""

from __future__ import annotations

import sys
from pathlib import Path

from catchment.cli.main import app

ROOT = Path(__file__).resolve().parent.parent

if __name__ == "__main__":
    words = sys.argv[1:]
    given = any(word.partition("=")[0] == "--source" for word in words)
    app(["audit", *([] if given else ["--source", str(ROOT)]), *words], prog_name="security_audit.py")
