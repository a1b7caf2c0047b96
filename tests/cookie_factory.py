"""Cookies as tests want them."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from catchment.crypto import Vault, derive_key
from catchment.domain.cookie import Cookie, CookiePolicy
from catchment.domain.note import Platform
from catchment.platforms.cookies import CookieSeal
from source_factory import START

MINUTE = timedelta(minutes=1)
POLICY = CookiePolicy()
MASTER_KEY = "a passphrase that is long enough for anybody"


def a_cookie(name: str = "a", **values: Any) -> Cookie:
    usual: dict[str, Any] = {
        "platform": Platform.XHS,
        "sealed": f"sealed value of {name}",
        "key_id": "key_v1",
        "created_at": START,
        "updated_at": START,
        "counted_since": START,
    }
    return Cookie(name=name, **{**usual, **values})


def a_seal() -> CookieSeal:
    return CookieSeal(
        vault=Vault(key_id="key_v1", keys={"key_v1": lambda: derive_key(MASTER_KEY, "salt")}), key_id="key_v1"
    )
