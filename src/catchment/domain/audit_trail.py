"""Who changed what: what is written down of a change, for people to read. Pure but for who is at it."""

from __future__ import annotations

from collections.abc import Mapping
from contextvars import ContextVar
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from catchment.domain.caller import Caller, Role
from catchment.redact import redact_text

#: What the system does by itself has nobody else behind it.
SYSTEM = Caller(role=Role.ADMIN, name="system")
#: Who is at it: every door (API, page, command) says so for as long as it serves them.
acting: ContextVar[Caller] = ContextVar("acting", default=SYSTEM)

MAX_ACTOR, MAX_OBJECT, MAX_SUMMARY, MAX_VALUE = 200, 200, 500, 80


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditEntry:
    at: datetime
    actor_id: int | None
    actor: str
    #: Such as `source.change`.
    action: str
    #: Such as `source 5 (Morning paper)`.
    object: str
    summary: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditLine(AuditEntry):
    id: int


def deed(action: str, object_: str, summary: str = "", *, now: datetime, caller: Caller | None = None) -> AuditEntry:
    """What is written down; whatever looks like a secret is masked."""
    who = caller or acting.get()
    return AuditEntry(
        at=now,
        actor_id=who.user_id,
        actor=(who.name or who.role)[:MAX_ACTOR],
        action=action,
        object=redact_text(object_)[:MAX_OBJECT],
        summary=redact_text(summary)[:MAX_SUMMARY],
    )


def changed_values(before: Mapping[str, Any], after: Mapping[str, Any]) -> str:
    """`name: Old → New; tags: news → news, red`, of what differs."""
    return "; ".join(
        f"{name}: {_shown(before.get(name))} → {_shown(value)}"
        for name, value in after.items()
        if before.get(name) != value
    )


def _shown(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    text = ", ".join(map(str, value)) if isinstance(value, list | tuple) else str(value if value is not None else "")
    text = text or "none"
    return text if len(text) <= MAX_VALUE else f"{text[:MAX_VALUE]}…"
