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


class Scope(StrEnum):
    """How much a key may of what its user may. Each step holds the ones before it."""

    READ = "read"
    WRITE = "write"
    #: Everything, administration included if the user is an admin.
    ADMIN = "admin"

    def holds(self, other: Scope) -> bool:
        steps = list(Scope)
        return steps.index(other) <= steps.index(self)


@dataclass(frozen=True, slots=True, kw_only=True)
class Caller:
    role: Role
    user_id: int | None = None
    name: str = ""
    #: Of the key in hand; whoever came in by password has no bounds of this kind.
    scope: Scope = Scope.ADMIN

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
        return self.sees_all or source.is_public or self.owns(source.created_by)

    def may_change(self, source: Source) -> bool:
        return self.may_change_what_is_of(source.created_by)

    def may_change_what_is_of(self, owner_id: int | None) -> bool:
        """An admin anything, the service what belongs to nobody, a user their own."""
        if self.role is Role.SERVICE:
            return owner_id is None
        return self.is_admin or self.owns(owner_id)

    def owns(self, owner_id: int | None) -> bool:
        return self.user_id is not None and owner_id == self.user_id


#: Whoever can run a command on the machine can read the database as well.
OPERATOR = Caller(role=Role.ADMIN, name="operator")
ANONYMOUS = Caller(role=Role.ANONYMOUS)
