"""`catchment apply`: make the catalogue what a file says, after showing what that takes."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Annotated

import typer

from catchment.cli.console import STANDARD_INPUT, AsJson, Yes, cell, print_json, print_list, print_table, read_file, say
from catchment.cli.session import FAILED, WRONG_USAGE, with_store_if_any, with_system
from catchment.domain.caller import OPERATOR

if TYPE_CHECKING:
    from catchment.bootstrap import System
    from catchment.domain.listing import BadLine
    from catchment.manage.apply import Plan, PlanStep, StepFailure


def apply(
    file: Annotated[str, typer.Option("--file", "-f", metavar="FILE|-", help="YAML, JSON or OPML; - for stdin.")],
    *,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Show the plan and do nothing.")] = False,
    yes: Yes = False,
    prune: Annotated[bool, typer.Option("--prune", help="Remove the sources that the file does not name.")] = False,
    as_json: AsJson = False,
) -> None:
    """Make the sources what a file says. The plan is shown first; a second time there is nothing to do.

    With a bad line in the file nothing is done at all.

    Example: catchment apply -f sources.yaml --dry-run
    """
    from catchment.manage.import_export import read_sources

    listing = read_sources(read_file(file))

    async def prepare(system: System) -> Plan | list[BadLine]:
        return await system.applier.prepare(listing, OPERATOR, prune=prune)

    prepared = with_store_if_any(prepare)
    if isinstance(prepared, list):
        raise _refused(prepared, as_json=as_json)
    if not as_json:
        _print_plan(prepared)
    failures: list[StepFailure] = []
    acts = not (dry_run or prepared.is_empty)
    if acts:
        if not yes:
            _confirm(can_ask=not as_json and file != STANDARD_INPUT and sys.stdin.isatty())
        failures = with_system(lambda system: system.applier.carry_out(prepared, OPERATOR), makes_store=True)
    _report(prepared, failures, applied=acts, as_json=as_json)


def _refused(bad: list[BadLine], *, as_json: bool) -> typer.Exit:
    print_list(
        {"bad_lines": bad},
        ("line", "name", "address", "why"),
        ((one.line, one.name, one.address, one.reason) for one in bad),
        as_json=as_json,
    )
    say(f"Error: {len(bad)} bad lines in the file; nothing was done.")
    return typer.Exit(FAILED)


def _print_plan(plan: Plan) -> None:
    from catchment.manage.apply import PlanAction

    steps = [step for step in plan.steps if step.action is not PlanAction.UNCHANGED]
    if steps:
        rows = (
            (step.action, step.listed.name, step.listed.type, step.listed.address, _changes(step)) for step in steps
        )
        print_table(("plan", "name", "type", "address", "what"), rows)
    counts = ", ".join(f"{len(plan.of(action))} {_COUNTED[action]}" for action in PlanAction if plan.of(action))
    typer.echo(f"Plan: {counts or 'no sources'}.")


_COUNTED = {
    "add": "to add",
    "change": "to change",
    "unchanged": "unchanged",
    "left alone": "of other users left alone",
    "remove": "to remove",
}


def _changes(step: PlanStep) -> str:
    return "; ".join(f"{one.field}: {cell(one.old)} → {cell(one.new)}" for one in step.differences)


def _confirm(*, can_ask: bool) -> None:
    if not can_ask:
        say("Error: nobody is here to be asked; say --yes to do it, or --dry-run to look only.")
        raise typer.Exit(WRONG_USAGE)
    if not typer.confirm("Do it?", err=True):
        say("Nothing was done.")
        raise typer.Exit(FAILED)


def _report(plan: Plan, failures: list[StepFailure], *, applied: bool, as_json: bool) -> None:
    if as_json:
        print_json({"applied": applied, "plan": [_shape(step) for step in plan.steps], "failures": failures})
    elif failures:
        print_table(("name", "address", "why it failed"), ((one.name, one.address, one.reason) for one in failures))
    else:
        typer.echo("Done." if applied else "Nothing to do." if plan.is_empty else "Nothing was done (--dry-run).")
    if failures:
        raise typer.Exit(FAILED)


def _shape(step: PlanStep) -> dict[str, object]:
    return {
        "action": step.action,
        "id": step.source_id,
        "name": step.listed.name,
        "type": step.listed.type,
        "address": step.listed.address,
        "line": step.listed.line,
        "differences": list(step.differences),
    }
