"""How much of real pages is read: our extraction against plain trafilatura, on the same pages in one run.

Every page names strings that its article holds and strings of what surrounds it; others name the facts of their page:
title, author, language. `python -m bench.articles`
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from time import process_time

from catchment.parse.article import extract

CAPTURES = Path(os.environ.get("CATCHMENT_REAL_DATA", Path(__file__).parents[2] / "shared/data/real")) / "articles"

Reader = Callable[[bytes, str], str]
FactReader = Callable[[bytes, str], object]


@dataclass(frozen=True, slots=True, kw_only=True)
class Page:
    url: str
    body: bytes
    within: tuple[str, ...]
    around: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Score:
    #: Strings of articles that were found, and strings of their surroundings that were left out.
    found: int
    left_out: int
    milliseconds_a_page: float


def load(folder: Path) -> list[Page]:
    known = json.loads((folder / "trafilatura/evaldata_subset.json").read_text())
    return [
        Page(
            url=url,
            body=(folder / "trafilatura" / said["file"]).read_bytes(),
            within=tuple(said["with"]),
            around=tuple(said["without"]),
        )
        for url, said in known.items()
    ]


def ours(body: bytes, url: str) -> str:
    return extract(body, url).text


def plain(body: bytes, url: str) -> str:
    import trafilatura

    return trafilatura.extract(body, url=url) or ""


def score(reader: Reader, pages: list[Page]) -> Score:
    both = [(page, reader(page.body, page.url)) for page in pages]
    # Once more for the time, now that everything is loaded which is loaded but once.
    started = process_time()
    for page in pages:
        reader(page.body, page.url)
    spent = process_time() - started
    return Score(
        found=sum(string in text for page, text in both for string in page.within),
        left_out=sum(string not in text for page, text in both for string in page.around),
        milliseconds_a_page=spent / len(pages) * 1000,
    )


FACTS = {"title": "title", "byline": "author", "lang": "language"}
#: Where the captures that name their facts were taken.
FACTS_URL = "http://fakehost/test/page.html"


def score_facts(folder: Path, reader: FactReader) -> dict[str, tuple[int, int]]:
    """Of each fact, how many are as they were named, and how many were."""
    scores = dict.fromkeys(FACTS.values(), (0, 0))
    for page in sorted((folder / "readability").iterdir()):
        expected = json.loads((page / "expected-metadata.json").read_text())
        found = reader((page / "source.html").read_bytes(), FACTS_URL)
        for key, name in FACTS.items():
            if expected.get(key):
                right, named = scores[name]
                is_right = _words(getattr(found, name, "")) == _words(expected[key])
                scores[name] = right + is_right, named + 1
    return scores


def _words(text: str | None) -> list[str]:
    return (text or "").split()


def plain_facts(body: bytes, url: str) -> object:
    import trafilatura

    return trafilatura.extract_metadata(body, default_url=url)


def main() -> None:
    pages = load(CAPTURES)
    within, around = (sum(map(len, strings)) for strings in zip(*((p.within, p.around) for p in pages), strict=True))
    print(f"{len(pages)} pages with {within} strings of articles and {around} of their surroundings")
    for name, reader in {"ours": ours, "plain trafilatura": plain}.items():
        got = score(reader, pages)
        print(
            f"{name:18} found {got.found}/{within}  left out {got.left_out}/{around}  "
            f"{got.milliseconds_a_page:.1f} ms of processor a page"
        )
    fact_readers: dict[str, FactReader] = {"ours": extract, "plain trafilatura": plain_facts}
    for name, read_facts in fact_readers.items():
        facts = score_facts(CAPTURES, read_facts)
        print(f"{name:18} " + "  ".join(f"{fact} {right}/{named}" for fact, (right, named) in facts.items()))


if __name__ == "__main__":
    main()
