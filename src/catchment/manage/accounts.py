"""Accounts: users, their keys, and how a browser signs in. Secrets are shown once and kept as hashes."""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass
from datetime import datetime, timedelta

from sqlalchemy import Connection

from catchment.clock import Clock
from catchment.crypto import SHOWN, hash_secret, new_api_key, new_token, same_secret
from catchment.domain.account import ApiKey, KeyHolder, User
from catchment.domain.caller import Caller, Role
from catchment.errors import InvalidInput, NotFound
from catchment.store import keys, sessions, users
from catchment.store.door import Store
from catchment.store.sessions import Standing

SESSION_LIFE = timedelta(days=30)
LINK_LIFE = timedelta(minutes=15)
MOST_EMAIL, MOST_NAME, MOST_KEY_NAME, MOST_SLUG = 320, 200, 100, 60
_EMAIL = re.compile(r"[^@\s\0]+@[^@\s\0]+")
_KEY_ROLES = (Role.SERVICE, Role.ADMIN)


@dataclass(frozen=True, slots=True, kw_only=True)
class NewKey:
    """A key and its secret, which nobody can ever tell again."""

    key: ApiKey
    secret: str


@dataclass(frozen=True, slots=True, kw_only=True)
class FirstKey:
    """What the first start prints once: an admin's key, and the token of a link that signs a browser in."""

    secret: str
    link_token: str
    link_expires_at: datetime


class Accounts:
    def __init__(self, *, store: Store, clock: Clock, service_key: str, admin_key: str) -> None:
        self._store = store
        self._clock = clock
        self._environment = {Role.ADMIN: admin_key, Role.SERVICE: service_key}

    async def add_user(self, email: str, *, name: str = "", is_admin: bool = False) -> User:
        """Add somebody. A known address is a Conflict."""
        address = _checked_email(email)
        return await self._store.write(
            users.add,
            email=address,
            name=_checked_text(name or address.partition("@")[0], "name", MOST_NAME),
            slug=_slug(name or address.partition("@")[0]),
            is_admin=is_admin,
            now=self._clock.now(),
        )

    async def list_users(self) -> list[User]:
        return await self._store.read(users.list_all)

    async def create_key(self, name: str, *, user_id: int | None = None, role: Role | None = None) -> NewKey:
        """A key that acts for a user, or one with a role of its own (service or admin)."""
        if (user_id is None) == (role is None):
            raise InvalidInput("A key acts for a user or has a role (service or admin): name one of the two.")
        if role is not None and role not in _KEY_ROLES:
            raise InvalidInput(f"A key without a user is of role service or admin, not {role}.", field="role")
        label = _checked_text(name, "name", MOST_KEY_NAME)
        return await self._store.write(_create_key, label, user_id, role or Role.USER, now=self._clock.now())

    async def list_keys(self) -> list[ApiKey]:
        return await self._store.read(keys.list_all)

    async def revoke_key(self, key_id: int) -> ApiKey:
        """From now on the key is refused, and so is every session that stands on it."""
        key = await self._store.write(keys.revoke, key_id)
        if key is None:
            raise NotFound(f"There is no key {key_id}. `catchment keys list` shows those there are.")
        return key

    async def identify(self, secret: str) -> Caller | None:
        """Whose key this is, or None."""
        role = self._environment_role(secret)
        if role is not None:
            return _environment_caller(role)
        return await self._use(await self._store.read(keys.find_holder, hash_secret(secret)))

    async def ensure_first_key(self) -> FirstKey | None:
        """Where nobody could get in (no key in the environment, no user, no key), make an admin's key and a link."""
        if any(self._environment.values()):
            return None
        return await self._store.write(_make_first_key, now=self._clock.now())

    async def sign_in(self, secret: str) -> str | None:
        """The token of a new session for whoever holds this key, or None."""
        token = new_token()
        standing = await self._standing(secret, token)
        if standing is None:
            return None
        await self._store.write(_open_session, standing, token, now=self._clock.now())
        return token

    async def sign_in_by_link(self, link_token: str) -> str | None:
        """The token of a new session for the first who comes with this link, or None."""
        return await self._store.write(_spend_link, link_token, now=self._clock.now())

    async def caller_of_session(self, token: str) -> Caller | None:
        """Who is signed in, as long as the key they signed in with is good."""
        standing = await self._store.read(sessions.find, hash_secret(token), now=self._clock.now())
        if standing is None:
            return None
        if standing.api_key_id is not None:
            return await self._use(await self._store.read(keys.get_holder, standing.api_key_id))
        return self._caller_by_proof(standing.environment_proof or "", token)

    async def sign_out(self, token: str) -> None:
        await self._store.write(sessions.remove, hash_secret(token))

    async def _use(self, holder: KeyHolder | None) -> Caller | None:
        if holder is None:
            return None
        now = self._clock.now()
        if keys.needs_touch(holder.key, now=now):
            await self._store.write(keys.touch, holder.key.id, now=now)
        return holder.caller()

    async def _standing(self, secret: str, token: str) -> Standing | None:
        if self._environment_role(secret) is not None:
            return Standing(environment_proof=_proof(token, secret))
        holder = await self._store.read(keys.find_holder, hash_secret(secret))
        return Standing(api_key_id=holder.key.id) if holder else None

    def _environment_role(self, secret: str) -> Role | None:
        # Every key is compared, whichever fits: the time it takes tells nothing.
        fitting = [role for role, key in self._environment.items() if same_secret(secret, key)]
        return fitting[0] if fitting else None

    def _caller_by_proof(self, proof: str, token: str) -> Caller | None:
        """A session that a key of the environment opened ends when that key changes."""
        for role, key in self._environment.items():
            if key and same_secret(proof, _proof(token, key)):
                return _environment_caller(role)
        return None


def _create_key(conn: Connection, name: str, user_id: int | None, role: Role, *, now: datetime) -> NewKey:
    if user_id is not None and users.get(conn, user_id) is None:
        raise NotFound(f"There is no user {user_id}. `catchment users list` shows those there are.")
    secret = new_api_key()
    key = keys.add(
        conn, user_id=user_id, role=role, name=name, prefix=secret[:SHOWN], key_hash=hash_secret(secret), now=now
    )
    return NewKey(key=key, secret=secret)


def _make_first_key(conn: Connection, *, now: datetime) -> FirstKey | None:
    if not keys.nobody_exists(conn):
        return None
    made = _create_key(conn, "first admin key", None, Role.ADMIN, now=now)
    token, expires_at = new_token(), now + LINK_LIFE
    standing = Standing(api_key_id=made.key.id)
    sessions.add(conn, standing, token_hash=hash_secret(token), is_sign_in_link=True, now=now, expires_at=expires_at)
    return FirstKey(secret=made.secret, link_token=token, link_expires_at=expires_at)


def _open_session(conn: Connection, standing: Standing, token: str, *, now: datetime) -> None:
    sessions.add(
        conn,
        standing,
        token_hash=hash_secret(token),
        is_sign_in_link=False,
        now=now,
        expires_at=now + SESSION_LIFE,
    )


def _spend_link(conn: Connection, link_token: str, *, now: datetime) -> str | None:
    standing = sessions.spend_link(conn, hash_secret(link_token), now=now)
    if standing is None:
        return None
    token = new_token()
    _open_session(conn, standing, token, now=now)
    return token


def _proof(token: str, key: str) -> str:
    """Ties a session to a key of the environment. Without the token, which is not stored, it gives nothing away."""
    return hash_secret(f"{token}\0{key}")


def _environment_caller(role: Role) -> Caller:
    return Caller(role=role, name="admin" if role is Role.ADMIN else "service")


def _checked_email(email: str) -> str:
    address = email.strip().lower()
    if len(address) > MOST_EMAIL or not _EMAIL.fullmatch(address):
        raise InvalidInput(f"{email!r} is not an e-mail address.", field="email")
    return address


def _checked_text(text: str, field: str, most: int) -> str:
    cleaned = " ".join(text.split())
    if not 0 < len(cleaned) <= most or "\0" in cleaned:
        raise InvalidInput(f"A {field} has 1 to {most} characters.", field=field)
    return cleaned


def _slug(name: str) -> str:
    """The name as it may stand in an address; a name without a Latin letter or digit becomes `user`."""
    plain = unicodedata.normalize("NFKD", name).encode("ascii", "ignore").decode().lower()
    return re.sub(r"[^a-z0-9]+", "-", plain).strip("-")[:MOST_SLUG].strip("-") or "user"
