"""The first sites of every world: hand-picked, so that a new dashboard looks alive."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta


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
