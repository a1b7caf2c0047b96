"""How much of real pages is read: our extraction against plain trafilatura, on the same pages in one run.

Every page names strings that its article holds and strings of what surrounds it. `python -m bench.articles`
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


if __name__ == "__main__":
    main()
