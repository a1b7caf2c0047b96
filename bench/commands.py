"""How soon a command that only reads is done, against what importing three of its libraries takes.

Each command runs as it is typed, in a process of its own, and so does the import; they take turns: a busy moment
hits all of them. Both processor time and time on the wall count, each in the median of the rounds. Our modules are
compiled before, as they are where the package was installed.
"""

# proves: S-02

from __future__ import annotations

import argparse
import asyncio
import compileall
import json
import os
import subprocess
import sys
import tempfile
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import median
from time import perf_counter

from loguru import logger
from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table

sys.path.insert(0, str(Path(__file__).parent.parent))

import catchment
from bench.bars import Bar, all_met, bars_table
from bench.contenders.product import add_sources
from bench.instant import instant_system, make_due
from catchment.settings import Settings

FEW, MANY = 20, 10_000
GRACE_SECONDS = 10.0
MAX_RATIO = {FEW: 2.5, MANY: 3.5}
IMPORT = ("-c", "import sqlalchemy, typer, rich.table")
CATCHMENT = ("-m", "catchment.cli")
#: Every command that only reads and needs nothing but a store.
COMMANDS = (
    "--version",
    "status",
    "sources list",
    "sources show 7",
    "sources history 7",
    "items list",
    "items search flood",
    "why 7",
    "alerts",
    "jobs list",
    "trail",
    "feeds list",
    "packs list",
    "config list",
    "keys list",
    "users list",
    "hooks list",
    "cookies list",
    "cookies forecast",
    "crawl executions",
    "undo",
    "x status",
    "x follows",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Spent:
    """Seconds that one process took."""

    wall: float
    processor: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Start:
    """A command on a store of so many sources, as multiples of the import in the same rounds."""

    command: str
    sources: int
    wall_ms: float
    processor_ms: float
    wall_ratio: float
    processor_ratio: float


async def fill(settings: Settings, count: int) -> None:
    """Sources that were collected twice, so that there are items, visits and failures."""
    async with instant_system(settings) as system:
        await add_sources(system, [f"https://feed-{number}.example/rss" for number in range(count)])
        async with system.collector.working(grace_seconds=GRACE_SECONDS):
            await system.collector.collect_due()
            await system.store.write(make_due, now=system.clock.now())
            await system.collector.collect_due()
        await system.items.take_in()


def spent_by(words: Sequence[str], environment: Mapping[str, str]) -> Spent:
    """Run Python with these words to its end; a failure is an error."""
    began = perf_counter()
    with subprocess.Popen(
        [sys.executable, *words], env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE
    ) as child:
        assert child.stderr is not None
        said = child.stderr.read()
        _, status, used = os.wait4(child.pid, 0)
        wall = perf_counter() - began
        child.returncode = os.waitstatus_to_exitcode(status)
    if child.returncode:
        raise RuntimeError(f"{' '.join(words)} failed with exit code {child.returncode}: {said.decode()}")
    return Spent(wall=wall, processor=used.ru_utime + used.ru_stime)


def measure(count: int, *, repeat: int, commands: Sequence[str], emit_events: Callable[[str], None]) -> list[Start]:
    with tempfile.TemporaryDirectory(prefix="catchment-bench-") as folder:
        emit_events(f"collecting {count:,} sources")
        settings = Settings(home=Path(folder))
        asyncio.run(fill(settings, count))
        environment = {**os.environ, "CATCHMENT_HOME": folder, "DATABASE_URL": settings.store_url()}
        walls: defaultdict[str, list[float]] = defaultdict(list)
        processors: defaultdict[str, list[float]] = defaultdict(list)
        for number in range(repeat):
            emit_events(f"{count:,} sources: round {number + 1} of {repeat}")
            for command in commands:
                # Each beside an import of its own: the machine is not as fast at every moment.
                for name, words in (("import", IMPORT), (command, (*CATCHMENT, *command.split()))):
                    spent = spent_by(words, environment)
                    walls[name].append(spent.wall)
                    processors[name].append(spent.processor)
    return [
        Start(
            command=command,
            sources=count,
            wall_ms=median(walls[command]) * 1000,
            processor_ms=median(processors[command]) * 1000,
            wall_ratio=median(walls[command]) / median(walls["import"]),
            processor_ratio=median(processors[command]) / median(processors["import"]),
        )
        for command in commands
    ]


def bars(starts: Sequence[Start]) -> list[Bar]:
    """For each store, the slowest command."""
    found = []
    for count in dict.fromkeys(start.sources for start in starts):
        some = [start for start in starts if start.sources == count]
        for what in ("wall", "processor"):
            slowest = max(some, key=lambda start: getattr(start, f"{what}_ratio"))
            name = f"S-02 slowest start with {count:,} sources ({slowest.command}), {what}, against the import"
            ratio = getattr(slowest, f"{what}_ratio")
            found.append(Bar(name=name, measured=ratio, most=MAX_RATIO.get(count, MAX_RATIO[MANY]), unit="×"))
    return found


def starts_table(starts: Sequence[Start]) -> Table:
    counts = list(dict.fromkeys(start.sources for start in starts))
    table = Table(title="Commands against the import: on the wall, and of the processor", box=SIMPLE_HEAD)
    table.add_column("command")
    for count in counts:
        for name in (f"{count:,} sources: ms", "wall", "processor"):
            table.add_column(name, justify="right")
    for command in dict.fromkeys(start.command for start in starts):
        cells = []
        for start in starts:
            if start.command == command:
                cells += [f"{start.wall_ms:,.0f}", f"{start.wall_ratio:.2f}", f"{start.processor_ratio:.2f}"]
        table.add_row(command, *cells)
    return table


def run(words: Sequence[str]) -> list[Bar]:
    given = _arguments(words)
    console = Console(stderr=given.json)
    repeat, counts = (1, (FEW,)) if given.quick else (given.repeat, (FEW, given.many))
    logger.remove()
    compileall.compile_dir(Path(catchment.__file__).parent, quiet=2)
    starts: list[Start] = []
    with console.status("starting") as status:
        for count in counts:
            starts += measure(count, repeat=repeat, commands=given.only or COMMANDS, emit_events=status.update)
    found = bars(starts)
    if given.json:
        listed = [asdict(start) for start in starts]
        print(json.dumps({"commands": listed, "bars": [bar.as_json() for bar in found]}, indent=2))
    else:
        console.print(starts_table(starts), bars_table(found))
    return found


def _arguments(words: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m bench.commands", description=str(__doc__).splitlines()[0])
    parser.add_argument("--many", type=int, default=MANY, help="sources in the large store (%(default)s)")
    parser.add_argument("--repeat", type=int, default=5, help="times over, of which the median counts (%(default)s)")
    parser.add_argument("--only", nargs="+", metavar="COMMAND", help="only these commands, each as one word")
    parser.add_argument("--quick", action="store_true", help="once, on the small store")
    parser.add_argument("--json", action="store_true", help="print JSON instead of tables")
    return parser.parse_args(words)


if __name__ == "__main__":
    sys.exit(0 if all_met(run(sys.argv[1:])) else 1)
