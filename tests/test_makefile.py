"""Where `make up` keeps its data."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

MAKEFILE = Path(__file__).parent.parent / "Makefile"
SHOW = 'show:\n\t@echo "$$CATCHMENT_HOME"\n'


@pytest.mark.proves("F-01")
@pytest.mark.parametrize(
    ("file", "process", "expected"),
    [
        (None, None, "{here}/data"),
        (None, "/from/the/process", "/from/the/process"),
        ("CATCHMENT_HOME=/from/the/file", None, ""),
        ("export CATCHMENT_HOME = '~/data'", None, ""),
        ("CATCHMENT_HOME=/from/the/file", "/from/the/process", "/from/the/process"),
        ("#CATCHMENT_HOME=/from/the/file\nCATCHMENT_HOME=\n", None, "{here}/data"),
    ],
)
def test_make_names_a_folder_only_where_nobody_else_does(tmp_path, file, process, expected):
    if shutil.which("make") is None:
        pytest.skip("make is not installed")
    if file is not None:
        (tmp_path / ".env").write_text(file)
    environ = {name: value for name, value in os.environ.items() if name not in {"CATCHMENT_HOME", "MAKEFLAGS"}}
    if process is not None:
        environ["CATCHMENT_HOME"] = process
    (tmp_path / "Makefile").write_text(MAKEFILE.read_text() + "\n" + SHOW)
    words = ["make", "--silent", "show"]
    said = subprocess.run(words, cwd=tmp_path, env=environ, capture_output=True, text=True, check=True).stdout
    assert said.strip() == expected.format(here=tmp_path)


@pytest.mark.proves("F-01")
def test_an_environment_that_is_there_keeps_its_python(tmp_path):
    if shutil.which("make") is None:
        pytest.skip("make is not installed")
    shutil.copy(MAKEFILE, tmp_path)
    for name in ("pyproject.toml", "constraints.txt"):
        (tmp_path / name).touch()
    own = tmp_path / ".venv" / "bin" / "python"
    own.parent.mkdir(parents=True)
    own.write_text("#!/bin/sh\n")
    own.chmod(0o755)
    # Any other Python would fail.
    subprocess.run(["make", "setup", "PYTHON=false"], cwd=tmp_path, check=True, capture_output=True)
    assert (tmp_path / ".venv" / ".ready").exists()
