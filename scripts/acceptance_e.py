#!/usr/bin/env python3
"""The acceptance checklist of the crawler's document (its section 七), line by line, with whether it holds.

Each line names the requirements that it comes down to. What proves these are the tests that say so by
`pytest.mark.proves(...)`: they are run in one go, on fresh SQLite and PostgreSQL stores and against the simulated web,
and a line holds when something proves each of its requirements and nothing of it failed.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from tempfile import TemporaryDirectory
from xml.etree import ElementTree as ET

from coverage_map import ROOT, Proof, map_coverage


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    day: int
    #: In the words of the document.
    text: str
    gloss: str
    numbers: tuple[str, ...]
    #: Of the tests that prove them, only those whose place holds this.
    about: str = ""

    def is_proven_by(self, proof: Proof) -> bool:
        return proof.number in self.numbers and self.about in proof.where


def _line(day: int, text: str, gloss: str, *numbers: str, about: str = "") -> Line:
    return Line(day=day, text=text, gloss=gloss, numbers=numbers, about=about)


CHECKLIST = (
    _line(1, "4张表已创建，字段完整", "four tables exist, with all fields", "E-18"),
    _line(1, "API 返回统一响应格式", "every answer of the API has the same envelope", "E-20"),
    _line(1, "错误码枚举完整", "all error codes, handled as the table says", "E-09"),
    _line(1, "Cookie 加密/解密正常", "cookies are sealed and opened", "E-07", about="cookie"),
    _line(1, "安全审计脚本通过", "the security audit passes", "E-07", about="audit"),
    _line(2, "执行锁获取/释放正常", "the execution lock is taken and released", "E-03", "E-22"),
    _line(2, "记录锁获取/释放正常", "record locks are taken and released", "E-04", "E-11"),
    _line(2, "幂等写入测试通过", "writes are idempotent", "E-02", "E-23"),
    _line(2, "request_id 全链路可追踪", "request_id can be traced all the way", "E-06"),
    _line(2, "超时回收任务正常", "locks that time out are recovered", "E-05"),
    _line(2, "日志无明文Cookie", "no cookie in plain text in the logs", "E-24"),
    _line(3, "3条告警可触发", "the three alerts fire", "E-12"),
    _line(3, "完整采集流程跑通", "a whole crawl runs through", "E-14"),
    _line(3, "部分失败场景验证通过", "partial failure is handled", "E-08", "E-21"),
    _line(3, "回滚方案可执行", "it can be rolled back", "E-17"),
)


class Result(StrEnum):
    PASSED = "passed"
    FAILED = "failed"
    SKIPPED = "skipped"


#: By test, as `tests/x.py::Class::test`: what came of each of its cases.
Results = Mapping[str, Sequence[Result]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    line: Line
    counts: Mapping[Result, int]
    #: Tests that failed.
    failed: tuple[str, ...]
    #: Requirements that nothing proved.
    unproven: tuple[str, ...]

    @property
    def holds(self) -> bool:
        return not self.failed and not self.unproven


def judge(line: Line, proofs: Iterable[Proof], results: Results) -> Verdict:
    chosen = [proof for proof in proofs if line.is_proven_by(proof)]
    tests = dict.fromkeys(proof.where for proof in chosen)
    cases = [result for test in tests for result in results.get(test, ())]
    proven = {proof.number for proof in chosen if Result.PASSED in results.get(proof.where, ())}
    return Verdict(
        line=line,
        counts={result: cases.count(result) for result in Result},
        failed=tuple(test for test in tests if Result.FAILED in results.get(test, ())),
        unproven=tuple(number for number in line.numbers if number not in proven),
    )


def read_report(xml: str) -> Results:
    """What pytest wrote down, in the form of `junit_family=xunit1`."""
    results: dict[str, list[Result]] = {}
    for case in ET.fromstring(xml).iter("testcase"):  # noqa: S314 - our own pytest wrote it
        results.setdefault(_test_of(case), []).append(_result_of(case))
    return results


def _test_of(case: ET.Element) -> str:
    file = case.get("file", "")
    classes = case.get("classname", "").removeprefix(file.removesuffix(".py").replace("/", ".")).strip(".")
    name = case.get("name", "").partition("[")[0]
    return "::".join([file, *filter(None, classes.split(".")), name])


def _result_of(case: ET.Element) -> Result:
    if case.find("failure") is not None or case.find("error") is not None:
        return Result.FAILED
    return Result.SKIPPED if case.find("skipped") is not None else Result.PASSED


def run_tests(tests: Sequence[str]) -> Results:
    """How it goes is shown on stderr, so that stdout is for the verdicts alone."""
    with TemporaryDirectory(prefix="catchment-acceptance-") as folder:
        report = Path(folder, "report.xml")
        options = ["-q", "-n", "auto", "-o", "junit_family=xunit1", f"--junitxml={report}"]
        command = [sys.executable, "-m", "pytest", *options, *tests]
        # The races of fifty processes are among them, with fewer rounds.
        environment = {**os.environ, "SLOW": "short"}
        subprocess.run(command, cwd=ROOT, env=environment, stdout=sys.stderr, check=False)  # noqa: S603 - our own words
        return read_report(report.read_text(encoding="utf-8")) if report.exists() else {}


def accept() -> list[Verdict]:
    known = map_coverage(ROOT).proofs
    proofs = [proof for proof in known if any(line.is_proven_by(proof) for line in CHECKLIST)]
    results = run_tests(sorted({proof.where for proof in proofs}))
    return [judge(line, proofs, results) for line in CHECKLIST]


def as_json(verdicts: Sequence[Verdict]) -> str:
    lines = [
        {
            "day": one.line.day,
            "line": one.line.text,
            "gloss": one.line.gloss,
            "requirements": one.line.numbers,
            "holds": one.holds,
            **one.counts,
            "failed_tests": one.failed,
            "unproven": one.unproven,
        }
        for one in verdicts
    ]
    return json.dumps({"passed": all(one.holds for one in verdicts), "lines": lines}, ensure_ascii=False, indent=2)


def print_table(verdicts: Sequence[Verdict]) -> None:
    from rich import box
    from rich.console import Console
    from rich.table import Table

    table = Table("", "Day", "验收清单", "in English", "proven by", "tests", box=box.SIMPLE_HEAD)
    for one in verdicts:
        mark = "[green]✓ pass[/]" if one.holds else "[red]✗ fail[/]"
        passed, skipped = one.counts[Result.PASSED], one.counts[Result.SKIPPED]
        tests = f"{passed} passed" + (f", {skipped} skipped" if skipped else "")
        table.add_row(mark, str(one.line.day), one.line.text, one.line.gloss, " ".join(one.line.numbers), tests)
    console = Console(width=None if sys.stdout.isatty() else 140)
    console.print(table)
    for one in verdicts:
        for test in one.failed:
            console.print(f"{one.line.text}: {test} failed", style="red", markup=False)
        for number in one.unproven:
            console.print(f"{one.line.text}: nothing proved {number}", style="red", markup=False)
    console.print(f"{sum(one.holds for one in verdicts)} of {len(verdicts)} lines hold.")


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description="The crawler's acceptance checklist, line by line.")
    parser.add_argument("--json", action="store_true", help="print JSON on stdout, with every test that failed")
    options = parser.parse_args(arguments)
    verdicts = accept()
    if options.json:
        sys.stdout.write(as_json(verdicts) + "\n")
    else:
        print_table(verdicts)
    return 0 if all(one.holds for one in verdicts) else 1


if __name__ == "__main__":
    sys.exit(main())
