"""Login tokens: signed statements of who somebody is. What they may do is asked of the store each time."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import cached_property

import jwt

from catchment.domain.account import Login

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
