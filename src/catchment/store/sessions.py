"""Browser sessions and one-time sign-in links in the store: only the hashes of their tokens."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import Connection, delete, insert, select

from catchment.store.tables import sessions


@dataclass(frozen=True, slots=True, kw_only=True)
class Standing:
    """What a session stands on: a stored key, or proof of one from the environment."""

    api_key_id: int | None = None
    environment_proof: str | None = None


def add(
    conn: Connection,
    standing: Standing,
    *,
    token_hash: str,
    is_sign_in_link: bool,
    now: datetime,
    expires_at: datetime,
) -> None:
    # Expired rows go whenever one comes, so that they never pile up.
    conn.execute(delete(sessions).where(sessions.c.expires_at <= now))
    values = {
        "token_hash": token_hash,
        "api_key_id": standing.api_key_id,
        "environment_proof": standing.environment_proof,
        "is_sign_in_link": is_sign_in_link,
        "created_at": now,
        "expires_at": expires_at,
    }
    conn.execute(insert(sessions), values)


def find(conn: Connection, token_hash: str, *, now: datetime) -> Standing | None:
    """What the live session of this token stands on. A sign-in link is not a session."""
    statement = select(sessions.c.api_key_id, sessions.c.environment_proof).where(
        sessions.c.token_hash == token_hash, sessions.c.is_sign_in_link.is_(False), sessions.c.expires_at > now
    )
    row = conn.execute(statement).one_or_none()
    return Standing(api_key_id=row.api_key_id, environment_proof=row.environment_proof) if row else None


def spend_link(conn: Connection, token_hash: str, *, now: datetime) -> Standing | None:
    """Use up a sign-in link. It works once: of two who try, one deletes the row."""
    statement = (
        delete(sessions)
        .where(sessions.c.token_hash == token_hash, sessions.c.is_sign_in_link.is_(True), sessions.c.expires_at > now)
        .returning(sessions.c.api_key_id, sessions.c.environment_proof)
    )
    row = conn.execute(statement).one_or_none()
    return Standing(api_key_id=row.api_key_id, environment_proof=row.environment_proof) if row else None


def remove(conn: Connection, token_hash: str) -> None:
    conn.execute(delete(sessions).where(sessions.c.token_hash == token_hash))
