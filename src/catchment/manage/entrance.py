"""The ways in: by key, by login token, by a browser's session. Whoever comes is looked up afresh each time."""

from __future__ import annotations

from contextlib import suppress
from datetime import datetime, timedelta

from sqlalchemy import Connection

from catchment.clock import Clock
from catchment.crypto import hash_secret, new_token, same_secret
from catchment.domain.account import KeyHolder
from catchment.domain.caller import Caller, Role
from catchment.errors import StoreError
from catchment.manage.logins import Logins
from catchment.manage.tokens import Tokens
from catchment.store import keys, sessions, users
from catchment.store.door import Store
from catchment.store.sessions import Standing

SESSION_LIFE = timedelta(days=30)


class Entrance:
    def __init__(
        self, *, store: Store, clock: Clock, logins: Logins, tokens: Tokens, service_key: str, admin_key: str
    ) -> None:
        self._store = store
        self._clock = clock
        self._logins = logins
        self._tokens = tokens
        # In this order: a key that is both is an admin's.
        self._environment = {Role.ADMIN: admin_key, Role.SERVICE: service_key}

    async def identify(self, secret: str) -> Caller | None:
        """Whose key this is, or None."""
        role = self._environment_role(secret)
        if role is not None:
            return _environment_caller(role)
        return await self._use(await self._store.read(keys.find_holder, hash_secret(secret)))

    async def identify_token(self, token: str) -> Caller | None:
        """Whose login token this is, as long as neither their password nor their account was changed since."""
        claim = self._tokens.read(token, now=self._clock.now())
        return await self._user_at(claim.user_id, claim.version) if claim else None

    async def log_in(self, email: str, password: str, *, address: str) -> str | None:
        """A login token, or None; TooManyAttempts for whoever was wrong too often."""
        login = await self._logins.check(email, password, address=address)
        return self._tokens.issue(login, now=self._clock.now()) if login else None

    async def sign_in(self, secret: str) -> str | None:
        """The token of a new session for whoever holds this key, or None."""
        token = new_token()
        standing = await self._standing(secret, token)
        return await self._open_session(standing, token) if standing else None

    async def sign_in_by_password(self, email: str, password: str, *, address: str) -> str | None:
        """The token of a new session, or None; TooManyAttempts for whoever was wrong too often."""
        login = await self._logins.check(email, password, address=address)
        if login is None:
            return None
        standing = Standing(user_id=login.user.id, login_version=login.version)
        return await self._open_session(standing, new_token())

    async def sign_in_by_link(self, link_token: str) -> str | None:
        """The token of a new session for the first who comes with this link, or None."""
        return await self._store.write(_spend_link, link_token, now=self._clock.now())

    async def caller_of_session(self, token: str) -> Caller | None:
        """Who is signed in, as long as the key or the password they signed in with is good."""
        standing = await self._store.read(sessions.find, hash_secret(token), now=self._clock.now())
        if standing is None:
            return None
        if standing.api_key_id is not None:
            return await self._use(await self._store.read(keys.get_holder, standing.api_key_id))
        if standing.user_id is not None and standing.login_version is not None:
            return await self._user_at(standing.user_id, standing.login_version)
        return self._caller_by_proof(standing.environment_proof or "", token)

    async def sign_out(self, token: str) -> None:
        await self._store.write(sessions.remove, hash_secret(token))

    async def _use(self, holder: KeyHolder | None) -> Caller | None:
        if holder is None:
            return None
        now = self._clock.now()
        # When a key was used last is good to know, and no reason to turn its holder away from a store that is full.
        with suppress(StoreError):
            if keys.needs_touch(holder.key, now=now):
                await self._store.write(keys.touch, holder.key.id, now=now)
        return holder.caller()

    async def _user_at(self, user_id: int, version: int) -> Caller | None:
        user = await self._store.read(users.get_at_version, user_id, version)
        return user.caller() if user else None

    async def _standing(self, secret: str, token: str) -> Standing | None:
        if self._environment_role(secret) is not None:
            return Standing(environment_proof=_proof(token, secret))
        holder = await self._store.read(keys.find_holder, hash_secret(secret))
        return Standing(api_key_id=holder.key.id) if holder else None

    async def _open_session(self, standing: Standing, token: str) -> str:
        await self._store.write(_open_session, standing, token, now=self._clock.now())
        return token

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
