"""Accounts: the people who use the system, and the keys that act for them."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from catchment.domain.caller import Caller, Role


@dataclass(frozen=True, slots=True, kw_only=True)
class User:
    id: int
    email: str
    name: str
    #: The name in addresses, as in `/feed/{slug}`.
    slug: str
    is_admin: bool
    created_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class ApiKey:
    id: int
    #: The user it acts for; None for a key with a role of its own.
    user_id: int | None
    role: Role
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
        """The role is the user's present one, so that a change counts at once."""
        if self.user is None:
            return Caller(role=self.key.role, name=self.key.name)
        role = Role.ADMIN if self.user.is_admin else Role.USER
        return Caller(role=role, user_id=self.user.id, name=self.user.name)
