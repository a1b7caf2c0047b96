"""Words on a page that change by themselves: how long ago something was, what time it is, how many looked at it.

Every part of a pattern is bounded, so that no text takes long.
"""

from __future__ import annotations

import re
from typing import Final

_UNITS: Final = (
    r"(?:s|secs?|seconds?|m|mins?|minutes?|h|hrs?|hours?|d|days?|w|weeks?|months?|y|yrs?|years?"
    r"|sekunden?|minuten?|stunden?|tag(?:en)?|wochen?|secondes?|heures?|jours?|segundos?|minutos?|horas?|d[ií]as?)"
)
_CLOCK: Final = r"\d{1,2}[:：]\d{2}(?:[:：]\d{2})?(?:\s?[ap]\.?m\b\.?)?"
_DATE: Final = (
    r"(?:\w{2,12},?\s)?(?:\d{4}[-/.年]\s?\d{1,2}[-/.月]\s?\d{1,2}日?|\d{1,2}[./]\d{1,2}[./]\d{2,4}"
    r"|\d{1,2}\.?\s\w{3,10},?\s\d{4}|\w{3,10}\s\d{1,2},?\s\d{4})"
)
_MOMENT: Final = rf"(?:{_DATE}(?:,?\s?(?:at\s|um\s|T)?{_CLOCK})?|{_CLOCK})"
#: After these words stands when the page was made or looked at.
_MADE: Final = (
    r"(?:\b(?:updated|modified|refreshed|generated|rendered|retrieved|as of|current time|local time|time now|time is"
    r"|now|today is|aktualisiert|stand|mis à jour|actualizado)|更新(?:于|於|时间|時間)?|现在(?:时间)?|当前时间|今天是?)"
)
_COUNT: Final = r"\d[\d.,']{0,15}+\s?[kKmM万千]?\+?"
_LOOKED_AT: Final = (
    r"(?:views?|visitors?|visits|readers|reads|hits|likes|shares|followers|downloads|users online|online now|watching"
    r"|Aufrufe|Besucher|Leser|vues|visitas)\b|次(?:浏览|阅读|访问|播放|观看|下载)|人(?:阅读|浏览|在看|看过|在线)"
)
_COUNTERS: Final = (
    r"(?:\b(?:views|visitors|visits|page ?views|reads|hits|likes|users online|visitor number)"
    r"|阅读[量数]?|浏览(?:量|次数)?|访问(?:量|次数)?|点击[量数]?|播放量?|在线(?:人数)?)"
)
_AGES: Final = (
    rf"\b(?:\d{{1,4}}|an?|one|a few)\s?{_UNITS}\sago\b",
    rf"\b(?:vor|il y a|hace)\s(?:\d{{1,4}}|eine[rm]|une?|una)\s{_UNITS}\b",
    r"\bjust now\b",
    r"\d{1,4}\s?(?:秒钟?|分钟?|小时|小時|時間|天|日|周|週間|个月|ヶ月|年)前",
    r"刚刚|剛剛",
)
_MOMENTS: Final = (
    rf"{_MADE}(?:\s(?:is|on|at|am|um|le))?\s?[:：]?\s?{_MOMENT}",
    r"\b\d{1,2}:\d{2}:\d{2}(?:\.\d{1,9})?(?:\s?[ap]\.?m\b\.?)?",
)
_COUNTS: Final = (rf"(?<!\w){_COUNT}\s?(?:{_LOOKED_AT})", rf"{_COUNTERS}\s?[:：]?\s?{_COUNT}")
_VOLATILE: Final = re.compile("|".join((*_AGES, *_MOMENTS, *_COUNTS)), re.IGNORECASE)
#: Characters in which such words are looked for; what is longer is data rather than something to read.
MAX_SEARCHED = 300_000


def steady(text: str) -> str:
    """The text without such words, on one line."""
    return " ".join((_VOLATILE.sub("", text[:MAX_SEARCHED]) + text[MAX_SEARCHED:]).split())
