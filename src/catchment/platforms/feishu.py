"""The copier: puts every note into a table of Feishu Bitable, once.

It looks which notes are there before it makes any, as a creation whose answer was lost may have come to pass. Failures
are put down beside the notes, never in them. What stops all copying makes it wait as a whole; what is wrong with one
note, which is found by halving the batch, makes that one wait alone.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from typing import Final

from sqlalchemy import Connection

from catchment.clock import Clock
from catchment.domain.note import Action, DueNote, wait_after
from catchment.domain.run import FEISHU_JOB
from catchment.errors import InvalidInput, VisitError
from catchment.fetch.client import HttpClient
from catchment.platforms.bitable import (
    FIELDS,
    MAX_RECORDS,
    App,
    Bitable,
    BitableError,
    BitableTrouble,
    FieldCheck,
    Verdict,
    cells,
    check_fields,
    faults_told,
)
from catchment.settings import Settings
from catchment.store import jobs, note_copies
from catchment.store.database import Store

MAX_ERROR: Final = 500
_REFUSED: Final = "refused"


class CopyingHalted(VisitError):
    """No note can be copied at this moment."""


class NoteCopier:
    def __init__(self, *, store: Store, bitable: Bitable, sink: str, clock: Clock) -> None:
        self._store = store
        self._bitable = bitable
        self._sink = sink
        self._clock = clock

    async def copy_due(self) -> str:
        """Copy everything whose time has come, the oldest first; says what came of it."""
        tally: Counter[str] = Counter()
        while batch := await self._due():
            try:
                await self._copy(batch, tally)
            except BitableError as error:
                raise await self._halted(batch, error) from error
        told = [f"{tally[action]} {action}" for action in Action]
        return ", ".join([*told, f"{tally[_REFUSED]} refused"] if tally[_REFUSED] else told)

    async def check(self, *, create: bool = False) -> list[FieldCheck]:
        """Whether the table has the fields it should; those that are missing are made on request.

        Where nothing is wrong any more, copying goes on at once, however long it was to wait.
        """
        checks = check_fields(await self._bitable.fields())
        if create:
            checks = [await self._created(check) if check.verdict is Verdict.MISSING else check for check in checks]
        if not faults_told(checks):
            await self._store.write(jobs.set_due, FEISHU_JOB, self._clock.now())
        return checks

    async def _created(self, check: FieldCheck) -> FieldCheck:
        await self._bitable.create_field(check.name, FIELDS[check.name])
        return replace(check, verdict=Verdict.CREATED)

    async def _due(self) -> list[DueNote]:
        return await self._store.read(note_copies.due, self._sink, now=self._clock.now(), limit=MAX_RECORDS)

    async def _copy(self, batch: Sequence[DueNote], tally: Counter[str]) -> None:
        try:
            await self._put(batch, tally)
        except BitableError as error:
            if error.halts:
                raise
            await self._blame_table(error)
            await self._narrow_down(batch, error, tally)

    async def _put(self, batch: Sequence[DueNote], tally: Counter[str]) -> None:
        there = await self._bitable.find(note.identity for note in batch)
        new = [note for note in batch if note.identity not in there]
        ids = there | (await self._bitable.create([cells(note) for note in new]) if new else {})
        records = {note.id: ids[note.identity] for note in batch}
        await self._store.write(note_copies.record_copied, self._sink, records, now=self._clock.now())
        tally.update({Action.CREATED: len(new), Action.SKIPPED: len(batch) - len(new)})

    async def _blame_table(self, refusal: BitableError) -> None:
        """Raise if the table itself is at fault, and say where."""
        if faults := faults_told(check_fields(await self._bitable.fields())):
            raise BitableError(faults, trouble=BitableTrouble.SETUP, code=refusal.code) from refusal

    async def _narrow_down(self, batch: Sequence[DueNote], refusal: BitableError, tally: Counter[str]) -> None:
        """Of a batch that was refused as a whole, copy what can be; a single note that is refused waits."""
        if len(batch) == 1:
            await self._put_off(batch[0], refusal)
            tally[_REFUSED] += 1
            return
        middle = len(batch) // 2
        for half in (batch[:middle], batch[middle:]):
            try:
                await self._put(half, tally)
            except BitableError as error:
                if error.halts:
                    raise
                await self._narrow_down(half, error, tally)

    async def _put_off(self, note: DueNote, refusal: BitableError) -> None:
        again = self._clock.now() + wait_after(note.attempts + 1, asked_for=refusal.retry_after)
        await self._store.write(self._record_failed, [note], refusal, next_try_at=again)

    async def _halted(self, batch: Sequence[DueNote], error: BitableError) -> CopyingHalted:
        failures = max(note.attempts for note in batch) + 1
        until = self._clock.now() + wait_after(failures, asked_for=error.retry_after)
        await self._store.write(self._record_halt, batch, error, until=until)
        return CopyingHalted(f"{error}; the next try is at {until:%Y-%m-%d %H:%M:%S} UTC")

    def _record_halt(self, conn: Connection, batch: Sequence[DueNote], error: BitableError, *, until: datetime) -> None:
        """The job waits. The notes stay due, so that whoever puts things right may have it run at once."""
        self._record_failed(conn, batch, error, next_try_at=self._clock.now())
        jobs.set_due(conn, FEISHU_JOB, until)

    def _record_failed(
        self, conn: Connection, batch: Sequence[DueNote], error: BitableError, *, next_try_at: datetime
    ) -> None:
        ids = [note.id for note in batch]
        note_copies.record_failed(conn, self._sink, ids, error=str(error)[:MAX_ERROR], next_try_at=next_try_at)


def make_copier(settings: Settings, *, store: Store, http: HttpClient, clock: Clock) -> NoteCopier | None:
    """None unless everything that it needs is set."""
    if missing_settings(settings):
        return None
    app = App(
        id=settings.feishu_app_id,
        secret=settings.feishu_app_secret,
        document=settings.feishu_app_token,
        table=settings.feishu_table_id,
    )
    bitable = Bitable(http=http, base_url=settings.feishu_base_url, app=app, clock=clock)
    # Named after the table: another one gets all notes again.
    return NoteCopier(store=store, bitable=bitable, sink=f"feishu:{app.table}", clock=clock)


def missing_settings(settings: Settings) -> list[str]:
    wanted = ("feishu_app_id", "feishu_app_secret", "feishu_app_token", "feishu_table_id")
    return [name.upper() for name in wanted if not getattr(settings, name)]


def set_up(copier: NoteCopier | None, settings: Settings) -> NoteCopier:
    """The copier, or a sentence about what it takes to have one."""
    if copier is None:
        raise InvalidInput(f"Notes are not copied to Feishu; set {', '.join(missing_settings(settings))} first.")
    return copier
