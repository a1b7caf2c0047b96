"""How sites differ: the format and encoding of the feed, what the server can do, how often it posts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from enum import StrEnum
from random import Random


@dataclass(frozen=True, slots=True, kw_only=True)
class WelcomeSite:
    title: str
    language: str
    period: timedelta


def _site(title: str, language: str, minutes: int) -> WelcomeSite:
    return WelcomeSite(title=title, language=language, period=timedelta(minutes=minutes))


WELCOME_SITES = (
    _site("Harbour Light", "en", 12),
    _site("河畔笔记", "zh", 15),
    _site("The Slow Bicycle", "en", 25),
    _site("Hinterhof & Himmel", "de", 40),
    _site("夜航船日志", "zh", 30),
    _site("Sourdough Weather", "en", 18),
    _site("Carnet de la jetée", "fr", 50),
    _site("دفتر الفنار", "ar", 35),
    _site("桟橋だより", "ja", 45),
    _site("Maps for Rainy Days", "en", 20),
    _site("一盏茶的地图", "zh", 60),
    _site("Meadow Radio 📻", "en", 28),
)


class Dialect(StrEnum):
    RSS20 = "rss20"
    RSS091 = "rss091"
    RSS10 = "rss10"
    ATOM10 = "atom10"
    ATOM03 = "atom03"
    JSONFEED = "jsonfeed"


@dataclass(frozen=True, slots=True, kw_only=True)
class Style:
    format: Dialect = Dialect.RSS20
    encoding: str = "utf-8"
    #: The languages that this encoding can carry.
    languages: tuple[str, ...] = ("en", "en", "en", "zh", "zh", "de", "fr", "ar", "ja")

    @property
    def file_name(self) -> str:
        return "feed.json" if self.format is Dialect.JSONFEED else "feed.xml"


@dataclass(frozen=True, slots=True, kw_only=True)
class Abilities:
    """What a site's server can do. With neither validator, only the same bytes say that nothing changed."""

    etag: bool = False
    last_modified: bool = False
    max_age_seconds: int | None = None
    gzip: bool = False


WESTERN = ("de", "fr", "en")
#: Each with its weight: how common it is in a mixed world.
STYLES: tuple[tuple[Style, int], ...] = (
    (Style(), 45),
    (Style(format=Dialect.ATOM10), 25),
    (Style(format=Dialect.JSONFEED), 8),
    (Style(format=Dialect.RSS10), 6),
    (Style(format=Dialect.ATOM03), 3),
    (Style(format=Dialect.RSS091, encoding="iso-8859-1", languages=WESTERN), 3),
    (Style(encoding="iso-8859-1", languages=WESTERN), 3),
    (Style(encoding="gb18030", languages=("zh",)), 4),
    (Style(format=Dialect.ATOM10, encoding="gb18030", languages=("zh",)), 1),
    (Style(encoding="utf-16"), 2),
)
ABILITIES: tuple[tuple[Abilities, int], ...] = (
    (Abilities(etag=True, last_modified=True, gzip=True), 35),
    (Abilities(etag=True), 15),
    (Abilities(last_modified=True), 15),
    (Abilities(etag=True, max_age_seconds=300, gzip=True), 10),
    (Abilities(), 15),
    (Abilities(gzip=True), 10),
)
PERIODS_MINUTES = (20, 60, 60, 180, 180, 480, 1440, 10080)


def chosen_style(random: Random, styles: Sequence[Style] | None) -> Style:
    if styles is not None:
        return random.choice(styles)
    return random.choices([style for style, _ in STYLES], [weight for _, weight in STYLES])[0]


def chosen_abilities(random: Random) -> Abilities:
    return random.choices([abilities for abilities, _ in ABILITIES], [weight for _, weight in ABILITIES])[0]


def period_of(random: Random) -> timedelta:
    return timedelta(minutes=random.choice(PERIODS_MINUTES))
