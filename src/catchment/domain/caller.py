"""Who is asking, and what they may do."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from catchment.domain.source import Source


class Role(StrEnum):
    ANONYMOUS = "anonymous"
    USER = "user"
    #: The built-in account of `API_KEY`: what a user may, and it sees every source.
    SERVICE = "service"
    ADMIN = "admin"


@dataclass(frozen=True, slots=True, kw_only=True)
class Caller:
    role: Role
    user_id: int | None = None
    name: str = ""

    @property
    def is_known(self) -> bool:
        return self.role is not Role.ANONYMOUS

    @property
    def is_admin(self) -> bool:
        return self.role is Role.ADMIN

    @property
    def sees_all(self) -> bool:
        return self.role in {Role.SERVICE, Role.ADMIN}

    def may_see(self, source: Source) -> bool:
        if source.is_deleted:
            return False
        return self.sees_all or source.is_public or self._owns(source)

    def may_change(self, source: Source) -> bool:
        """An admin anything, the service what belongs to nobody, a user their own."""
        if self.role is Role.SERVICE:
            return source.created_by is None
        return self.is_admin or self._owns(source)

    def _owns(self, source: Source) -> bool:
        return self.user_id is not None and source.created_by == self.user_id


#: Whoever can run a command on the machine can read the database as well.
OPERATOR = Caller(role=Role.ADMIN, name="operator")
ANONYMOUS = Caller(role=Role.ANONYMOUS)
