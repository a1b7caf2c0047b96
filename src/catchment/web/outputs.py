"""What goes out: moments in one form everywhere, and models built from our own values."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, PlainSerializer, WithJsonSchema

from catchment.domain.candidate import Backlog
from catchment.domain.source import LastError


def iso(moment: datetime) -> str:
    """`YYYY-MM-DDTHH:MM:SS.mmmZ`."""
    return moment.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


Moment = Annotated[
    datetime,
    PlainSerializer(iso, return_type=str),
    WithJsonSchema({"type": "string", "format": "date-time", "examples": ["2026-02-25T10:00:00.000Z"]}),
]


class Out(BaseModel):
    """A body that is filled from one of our own values by attribute."""

    model_config = ConfigDict(from_attributes=True)


class ErrorOut(Out):
    message: str
    at: Moment

    @classmethod
    def of(cls, error: LastError | None) -> ErrorOut | None:
        return cls.model_validate(error) if error else None


class OutstandingOut(Out):
    url: str
    state: Literal["pending", "failed"]
    attempts: int
    error: str | None
    is_given_up: bool


class BacklogOut(Out):
    """Pages that a source listed and that were not collected: how many, and some of them with the reason."""

    pending: int
    failed: int
    listed: list[OutstandingOut]

    @classmethod
    def of(cls, backlog: Backlog | None) -> BacklogOut | None:
        return cls.model_validate(backlog) if backlog else None


class Ok(Out):
    ok: bool = True
