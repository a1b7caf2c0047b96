"""What changed from one text to another, for people to read. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from enum import StrEnum

#: Texts of more pieces are compared by sentences: the time that comparing takes grows with their square.
MAX_PIECES = 2_000
# Scripts without spaces are compared character by character.
_SPACELESS = "\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
_WORD = re.compile(rf"\s+|[{_SPACELESS}]|[^\W{_SPACELESS}]+|[^\w\s]")
_SENTENCE = re.compile(r"[^.!?。！？\n]*(?:[.!?。！？]+\s*|\n+|$)")


class ChangeKind(StrEnum):
    SAME = "same"
    ADDED = "added"
    REMOVED = "removed"


@dataclass(frozen=True, slots=True)
class Difference:
    kind: ChangeKind
    text: str


def differences(before: str, after: str) -> list[Difference]:
    """The later text as stretches that stayed or were added, with those that went in their places."""
    old, new = _pieces(before, after)
    return [part for part in _compare(old, new) if part.text]


def _pieces(before: str, after: str) -> tuple[Sequence[str], Sequence[str]]:
    """Words where that is not too many, else sentences, else all at once."""
    for pattern in (_WORD, _SENTENCE):
        old, new = pattern.findall(before), pattern.findall(after)
        if max(len(old), len(new)) <= MAX_PIECES:
            return old, new
    return [before], [after]


def _compare(old: Sequence[str], new: Sequence[str]) -> Iterator[Difference]:
    for _, old_from, old_to, new_from, new_to in SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        removed, added = "".join(old[old_from:old_to]), "".join(new[new_from:new_to])
        if removed == added:
            yield Difference(ChangeKind.SAME, added)
        else:
            yield Difference(ChangeKind.REMOVED, removed)
            yield Difference(ChangeKind.ADDED, added)
