"""Accounts as people manage them: users, their passwords and their keys. Secrets are shown once and kept as hashes."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

from loguru import logger
from sqlalchemy import Connection

from catchment.clock import Clock
from catchment.crypto import SHOWN, hash_secret, new_api_key, new_token
from catchment.domain.account import ApiKey, User, read_email
from catchment.domain.audit_trail import AuditEntry, deed
from catchment.domain.caller import Caller, Role, Scope
from catchment.domain.feed import slug_of
from catchment.domain.item import checked_line
from catchment.errors import Forbidden, InvalidInput, or_not_found
from catchment.manage.logins import Logins, Passwords, checked_password, new_password
from catchment.store import keys, sessions, sources, users
from catchment.store.audit_trail import recorded
from catchment.store.database import Store
from catchment.store.sessions import SessionPrincipal

LINK_LIFE = timedelta(minutes=15)
MAX_NAME, MAX_KEY_NAME = 200, 100
_NUMBER = re.compile(r"[0-9]{1,18}")
_KEY_ROLES = (Role.SERVICE, Role.ADMIN)


@dataclass(frozen=True, slots=True, kw_only=True)
class NewKey:
    """A key and its secret, which nobody can ever tell again."""

    key: ApiKey
    secret: str = field(repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class NewAccount:
    """Somebody new, with what they need to come in; it is told this once."""

    user: User
    temp_password: str = field(repr=False)
    api_key: str = field(repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class AccountsPage:
    """Some of the users, how many there are, and the keys that act for none of them."""

    users: list[User]
    count: int
    #: How many keys that work each of these users has; none are left out.
    keys_of: Mapping[int, int]
    role_keys: list[ApiKey]


@dataclass(frozen=True, slots=True, kw_only=True)
class SignInLink:
    """What a link that signs a browser in once is made of."""

    token: str = field(repr=False)
    expires_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class FirstKey:
    """What the first start prints once: an admin's key, and a link that signs a browser in."""

    secret: str = field(repr=False)
    link: SignInLink


class Accounts:
    def __init__(
        self, *, store: Store, clock: Clock, passwords: Passwords, logins: Logins, has_environment_key: bool
    ) -> None:
        self._store = store
        self._clock = clock
        self._passwords = passwords
        self._logins = logins
        self._has_environment_key = has_environment_key

    async def add_user(self, email: str, *, name: str = "", is_admin: bool = False) -> User:
        """Add somebody who comes in by key alone. A known address is a Conflict."""
        person, now = _person(email, name, is_admin), self._clock.now()
        return await self._store.write(recorded, _added(person, now), lambda conn: users.add(conn, **person, now=now))

    async def enrol(self, email: str, *, name: str = "", is_admin: bool = False) -> NewAccount:
        """Add somebody with a password to begin with and a first key. A known address is a Conflict."""
        person, password = _person(email, name, is_admin), new_password()
        person["password_hash"] = await self._passwords.hash(password)
        now = self._clock.now()
        user, made = await self._store.write(recorded, _added(person, now), _enrol, person, now=now)
        logger.info("User {} was added{}.", user.id, " as an admin" if is_admin else "")
        return NewAccount(user=user, temp_password=password, api_key=made.secret)

    async def add_with_password(self, email: str, password: str, *, is_admin: bool = False) -> User:
        """Add somebody with a password of their own choice. A known address is a Conflict."""
        person = _person(email, "", is_admin)
        person["password_hash"] = await self._passwords.hash(checked_password(password))
        user = await self._store.write(users.add, **person, now=self._clock.now())
        logger.info("User {} was added{}.", user.id, " as an admin" if is_admin else "")
        return user

    async def list_users(self) -> list[User]:
        return await self._store.read(users.list_all)

    async def has_admin_with_password(self) -> bool:
        """Whether anybody who may do everything can sign in by a password."""
        return await self._store.read(users.has_admin_with_password)

    async def list_page(self, *, limit: int, offset: int) -> AccountsPage:
        return await self._store.read(_read_page, limit=limit, offset=offset)

    async def get_user(self, user_id: int) -> User:
        return _found(await self._store.read(users.get, user_id), user_id)

    async def find_user(self, who: str) -> User:
        """By number or by e-mail address."""
        if _NUMBER.fullmatch(who):
            return await self.get_user(int(who))
        email = read_email(who)
        return _found(await self._store.read(users.find_by_email, email) if email else None, who)

    async def set_active(self, user_id: int, *, is_active: bool) -> User:
        """Disabled, somebody is refused from now on by whatever key, token or session.

        Their feeds are not there then, and their private sources rest; enabled, all of it goes on.
        """
        now = self._clock.now()
        entry = deed("user.enable" if is_active else "user.disable", f"user {user_id}", now=now)
        user = await self._store.write(recorded, entry, _set_active, user_id, is_active=is_active, now=now)
        logger.info("User {} was {}.", user.id, "enabled" if is_active else "disabled")
        return user

    async def set_digests_public(self, user_id: int, *, is_public: bool) -> User:
        """Show somebody's digests to everybody, or to them alone."""
        told = "digests: public" if is_public else "digests: private"
        entry = deed("user.change", f"user {user_id}", told, now=self._clock.now())
        changed = await self._store.write(recorded, entry, users.set_digests_public, user_id, is_public=is_public)
        return _found(changed, user_id)

    async def reset_password(self, user_id: int) -> str:
        """A new password to begin with; whoever was signed in by the old one is out."""
        password = new_password()
        entry = deed("user.reset_password", f"user {user_id}", now=self._clock.now())
        hashed = await self._passwords.hash(password)
        user = await self._store.write(recorded, entry, users.set_password, user_id, hashed)
        logger.info("The password of user {} was reset.", _found(user, user_id).id)
        return password

    async def sign_out_everywhere(self, user_id: int) -> User:
        """Every browser, login token and reader app is out; keys stay good, and so does the password."""
        entry = deed("user.sign_out", f"user {user_id}", now=self._clock.now())
        user = await self._store.write(recorded, entry, _sign_out_everywhere, user_id)
        logger.info("User {} was signed out everywhere.", user.id)
        return user

    async def change_password(self, user: User, old: str, new: str, *, address: str) -> bool:
        """False if the old one is wrong. Whoever was signed in by it is out."""
        wanted = checked_password(new)
        login = await self._logins.check(user.email, old, address=address)
        if login is None:
            return False
        password_hash = await self._passwords.hash(wanted)
        entry = deed("user.change_password", f"user {user.id}", now=self._clock.now())
        changed = await self._store.write(
            recorded, entry, users.set_password, user.id, password_hash, from_version=login.version
        )
        return changed is not None

    async def create_key(
        self, name: str, *, user_id: int | None = None, role: Role | None = None, scope: Scope = Scope.ADMIN
    ) -> NewKey:
        """A key that acts for a user, or one with a role of its own (service or admin), within its scope."""
        if (user_id is None) == (role is None):
            raise InvalidInput("A key acts for a user or has a role (service or admin): name one of the two.")
        if role is not None and role not in _KEY_ROLES:
            raise InvalidInput(f"A key without a user is of role service or admin, not {role}.", field="role")
        label = checked_line(name, "name", most=MAX_KEY_NAME)
        now, whose = self._clock.now(), f"user {user_id}" if user_id is not None else str(role)
        entry = deed("key.create", f"key {label}", f"for {whose}, scope {scope}", now=now)
        return await self._store.write(recorded, entry, _create_key, label, user_id, role or Role.USER, scope, now=now)

    async def create_own_key(self, caller: Caller, name: str, *, scope: Scope | None = None) -> NewKey:
        """A further key for whoever asks, of the scope that they have themselves unless they want less."""
        wanted = scope or caller.scope
        if not caller.scope.holds(wanted):
            raise Forbidden(f"A key of scope {caller.scope} cannot make one of scope {wanted}.")
        return await self.create_key(name, user_id=user_of(caller), scope=wanted)

    async def list_keys(self) -> list[ApiKey]:
        return await self._store.read(keys.list_all)

    async def list_keys_of(self, user_id: int) -> list[ApiKey]:
        return await self._store.read(keys.list_of, user_id)

    async def revoke_key(self, key_id: int, *, owner_id: int | None = None) -> ApiKey:
        """From now on the key is refused, and so is every session that stands on it. Others' keys are NotFound."""
        entry = deed("key.revoke", f"key {key_id}", now=self._clock.now())
        key = await self._store.write(recorded, entry, keys.revoke, key_id, owner_id=owner_id)
        return or_not_found(key, f"There is no key {key_id}.")

    async def ensure_first_key(self) -> FirstKey | None:
        """Where nobody could get in (no key in the environment, no user, no key), make an admin's key and a link."""
        if self._has_environment_key:
            return None
        return await self._store.write(_make_first_key, now=self._clock.now())

    async def make_sign_in_link(self) -> SignInLink:
        """A further link for an administrator; whoever can run this on the store may do everything anyway."""
        return await self._store.write(_make_admin_link, now=self._clock.now())


def user_of(caller: Caller) -> int:
    if caller.user_id is None:
        raise Forbidden("This belongs to a user, and this key acts for none.")
    return caller.user_id


def _added(person: dict[str, Any], now: datetime) -> AuditEntry:
    return deed("user.add", f"user {person['email']}", "as an admin" if person["is_admin"] else "", now=now)


def _set_active(conn: Connection, user_id: int, *, is_active: bool, now: datetime) -> User:
    user = _found(users.set_active(conn, user_id, is_active=is_active), user_id)
    if is_active:
        sources.wake_private_of(conn, user_id, sources.resumed(now), now=now)
    else:
        sources.rest_private_of(conn, user_id, now=now)
    return user


def _sign_out_everywhere(conn: Connection, user_id: int) -> User:
    user = _found(users.void_logins(conn, user_id), user_id)
    sessions.remove_of_user(conn, user_id)
    return user


def _enrol(conn: Connection, person: dict[str, Any], *, now: datetime) -> tuple[User, NewKey]:
    user = users.add(conn, **person, now=now)
    return user, _create_key(conn, "first key", user.id, Role.USER, Scope.ADMIN, now=now)


def _create_key(conn: Connection, name: str, user_id: int | None, role: Role, scope: Scope, *, now: datetime) -> NewKey:
    if user_id is not None:
        _found(users.get(conn, user_id), user_id)
    secret = new_api_key()
    key = keys.add(
        conn,
        user_id=user_id,
        role=role,
        scope=scope,
        name=name,
        prefix=secret[:SHOWN],
        key_hash=hash_secret(secret),
        now=now,
    )
    return NewKey(key=key, secret=secret)


def _make_first_key(conn: Connection, *, now: datetime) -> FirstKey | None:
    if not keys.nobody_exists(conn):
        return None
    made = _create_key(conn, "first admin key", None, Role.ADMIN, Scope.ADMIN, now=now)
    return FirstKey(secret=made.secret, link=_make_link(conn, made.key, now=now))


def _make_admin_link(conn: Connection, *, now: datetime) -> SignInLink:
    """It stands on an admin's key, whose revocation ends the session; where there is none, on one that nobody knows."""
    key = keys.find_admin(conn)
    if key is None:
        key = keys.add(
            conn,
            user_id=None,
            role=Role.ADMIN,
            scope=Scope.ADMIN,
            name="sign-in links",
            prefix=keys.NEVER_SHOWN,
            key_hash=hash_secret(new_api_key()),
            now=now,
        )
    return _make_link(conn, key, now=now)


def _make_link(conn: Connection, key: ApiKey, *, now: datetime) -> SignInLink:
    token, expires_at = new_token(), now + LINK_LIFE
    standing = SessionPrincipal(api_key_id=key.id)
    sessions.add(conn, standing, token_hash=hash_secret(token), is_sign_in_link=True, now=now, expires_at=expires_at)
    return SignInLink(token=token, expires_at=expires_at)


def _found(user: User | None, who: int | str) -> User:
    return or_not_found(user, f"There is no user {who}. `catchment users list` shows those there are.")


def _read_page(conn: Connection, *, limit: int, offset: int) -> AccountsPage:
    some = users.list_all(conn, limit=limit, offset=offset)
    keys_of = keys.count_active(conn, [user.id for user in some])
    return AccountsPage(users=some, count=users.count(conn), keys_of=keys_of, role_keys=keys.list_roles(conn))


def _person(email: str, name: str, is_admin: bool) -> dict[str, Any]:
    address = read_email(email)
    if address is None:
        raise InvalidInput(f"{email!r} is not an e-mail address.", field="email")
    called = name or address.partition("@")[0]
    return {
        "email": address,
        "name": checked_line(called, "name", most=MAX_NAME),
        "slug": slug_of(called, otherwise="user"),
        "is_admin": is_admin,
    }
