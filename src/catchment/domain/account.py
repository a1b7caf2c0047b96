"""Accounts: the people who use the system, and the keys that act for them."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from datetime import datetime

from catchment.domain.caller import Caller, Role, Scope

MAX_EMAIL = 320
_EMAIL = re.compile(r"[^@\s\0]+@[^@\s\0]+")


def read_email(text: str) -> str | None:
    """An e-mail address as it is kept, or None where it is none."""
    address = text.strip().lower()
    return address if len(address) <= MAX_EMAIL and _EMAIL.fullmatch(address) else None


@dataclass(frozen=True, slots=True, kw_only=True)
class User:
    id: int
    email: str
    name: str
    #: The name in addresses, as in `/feed/{slug}`.
    slug: str
    is_admin: bool
    #: Who is not is refused everywhere, by whatever key, token or session.
    is_active: bool
    created_at: datetime
    #: Whether everybody may see their digests, or they alone.
    digests_public: bool = False

    def caller(self, scope: Scope = Scope.ADMIN) -> Caller:
        """The role is the present one, so that a change counts at once; a narrower key has no part in it."""
        role = Role.ADMIN if self.is_admin and scope is Scope.ADMIN else Role.USER
        return Caller(role=role, user_id=self.id, name=self.name, scope=scope)


@dataclass(frozen=True, slots=True, kw_only=True)
class Login:
    """What a password is checked against."""

    user: User
    #: None for somebody who has no password and comes in by key alone.
    password_hash: str | None = field(repr=False)
    #: Rises when the password or the account is changed: what was handed out before is void.
    version: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ApiKey:
    id: int
    #: The user it acts for; None for a key with a role of its own.
    user_id: int | None
    role: Role
    scope: Scope
    name: str
    #: Its first characters, by which its owner recognises it.
    prefix: str
    is_active: bool
    created_at: datetime
    last_used_at: datetime | None


@dataclass(frozen=True, slots=True, kw_only=True)
class KeyHolder:
    """A key together with the user it acts for, as they are now."""

    key: ApiKey
    user: User | None

    def caller(self) -> Caller:
        if self.user is not None:
            return self.user.caller(self.key.scope)
        role = self.key.role if self.key.scope is Scope.ADMIN else Role.SERVICE
        return Caller(role=role, name=self.key.name, scope=self.key.scope)
