"""Notes and what a search shows of them, for tests that need some."""

from __future__ import annotations

from datetime import timedelta

from catchment.clock import ManualClock
from catchment.domain.candidate import Listed
from catchment.domain.note import Author, Counts, Crawled, Note, NoteCard, NoteRef, NoteType, Platform
from catchment.domain.source import NewSource, Source
from catchment.sources.platforms.search import listed_of
from catchment.store import sources
from catchment.store.database import Store

LOCK_TIMEOUT = timedelta(minutes=30)


def ref(number: int, platform: Platform = Platform.XHS) -> NoteRef:
    return NoteRef(platform=platform, note_id=f"{number:024x}", token=f"token-{number}", token_source="pc_search")


def address(number: int) -> str:
    return f"https://www.xiaohongshu.com/explore/{number:024x}?xsec_token=token-{number}&xsec_source=pc_search"


def card(number: int, platform: Platform = Platform.XHS) -> NoteCard:
    return NoteCard(
        ref=ref(number, platform),
        url=address(number),
        title=f"Note {number}",
        type=NoteType.NORMAL,
        author=Author(id="a", name="b"),
        counts=Counts(likes=number),
    )


def listed(*numbers: int, keyword: str = "coffee") -> list[Listed]:
    return [listed_of(card(number), keyword=keyword, exec_meta={"request_id": "r"}) for number in numbers]


def note(number: int, platform: Platform = Platform.XHS) -> Note:
    return Note(
        ref=ref(number, platform),
        url=address(number),
        title=f"Note {number}",
        content="Bloom for thirty seconds.\nThen pour.",
        type=NoteType.NORMAL,
        author=Author(id="a", name="b"),
        published_at=None,
        updated_at=None,
        counts=Counts(likes=number, collects=1, comments=2, shares=3),
        images=("https://img.example/1.jpg",),
        tags=("coffee",),
    )


def crawled(number: int, platform: Platform = Platform.XHS) -> Crawled:
    return Crawled(note=note(number, platform), how={"request_id": "wf-1-x-detail"})


async def add_keyword(store: Store, clock: ManualClock, keyword: str, *, type_: str = "xhs_search") -> Source:
    new = NewSource(name=keyword, type=type_, config={"keyword": keyword}, identity=keyword)
    return await store.write(sources.add, new, now=clock.now())
