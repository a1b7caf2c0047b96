"""The documents, command by command, against the web of the demo: each page as somebody would paste it into a shell.

A block that cannot be run here has a comment above it that says why: `<!-- not run: needs Docker -->`.
"""

from __future__ import annotations

import os
import pty
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest
from command import Command, environment

ROOT = Path(__file__).parent.parent.parent
PAGES = [
    "README.md",
    "docs/tutorial.md",
    *sorted(str(page.relative_to(ROOT)) for page in (ROOT / "docs" / "guides").glob("*.md")),
    "docs/agents.md",
    "docs/api.md",
    "docs/deploy.md",
    "docs/exchange.md",
    "docs/feeds.md",
    "docs/readers.md",
]
BLOCK = re.compile(
    r"^(?:<!-- not run: (?P<why>[^\n]+?) -->\n)?```(?:sh|console|bash)\n(?P<lines>.*?)^```", re.DOTALL | re.MULTILINE
)
#: What pages call what is on every machine another: a place on the web, a folder, the server.
KEY = "the-key-of-the-documents-and-nothing-else"
SOURCES = "sources:\n  - name: Mine\n    type: rss\n    config:\n      url: {web}/blog/feed.xml\n"
#: As a shell tells which command failed, and with what.
PRELUDE = """set -eE -o pipefail
trap 'echo "FAILED ($?): $BASH_COMMAND" >&2' ERR
curl() { command curl --fail-with-body "$@"; }
"""
#: What somebody did before they came to a page.
FIRST = """catchment import subscriptions.opml
catchment collect
catchment keys create first --role admin
catchment backup mnt/backups/newest.sqlite3
catchment sources set 1 --tag news
"""


def blocks(page: str) -> Iterator[str]:
    """What of a page is run."""
    for found in BLOCK.finditer((ROOT / page).read_text(encoding="utf-8")):
        if not found["why"]:
            yield found["lines"]


def with_blocks() -> list[str]:
    return [page for page in PAGES if any(blocks(page))]


def as_here(script: str, *, web: str, server: str, folder: Path) -> str:
    """With the places that the page names by examples where they are here."""
    there = {
        "https://example.org/blogroll.opml": f"{web}/opml",
        "https://example.org/blog ": f"{web}/blog/ ",
        "https://example.org/blog\n": f"{web}/blog/\n",
        '"https://example.org/blog"': f'"{web}/blog/"',
        'https://example.org/feed"': f'{web}/blog/feed.xml"',
        "https://example.org/hook": f"{web}/inbox",
        "https://example.org --dry-run": f"{web}/blog/ --dry-run",
        "http://127.0.0.1:8767": server,
        "cat_…": KEY,
        ".venv/bin/catchment": "catchment",
        ".venv/bin/python scripts/": f"{sys.executable} {ROOT / 'scripts'}/",
        **{place: f"{folder}{place}" for place in ("/mnt/disk", "/mnt/backups", "/srv/www", "/tmp/trial")},
    }
    for written, here in there.items():
        script = script.replace(written, here)
    return script


@dataclass(frozen=True)
class Web:
    """The web of the demo, and the settings that lead there."""

    address: str
    folder: Path

    @property
    def given(self) -> dict[str, str]:
        services = ("HACKERNEWS", "REDDIT", "GITHUB", "XHS", "WEIBO")
        return {
            "CATCHMENT_ALLOW_NETWORKS": "127.0.0.1,127.77.0.0/16",
            "ADMIN_API_KEY": KEY,
            "KEY": KEY,
            "PATH": f"{self.folder / 'bin'}:{os.environ['PATH']}",
            **{f"{name}_BASE_URL": self.address for name in services},
        }


@contextmanager
def staying(home: Path, *words: str, **given: str) -> Iterator[str]:
    """A command that stays until it is stopped, as far as it says where it is; all that it said until then."""
    command = [sys.executable, "-m", "catchment.cli", *words, "--port", "0"]
    process = subprocess.Popen(command, cwd=home, env=environment(home, **given), stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    said = []
    for line in process.stdout:
        said.append(line)
        if "Catchment is at" in line:
            break
    yield "".join(said)
    process.send_signal(signal.SIGINT)
    process.stdout.read()
    process.stdout.close()
    assert process.wait() == 0


@pytest.fixture(scope="module")
def web(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Web]:
    """With a folder as somebody has it who comes to a page: what it names, and a store with something collected."""
    folder, home = tmp_path_factory.mktemp("documents"), tmp_path_factory.mktemp("demo")
    with staying(home, "demo", "--sites", "6", "--faulty", "0") as said:
        found = re.search(r"The simulated web is at (\S+)/opml:", said)
        assert found is not None, said
        there = Web(found[1], folder)
        (folder / "sources.yaml").write_text(SOURCES.format(web=there.address))
        for place in ("bin", "logs", "mnt/disk", "mnt/backups", "srv/www"):
            (folder / place).mkdir(parents=True)
        (folder / "bin" / "catchment").write_text(f'#!/bin/sh\nexec {sys.executable} -m catchment.cli "$@"\n')
        (folder / "bin" / "catchment").chmod(0o755)
        code, told = run(f"curl -s {there.address}/opml > subscriptions.opml\n{FIRST}", folder, **there.given)
        assert code == 0, told
        yield there


@pytest.mark.docs
@pytest.mark.timeout(600)
@pytest.mark.proves("H-07")
@pytest.mark.parametrize("page", with_blocks())
def test_every_command_of_a_page_does_what_it_says(page: str, web: Web, tmp_path: Path) -> None:
    shutil.copytree(web.folder, tmp_path, dirs_exist_ok=True)
    script = "".join(blocks(page))
    # Only where they are asked for: an audit would rightly find them.
    for name in {"cookie.txt", "newer.txt"} & set(script.split()):
        (tmp_path / name).write_text(f"a1=abc; web_session=040069{name}0123456789; webId=abc")
    with ExitStack() as ends:
        server = ""
        if "curl" in script:
            said = ends.enter_context(staying(tmp_path, "up", "--no-collect", "--no-starter", **web.given))
            server = said.split("Catchment is at ")[1].split()[0]
        code, told = run(as_here(script, web=web.address, server=server, folder=tmp_path), tmp_path, **web.given)
    assert code == 0, told


def run(script: str, folder: Path, **given: str) -> tuple[int, str]:
    """At a terminal, where somebody says yes to whatever is asked."""
    ours, theirs = pty.openpty()
    os.write(ours, b"y\n" * 20)
    ended = subprocess.run(
        ["bash", "-c", PRELUDE + script],
        cwd=folder,
        env=environment(folder, **given),
        stdin=theirs,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    os.close(theirs)
    os.close(ours)
    return ended.returncode, ended.stdout


@pytest.mark.proves("H-07")
def test_most_blocks_of_the_documents_are_run() -> None:
    """Those that are not say why, and they are the fewer."""
    every = [found for page in PAGES for found in BLOCK.finditer((ROOT / page).read_text(encoding="utf-8"))]
    assert sum(found["why"] is None for found in every) > len(every) / 2
    assert all(found["why"] is None or len(found["why"].split()) > 1 for found in every)


@pytest.mark.proves("H-07")
def test_a_search_of_a_platform_is_shown_by_commands_that_ask_nobody(catchment: Command) -> None:
    assert catchment("add", "--type", "xhs_search", "手冲咖啡", "--no-check").exit_code == 0
    assert "手冲咖啡" in catchment("status").output
    assert catchment("sources", "show", "1").exit_code == 0
