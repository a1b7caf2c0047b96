"""What follows from a visit: which items are new, and what becomes of the source. Pure."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from operator import attrgetter

from catchment.domain.host import shows_the_way
from catchment.domain.item import Item, Said, fingerprint, former_fingerprint, former_key, known_by_page, page_of
from catchment.domain.rhythm import Rhythm, end_gap, learn, mark_gap
from catchment.domain.source import (
    ADDRESS_KEY,
    FAILURES_UNTIL_PAUSE,
    RESTING,
    LastError,
    Moved,
    NextCheck,
    PausedBy,
    Source,
    Why,
)
from catchment.domain.visit import (
    Collected,
    Ending,
    Failed,
    Fetched,
    Postponed,
    Skipped,
    SourceState,
    VisitOutcome,
    network_is_down,
)
from catchment.schedule.due import (
    Cadence,
    after_excuse,
    after_failure,
    after_pause_by_error,
    after_success,
    without_fetcher,
)

#: Errors are for people to read; a page of HTML is not.
MAX_MESSAGE = 500
#: The network may be gone that was there before.
OF_LATE = timedelta(minutes=5)
#: The words of an item's title, address and content.
_Face = tuple[str, str, str]
# What stands where bytes could not be read.
_LOST = "\ufffd"
_NEVER = NextCheck(at=None, why=None)
# Tags, references, what stands for brackets in a URL, and whatever is no letter or digit.
_NO_WORDS = re.compile(
    r"</?[a-zA-Z][^<>]*+>|&(?:amp;|(?!amp;))\#?\w{1,40}+;|%3[CE]|%22|[^\w<&%]++|[_<&%]", re.IGNORECASE
)


@dataclass(frozen=True, slots=True, kw_only=True)
class ItemChanges:
    """What a visit brought that was not known, or is no longer as it was known."""

    new: tuple[Item, ...] = ()
    changed: tuple[Item, ...] = ()
    #: How many of its items were known before, changed or not.
    known: int = 0


NO_NEWS = ItemChanges()


def each_once(items: Sequence[Item]) -> list[Item]:
    """Of two items with one key the first stands, as feeds list the newest first.

    What has pages and titles of its own is not one item, whatever its id says: that counts for nothing then.
    """
    firsts = _by_key(items)
    shared = {item.key for item in items if _is_another(item, firsts[item.key])}
    if shared:
        firsts = _by_key(known_by_page(item) if item.key in shared and item.url else item for item in items)
    return list(firsts.values())


def _by_key(items: Iterable[Item]) -> dict[str, Item]:
    firsts: dict[str, Item] = {}
    for item in items:
        firsts.setdefault(item.key, item)
    return firsts


def _is_another(item: Item, other: Item) -> bool:
    return item is not other and item.title != other.title and page_of(item.url) != page_of(other.url)


def oldest_first(items: Sequence[Item]) -> Sequence[Item]:
    """As they are numbered: of what came together the newest counts as the last. Feeds list it first, unless their
    dates say otherwise.
    """
    upwards = items[::-1]
    return sorted(upwards, key=attrgetter("published_at")) if all(item.published_at for item in items) else upwards


def sort_items(items: Iterable[Item], remembered: Mapping[str, bytes]) -> ItemChanges:
    """Tell new items from changed ones by the fingerprints of what is known; what is the same is neither."""
    if not remembered:
        return ItemChanges(new=tuple(items))
    new, changed, known = [], [], 0
    for item in items:
        key = item.key if item.key in remembered else former_key(item)
        if key not in remembered:
            new.append(item)
            continue
        known += 1
        if remembered[key] != item.fingerprint and remembered[key] != former_fingerprint(item):
            changed.append(item._replace(key=key))
    return ItemChanges(new=tuple(new), changed=tuple(changed), known=known)


def without_renamed(news: ItemChanges, stored: Collection[Said]) -> ItemChanges:
    """What of the news counts where nothing was known by its id: some feeds make up new ids at every visit. What says
    the same on the same page, and of the same moment if it tells of one, is the same item.
    """
    new = tuple(item for item in news.new if (item.fingerprint, page_of(item.url), item.published_at) not in stored)
    return replace(news, new=new, known=news.known + len(news.new) - len(new))


def without_harm(news: ItemChanges, stored: Iterable[Item]) -> ItemChanges:
    """What of the news counts when the document was damaged; `stored` is what it may be about.

    A text is not replaced by its own beginning, nor by its own words, and an item that lost its id, or everything, is
    not a new one.
    In a document that is whole both are edits.
    """
    by_key = {item.key: item for item in stored}
    changed = (_healed(item, by_key[item.key]) for item in news.changed if item.key in by_key)
    known = [_face(item) for item in by_key.values()]
    faces = [(item, _face(item)) for item in news.new]
    new = (item for item, face in faces if any(face) and not any(_is_the_same(face, other) for other in known))
    return replace(news, new=tuple(new), changed=tuple(item for item in changed if item is not None))


def _healed(item: Item, before: Item) -> Item | None:
    """The item with what is stored of it where that is no less; None where nothing else is left."""
    kept = {
        name: getattr(before, name) if _is_less(getattr(item, name), getattr(before, name)) else getattr(item, name)
        for name in ("title", "url", "author", "content")
    }
    if all(value == getattr(before, name) for name, value in kept.items()):
        return None
    published = item.published_at or before.published_at
    return item._replace(**kept, published_at=published, fingerprint=fingerprint(**kept))


def _face(item: Item) -> _Face:
    return _words(item.title), _words(item.url), _words(item.content)


def _is_the_same(one: _Face, other: _Face) -> bool:
    """Whether they agree in what both of them have."""
    both = [(a, b) for a, b in zip(one, other, strict=True) if a and b]
    return bool(both) and all(a.startswith(b) or b.startswith(a) for a, b in both)


def _is_less(text: str, before: str) -> bool:
    """Whether it is a beginning of what was, or its words, or the same with what could not be read in it."""
    return (_LOST in text and _LOST not in before) or _words(before).startswith(_words(text))


def _words(text: str) -> str:
    """Only what is neither markup nor its debris."""
    return _NO_WORDS.sub("", text)


def decide(source: Source, ending: Ending, cadence: Cadence, now: datetime, news: ItemChanges = NO_NEWS) -> SourceState:
    """The state of the source after a visit. What a person paused stays paused, whatever came of the visit."""
    state = _after(source, ending, cadence, now, news)
    if source.paused_by in RESTING:
        return replace(state, is_active=False, paused_by=source.paused_by, next_check=_NEVER)
    return state


def excuse_of(ending: Ending) -> VisitOutcome | None:
    """What a visit is called that failed by no fault of its source."""
    match ending:
        case Failed(ours=True, unreachable_host=host):
            return VisitOutcome.OUR_FAULT if host is None else VisitOutcome.NETWORK_AWAY
        case _:
            return None


def in_doubt_since(source: Source, ending: Ending, now: datetime) -> datetime | None:
    """Since when nobody else may have been collected, or the excuse that its host could not be reached does not hold;
    None where there is no such excuse, or it holds in any case.
    """
    if not isinstance(ending, Failed) or not ending.ours or ending.unreachable_host is None:
        return None
    if source.is_excused:
        return source.last_attempt_at
    return max(source.last_attempt_at or now - OF_LATE, now - OF_LATE) if ending.alone else None


def held_against(source: Source, ending: Ending, collected: Mapping[str | None, datetime], now: datetime) -> Ending:
    """The ending, but without an excuse that does not hold: others were `collected`, by host, since it is in doubt.

    Dead hosts come to be due with nobody else around who could be reached, and would be excused for ever. Who was
    blamed for the same before is no news of the network.
    """
    since = in_doubt_since(source, ending, now)
    if not isinstance(ending, Failed) or since is None:
        return ending
    reached = any(moment > since for host, moment in collected.items() if shows_the_way(host, source.host))
    return replace(ending, ours=network_is_down(reached=reached or _was_blamed(source, ending), surely_ours=True))


def _was_blamed(source: Source, failure: Failed) -> bool:
    """Whether the last visit failed alike, and was counted."""
    was_counted = source.fetch_error_count > 0 and not source.is_excused
    return was_counted and source.last_error is not None and source.last_error.message == _error_message(failure)


def address_to_adopt(source: Source, state: SourceState) -> str | None:
    """The address that a source is to have from now on, once it was told so often enough."""
    moved = state.moved
    if moved is None or not moved.is_believed or moved.to == source.config.get(ADDRESS_KEY):
        return None
    return moved.to


def _after(source: Source, ending: Ending, cadence: Cadence, now: datetime, news: ItemChanges) -> SourceState:
    match ending:
        case Collected(fetched=fetched):
            return _after_success(source, fetched, cadence, now, news)
        case Failed(gone=True):
            return _after_farewell(source, ending, now)
        case Failed(ours=True):
            return _after_outage(source, ending, cadence, now)
        case Failed():
            return _after_failure(source, ending, cadence, now)
        case Skipped():
            return replace(_unchanged(source), next_check=without_fetcher(now, cadence))
        case Postponed(until=until, why=why):
            return replace(_unchanged(source), next_check=NextCheck(at=until, why=why))


def _unchanged(source: Source) -> SourceState:
    return SourceState(
        last_fetched_at=source.last_fetched_at,
        last_attempt_at=source.last_attempt_at,
        fetch_count=source.fetch_count,
        fetch_error_count=source.fetch_error_count,
        last_error=source.last_error,
        is_active=source.is_active,
        paused_by=source.paused_by,
        next_check=source.next_check,
        memory=source.memory,
        rhythm=source.rhythm,
        moved=source.moved,
    )


def _after_success(source: Source, fetched: Fetched, cadence: Cadence, now: datetime, news: ItemChanges) -> SourceState:
    rhythm = _heard(source.rhythm, fetched, news, now)
    return SourceState(
        last_fetched_at=now,
        last_attempt_at=now,
        fetch_count=source.fetch_count + 1,
        fetch_error_count=0,
        last_error=None,
        is_active=True,
        paused_by=None,
        next_check=after_success(now, cadence, fresh_for=fetched.fresh_for, rhythm=rhythm),
        memory=fetched.memory,
        rhythm=rhythm,
        moved=_told(source.moved, fetched.moved_to),
    )


def _heard(rhythm: Rhythm, fetched: Fetched, news: ItemChanges, now: datetime) -> Rhythm:
    if fetched.unchanged:
        return end_gap(rhythm)  # it is nothing but known items
    if fetched.is_window:
        rhythm = mark_gap(rhythm, now, new=len(news.new), known=news.known)
    return learn(rhythm, [item.published_at for item in news.new], now) if news.new else rhythm


def _told(before: Moved | None, moved_to: str | None) -> Moved | None:
    if moved_to is None:
        return None
    return Moved(to=moved_to, times=before.times + 1 if before and before.to == moved_to else 1)


def _after_farewell(source: Source, failure: Failed, now: datetime) -> SourceState:
    """It said that it is gone for good: nobody knocks again."""
    return replace(
        _unchanged(source),
        last_attempt_at=now,
        fetch_error_count=source.fetch_error_count + 1,
        last_error=_error(failure, now),
        is_active=False,
        paused_by=PausedBy.GONE,
        next_check=_NEVER,
    )


def _after_outage(source: Source, failure: Failed, cadence: Cadence, now: datetime) -> SourceState:
    """The fault is ours: the source is told of it, but it is not to blame."""
    why = Why.OFFLINE if excuse_of(failure) is VisitOutcome.NETWORK_AWAY else Why.OUR_FAULT
    check = after_excuse(now, cadence, why) if source.is_active else after_pause_by_error(now, cadence)
    return replace(_unchanged(source), last_attempt_at=now, last_error=_error(failure, now), next_check=check)


def _after_failure(source: Source, failure: Failed, cadence: Cadence, now: datetime) -> SourceState:
    failures = source.fetch_error_count + 1
    paused = not source.is_active or failures >= FAILURES_UNTIL_PAUSE
    check = (
        after_pause_by_error(now, cadence)
        if paused
        else after_failure(now, cadence, failures=failures, retry_after=failure.retry_after)
    )
    return replace(
        _unchanged(source),
        last_attempt_at=now,
        fetch_error_count=failures,
        last_error=_error(failure, now),
        is_active=not paused,
        paused_by=PausedBy.ERROR if paused else None,
        next_check=check,
    )


def _error(failure: Failed, now: datetime) -> LastError:
    return LastError(message=_error_message(failure), at=now)


def _error_message(failure: Failed) -> str:
    return failure.message[:MAX_MESSAGE]
