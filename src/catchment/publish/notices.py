"""Events as notices for people: a headline, a few plain lines, and how urgent it is. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from catchment.domain.alert import Severity
from catchment.domain.outbox import Topic

#: Of a long list the first ones tell enough.
MOST_LINES = 10


class Tone(StrEnum):
    RED = "red"
    ORANGE = "orange"
    YELLOW = "yellow"
    GREEN = "green"
    BLUE = "blue"


TONES: Mapping[str, Tone] = {
    Severity.P0: Tone.RED,
    Severity.P1: Tone.ORANGE,
    Severity.P2: Tone.YELLOW,
    Severity.P3: Tone.BLUE,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Notice:
    title: str
    lines: tuple[str, ...]
    tone: Tone = Tone.BLUE

    @property
    def text(self) -> str:
        return "\n".join(self.lines)


def notice_of(topic: str, payload: Mapping[str, Any]) -> Notice:
    match topic:
        case Topic.ALERT:
            return _of_alert(payload)
        case Topic.ITEMS_NEW:
            return _of_items(payload)
        case Topic.TWEETS_NEW:
            return Notice(title=_counted(len(payload["tweet_ids"]), "new tweet"), lines=_cut(payload["tweet_ids"]))
        case _:
            return Notice(title="Catchment", lines=(str(payload.get("message", topic)),))


def _of_alert(payload: Mapping[str, Any]) -> Notice:
    """Those that come from a rule say more than the others do."""
    is_over = payload.get("state") == "resolved"
    severity = payload.get("severity", Severity.P1)
    title = f"{severity} {payload['alert']}"
    told = {"About": payload.get("subject"), "Since": payload.get("since"), "Runbook": payload.get("runbook")}
    return Notice(
        title=f"Resolved: {title}" if is_over else title,
        lines=(str(payload["message"]), *(f"{name}: {value}" for name, value in told.items() if value)),
        tone=Tone.GREEN if is_over else TONES[severity],
    )


def _of_items(payload: Mapping[str, Any]) -> Notice:
    items = payload["items"]
    return Notice(
        title=f"{payload['source']['name']}: {_counted(len(items), 'new item')}",
        lines=_cut([f"{item['title']} {item['url']}".strip() for item in items]),
    )


def _counted(count: int, noun: str) -> str:
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"


def _cut(lines: list[str]) -> tuple[str, ...]:
    left = len(lines) - MOST_LINES
    return (*lines[:MOST_LINES], *([f"and {left} more"] if left > 0 else []))
