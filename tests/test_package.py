"""The package as people install it: built, checked, and at work in an environment that held nothing before.

`make package` builds what is tried here.
"""

from __future__ import annotations

import asyncio
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tomllib
import zipfile
from asyncio import to_thread
from collections.abc import AsyncIterator, Iterator
from importlib import metadata
from pathlib import Path
from stat import S_IXOTH
from tempfile import TemporaryDirectory
from typing import Any

import aiohttp
import pytest
from packaging.specifiers import SpecifierSet
from packaging.utils import canonicalize_name

import catchment
from catchment.domain.alert_rules import AlertRule
from catchment.settings import Settings
from cli.command import Process, Start, environment
from eventually import eventually
from feed_site import FeedSite

ROOT = Path(__file__).parent.parent
READY = "Catchment is at "
NOWHERE = "postgresql://nobody@127.0.0.1:1/nothing"
#: To fill an environment takes its time, which the first test that needs it pays for.
pytestmark = pytest.mark.timeout(600)


# One version


@pytest.mark.proves("H-08")
def test_the_version_is_written_in_one_place_and_others_follow_it():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    assert project["project"]["dynamic"] == ["version"]
    assert project["tool"]["hatch"]["version"]["path"] == "src/catchment/__init__.py"
    minor = catchment.__version__.rpartition(".")[0]
    assert Settings().user_agent.startswith(f"Catchment/{minor} ")
    newest = re.search(r"^## \[([^\]]+)\]", (ROOT / "CHANGELOG.md").read_text(encoding="utf-8"), re.MULTILINE)
    assert newest is not None
    assert newest[1] == catchment.__version__


@pytest.mark.proves("H-08")
def test_every_extra_that_a_message_names_exists():
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["optional-dependencies"]
    code = "".join(path.read_text(encoding="utf-8") for path in (ROOT / "src").rglob("*.py"))
    named = set(re.findall(r"pip install 'catchment\[(\w+)\]'", code))
    assert {"postgres", "workers", "xhs", "prefect"} <= named <= extras.keys()


# What it is installed on

#: Of Debian 12; others of the same minor version are newer.
PYTHON_OF_DEBIAN = "3.11.2"


@pytest.mark.proves("F-01")
def test_every_pinned_version_can_be_installed_with_the_python_of_debian():
    lines = (ROOT / "constraints.txt").read_text(encoding="utf-8").splitlines()
    pinned = {canonicalize_name(line.partition("==")[0]) for line in lines if "==" in line}
    wanted = {
        name: SpecifierSet(one.metadata["Requires-Python"] or "")
        for one in metadata.distributions()
        if (name := canonicalize_name(one.metadata["Name"])) in pinned
    }
    assert {"aiohttp", "sqlalchemy", "mkdocs-material"} <= wanted.keys()
    assert {name: str(one) for name, one in wanted.items() if not one.contains(PYTHON_OF_DEBIAN)} == {}


# The wheel


@pytest.fixture(scope="module")
def wheel() -> Path:
    built = ROOT / "dist" / f"catchment-{catchment.__version__}-py3-none-any.whl"
    if not built.is_file():
        pytest.skip("`make package` builds the wheel that is tried here")
    return built


def install(python: Path, what: str) -> None:
    words = [python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "-c", ROOT / "constraints.txt"]
    subprocess.run([*map(str, words), what], check=True, timeout=400)


@pytest.fixture(scope="module")
def bare(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the commands are of an environment with the package and without any extra."""
    folder = tmp_path_factory.mktemp("bare")
    subprocess.run([sys.executable, "-m", "venv", str(folder)], check=True)
    install(folder / "bin" / "python", str(wheel))
    return folder / "bin"


@pytest.fixture(scope="module")
def full(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The same with extras."""
    folder = tmp_path_factory.mktemp("full")
    subprocess.run([sys.executable, "-m", "venv", str(folder)], check=True)
    install(folder / "bin" / "python", f"{wheel}[workers,xhs]")
    return folder / "bin"


def run(bin_folder: Path, home: Path, *words: str, **env: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [str(bin_folder / words[0]), *words[1:]],
        cwd=home,
        env=environment(home, **env),
        capture_output=True,
        text=True,
        timeout=100,
        check=False,
    )


def told(bin_folder: Path, home: Path, *words: str, **env: str) -> Any:
    done = run(bin_folder, home, "catchment", *words, "--json", **env)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.fixture
async def start(tmp_path: Path) -> AsyncIterator[Start]:
    processes: list[Process] = []

    async def start_(bin_folder: Path, *words: str, **env: str) -> Process:
        process = await asyncio.create_subprocess_exec(
            str(bin_folder / "catchment"),
            *words,
            cwd=tmp_path,
            env=environment(tmp_path, **env),
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.STDOUT,
        )
        processes.append(Process(process))
        return processes[-1]

    yield start_
    for process in processes:
        await process.kill()


async def ends_well(process: Process) -> None:
    process.signal(signal.SIGTERM)
    assert await process.ends() == 0, "".join(process.said)


@pytest.mark.package
@pytest.mark.proves("H-08")
def test_everything_beside_the_code_is_in_the_wheel(wheel):
    packed = set(zipfile.ZipFile(wheel).namelist())
    source = ROOT / "src"
    written = {str(path.relative_to(source)) for path in (source / "catchment").rglob("*") if path.is_file()}
    assert {name for name in written if "__pycache__" not in name} <= packed
    documents = {f"catchment/{path.relative_to(ROOT)}" for path in (ROOT / "docs").rglob("*.md")}
    assert documents <= packed
    assert {f"catchment/{rule.runbook}" for rule in AlertRule} <= packed


@pytest.mark.package
@pytest.mark.proves("H-08")
def test_what_needs_an_extra_names_it(bare, tmp_path):
    for words, extra in {
        ("catchment", "status"): "postgres",
        ("catchment", "worker"): "workers",
        ("catchment", "demo", "--scenario", "cookies"): "xhs",
        ("python", "-m", "catchment.flows", "sites.yaml"): "prefect",
    }.items():
        refused = run(bare, tmp_path, *words, DATABASE_URL=NOWHERE)
        assert refused.returncode == 2, refused.stderr
        assert f"pip install 'catchment[{extra}]'" in refused.stderr
        assert "Traceback" not in refused.stderr


@pytest.mark.package
@pytest.mark.proves("H-08")
def test_documents_and_workflow_files_come_with_the_wheel(bare, tmp_path):
    assert run(bare, tmp_path, "catchment", "--version").stdout == f"catchment {catchment.__version__}\n"
    for rule in AlertRule:
        assert f"# {rule}" in run(bare, tmp_path, "catchment", "docs", rule.runbook).stdout
    assert "| `CATCHMENT_HOME` |" in run(bare, tmp_path, "catchment", "docs", "reference/settings").stdout
    assert len(told(bare, tmp_path, "crawl", "n8n", "--out", "n8n")) == 3
    assert "data folder" in run(bare, tmp_path, "catchment", "doctor").stdout


@pytest.mark.package
@pytest.mark.proves("H-08")
async def test_up_serves_the_page_and_the_starter_pack(bare, start, tmp_path):
    process = await start(bare, "up", "--port", "0", "--no-collect")
    url = (await process.says(READY)).removeprefix(READY)
    link = (await process.says("Sign in once")).rpartition(" ")[2]
    async with aiohttp.ClientSession(cookie_jar=aiohttp.CookieJar(unsafe=True)) as browser:
        async with browser.get(f"{url}/health") as answer:
            assert (await answer.json())["status"] in {"healthy", "degraded"}
        async with browser.get(link) as page:
            assert page.status == 200
            assert "catchment.css" in await page.text()
        async with browser.get(f"{url}/static/catchment.css") as style:
            assert style.status == 200
    assert len(await to_thread(told, bare, tmp_path, "sources", "list")) > 3
    await ends_well(process)


@pytest.mark.package
@pytest.mark.proves("H-08")
async def test_the_demo_runs(bare, start):
    process = await start(bare, "demo", "--port", "0", "--sites", "3")
    url = (await process.says(READY)).removeprefix(READY)
    async with aiohttp.ClientSession() as browser:

        async def items() -> bool:
            async with browser.get(f"{url}/api/metrics") as answer:
                return bool((await answer.json())["items"])

        await eventually(items)
    await ends_well(process)


@pytest.mark.package
@pytest.mark.proves("H-08")
async def test_the_scenario_of_cookies_runs_with_its_extra(full, start):
    process = await start(full, "demo", "--port", "0", "--sites", "2", "--scenario", "cookies", "--speed", "600")
    await process.says(READY)
    for sentence in ("COOKIE_EXHAUSTED fires", "has a new value now", "That was all."):
        await process.says(sentence)
    await ends_well(process)


@pytest.mark.package
@pytest.mark.proves("H-08")
async def test_a_worker_collects_on_postgresql(full, start, tmp_path, postgres_url):
    where = {"DATABASE_URL": postgres_url}
    async with FeedSite() as site:
        address = site.feed("a", "b")
        await to_thread(told, full, tmp_path, "add", address, **where)
        worker = await start(full, "worker", **where)

        async def items() -> list[Any]:
            return await to_thread(told, full, tmp_path, "items", "list", **where)

        assert len(await eventually(items)) == 2
        await ends_well(worker)


# The image, without Docker


def steps(stage: str, word: str) -> list[str]:
    return re.findall(rf"^{word} (.+)$", stage, re.MULTILINE)


def is_for_everybody(program: Path) -> bool:
    return program.exists() and all(parent.stat().st_mode & S_IXOTH for parent in program.resolve().parents)


@pytest.fixture
def open_folder() -> Iterator[Path]:
    """One that other users may look into, as they may not into those of pytest."""
    with TemporaryDirectory(prefix="catchment-image-") as name:
        Path(name).chmod(0o755)
        yield Path(name)


@pytest.mark.package
@pytest.mark.proves("H-06")
async def test_the_steps_of_the_image_make_something_that_serves_and_is_found_healthy(open_folder):
    whole = (ROOT / "deploy" / "Dockerfile").read_text(encoding="utf-8").replace("\\\n", " ")
    building, running = whole.split("\nFROM ")[1:]
    here, installed, home = open_folder / "build", open_folder / "opt", open_folder / "data"
    here.mkdir()
    home.mkdir()
    for line in steps(building, "COPY"):
        for name in line.split()[:-1]:
            copy = shutil.copytree if (ROOT / name).is_dir() else shutil.copy
            copy(ROOT / name, here / name)
    python = next(filter(is_for_everybody, (Path(sys.executable), Path("/usr/bin/python3"))), Path(sys.executable))
    [command] = steps(building, "RUN")
    command = command.replace("/opt/catchment", str(installed)).replace("python -m venv", f"{python} -m venv")
    await to_thread(subprocess.run, ["sh", "-ec", command], cwd=here, check=True, timeout=500, capture_output=True)
    assert not (installed / "bin" / "pip").exists()
    # As root of this machine it is tried as the image's user, who can write nowhere but into the data.
    user: dict[str, Any] = {}
    if os.geteuid() == 0 and is_for_everybody(python):
        user = {"user": 10001, "group": 10001, "extra_groups": []}
        os.chown(home, 10001, 10001)
    [check] = steps(running, r"HEALTHCHECK .*? CMD")
    words = json.loads(check)
    server = await asyncio.create_subprocess_exec(
        str(installed / "bin" / "catchment"),
        *json.loads(steps(running, "CMD")[0]),
        "--port",
        "0",
        cwd=home,
        env=environment(home, COLLECTOR_TICK="3600", HOME=str(home)),
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
        **user,
    )
    process = Process(server)
    try:
        port = (await process.says(READY)).rpartition(":")[2]
        healthy = run(installed / "bin", home, *words, CATCHMENT_PORT=port)
        assert healthy.returncode == 0, healthy.stderr
        await ends_well(process)
        assert run(installed / "bin", home, *words, CATCHMENT_PORT=port).returncode == 1
    finally:
        await process.kill()
