"""A source type of somebody else: the example of the documents, packed, installed and run as it stands."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path

import pytest

from catchment.errors import SettingsError
from catchment.settings import Settings
from catchment.sources import registry
from catchment.sources.base import Parts
from catchment.sources.registry import Registry, installed_types
from catchment.sources.rss import RssFetcher
from feed_site import FeedSite
from test_docs import FENCE, ROOT, text_of

RELEASES = [{"id": 7, "page": "https://example.org/7", "name": "Seven", "notes": "<b>new</b>"}]


def blocks(language: str) -> list[str]:
    return [block for name, block in FENCE.findall(text_of(ROOT / "docs" / "plugins.md")) if name == language]


def pack(folder: Path, module: str, code: str, entry_point: str) -> Path:
    """A wheel with one module and one entry point."""
    info = f"{module}-1.0.dist-info"
    files = {
        f"{module}.py": code,
        f"{info}/METADATA": f"Metadata-Version: 2.1\nName: {module}\nVersion: 1.0\n",
        f"{info}/WHEEL": "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
        f"{info}/entry_points.txt": f"[catchment.sources]\n{entry_point}\n",
    }
    files[f"{info}/RECORD"] = "".join(f"{name},,\n" for name in [*files, f"{info}/RECORD"])
    wheel = folder / f"{module}-1.0-py3-none-any.whl"
    with zipfile.ZipFile(wheel, "w") as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    return wheel


def install(wheel: Path, target: Path) -> None:
    options = ["--no-index", "--no-deps", "--disable-pip-version-check", "--quiet", "--target", str(target)]
    subprocess.run([sys.executable, "-m", "pip", "install", *options, str(wheel)], check=True, timeout=100)


def run(*command: str, plugins: Path, home: Path) -> str:
    environment = {
        **os.environ,
        "PYTHONPATH": str(plugins),
        "CATCHMENT_HOME": str(home),
        "CATCHMENT_ALLOW_NETWORKS": "127.0.0.1",
    }
    done = subprocess.run(
        [sys.executable, "-m", "catchment.cli", *command],
        env=environment,
        cwd=home,
        capture_output=True,
        text=True,
        timeout=100,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture
def plugins(tmp_path: Path) -> Path:
    """The documents' example, installed."""
    [code], [project] = blocks("python"), blocks("toml")
    [(name, value)] = tomllib.loads(project)["project"]["entry-points"]["catchment.sources"].items()
    wheel = pack(tmp_path, value.partition(":")[0], code, f"{name} = {value}")
    install(wheel, tmp_path / "plugins")
    return tmp_path / "plugins"


@pytest.mark.docs
async def test_the_example_of_the_documents_is_installed_and_collects_without_a_change_of_ours(plugins, tmp_path):
    home = tmp_path / "home"
    home.mkdir()
    async with FeedSite() as site:
        url = site.serve(json.dumps(RELEASES), path="/releases.json")
        await asyncio.to_thread(run, "add", url, "--type", "releases", "--json", plugins=plugins, home=home)
        await asyncio.to_thread(run, "collect", "--json", plugins=plugins, home=home)
    [item] = json.loads(run("items", "list", "--json", plugins=plugins, home=home))
    assert (item["type"], item["title"], item["content"]) == ("releases", "Seven", "<b>new</b>")
    assert [one.name for one in plugins.glob("*.py")] == ["catchment_releases.py"]


def test_a_plug_in_that_cannot_be_loaded_is_complained_about_and_left_out(tmp_path, monkeypatch):
    install(
        pack(tmp_path, "broken_plugin", "raise RuntimeError('no')", "broken = broken_plugin:Nothing"), tmp_path / "p"
    )
    monkeypatch.syspath_prepend(tmp_path / "p")
    monkeypatch.setattr(registry, "plug_ins", registry.plug_ins.__wrapped__)
    complaints: list[str] = []
    assert installed_types(complaints.append) == []
    assert "'broken'" in complaints[0]
    assert "no" in complaints[0]


def test_two_plug_ins_that_claim_one_type_stop_the_start():
    with pytest.raises(SettingsError, match="two fetchers claim"):
        Registry([RssFetcher(), RssFetcher()])
    with pytest.raises(SettingsError, match="two fetchers claim"):
        Registry([RssFetcher()], parts=Parts(settings=Settings()))
