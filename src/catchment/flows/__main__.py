"""`python -m catchment.flows sites.yaml`: serve the sites of a file under Prefect."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from catchment.errors import CatchmentError


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="python -m catchment.flows", description="Serve sites as Prefect deployments."
    )
    parser.add_argument("config", type=Path, help="a YAML of sites")
    parser.add_argument("--cron", help="a schedule for all of them, instead of the file's")
    given = parser.parse_args()
    try:
        from catchment.flows.sitemaps import serve
    except ModuleNotFoundError as error:
        parser.exit(2, f"Error: Flows need an extra: pip install 'catchment[prefect]' ({error}).\n")
    try:
        serve(given.config, cron=given.cron)
    except (CatchmentError, OSError) as error:
        sys.stderr.write(f"Error: {error}\n")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
