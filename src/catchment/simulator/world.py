"""The simulated world: sites whose posts appear, and are sometimes edited, as time goes on.

It is pure: what a site shows follows from the seed and the moment asked about, and from nothing else.
"""

from __future__ import annotations

import math
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from random import Random

from catchment.simulator.formats import (
    WELCOME_SITES,
    Abilities,
    Attachment,
    BlogPost,
    Channel,
    Style,
    chosen_abilities,
    chosen_style,
    identity,
    period_of,
)
from catchment.simulator.words import LANGUAGES, Vocabulary, WorldTime, Writer

#: One post in so many is edited later, and one in so many carries a file.
EDITED = 7
WITH_FILE = 9
#: A post comes out this share of its period after the beat, at most. Beats shifted by up to half a period
#: plus this stay below one period, so that the order of posts never changes.
JITTER = 0.45


@dataclass(frozen=True, slots=True, kw_only=True)
class Edition:
    """What a site shows from one change to the next."""

    posts: tuple[BlogPost, ...]
    changed_at: datetime
    #: Bounds in story time: it is on show from the first and no longer at the second.
    first: float
    until: float


@dataclass(frozen=True, slots=True, kw_only=True)
class SimulatedSite:
    number: int
    seed: int
    title: str
    vocabulary: Vocabulary
    style: Style
    abilities: Abilities
    #: How many posts its feed lists; as many are already there when the world starts.
    window: int
    period: timedelta
    #: Share of a period by which this site's beats are shifted, below a half.
    phase: float
    timeline: WorldTime

    def posts(self, at: datetime) -> tuple[BlogPost, ...]:
        """The posts in its feed at a moment, the newest first."""
        return self.edition(at).posts

    def post(self, number: int, at: datetime) -> BlogPost | None:
        """A post by its number, also when it has left the feed; none before it is published."""
        story = self.timeline.story(at)
        return self._post(number, story) if self._published(number) <= story else None

    def channel(self, home: str) -> Channel:
        return Channel(
            title=self.title,
            home=home,
            feed_url=home + self.style.file_name,
            language=self.vocabulary.code,
        )

    def ids(self, at: datetime, *, home: str) -> set[str]:
        """What identifies the posts in its feed at a moment."""
        return self._identities(self._numbers(self.timeline.story(at)), home)

    def ids_since(self, since: datetime, at: datetime, *, home: str) -> set[str]:
        """What identifies every post that its feed has listed between two moments."""
        first = self._numbers(self.timeline.story(since)).start
        last = self._numbers(self.timeline.story(at)).stop
        return self._identities(range(first, last), home)

    def edition(self, at: datetime) -> Edition:
        story = self.timeline.story(at)
        numbers = self._numbers(story)
        changes = [self._published(number) for number in (*numbers, numbers.stop)]
        changes += [edit for number in numbers if (edit := self._edited(number)) is not None]
        first = max((change for change in changes if change <= story), default=-math.inf)
        return Edition(
            posts=tuple(self._post(number, story) for number in reversed(numbers)),
            changed_at=self.timeline.clock(first if numbers else self._published(0)),
            first=first,
            until=min((change for change in changes if change > story), default=math.inf),
        )

    def _identities(self, numbers: range, home: str) -> set[str]:
        return {identity(self.style.format, self._id(number), home, number) for number in numbers}

    def _numbers(self, story: float) -> range:
        beat = (story - self.timeline.start) / self.period.total_seconds() - self.phase
        latest = math.floor(beat) + self.window
        if self._published(latest) > story:
            latest -= 1
        return range(max(0, latest + 1 - self.window), max(0, latest + 1))

    def _published(self, number: int) -> float:
        beat = number - self.window + self.phase + JITTER * self._chance(number, "publish")
        return self.timeline.start + beat * self.period.total_seconds()

    def _edited(self, number: int) -> float | None:
        chance = self._chance(number, "edit")
        if chance >= 1 / EDITED:
            return None
        return self._published(number) + (0.3 + chance * EDITED * 2) * self.period.total_seconds()

    def _chance(self, number: int, purpose: str) -> float:
        """A number in [0, 1) that is always the same for the same post and purpose."""
        return zlib.crc32(f"{self.seed}/{self.number}/{number}/{purpose}".encode()) / 2**32

    def _id(self, number: int) -> str:
        return f"tag:site-{self.number}.example,2025:{self.seed}-{number}"

    def _post(self, number: int, story: float) -> BlogPost:
        writer = Writer(self.vocabulary, Random(f"{self.seed}/{self.number}/{number}"))
        edited = self._edited(number)
        shown_edit = edited if edited is not None and edited <= story else None
        body = writer.body(f"posts/{number}")
        return BlogPost(
            number=number,
            id=self._id(number),
            title=writer.title(),
            author=writer.author(),
            tags=writer.tags(),
            body=body if shown_edit is None else f"{body}\n{writer.correction()}",
            published=self.timeline.clock(self._published(number)),
            updated=None if shown_edit is None else self.timeline.clock(shown_edit),
            enclosure=self._enclosure(number),
        )

    def _enclosure(self, number: int) -> Attachment | None:
        chance = self._chance(number, "file")
        if chance >= 1 / WITH_FILE:
            return None
        return Attachment(path=f"files/{number}.mp3", media_type="audio/mpeg", length=1 + int(chance * 90_000_000))


class World:
    """Many sites, all following from one seed. What is not given is chosen per site."""

    def __init__(
        self,
        *,
        seed: int,
        sites: int,
        started_at: datetime,
        speed: float = 1.0,
        window: int = 30,
        period: timedelta | None = None,
        styles: Sequence[Style] | None = None,
        abilities: Abilities | None = None,
    ) -> None:
        self.seed = seed
        self.timeline = WorldTime(started_at=started_at, speed=speed)
        self._window = window
        self._period = period
        self._styles = styles
        self._abilities = abilities
        self.sites = tuple(self._site(number) for number in range(sites))

    def _site(self, number: int) -> SimulatedSite:
        random = Random(f"{self.seed}/{number}")
        style = chosen_style(random, self._styles)
        vocabulary = LANGUAGES[random.choice(style.languages)]
        title = f"{random.choice(vocabulary.names)} {number}"
        period = period_of(random)
        if number < len(WELCOME_SITES):
            welcome = WELCOME_SITES[number]
            style = style if welcome.language in style.languages else Style()
            vocabulary, title, period = LANGUAGES[welcome.language], welcome.title, welcome.period
        return SimulatedSite(
            number=number,
            seed=self.seed,
            title=title,
            vocabulary=vocabulary,
            style=style,
            abilities=self._abilities or chosen_abilities(random),
            window=self._window,
            period=self._period or period,
            phase=random.random() / 2,
            timeline=self.timeline,
        )
