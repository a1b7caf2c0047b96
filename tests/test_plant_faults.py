"""The list of faults to plant holds against the code as it is."""

from __future__ import annotations

import importlib.util
import re
import sys
from pathlib import Path

ROOT = Path(__file__).parent.parent


def script():
    spec = importlib.util.spec_from_file_location("plant_faults", ROOT / "scripts" / "plant_faults.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


def test_there_are_thirty_faults_and_each_can_be_planted():
    faults = script().read_faults()
    assert len(faults) >= 30
    assert len({fault.name for fault in faults}) == len(faults)
    for fault in faults:
        assert (ROOT / fault.file).read_text().count(fault.old) == 1, f"{fault.name}: {fault.file}"
        assert fault.new != fault.old
        assert all(is_there(test) for test in fault.tests), fault.name


def is_there(test: str) -> bool:
    file, *names = test.split("::")
    return (ROOT / file).exists() and all(name in (ROOT / file).read_text() for name in names)


def test_the_repair_of_every_number_of_r_is_taken_back_by_a_fault():
    promised = set(re.findall(r"^- (R-\d\d) ", (ROOT / "docs" / "requirements.md").read_text(), re.MULTILINE))
    assert len(promised) == 49
    assert promised <= {fault.proves for fault in script().read_faults()}


def test_a_test_that_could_not_be_begun_has_noticed_nothing(tmp_path, monkeypatch):
    plant = script()
    (tmp_path / "module.py").write_text("limit = 5\n")
    fault = plant.Fault(name="off by one", file="module.py", old="= 5", new="= 6", tests=())
    for line, caught in (("FAILED tests/test_limits.py::test_five", True), ("ERROR tests/test_limits.py", False)):
        monkeypatch.setattr(plant, "run_suite", lambda *_, line=line: (1, line))
        assert plant.try_fault(fault, tmp_path).caught is caught


def test_a_planted_fault_is_gone_afterwards(tmp_path):
    plant = script()
    (tmp_path / "module.py").write_text("limit = 5\n")
    fault = plant.Fault(name="off by one", file="module.py", old="= 5", new="= 6", tests=())
    with plant.planted(fault, tmp_path):
        assert (tmp_path / "module.py").read_text() == "limit = 6\n"
    assert (tmp_path / "module.py").read_text() == "limit = 5\n"
