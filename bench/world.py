"""The simulated web as a child process, for as long as a block lasts."""

from __future__ import annotations

import json
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit
from urllib.request import urlopen

from catchment.simulator.formats import Style
from catchment.simulator.server import NETWORKS, Addresses

#: What the product has to be told to let it fetch from there.
ALLOW_NETWORKS = ",".join(NETWORKS)
STOP_SECONDS = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class RunningWorld:
    addresses: Addresses

    def rss_urls(self, sites: int) -> list[str]:
        """The feeds of a world in which all are RSS 2.0."""
        return [self.addresses.home(site) + Style().file_name for site in range(sites)]

    def statuses(self, urls: Sequence[str]) -> Counter[int]:
        """How many answers of each status there were so far at these addresses."""
        paths = {urlsplit(url).path for url in urls}
        found: Counter[int] = Counter()
        for path, counts in self._ask("/hits.json").items():
            if path in paths:
                found.update({int(status): count for status, count in counts.items()})
        return found

    def _ask(self, path: str) -> dict[str, Any]:
        with urlopen(self.addresses.root + path) as answer:
            found: dict[str, Any] = json.load(answer)
        return found


@contextmanager
def running_world(words: Sequence[str], *, module: str = "bench.serving") -> Iterator[RunningWorld]:
    """Run `python -m module words…`, which prints a line of JSON once it serves."""
    command = [sys.executable, "-m", module, *words]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=Path(__file__).parent.parent) as child:
        try:
            assert child.stdout is not None
            ready = json.loads(child.stdout.readline())
            yield RunningWorld(addresses=Addresses(port=ready["port"], hosts=ready["feeds"]))
        finally:
            child.terminate()
            child.wait(STOP_SECONDS)
