#!/usr/bin/env python3
"""Which requirement is proven by which tests and measurements, and which by none.

Reads the numbers of docs/requirements.md, the `pytest.mark.proves(...)` of the tests and the `# proves:` comments of
the measuring scripts. A number that is proven but not listed is a slip of the keyboard, and the only failure.
"""

from __future__ import annotations

import argparse
import ast
import json
import re
import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
NUMBER = re.compile(r"\b[A-Z]-\d{2}\b")
TEXT_WIDTH = 84

_SECTION = re.compile(r"## ([A-Z]\. .+)")
_REQUIREMENT = re.compile(r"- ([A-Z]-\d{2}) (\S.*)")
_MEASUREMENT = re.compile(r"^# proves:(.*)$", re.MULTILINE)

Function = ast.FunctionDef | ast.AsyncFunctionDef


@dataclass(frozen=True, slots=True, kw_only=True)
class Requirement:
    number: str
    text: str
    section: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Proof:
    """A test or a measurement that says it proves this number."""

    number: str
    where: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Coverage:
    requirements: Sequence[Requirement]
    proofs: Sequence[Proof]

    def of(self, number: str) -> list[str]:
        return [proof.where for proof in self.proofs if proof.number == number]

    def unproven(self) -> list[str]:
        proven = {proof.number for proof in self.proofs}
        return [one.number for one in self.requirements if one.number not in proven]

    def unknown(self) -> list[Proof]:
        known = {one.number for one in self.requirements}
        return [proof for proof in self.proofs if proof.number not in known]


def read_requirements(text: str) -> list[Requirement]:
    section, found = "", []
    for line in text.splitlines():
        if heading := _SECTION.fullmatch(line):
            section = heading[1]
        elif match := _REQUIREMENT.fullmatch(line):
            found.append(Requirement(number=match[1], text=match[2], section=section))
    return found


def proofs_of_tests(source: str, path: str) -> Iterator[Proof]:
    """What each test of a module claims by itself, by its class or by the module's `pytestmark`."""
    yield from _claims(ast.parse(source).body, path, inherited=set())


def proofs_of_measurement(source: str, path: str) -> Iterator[Proof]:
    for comment in _MEASUREMENT.findall(source):
        for number in NUMBER.findall(comment):
            yield Proof(number=number, where=path)


def map_coverage(root: Path) -> Coverage:
    requirements = read_requirements((root / "docs" / "requirements.md").read_text(encoding="utf-8"))
    proofs: list[Proof] = []
    for folder, read in (("tests", proofs_of_tests), ("bench", proofs_of_measurement)):
        for path in sorted((root / folder).rglob("*.py")):
            proofs += read(path.read_text(encoding="utf-8"), path.relative_to(root).as_posix())
    return Coverage(requirements=requirements, proofs=proofs)


def _claims(body: Sequence[ast.stmt], where: str, *, inherited: set[str]) -> Iterator[Proof]:
    shared = inherited | _numbers(statement for statement in body if _is_pytestmark(statement))
    for statement in body:
        if isinstance(statement, Function) and statement.name.startswith("test"):
            for number in sorted(shared | _numbers(statement.decorator_list)):
                yield Proof(number=number, where=f"{where}::{statement.name}")
        elif isinstance(statement, ast.ClassDef):
            own = _numbers(statement.decorator_list)
            yield from _claims(statement.body, f"{where}::{statement.name}", inherited=shared | own)


def _is_pytestmark(statement: ast.stmt) -> bool:
    targets = statement.targets if isinstance(statement, ast.Assign) else []
    return any(isinstance(target, ast.Name) and target.id == "pytestmark" for target in targets)


def _numbers(nodes: Iterable[ast.AST]) -> set[str]:
    """The arguments of every `….proves(…)` inside, also of those that mark a single parameter."""
    calls = (node for parent in nodes for node in ast.walk(parent) if isinstance(node, ast.Call))
    proving = (call for call in calls if isinstance(call.func, ast.Attribute) and call.func.attr == "proves")
    return {str(arg.value) for call in proving for arg in call.args if isinstance(arg, ast.Constant)}


def as_text(coverage: Coverage) -> str:
    lines: list[str] = []
    section = ""
    for one in coverage.requirements:
        if one.section != section:
            section = one.section
            lines += ["", section]
        text = one.text if len(one.text) <= TEXT_WIDTH else one.text[: TEXT_WIDTH - 1] + "…"
        lines.append(f"  {one.number}  {len(coverage.of(one.number)) or '-':>4}  {text}")
    unproven = coverage.unproven()
    proven = len(coverage.requirements) - len(unproven)
    lines += ["", f"{proven} of {len(coverage.requirements)} requirements are proven. Nothing proves yet:"]
    lines += [f"  {' '.join(group)}" for group in _by_letter(unproven)] or ["  (none: all are proven)"]
    return "\n".join(lines).lstrip() + "\n"


def _by_letter(numbers: Sequence[str]) -> list[list[str]]:
    letters = dict.fromkeys(number[0] for number in numbers)
    return [[number for number in numbers if number[0] == letter] for letter in letters]


def as_json(coverage: Coverage) -> str:
    document = {
        "requirements": [
            {"number": one.number, "section": one.section, "text": one.text, "proofs": coverage.of(one.number)}
            for one in coverage.requirements
        ],
        "unproven": coverage.unproven(),
        "unknown": [{"number": proof.number, "where": proof.where} for proof in coverage.unknown()],
    }
    return json.dumps(document, indent=2, ensure_ascii=False) + "\n"


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description="Which requirement is proven by which tests, and which by none.")
    parser.add_argument("--json", action="store_true", help="print JSON, with every proof by name")
    options = parser.parse_args(arguments)
    coverage = map_coverage(ROOT)
    sys.stdout.write(as_json(coverage) if options.json else as_text(coverage))
    for proof in coverage.unknown():
        sys.stderr.write(f"{proof.where} proves {proof.number}, which docs/requirements.md does not list\n")
    return 1 if coverage.unknown() else 0


if __name__ == "__main__":
    sys.exit(main())
