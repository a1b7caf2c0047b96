"""Full-text search, as far as it needs no store: words out of texts, and what somebody asks for. Pure.

Scripts that write no spaces are cut into overlapping pairs of characters, so that a Chinese word of two characters is
found like any other; a longer one is a phrase of its pairs. Every character of a run begins a token, the last one a
token of its own, so that `A股` is found in `买A股` and in `A股市场` alike.
"""

from __future__ import annotations

import html
import re
import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate

from catchment.errors import InvalidInput

#: PostgreSQL numbers the places of a text no further; what is beyond is not found on either store.
MAX_TOKENS = 16_000
#: Of a token, and of all tokens of a text: PostgreSQL has room for a megabyte of them.
MAX_TOKEN, MAX_CHARS = 64, 200_000
MAX_QUERY, MAX_TERMS, MIN_PREFIX = 500, 20, 3

# Han, kana, hangul, and what else writes no spaces between words: Thai, Lao, Burmese, Khmer.
_PAIRED = (
    "\u0e00-\u0eff\u1000-\u109f\u1100-\u11ff\u1780-\u17ff\u3005-\u3007\u3040-\u30ff\u3130-\u318f\u31f0-\u31ff"
    "\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\uf900-\ufaff\U00020000-\U0003ffff"
)
# Signs that belong to the letter before them, in Hebrew, Arabic and the scripts of India; `\w` does not count them.
_MARKS = "\u0591-\u05c7\u0610-\u061a\u064b-\u065f\u0900-\u0963\u0980-\u0dff"
_RUN = re.compile(rf"([{_PAIRED}]+)|(?:[^\W_{_PAIRED}]|[{_MARKS}])+")
_ACCENTS = re.compile("[\u0300-\u036f]")
_INLINE_TAG = re.compile(
    r"</?(?:a|abbr|b|bdi|bdo|cite|code|del|dfn|em|font|i|ins|kbd|mark|s|samp|small|span|strike|strong|sub|sup|u|var|wbr)"
    r"(?:\s[^<>]*)?/?>",
    re.IGNORECASE,
)
_TAG = re.compile(r"</?[a-zA-Z!][^<>]*>")
#: In no token.
_GAP = "\0"
_PART = re.compile(r'(-?)"([^"]*)"?|(\S+)')


@dataclass(frozen=True, slots=True, kw_only=True)
class Term:
    """Tokens that stand side by side; with `is_prefix` the last is the beginning of one."""

    tokens: tuple[str, ...]
    is_prefix: bool = False

    def parts(self) -> tuple[Term, ...]:
        """Each token for itself."""
        *others, last = self.tokens
        return (*(Term(tokens=(token,)) for token in others), Term(tokens=(last,), is_prefix=self.is_prefix))

    def is_beginning(self) -> bool:
        """Of a word that is written with spaces; a single character of a pair begins far fewer."""
        return self.is_prefix and len(self.tokens[-1]) >= MIN_PREFIX

    def stands_in(self, text: str) -> bool:
        """In tokens with gaps between and around them."""
        return f"{_GAP}{_GAP.join(self.tokens)}{'' if self.is_prefix else _GAP}" in text


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchQuery:
    """All of the terms are in the text, and none of `without`."""

    terms: tuple[Term, ...]
    without: tuple[Term, ...] = ()

    def finds(self, tokens: Sequence[str]) -> bool:
        """Whether a text of these tokens is one of the finds, as either store would say."""
        text = f"{_GAP}{_GAP.join(tokens)}{_GAP}"
        return all(term.stands_in(text) for term in self.terms) and not any(
            term.stands_in(text) for term in self.without
        )

    def rough(self) -> SearchQuery:
        """What an index answers without a look at where words stand: each token for itself. It finds what this finds.

        Very many words begin alike, so a beginning is left out, unless there is nothing else; then the longest stays.
        """
        parts = dict.fromkeys(part for term in self.terms for part in term.parts())
        narrow = [part for part in parts if not part.is_beginning()]
        return SearchQuery(
            terms=tuple(narrow or [max(parts, key=lambda part: len(part.tokens[0]))]),
            without=tuple(term for term in self.without if term.parts() == (term,) and not term.is_prefix),
        )


def tokens_of(text: str) -> list[str]:
    return [token for run, is_paired in _runs(text) for token in _tokens(run, is_paired=is_paired)]


def item_tokens(*, title: str, author: str, content: str, mark: str) -> list[str]:
    """What an item is found by. The mark stands between its parts: no phrase reaches from one into the next."""
    found = [*tokens_of(title), mark, *tokens_of(author), mark, *tokens_of(text_of_html(content))][:MAX_TOKENS]
    reached = accumulate(map(len, found))
    return [token for token, chars in zip(found, reached, strict=True) if chars <= MAX_CHARS]


def text_of_html(content: str) -> str:
    """Without its tags; those within a sentence leave no gap behind."""
    if "<" not in content and "&" not in content:
        return content
    return html.unescape(_TAG.sub(" ", _INLINE_TAG.sub("", content)))


def read_query(text: str) -> SearchQuery:
    """`words` that all occur, `"a phrase"`, `-without`, `begin*`; InvalidInput if that asks for nothing or too much."""
    if len(text) > MAX_QUERY:
        raise _wrong(f"A search has at most {MAX_QUERY} characters.")
    terms: list[Term] = []
    without: list[Term] = []
    for minus, phrase, word in _PART.findall(text):
        is_without = bool(minus) or (word.startswith("-") and len(word) > 1)
        term = _term(phrase or word.lstrip("-"), is_prefix=word.endswith("*"))
        if term is not None:
            (without if is_without else terms).append(term)
    if not terms:
        raise _wrong(
            "Name a word to look for as well: only what is to be left out would list almost everything."
            if without
            else "There is no word in this search: write letters or digits to look for."
        )
    if len(terms) + len(without) > MAX_TERMS:
        raise _wrong(f"A search has at most {MAX_TERMS} words and phrases.")
    return SearchQuery(terms=tuple(dict.fromkeys(terms)), without=tuple(dict.fromkeys(without)))


def _term(text: str, *, is_prefix: bool) -> Term | None:
    runs = list(_runs(text))
    if not runs:
        return None
    last, is_paired = runs[-1]
    tokens = [token for run, paired in runs for token in _tokens(run, is_paired=paired)]
    if is_paired:
        # The text may go on after it, so the last character need not be the end of a run.
        is_prefix = len(last) == 1
        tokens = tokens if is_prefix else tokens[:-1]
        if is_prefix and len(tokens) == 1:
            raise _wrong(f"One character alone ({last}) stands almost everywhere: look for a word of two or more.")
    elif is_prefix and len(last) < MIN_PREFIX:
        raise _wrong(f"{text[:MAX_TOKEN]} begins too many words: write {MIN_PREFIX} letters or more before the *.")
    return Term(tokens=tuple(tokens), is_prefix=is_prefix)


def _runs(text: str) -> Iterator[tuple[str, bool]]:
    """Words, and runs of a script without spaces, told apart by the second value."""
    for found in _RUN.finditer(_folded(text)):
        yield found[0], found[1] is not None


def _tokens(run: str, *, is_paired: bool) -> Sequence[str]:
    return [run[at : at + 2] for at in range(len(run))] if is_paired else [run[:MAX_TOKEN]]


def _folded(text: str) -> str:
    """One spelling for what a reader takes for the same: case, width and accents do not count."""
    if text.isascii():
        return text.lower()
    bare = _ACCENTS.sub("", unicodedata.normalize("NFKD", text))
    return unicodedata.normalize("NFKC", bare).casefold()


def _wrong(message: str) -> InvalidInput:
    return InvalidInput(message, field="q")
