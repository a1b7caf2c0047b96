"""A large store, as `bench/pages.py` asks it: ten thousand sources of many owners and a million items by default.

Strangers see few sources, and what these brought is older than the rest: the newest that a stranger may see is far from
the newest there is. The moments end where the store was made, so that the last day is never empty.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from sqlalchemy import Connection, func, insert, literal, select, text

from bench.search import Vocabulary
from catchment.bootstrap import System
from catchment.domain.caller import OPERATOR
from catchment.domain.item import make_item
from catchment.domain.run import RunKind, RunStatus
from catchment.domain.source import PausedBy, Why
from catchment.manage.feeds import FeedDraft
from catchment.store import search, tables
from catchment.store.bulk import BulkInsert
from catchment.store.platform_tables import notes, tweets
from catchment.store.sources import identity_hash

DAYS, VISITS_A_SOURCE, PEOPLE = 30, 100, 500
#: Items say one of so many things: to make up a million texts takes longer than to store them.
TEXTS = 5_000
#: The user that asks owns so many sources, and follows them; the tenth of all.
OWN_SHARE, PUBLIC_EVERY = 10, 33
TYPES = ("rss", "rss", "rss", "website", "sitemap", "hackernews", "reddit", "custom_api")
TAGS = ("news", "daily", "code", "科技", "财经", "sport", "research", "blog", "company", "weekly")
ROWS_AT_ONCE = 10_000
#: Beside sources and items: rows of what else grows.
BESIDE = 20_000
#: A word that stands in one item of ten thousand.
RARE = "xylographer"
#: By their short names. A `*` stands for a common word.
FEEDS: dict[str, dict[str, Any]] = {
    "all": {},
    "one-source": {"sources": [1]},
    "tagged": {"tags": ["news"]},
    "searched": {"q": "*"},
    "worded": {"search": "*"},
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Size:
    sources: int
    items: int


@dataclass(frozen=True, slots=True, kw_only=True)
class People:
    user_id: int
    admin_id: int
    user_key: str
    admin_key: str


async def fill(system: System, size: Size) -> People:
    """Everything but the index of the search, which `take_in` of the system's items makes."""
    store, now = system.store, datetime.now(UTC).replace(microsecond=0)
    user = await system.accounts.add_user("reader@example.org")
    admin = await system.accounts.add_user("chief@example.org", is_admin=True)
    user_key = await system.accounts.create_key("bench", user_id=user.id)
    admin_key = await system.accounts.create_key("bench", user_id=admin.id)
    await store.write(_fill_people, now=now)
    await store.write(_fill_sources, size.sources, user.id, now=now)
    for rows in _batched(_items(size, now=now)):
        await store.write(_store_items, rows)
    for lines in _batched(_visits(size.sources, now=now)):
        await store.write(_log, lines)
    await store.write(_count_changes, now=now)
    await store.write(_fill_reading, user.id, admin.id, now=now)
    await store.write(_fill_beside, size.sources, now=now)
    await _publish(system)
    return People(user_id=user.id, admin_id=admin.id, user_key=user_key.secret, admin_key=admin_key.secret)


async def index(system: System) -> None:
    """As the job does it, but each text cut into words once, and the index of PostgreSQL made at the end."""
    search.item_tokens = _cut_once(search.item_tokens)  # type: ignore[attr-defined]
    is_postgres = system.store.url.get_backend_name() != "sqlite"
    if is_postgres:
        found = "SELECT indexname, indexdef FROM pg_indexes WHERE tablename = 'search_index' AND indexdef LIKE '%gin%'"
        indexes = await system.store.read(lambda conn: conn.execute(text(found)).all())
        for name, _ in indexes:
            await system.store.write(_run_statement, f"DROP INDEX {name}")
    while await system.store.write(search.take_in, ROWS_AT_ONCE):
        pass
    if is_postgres:
        for _, definition in indexes:
            await system.store.write(_run_statement, definition)


def _cut_once(cut: Callable[..., list[str]]) -> Callable[..., list[str]]:
    known: dict[str, list[str]] = {}

    def tokens(*, title: str, author: str, content: str, mark: str) -> list[str]:
        if content not in known:
            known[content] = cut(title=title, author=author, content=content, mark="_")
        return [mark if token == "_" else token for token in known[content]]

    return tokens


def _run_statement(conn: Connection, statement: str) -> None:
    conn.execute(text("SET LOCAL maintenance_work_mem = '1GB'"))
    conn.execute(text(statement))


def _batched(rows: Iterator[Any]) -> Iterator[list[Any]]:
    some = []
    for row in rows:
        some.append(row)
        if len(some) == ROWS_AT_ONCE:
            yield some
            some = []
    if some:
        yield some


def _fill_people(conn: Connection, *, now: datetime) -> None:
    people = [
        {
            "email": f"p{number}@example.org",
            "name": f"Person {number}",
            "slug": f"p{number}",
            "is_admin": False,
            "created_at": now,
        }
        for number in range(PEOPLE)
    ]
    conn.execute(insert(tables.users), people)


def _fill_sources(conn: Connection, count: int, user_id: int, *, now: datetime) -> None:
    people = list(conn.execute(select(tables.users.c.id)).scalars())
    rows = [_source(number, user_id, people, now) for number in range(count)]
    for start in range(0, count, ROWS_AT_ONCE):
        conn.execute(insert(tables.sources), rows[start : start + ROWS_AT_ONCE])


def _source(number: int, user_id: int, people: Sequence[int], now: datetime) -> dict[str, Any]:
    chance = random.Random(number)
    url = f"https://site{number}.example/feed"
    owner = user_id if number % OWN_SHARE == 1 else chance.choice(people) if number % 3 else None
    failing, broken, waiting = number % 25 == 3, number % 200 == 7, number % 500 == 9
    last = now - timedelta(minutes=chance.randrange(60))
    return {
        "name": f"{chance.choice(('The', 'A', 'Daily', '每日', '观察'))} {chance.choice(TAGS)} {number}",
        "type": TYPES[number % len(TYPES)],
        "config": {"url": url},
        "identity": identity_hash("rss", url),
        "identity_scope": owner or 0,
        "tags": chance.sample(TAGS, k=number % 3),
        "is_active": not broken,
        "paused_by": PausedBy.ERROR if broken else None,
        "is_public": number % PUBLIC_EVERY == 0,
        "is_deleted": False,
        "created_by": owner,
        "created_at": now - timedelta(days=DAYS, minutes=number),
        "updated_at": now,
        "last_fetched_at": None if waiting else last,
        "last_attempt_at": None if waiting else last,
        "fetch_count": VISITS_A_SOURCE,
        "fetch_error_count": 3 if failing or broken else 0,
        "last_error": "HTTP 503 Service Unavailable" if failing or broken else None,
        "last_error_at": last if failing or broken else None,
        "next_check_at": None if broken else last + timedelta(minutes=60),
        "next_check_why": None if broken else Why.INTERVAL,
        "memory": {"etag": f'"{number:032x}"', "last_modified": "Mon, 16 Nov 2026 10:00:00 GMT"},
        "rhythm": {"spacing": 3600.0, "known": 20, "last_new_at": last.isoformat()},
        "version": 1,
        "host": f"site{number}.example",
    }


def _items(size: Size, *, now: datetime) -> Iterator[tuple[Any, ...]]:
    """By visits, one after the other in time; some sources bring a hundred times as much as others."""
    chance, words = random.Random(7), Vocabulary(7)
    texts = [words.text(chance.randint(20, 140)) for _ in range(TEXTS)]
    left = size.items
    begin = now - timedelta(days=DAYS)
    while left:
        done = 1 - left / size.items
        number = int(size.sources * chance.random() ** 2)
        if number % PUBLIC_EVERY == 0 and done > 1 / 3:
            number = min(number + 1, size.sources - 2)
        at = begin + (now - begin) * done
        for _ in range(min(left, chance.randint(1, 20))):
            yield _item(number + 1, left, at, chance.choice(texts))
            left -= 1


def _item(source_id: int, number: int, at: datetime, said: str) -> tuple[Any, ...]:
    if number % 10_000 == 17:
        said = f"{said} {RARE}"
    found = make_item(
        native_id=str(number),
        url=f"https://x.example/{number}",
        title=said[:60],
        author=said[:12],
        content=f"<p>{said}</p>",
        published_at=at - timedelta(minutes=number % 600),
    )
    is_edited = number % 50 == 0
    return (source_id, *found, at, at + timedelta(minutes=5) if is_edited else None, int(is_edited))


_insert_items = BulkInsert(
    tables.raw_items,
    varying=[
        *("source_id", "dedup_key", "fingerprint", "title", "url", "author", "content", "published_at", "metadata"),
        *("fetched_at", "updated_at", "revision"),
    ],
)
_insert_visits = BulkInsert(
    tables.fetch_log, varying=["source_id", "started_at", "finished_at", "ok", "items", "inserted", "error"]
)


def _store_items(conn: Connection, rows: list[Any]) -> None:
    _insert_items(conn, rows)


def _log(conn: Connection, rows: list[Any]) -> None:
    _insert_visits(conn, rows)


def _visits(sources: int, *, now: datetime) -> Iterator[tuple[Any, ...]]:
    """Each source every hour, the latest last."""
    chance = random.Random(11)
    for ago in range(VISITS_A_SOURCE - 1, -1, -1):
        for number in range(sources):
            at = now - timedelta(hours=ago, seconds=3600 * (1 - number / sources))
            ok = number % 25 != 3 or chance.random() < 0.5
            error = None if ok else "HTTP 503 Service Unavailable"
            yield (number + 1, at, at + timedelta(seconds=1), ok, 20 if ok else 0, 1 if ok else 0, error)


def _fill_reading(conn: Connection, user_id: int, admin_id: int, *, now: datetime) -> None:
    """Both follow what the user owns and what is public; the user read a fifth of it one by one."""
    mine = (tables.sources.c.created_by == user_id) | tables.sources.c.is_public
    began = now - timedelta(days=DAYS * 2)
    for who in (user_id, admin_id):
        followed = select(literal(who), tables.sources.c.id, literal(now, type_=tables.users.c.created_at.type))
        conn.execute(
            insert(tables.subscriptions).from_select(["user_id", "source_id", "created_at"], followed.where(mine))
        )
    conn.execute(tables.subscriptions.update().values(read_before=began))
    item = tables.raw_items.c
    of_mine = item.source_id.in_(select(tables.sources.c.id).where(mine))
    read = select(literal(user_id), item.id, item.source_id, item.fetched_at, literal(value=True), item.id % 40 == 0)
    names = ["user_id", "item_id", "source_id", "fetched_at", "is_read", "is_starred"]
    conn.execute(insert(tables.item_states).from_select(names, read.where(of_mine, item.id % 5 == 0)))
    labelled = select(literal(user_id), literal("later"), item.id).where(of_mine, item.id % 100 == 0)
    conn.execute(insert(tables.item_labels).from_select(["user_id", "label", "item_id"], labelled))


def _count_changes(conn: Connection, *, now: datetime) -> None:
    item = tables.raw_items.c
    stamp = literal(now, type_=tables.changes.c.changed_at.type)
    counted = select(item.source_id, literal("collected"), literal(VISITS_A_SOURCE), stamp, func.count())
    names = ["source_id", "cause", "times", "changed_at", "item_count"]
    conn.execute(insert(tables.changes).from_select(names, counted.group_by(item.source_id)))


def _fill_beside(conn: Connection, sources: int, *, now: datetime) -> None:
    for table, rows in (
        (tables.audit_trail, [_deed(number, now) for number in range(BESIDE)]),
        (tables.runs, [_run(number, now) for number in range(BESIDE)]),
        (tables.candidates, [_candidate(number, sources, now) for number in range(BESIDE)]),
        (tables.digests, [_digest(number, now) for number in range(BESIDE // 10)]),
        (tables.alerts, [_alert(number, now) for number in range(BESIDE // 20)]),
        (tweets, [_tweet(number, now) for number in range(BESIDE)]),
        (notes, [_note(number, now) for number in range(BESIDE)]),
    ):
        for start in range(0, len(rows), ROWS_AT_ONCE):
            conn.execute(insert(table), rows[start : start + ROWS_AT_ONCE])


def _deed(number: int, now: datetime) -> dict[str, Any]:
    at = now - timedelta(minutes=BESIDE - number)
    return {"at": at, "actor": "chief", "action": "source.change", "object": f"source {number}", "summary": "interval"}


def _run(number: int, now: datetime) -> dict[str, Any]:
    at = now - timedelta(minutes=BESIDE - number)
    kind = RunKind.SOURCE if number % 10 else RunKind.WORKFLOW
    return {
        "kind": kind,
        "subject": str(number),
        "owner": f"process {number}",
        "status": RunStatus.COMPLETED,
        "started_at": at,
        "heartbeat_at": at,
        "lease_until": at,
        "finished_at": at,
        "progress": {},
    }


def _candidate(number: int, sources: int, now: datetime) -> dict[str, Any]:
    sitemap = TYPES.index("sitemap")
    source_id = sitemap + 1 + len(TYPES) * (number % (sources // len(TYPES) // 10 or 1))
    return {
        "source_id": source_id,
        "key": number.to_bytes(16),
        "native_id": str(number),
        "url": f"https://x.example/page/{number}",
        "state": number % 3,
        "is_doubted": False,
        "first_seen": now,
        "last_seen": now,
        "attempts": 1,
    }


def _digest(number: int, now: datetime) -> dict[str, Any]:
    at = now - timedelta(hours=number)
    return {"type": "daily", "content": "# News\n\n" + "A line. " * 200, "metadata": {}, "created_at": at}


def _alert(number: int, now: datetime) -> dict[str, Any]:
    since = now - timedelta(hours=number)
    return {
        "rule": "SOURCE_BROKEN",
        "subject": str(number + 1),
        "severity": "P3",
        "message": "It fails.",
        "since": since,
        "fired_at": since,
        "resolved_at": None if number < 20 else since + timedelta(minutes=5),
    }


def _tweet(number: int, now: datetime) -> dict[str, Any]:
    at = now - timedelta(minutes=BESIDE - number)
    return {
        "tweet_id": str(10**15 + number),
        "text": "A short text " * 10,
        "created_at": at,
        "author_username": f"User{number % 100}",
        "author": f"user{number % 100}",
        "media": [],
        "referenced_tweet_media": [],
        "urls": [],
        "db_created_at": at,
        "db_updated_at": at,
    }


def _note(number: int, now: datetime) -> dict[str, Any]:
    return {
        "platform": "xhs",
        "note_id": f"{number:024x}",
        "idempotency_key": f"xhs:{number:024x}",
        "url": f"https://x.example/note/{number}",
        "title": "笔记",
        "content": "一段文字" * 50,
        "note_type": "normal",
        "images": [],
        "author_id": "1",
        "author_name": "作者",
        "tags": [],
        "comment_list": [],
        "extracted_at": now - timedelta(minutes=number),
        "exec_meta": {},
    }


async def _publish(system: System) -> None:
    """Feeds of every kind of filter that may be asked for by anybody."""
    common = "".join(Vocabulary(7).characters[:2])
    for slug, wanted in FEEDS.items():
        filled = {name: common if value == "*" else value for name, value in wanted.items()}
        await system.feeds.add(FeedDraft(slug=slug, filter=filled, is_public=True), OPERATOR)
