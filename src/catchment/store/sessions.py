"""Browser sessions and one-time sign-in links in the store: only the hashes of their tokens."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import Connection, Row, delete, insert, or_, select

from catchment.store.tables import api_keys, sessions
from catchment.store.types import as_row, read_one, read_row


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionPrincipal:
    """What a session stands on: a stored key, a user as of some version, or proof of a key from the environment."""

    api_key_id: int | None = None
    user_id: int | None = None
    login_version: int | None = None
    environment_proof: str | None = None


def add(
    conn: Connection,
    standing: SessionPrincipal,
    *,
    token_hash: str,
    is_sign_in_link: bool,
    now: datetime,
    expires_at: datetime,
) -> None:
    # Expired rows go whenever one comes, so that they never pile up.
    conn.execute(delete(sessions).where(sessions.c.expires_at <= now))
    values = {
        **as_row(standing),
        "token_hash": token_hash,
        "is_sign_in_link": is_sign_in_link,
        "created_at": now,
        "expires_at": expires_at,
    }
    conn.execute(insert(sessions), values)


def find(conn: Connection, token_hash: str, *, now: datetime) -> SessionPrincipal | None:
    """What the live session of this token stands on. A sign-in link is not a session."""
    statement = select(sessions).where(
        sessions.c.token_hash == token_hash, sessions.c.is_sign_in_link.is_(False), sessions.c.expires_at > now
    )
    return read_one(conn, statement, _principal)


def spend_link(conn: Connection, token_hash: str, *, now: datetime) -> SessionPrincipal | None:
    """Use up a sign-in link. It works once: of two who try, one deletes the row."""
    statement = (
        delete(sessions)
        .where(sessions.c.token_hash == token_hash, sessions.c.is_sign_in_link.is_(True), sessions.c.expires_at > now)
        .returning(*sessions.c)
    )
    return read_one(conn, statement, _principal)


def remove(conn: Connection, token_hash: str) -> None:
    conn.execute(delete(sessions).where(sessions.c.token_hash == token_hash))


def remove_of_user(conn: Connection, user_id: int) -> None:
    """Also those that stand on a key of theirs."""
    theirs = select(api_keys.c.id).where(api_keys.c.user_id == user_id).scalar_subquery()
    conn.execute(delete(sessions).where(or_(sessions.c.user_id == user_id, sessions.c.api_key_id.in_(theirs))))


def _principal(row: Row[Any]) -> SessionPrincipal:
    return read_row(SessionPrincipal, row)
