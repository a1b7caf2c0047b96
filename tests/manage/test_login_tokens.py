"""Login tokens are good for whom and as long as they say, and nothing else is."""

from __future__ import annotations

import base64
import json
from datetime import UTC, datetime, timedelta

import jwt
import pytest
from hypothesis import given
from hypothesis import strategies as st

from catchment.crypto import Vault
from catchment.domain.account import Login, User
from catchment.manage.authentication import Claim, Tokens

START = datetime(2026, 3, 1, tzinfo=UTC)
KEY = b"a key of at least thirty-two bytes, or it is refused"
ADA = User(id=7, email="ada@example.org", name="Ada", slug="ada", is_admin=False, is_active=True, created_at=START)
LOGIN = Login(user=ADA, password_hash="secret-hash", version=3)
TOKENS = Tokens(signing_key=lambda: KEY, life=timedelta(hours=1))


@pytest.mark.proves("D-12")
def test_a_token_names_its_user_until_it_ends():
    token = TOKENS.issue(LOGIN, now=START)
    assert TOKENS.read(token, now=START + timedelta(minutes=59)) == Claim(user_id=7, version=3)
    assert TOKENS.read(token, now=START + timedelta(hours=1)) is None
    claims = jwt.decode(token, KEY, algorithms=["HS256"], options={"verify_exp": False, "verify_iat": False})
    assert claims["sub"] == "7"
    assert claims["exp"] == (START + timedelta(hours=1)).timestamp()
    assert "hash" not in repr(LOGIN)


def test_only_our_own_signature_is_believed():
    def forged(claims: dict[str, object], key: bytes = KEY, algorithm: str = "HS256") -> str:
        return jwt.encode(claims, key, algorithm=algorithm)

    good = {"sub": "7", "version": 3, "exp": START.timestamp() + 60}
    assert TOKENS.read(forged(good), now=START)
    unsigned = ".".join(
        base64.urlsafe_b64encode(json.dumps(part).encode()).decode().rstrip("=")
        for part in ({"alg": "none", "typ": "JWT"}, good)
    )
    wrong = [
        forged(good, key=b"another key of at least thirty-two bytes!"),
        forged(good, algorithm="HS512", key=KEY * 2),
        unsigned + ".",
        *(forged({name: value for name, value in good.items() if name != left_out}) for left_out in good),
        forged({**good, "sub": "not a number"}),
        forged({**good, "version": None}),
        forged({**good, "exp": "never"}),
    ]
    assert [TOKENS.read(token, now=START) for token in wrong] == [None] * len(wrong)


@given(st.text())
def test_no_text_breaks_the_reader(text: str):
    assert TOKENS.read(text, now=START) is None


def test_without_a_setting_the_key_is_derived_from_the_installations_own():
    vault = Vault(key_id="file", keys={"file": lambda: b"k" * 32})
    other = Vault(key_id="file", keys={"file": lambda: b"l" * 32})
    assert vault.derive("login tokens") == vault.derive("login tokens")
    assert len({vault.derive("login tokens"), vault.derive("else"), other.derive("login tokens"), b"k" * 32}) == 4
