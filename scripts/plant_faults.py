#!/usr/bin/env python3
"""Do the tests notice? Plants the faults of `scripts/faults.toml` one at a time and runs the suite of their area.

Each fault is put into a copy of the tree, so that the working copy stays as it is. A fault that nothing notices is
named, and too many of them end this with 1. `--only NAME`, as often as wanted, plants these; a name may be a
number such as R-10.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
import tomllib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
FAULTS = Path(__file__).with_name("faults.toml")
#: What a copy needs to run tests.
COPIED = ("src", "tests", "docs", "scripts", "n8n", "bench", "pyproject.toml", "constraints.txt", ".env.example")
#: Tests failed, or were broken off at the first that did.
NOTICED = frozenset({1, 2})
MAX_UNNOTICED = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class Fault:
    name: str
    file: str
    #: Stands in the file once.
    old: str
    new: str
    #: Files or folders, or single tests of a file.
    tests: tuple[str, ...]
    #: The number in docs/requirements.md whose repair it takes back.
    proves: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    fault: Fault
    caught: bool
    #: The first test that failed, or how it went otherwise.
    by: str
    seconds: float


def read_faults(path: Path = FAULTS) -> list[Fault]:
    entries = tomllib.loads(path.read_text(encoding="utf-8"))["fault"]
    return [Fault(**{**entry, "tests": tuple(entry["tests"])}) for entry in entries]


@contextmanager
def planted(fault: Fault, tree: Path) -> Iterator[None]:
    file = tree / fault.file
    sound = file.read_text(encoding="utf-8")
    if sound.count(fault.old) != 1:
        raise SystemExit(f"{fault.name}: its text stands {sound.count(fault.old)} times in {fault.file}")
    file.write_text(sound.replace(fault.old, fault.new), encoding="utf-8")
    try:
        yield
    finally:
        file.write_text(sound, encoding="utf-8")


def run_suite(tests: Sequence[str], tree: Path) -> tuple[int, str]:
    """How the tests of an area end, and the first line that tells why."""
    command = [sys.executable, "-m", "pytest", "-q", "-x", "-n", "2", "-m", "not slow", "--no-header", *tests]
    environment = {**os.environ, "PYTHONPATH": str(tree / "src"), "PYTHONDONTWRITEBYTECODE": "1"}
    done = subprocess.run(  # noqa: S603 - our own tests
        command, cwd=tree, env=environment, capture_output=True, text=True, check=False
    )
    said = done.stdout.splitlines()
    telling = [line for word in ("FAILED", "ERROR") for line in said if line.startswith(word)]
    return done.returncode, telling[0] if telling else (said or [done.stderr])[-1]


def try_fault(fault: Fault, tree: Path) -> Outcome:
    begun = time.monotonic()
    with planted(fault, tree):
        code, line = run_suite(fault.tests, tree)
    # An ERROR is a test that could not be begun, on a busy machine for want of a database: nobody looked.
    caught = code in NOTICED and line.startswith("FAILED")
    return Outcome(fault=fault, caught=caught, by=line, seconds=time.monotonic() - begun)


@contextmanager
def copied_tree() -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix="catchment-faults-") as folder:
        tree = Path(folder) / "tree"
        tree.mkdir()
        for name in COPIED:
            source = ROOT / name
            if source.is_dir():
                shutil.copytree(source, tree / name, ignore=shutil.ignore_patterns("__pycache__"))
            elif source.exists():
                shutil.copy2(source, tree / name)
        # Captures stand beside the project.
        if (shared := ROOT.parent / "shared").exists():
            (Path(folder) / "shared").symlink_to(shared)
        yield tree


def say(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "--only", metavar="NAME", action="append", default=[], help="plant this one alone; or those of a number"
    )
    parser.add_argument("--json", action="store_true", help="print the outcomes as JSON at the end")
    given = parser.parse_args(arguments)
    wanted = set(given.only)
    faults = [fault for fault in read_faults() if not wanted or wanted & {fault.name, fault.proves}]
    if not faults:
        parser.error(f"there is no fault named {' or '.join(given.only)}")
    outcomes = []
    with copied_tree() as tree:
        for number, fault in enumerate(faults, start=1):
            outcome = try_fault(fault, tree)
            outcomes.append(outcome)
            verdict = "caught " if outcome.caught else "UNNOTICED"
            named = f"{fault.proves} {fault.name}".strip()
            say(f"{number:2} of {len(faults)} {verdict} {named} ({outcome.seconds:.0f} s): {outcome.by}")
    missed = [outcome.fault.name for outcome in outcomes if not outcome.caught]
    if given.json:
        say(
            json.dumps(
                [{"name": o.fault.name, "proves": o.fault.proves, "caught": o.caught, "by": o.by} for o in outcomes],
                indent=2,
            )
        )
    say(f"{len(outcomes) - len(missed)} of {len(outcomes)} caught" + (f"; unnoticed: {missed}" if missed else ""))
    return 1 if len(missed) > MAX_UNNOTICED else 0


if __name__ == "__main__":
    sys.exit(main())
