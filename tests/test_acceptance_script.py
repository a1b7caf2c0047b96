"""`make acceptance-e`: every line of the checklist comes down to tests, and a line only holds when they all pass."""

from __future__ import annotations

import importlib
import json
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).resolve().parent.parent
LOCK, RACE = "tests/crawl/test_a.py::test_the_lock", "tests/crawl/test_a.py::TestRaces::test_one_wins"
REPORT = """<testsuites><testsuite name="pytest">
<testcase classname="tests.crawl.test_a" name="test_the_lock[sqlite]" file="tests/crawl/test_a.py"/>
<testcase classname="tests.crawl.test_a" name="test_the_lock[postgres]" file="tests/crawl/test_a.py">{lock}</testcase>
<testcase classname="tests.crawl.test_a.TestRaces" name="test_one_wins" file="tests/crawl/test_a.py">{race}</testcase>
</testsuite></testsuites>"""
FAILURE, ERROR, SKIPPED = "<failure/>", "<error/>", "<skipped/>"


@pytest.fixture
def script(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(ROOT / "scripts")
    return importlib.import_module("acceptance_e")


def judged(script: ModuleType, *, lock: str = "", race: str = ""):
    line = script.Line(day=2, text="执行锁", gloss="the lock", numbers=("E-03", "E-22"), about="crawl")
    proofs = [
        script.Proof(number="E-03", where=LOCK),
        script.Proof(number="E-22", where=RACE),
        script.Proof(number="E-03", where="tests/elsewhere.py::test_that_nobody_ran"),
    ]
    return script.judge(line, proofs, script.read_report(REPORT.format(lock=lock, race=race)))


def test_every_line_of_the_checklist_has_tests_to_prove_it(script):
    assert len(script.CHECKLIST) == 15
    proofs = script.map_coverage(ROOT).proofs
    for line in script.CHECKLIST:
        proven = {proof.number for proof in proofs if line.is_proven_by(proof)}
        assert proven == set(line.numbers), line.text


@pytest.mark.parametrize(
    ("report", "failed", "unproven"),
    [
        ({}, (), ()),
        ({"lock": FAILURE}, (LOCK,), ()),
        ({"race": ERROR}, (RACE,), ("E-22",)),
        # One of the two stores is not installed: the other one proves it.
        ({"lock": SKIPPED}, (), ()),
        ({"race": SKIPPED}, (), ("E-22",)),
    ],
)
def test_a_line_holds_when_each_requirement_is_proven_and_nothing_failed(script, report, failed, unproven):
    verdict = judged(script, **report)
    assert (verdict.failed, verdict.unproven) == (failed, unproven)
    assert verdict.holds is (not failed and not unproven)


@pytest.mark.parametrize(("race", "code"), [("", 0), (FAILURE, 1)])
def test_the_exit_code_and_both_forms_tell_how_it_went(script, monkeypatch, capsys, race, code):
    monkeypatch.setattr(script, "accept", lambda: [judged(script, race=race)])
    assert script.main(["--json"]) == code
    told = json.loads(capsys.readouterr().out)
    assert (told["passed"], told["lines"][0]["line"]) == (code == 0, "执行锁")
    assert script.main([]) == code
    shown = capsys.readouterr().out
    assert f"{1 - code} of 1 lines hold." in shown
    assert (RACE in shown) is bool(code)
