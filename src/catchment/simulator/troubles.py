"""When things go wrong: faults by the clock or by the count, wrapped around any place."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from random import Random

from catchment.simulator.faults import FAULTS, Fault
from catchment.simulator.messages import Answer, IncomingRequest, Place
from catchment.simulator.styles import WELCOME_SITES, Dialect
from catchment.simulator.world import SimulatedSite, World


@dataclass(frozen=True, slots=True, kw_only=True)
class SiteTrouble:
    """A fault and when it strikes. Without bounds: always, from the beginning to the end."""

    fault: Fault
    since: datetime | None = None
    until: datetime | None = None
    #: Strikes at each visit of this number: 3 spoils the third, the sixth, and so on.
    every: int = 1

    def strikes(self, at: datetime, visit: int) -> bool:
        begun = self.since is None or self.since <= at
        over = self.until is not None and self.until <= at
        return begun and not over and visit % self.every == 0


class Troubled:
    """A place with troubles: the first that strikes spoils the visit."""

    def __init__(self, place: Place, troubles: Sequence[SiteTrouble]) -> None:
        self.place = place
        self.troubles = tuple(troubles)
        self.visits = 0
        #: How often each fault has struck, by its name.
        self.struck: Counter[str] = Counter()

    def __call__(self, request: IncomingRequest) -> Answer:
        self.visits += 1
        for trouble in self.troubles:
            if trouble.strikes(request.at, self.visits):
                self.struck[trouble.fault.name] += 1
                return trouble.fault.spoil(request, self.place)
        return self.place(request)


def scattered(world: World, share: float) -> Mapping[int, Sequence[SiteTrouble]]:
    """Troubles for a share of the sites, always the same for the same world. The welcome sites stay well."""
    random = Random(f"{world.seed}/troubles")
    candidates = range(min(len(WELCOME_SITES), len(world.sites)), len(world.sites))
    wanted = min(round(len(world.sites) * share), len(candidates))
    return {number: (_trouble(world.sites[number], random),) for number in random.sample(candidates, wanted)}


def _trouble(site: SimulatedSite, random: Random) -> SiteTrouble:
    is_xml = site.style.format is not Dialect.JSONFEED
    fault = random.choice([fault for fault in FAULTS if is_xml or not fault.needs_xml])
    lasting = random.choice((None, None, timedelta(minutes=random.randint(1, 30))))
    until = None if lasting is None else site.timeline.started_at + lasting
    return SiteTrouble(fault=fault, until=until, every=random.choice((1, 1, 1, 2, 3)))
