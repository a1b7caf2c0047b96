"""The seal on cookies: a value is opened only with the key it was sealed with, and under the name it was sealed for."""

from __future__ import annotations

from catchment.crypto import Vault
from catchment.domain.cookie import Cookie
from catchment.errors import SettingsError

NO_KEY = "Cookies are stored sealed, and there is no key for that: set COOKIE_MASTER_KEY to at least 32 characters."


class CookieSeal:
    def __init__(self, *, vault: Vault | None, key_id: str) -> None:
        """Without a vault nothing is sealed or opened, and whoever asks is told why."""
        self._vault = vault
        self.key_id = key_id

    def seal(self, name: str, value: str) -> str:
        return self._opened().seal(value, purpose=_purpose(name))

    def open(self, cookie: Cookie) -> str:
        return self._opened().open(cookie.sealed, purpose=_purpose(cookie.name))

    def _opened(self) -> Vault:
        if self._vault is None:
            raise SettingsError(NO_KEY)
        return self._vault


def _purpose(name: str) -> str:
    return f"cookie {name}"
