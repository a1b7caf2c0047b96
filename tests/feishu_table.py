"""A table of Feishu Bitable on a real socket, and notes to copy to it."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from sqlalchemy import Connection, insert, select

from catchment.clock import ManualClock
from catchment.platforms.bitable import FIELDS
from catchment.simulator.server import SimulatedWeb
from catchment.simulator.world import World
from catchment.store.database import Store
from catchment.store.platform_tables import note_copies, notes
from simulated_bitable import BitableService

START = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)
APP_ID, TABLE = "cli_app", "tblNotes"
SECRET, DOCUMENT = "app-secret-nobody-may-see", "document-nobody-may-see"


@dataclass
class FeishuTable:
    service: BitableService
    base_url: str

    def settings(self, **more: Any) -> dict[str, Any]:
        """For a system that copies here."""
        defaults = {
            "feishu_app_id": APP_ID,
            "feishu_app_secret": SECRET,
            "feishu_app_token": DOCUMENT,
            "feishu_table_id": TABLE,
            "feishu_base_url": self.base_url,
        }
        return {**defaults, **more}

    def environment(self, **more: str) -> dict[str, str]:
        """The same for a command."""
        return {name.upper(): value for name, value in self.settings(**more).items()}

    @property
    def keys(self) -> list[str]:
        """Of the records that are there."""
        return [record["idempotency_key"] for record in self.service.records.values()]


@asynccontextmanager
async def feishu_table(
    clock: ManualClock | None = None, *, fields: Mapping[str, int] = FIELDS, table: str = TABLE
) -> AsyncIterator[FeishuTable]:
    clock = clock or ManualClock(START)
    service = BitableService(app_id=APP_ID, app_secret=SECRET, document=DOCUMENT, table=table, fields=fields)
    world = World(seed=1, sites=1, started_at=START)
    async with SimulatedWeb(world, hosts=0, now=clock.now, places={"/open-apis": service}) as web:
        yield FeishuTable(service=service, base_url=web.url(""))


def note_row(number: int, **changes: Any) -> dict[str, Any]:
    defaults = {
        "platform": "xhs",
        "note_id": f"n{number}",
        "idempotency_key": f"n{number}_v1",
        "source_id": None,
        "url": f"https://www.xiaohongshu.com/explore/n{number}",
        "title": f"Note {number}",
        "content": "雨后的山 & <b>words</b>",
        "note_type": "normal",
        "images": ["https://img.example/1", "https://img.example/2"],
        "video_url": None,
        "likes": number,
        "collects": 0,
        "comments": None,
        "shares": 3,
        "author_id": "0a1b",
        "author_name": "a***z",
        "tags": ["rain", "hills"],
        "comment_list": [],
        "published_at": START,
        "extracted_at": START,
        "exec_meta": {"request_id": "wf-1-abc-detail", "retry_count": 0},
    }
    return {**defaults, **changes}


async def write_notes(store: Store, *rows: Mapping[str, Any]) -> None:
    await store.write(lambda conn: conn.execute(insert(notes), list(rows)))


async def copies(store: Store) -> list[Any]:
    """All rows of what became of copying, in the order of the notes."""
    return await store.read(lambda conn: conn.execute(select(note_copies).order_by(note_copies.c.note_id)).all())


async def all_notes(store: Store) -> list[Any]:
    def read(conn: Connection) -> list[Any]:
        return list(conn.execute(select(notes).order_by(notes.c.id)).all())

    return await store.read(read)
