"""The words from which posts are made: for each language, patterns and what may stand in their gaps; and the writer."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from html import escape
from pathlib import Path
from random import Random
from typing import Any, TypeVar


@dataclass(frozen=True, slots=True, kw_only=True)
class Vocabulary:
    code: str
    right_to_left: bool = False
    #: What stands between two sentences.
    gap: str = " "
    #: How many sentences carry about as many bytes as one English sentence.
    density: float = 1.0
    names: tuple[str, ...]
    authors: tuple[str, ...]
    titles: tuple[str, ...]
    sentences: tuple[str, ...]
    #: Opens the paragraph that an edit adds.
    correction: str
    tags: tuple[str, ...]
    gaps: Mapping[str, tuple[str, ...]]


def _read_languages(path: Path) -> dict[str, Vocabulary]:
    return {code: _vocabulary(code, said) for code, said in json.loads(path.read_text(encoding="utf-8")).items()}


def _vocabulary(code: str, said: Mapping[str, Any]) -> Vocabulary:
    lists = {name: tuple(value) for name, value in said.items() if isinstance(value, list)}
    gaps = {name: tuple(choices) for name, choices in said["gaps"].items()}
    return Vocabulary(code=code, **{**said, **lists, "gaps": gaps})


LANGUAGES: Mapping[str, Vocabulary] = _read_languages(Path(__file__).with_name("words.json"))


@dataclass(frozen=True, slots=True, kw_only=True)
class WorldTime:
    started_at: datetime
    speed: float

    @property
    def start(self) -> float:
        return self.started_at.timestamp()

    def story(self, at: datetime) -> float:
        moment = at.timestamp()
        return moment if moment <= self.start else self.start + (moment - self.start) * self.speed

    def clock(self, moment: float) -> datetime:
        """When the clock shows a moment of the story that has happened."""
        if moment > self.start:
            moment = self.start + (moment - self.start) / self.speed
        return datetime.fromtimestamp(moment, UTC)


PARAGRAPHS = 2
SENTENCES = 5
T = TypeVar("T")
GAP = re.compile(r"\{(\w+)\}")


class Writer:
    """Writes one post; what it writes depends only on the random source it was given."""

    def __init__(self, vocabulary: Vocabulary, random: Random) -> None:
        self._words = vocabulary
        self._random = random

    def title(self) -> str:
        return self._fill(self._pick(self._words.titles))

    def author(self) -> str:
        return self._pick(self._words.authors)

    def tags(self) -> tuple[str, ...]:
        return tuple(self._random.sample(self._words.tags, int(self._random.random() * 4)))

    def body(self, link: str) -> str:
        """HTML with the odd emphasis, list and link, as weblogs have them."""
        patterns = self._random.sample(self._words.sentences, round(SENTENCES * self._words.density))
        paragraphs = [self._paragraph(patterns[turn::PARAGRAPHS]) for turn in range(PARAGRAPHS)]
        ornament = self._pick((self._list, self._aside, self._emphasis))
        return "\n".join([*paragraphs, ornament(link)])

    def correction(self) -> str:
        return self._block(f"<strong>{self._escaped(self._words.correction)}</strong>")

    def _paragraph(self, patterns: list[str]) -> str:
        return self._block(self._words.gap.join(self._escaped(pattern) for pattern in patterns))

    def _list(self, link: str) -> str:
        things = self._random.sample(self._words.gaps["thing"], 3)
        rows = "".join(f'<li><a href="{link}#{row}">{thing}</a></li>' for row, thing in enumerate(things, 1))
        return f"<ul>{rows}</ul>"

    def _aside(self, link: str) -> str:
        return self._block(f'<a href="{link}">{self._escaped(self._pick(self._words.sentences))}</a>')

    def _emphasis(self, _link: str) -> str:
        quoted = self._block(f"<em>{self._escaped(self._pick(self._words.sentences))}</em>")
        return f"<blockquote>{quoted}</blockquote>"

    def _block(self, html: str) -> str:
        return f'<p dir="rtl">{html}</p>' if self._words.right_to_left else f"<p>{html}</p>"

    def _escaped(self, pattern: str) -> str:
        return escape(self._fill(pattern), quote=False)

    def _fill(self, pattern: str) -> str:
        return GAP.sub(self._fitting, pattern)

    def _fitting(self, gap: re.Match[str]) -> str:
        word = self._pick(self._words.gaps[gap[1].lower()])
        return word[0].upper() + word[1:] if gap[1][0].isupper() else word

    def _pick(self, choices: tuple[T, ...]) -> T:
        return choices[int(self._random.random() * len(choices))]
