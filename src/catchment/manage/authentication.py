"""The ways in: by key, by login token, by the token of a reader app, by a browser's session.

Whoever comes is looked up afresh each time.
"""

from __future__ import annotations

import asyncio
import hmac
import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import cached_property

import jwt
from loguru import logger
from sqlalchemy import Connection

from catchment.clock import Clock
from catchment.crypto import KEY_PREFIX, hash_secret, new_token, same_secret
from catchment.domain.account import ApiKey, KeyHolder, Login
from catchment.domain.caller import Caller, Role
from catchment.errors import StoreError
from catchment.manage.logins import Logins
from catchment.store import keys, sessions, users
from catchment.store.database import Store
from catchment.store.sessions import SessionPrincipal

ALGORITHM = "HS256"
#: Between header, claims and signature.
_DOTS = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class Claim:
    """Whom a token that is good names, and as of which version."""

    user_id: int
    version: int


class Tokens:
    def __init__(self, *, signing_key: Callable[[], bytes], life: timedelta) -> None:
        """The key is asked for when it is first needed."""
        self._signing_key = signing_key
        self._life = life

    def issue(self, login: Login, *, now: datetime) -> str:
        claims = {
            "sub": str(login.user.id),
            "email": login.user.email,
            "is_admin": login.user.is_admin,
            "version": login.version,
            "iat": int(now.timestamp()),
            "exp": int((now + self._life).timestamp()),
        }
        return jwt.encode(claims, self._key, algorithm=ALGORITHM)

    def read(self, token: str, *, now: datetime) -> Claim | None:
        if token.count(".") != _DOTS:
            # A wrong key, most likely: not worth fetching the signing key for.
            return None
        # The times are compared here, with our own clock.
        options = jwt.types.Options(require=["sub", "exp", "version"], verify_exp=False, verify_iat=False)
        try:
            claims = jwt.decode(token, self._key, algorithms=[ALGORITHM], options=options)
            claim = Claim(user_id=int(claims["sub"]), version=int(claims["version"]))
            expires_at = float(claims["exp"])
        except (jwt.InvalidTokenError, TypeError, ValueError):
            return None
        return claim if now.timestamp() < expires_at else None

    @cached_property
    def _key(self) -> bytes:
        return self._signing_key()


SESSION_LIFE = timedelta(days=30)
#: It is good for so long at least, and at most for twice as long.
POST_TOKEN_LIFE = timedelta(hours=12)
POST_TOKEN_LENGTH = 57
_STANDING = re.compile(r"k(?P<key>[0-9]{1,18})|u(?P<user>[0-9]{1,18})\.(?P<version>[0-9]{1,9})", re.ASCII)
_KEY = re.compile(rf"{KEY_PREFIX}[0-9a-f]{{40}}")


class ReaderTokens:
    """What reader apps come with once they signed in: it names the key or the login that it stands on, and is signed.

    They keep it for months and few of them ask again, so it has no end of its own: it is void once the key is revoked,
    or the password or the account changed.
    """

    def __init__(self, *, signing_key: Callable[[], bytes]) -> None:
        self._signing_key = signing_key

    def issue(self, standing: SessionPrincipal) -> str:
        of_key = standing.api_key_id is not None
        named = f"k{standing.api_key_id}" if of_key else f"u{standing.user_id}.{standing.login_version}"
        return f"{named}.{self._signature(named)}"

    def read(self, token: str) -> SessionPrincipal | None:
        named, _, signature = token.rpartition(".")
        found = _STANDING.fullmatch(named)
        if found is None or not same_secret(signature, self._signature(named)):
            return None
        if found["key"]:
            return SessionPrincipal(api_key_id=int(found["key"]))
        return SessionPrincipal(user_id=int(found["user"]), login_version=int(found["version"]))

    def post_token(self, token: str, *, now: datetime) -> str:
        """What an app sends along with each change."""
        return self._post_token(token, int(now.timestamp() // POST_TOKEN_LIFE.total_seconds()))

    def is_post_token(self, given: str, token: str, *, now: datetime) -> bool:
        window = int(now.timestamp() // POST_TOKEN_LIFE.total_seconds())
        return any(same_secret(given, self._post_token(token, one)) for one in (window, window - 1))

    def _post_token(self, token: str, window: int) -> str:
        return self._signature(f"{token}\0{window}")[:POST_TOKEN_LENGTH]

    def _signature(self, text: str) -> str:
        return hmac.digest(self._key, text.encode("utf-8", "replace"), "sha256").hex()

    @cached_property
    def _key(self) -> bytes:
        return hmac.digest(self._signing_key(), b"reader apps", "sha256")


class KeyUses:
    """When keys were used last: good to know, and no reason to have their holders wait for a store that is held, or to
    turn them away from one that is full.
    """

    def __init__(self, *, store: Store, clock: Clock) -> None:
        self._store = store
        self._clock = clock
        self._under_way: dict[int, asyncio.Task[None]] = {}
        self._was_told = False

    def note(self, key: ApiKey) -> None:
        """Have it recorded, and do not wait for it; of a key whose use is being recorded already, nothing."""
        now = self._clock.now()
        if key.id not in self._under_way and keys.needs_touch(key, now=now):
            task = self._under_way[key.id] = asyncio.create_task(self._record(key.id, now))
            task.add_done_callback(lambda _: self._under_way.pop(key.id, None))

    async def wait(self) -> None:
        """Until all that is under way has ended."""
        await asyncio.gather(*self._under_way.values(), return_exceptions=True)

    async def close(self) -> None:
        for task in self._under_way.values():
            task.cancel()
        await self.wait()

    async def _record(self, key_id: int, now: datetime) -> None:
        try:
            await self._store.write(keys.touch, key_id, now=now)
        except StoreError as error:
            if not self._was_told:
                logger.warning("When keys were used last cannot be recorded: {}", error)
            self._was_told = True


class Authenticator:
    def __init__(
        self,
        *,
        store: Store,
        clock: Clock,
        logins: Logins,
        tokens: Tokens,
        reader_tokens: ReaderTokens,
        service_key: str,
        admin_key: str,
    ) -> None:
        self._store = store
        self._clock = clock
        self._logins = logins
        self._tokens = tokens
        self._reader_tokens = reader_tokens
        self.key_uses = KeyUses(store=store, clock=clock)
        # In this order: a key that is both is an admin's.
        self._environment = {Role.ADMIN: admin_key, Role.SERVICE: service_key}

    async def close(self) -> None:
        await self.key_uses.close()

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

    async def log_in_reader(self, email: str, secret: str, *, address: str) -> str | None:
        """A token for a reader app, by the user's password or one of their keys, or None; TooManyAttempts as above."""
        if _KEY.fullmatch(secret):
            holder = await self._logins.check_key(email, secret, address=address)
            return self._reader_tokens.issue(SessionPrincipal(api_key_id=holder.key.id)) if holder else None
        login = await self._logins.check(email, secret, address=address)
        if login is None:
            return None
        return self._reader_tokens.issue(SessionPrincipal(user_id=login.user.id, login_version=login.version))

    async def identify_reader(self, token: str) -> Caller | None:
        """Who signed in with a reader app, as long as the key or the password they did it with is good."""
        standing = self._reader_tokens.read(token)
        return await self._caller_on(standing) if standing else None

    def reader_post_token(self, token: str) -> str:
        return self._reader_tokens.post_token(token, now=self._clock.now())

    def is_reader_post_token(self, given: str, token: str) -> bool:
        return self._reader_tokens.is_post_token(given, token, now=self._clock.now())

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
        standing = SessionPrincipal(user_id=login.user.id, login_version=login.version)
        return await self._open_session(standing, new_token())

    async def sign_in_by_link(self, link_token: str) -> str | None:
        """The token of a new session for the first who comes with this link, or None."""
        return await self._store.write(_spend_link, link_token, now=self._clock.now())

    async def caller_of_session(self, token: str) -> Caller | None:
        """Who is signed in, as long as the key or the password they signed in with is good."""
        standing = await self._store.read(sessions.find, hash_secret(token), now=self._clock.now())
        if standing is None:
            return None
        if standing.environment_proof is not None:
            return self._caller_by_proof(standing.environment_proof, token)
        return await self._caller_on(standing)

    async def sign_out(self, token: str) -> None:
        await self._store.write(sessions.remove, hash_secret(token))

    async def _use(self, holder: KeyHolder | None) -> Caller | None:
        if holder is None:
            return None
        self.key_uses.note(holder.key)
        return holder.caller()

    async def _caller_on(self, standing: SessionPrincipal) -> Caller | None:
        if standing.api_key_id is not None:
            return await self._use(await self._store.read(keys.get_holder, standing.api_key_id))
        if standing.user_id is not None and standing.login_version is not None:
            return await self._user_at(standing.user_id, standing.login_version)
        return None

    async def _user_at(self, user_id: int, version: int) -> Caller | None:
        user = await self._store.read(users.get_at_version, user_id, version)
        return user.caller() if user else None

    async def _standing(self, secret: str, token: str) -> SessionPrincipal | None:
        if self._environment_role(secret) is not None:
            return SessionPrincipal(environment_proof=_proof(token, secret))
        holder = await self._store.read(keys.find_holder, hash_secret(secret))
        return SessionPrincipal(api_key_id=holder.key.id) if holder else None

    async def _open_session(self, standing: SessionPrincipal, token: str) -> str:
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


def _open_session(conn: Connection, standing: SessionPrincipal, token: str, *, now: datetime) -> None:
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
