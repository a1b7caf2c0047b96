"""`python -m catchment.cli` is `catchment`."""

from __future__ import annotations

from catchment.cli.main import run

if __name__ == "__main__":
    run()
