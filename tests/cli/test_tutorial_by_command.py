"""The tutorial, command by command, against the web of the demo."""

from __future__ import annotations

import re
import shlex
import signal
from collections.abc import Iterator
from pathlib import Path

import aiohttp
import pytest
from command import Command, Start

ROOT = Path(__file__).parent.parent.parent
FENCE = re.compile(r"^```sh\n(.*?)^```", re.DOTALL | re.MULTILINE)
#: What is installed is this; what stays until it is stopped is the demo, which the rest works on.
DONE_ALREADY = {"pipx install catchment", "catchment demo", "catchment up"}


def commands() -> Iterator[str]:
    for block in FENCE.findall((ROOT / "docs" / "tutorial.md").read_text(encoding="utf-8")):
        yield from block.splitlines()


@pytest.mark.docs
@pytest.mark.proves("H-07")
async def test_every_command_of_the_tutorial_does_what_it_says(start: Start, catchment: Command, home: Path) -> None:
    process = await start("demo", "--port", "0", "--sites", "3", "--faulty", "0")
    web = (await process.says("The simulated web is at")).split()[5].rstrip(":").removesuffix("/opml")
    await process.says("Catchment is at")
    async with aiohttp.ClientSession() as browser, browser.get(f"{web}/opml") as answer:
        (home / "subscriptions.opml").write_bytes(await answer.read())
    there = {"https://example.org/blog": f"{web}/blog/", "https://example.org/hook": f"{web}/inbox"}
    given = {"CATCHMENT_ALLOW_NETWORKS": "127.0.0.1,127.77.0.0/16", "HACKERNEWS_BASE_URL": web}
    said = {}
    for line in commands():
        if line not in DONE_ALREADY:
            words = [there.get(word, word) for word in shlex.split(line)]
            assert words[0] == "catchment", line
            result = await catchment.aside(*words[1:], **given)
            assert result.exit_code == 0, f"{line}: {result.output}"
            said[line] = result.output
    assert len(said) > 12
    assert (home / "public" / "news.rss").is_file()
    assert "SOURCE_BROKEN" in said["catchment docs runbooks/source-broken"]
    process.signal(signal.SIGINT)
    assert await process.ends() == 0


@pytest.mark.proves("H-07")
def test_a_search_of_a_platform_is_shown_by_commands_that_ask_nobody(catchment: Command) -> None:
    assert catchment("add", "--type", "xhs_search", "手冲咖啡", "--no-check").exit_code == 0
    assert "手冲咖啡" in catchment("status").output
    assert catchment("sources", "show", "1").exit_code == 0
