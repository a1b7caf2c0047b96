"""The words of the pages, in English and Chinese.

Every file of `words/` is a catalogue of one part of the pages: `key = ["English", "中文"]`, and a template says
`t("sources.paste")` for the key `paste` of `sources.toml`. A new page brings a new file, which is found by itself.
`errors.toml` is another kind: whole sentences of errors and reasons as the rest of the product writes them, with what
varies in braces, and how they are said in Chinese; `say(sentence)` finds the one that fits. Alerts bring their own.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Annotated, Any

from fastapi import Depends, Query, Request

from catchment.domain.alert_rules import AlertMessage, AlertRule
from catchment.domain.note import Platform
from catchment.monitor.status import Language, as_counted

LANGUAGE_COOKIE = "catchment_language"
_FOLDER = Path(__file__).parent / "words"
#: Sentences are no catalogue of keys.
_SENTENCES = "errors"
#: A longer text is none of our sentences, and trying it on would take long.
MAX_SENTENCE = 1000
_PLACE = {Language.ENGLISH: 0, Language.CHINESE: 1}
_PROMISE = re.compile(r"[;:] (?:it is )?tried again later|，稍后重试")
#: In the sentences of cookies and their alerts; in a list of all that may be written, they stay as they are written.
_PLATFORM = re.compile(rf"\b(cookies? of|cookie\(s\) of|pool of|requests to|is one of) ({'|'.join(Platform)})\b(?!,)")
_BETWEEN_CHARACTERS = re.compile(r"(?<=[\u4e00-\u9fff]) (?=[\u4e00-\u9fff])")
_VARIES = re.compile(r"\{(\w+)\}")


@dataclass(frozen=True, slots=True)
class Words:
    """The words of one language, by key; calling it fills in what varies."""

    language: Language

    def __call__(self, key: str, /, **values: Any) -> str:
        words = catalogue()[key][_PLACE[self.language]]
        return as_counted(words.format(**values)) if values else words

    def known(self, key: str, otherwise: str) -> str:
        return self(key) if key in catalogue() else otherwise

    def say(self, sentence: str) -> str:
        """An error, a reason or an alert, which the product writes in English, in this language where it is known."""
        named = _PLATFORM.sub(lambda found: f"{found[1]} {self(f'platforms.on_{found[2]}')}", sentence)
        if self.language is Language.ENGLISH:
            return as_counted(named)
        said = in_chinese(named)
        # Our Chinese has a space around what may be in Latin letters, and none among characters.
        return said if named == sentence else _BETWEEN_CHARACTERS.sub("", said)

    def say_past(self, sentence: str) -> str:
        """The same of what is over: that it is tried again was true when it was said."""
        return _PROMISE.sub("", self.say(sentence))

    def joined(self, sentences: Iterable[str]) -> str:
        return ("" if self.language is Language.CHINESE else " ").join(sentences)

    def listed(self, words: Iterable[str]) -> str:
        return ("、" if self.language is Language.CHINESE else ", ").join(words)

    def kind(self, source_type: str) -> str:
        """What a type of sources is called; a plug-in's has its own name only."""
        return self.known(f"types.{source_type}", source_type)


@cache
def catalogue() -> Mapping[str, tuple[str, str]]:
    words = {
        f"{path.stem}.{key}": (pair[0], pair[1])
        for path in sorted(_FOLDER.glob("*.toml"))
        if path.stem != _SENTENCES
        for key, pair in tomllib.loads(path.read_text("utf-8")).items()
    }
    return words | {f"alerts.{rule}": (rule.english, rule.chinese) for rule in AlertRule}


@dataclass(frozen=True, slots=True)
class _Sentence:
    #: The longest stretch that does not vary: most sentences are told apart by it alone, which is quick.
    core: str
    pattern: re.Pattern[str]
    chinese: str


@cache
def _sentences() -> tuple[_Sentence, ...]:
    """Longer ones first: a short one may fit what a longer one says better."""
    pairs: list[Sequence[str]] = tomllib.loads((_FOLDER / f"{_SENTENCES}.toml").read_text("utf-8"))["sentences"]
    pairs += [(message.english, message.chinese) for message in AlertMessage if message is not AlertMessage.SAID]
    ordered = sorted(pairs, key=lambda pair: len(_VARIES.sub("", pair[0])), reverse=True)
    return tuple(_Sentence(_core(english), _pattern(english), chinese) for english, chinese in ordered)


def _core(english: str) -> str:
    # The full stop at its end may be missing.
    return max(_VARIES.split(english.rstrip("."))[::2], key=len)


def _pattern(english: str) -> re.Pattern[str]:
    parts = _VARIES.split(english)
    # Every second part is the name of what varies.
    source = "".join(re.escape(part) if number % 2 == 0 else f"(?P<{part}>.+?)" for number, part in enumerate(parts))
    return re.compile(source + r"\.?", re.DOTALL)


def in_chinese(sentence: str) -> str:
    if len(sentence) > MAX_SENTENCE:
        return sentence
    for known in _sentences():
        if known.core in sentence and (found := known.pattern.fullmatch(sentence)):
            # What varies may be a sentence itself, such as the error in an alert.
            return known.chinese.format(**{name: in_chinese(text) for name, text in found.groupdict().items()})
    return sentence


@cache
def words_in(language: Language) -> Words:
    return Words(language)


async def language_of(
    request: Request, lang: Annotated[str, Query(description="en or zh; else Accept-Language tells.")] = ""
) -> Language:
    chosen = lang or request.cookies.get(LANGUAGE_COOKIE, "")
    return choose_language(chosen, request.headers.get("accept-language", ""))


TheLanguage = Annotated[Language, Depends(language_of)]


async def administrations_language_of(request: Request) -> Language:
    """The administration speaks Chinese unless English is asked for."""
    return choose_language("", request.headers.get("accept-language", ""), otherwise=Language.CHINESE)


AdministrationsLanguage = Annotated[Language, Depends(administrations_language_of)]


def choose_language(asked_for: str, accept: str, *, otherwise: Language = Language.ENGLISH) -> Language:
    """What was asked for wins; then the first language of the Accept-Language header that we speak."""
    asked = [asked_for, *_accepted(accept)]
    spoken = [language for tag in asked for language in Language if tag.lower().startswith(language)]
    return spoken[0] if spoken else otherwise


def _accepted(header: str) -> list[str]:
    """The tags of an Accept-Language header, most wanted first."""
    weighted = []
    for place, part in enumerate(header.split(",")):
        tag, _, parameters = part.strip().partition(";")
        weighted.append((-_weight(parameters), place, tag.strip()))
    return [tag for weight, _, tag in sorted(weighted) if weight < 0]


def _weight(parameters: str) -> float:
    name, _, value = parameters.strip().partition("=")
    if name.strip() != "q":
        return 1.0
    try:
        return float(value)
    except ValueError:
        return 0.0
