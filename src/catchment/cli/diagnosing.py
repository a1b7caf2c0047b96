"""`catchment doctor`: what stands in the way, and what to do about it."""

from __future__ import annotations

import typer

from catchment.cli.failing import FAILED
from catchment.cli.printing import AsJson, print_json, print_table
from catchment.cli.session import run_async


def doctor(*, as_json: AsJson = False) -> None:
    """Check what Catchment stands on: Python, settings, data folder, store, network and clock.

    Example: catchment doctor
    """
    from catchment.cli.checkup import Verdict, examine

    findings = run_async(examine())
    if as_json:
        print_json(findings)
    else:
        print_table(
            ("check", "result", "found", "what to do"),
            ((one.name, one.verdict, one.found, one.advice) for one in findings),
        )
    if any(one.verdict is Verdict.FAIL for one in findings):
        raise typer.Exit(FAILED)
