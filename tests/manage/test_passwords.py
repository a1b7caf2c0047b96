from __future__ import annotations

import pytest
from argon2 import PasswordHasher, Type, extract_parameters

from catchment.manage.logins import Passwords

pytestmark = pytest.mark.proves("D-12")


@pytest.fixture
def compared_with(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Every hash that a password was compared with."""
    hashes: list[str] = []
    verify = PasswordHasher.verify

    def noted(self: PasswordHasher, hashed: str, password: str) -> bool:
        hashes.append(hashed)
        return verify(self, hashed, password)

    monkeypatch.setattr(PasswordHasher, "verify", noted)
    return hashes


async def test_guessing_a_password_from_its_hash_is_dear() -> None:
    used = extract_parameters(await Passwords().hash("correct horse"))
    assert used.type is Type.ID
    assert used.memory_cost >= 64 * 1024
    assert used.time_cost >= 3


async def test_a_password_fits_its_own_hash_alone() -> None:
    passwords = Passwords()
    hashed = await passwords.hash("correct horse")
    assert await passwords.fits("correct horse", hashed)
    assert not await passwords.fits("battery staple", hashed)


async def test_an_unknown_user_takes_as_much_work_as_a_known_one(compared_with: list[str]) -> None:
    passwords = Passwords()
    known = await passwords.hash("correct horse")
    assert not await passwords.fits("battery staple", known)
    # An answer that comes quickly would tell that nobody of that name is here.
    assert not await passwords.fits("battery staple", None)
    assert [extract_parameters(hashed) for hashed in compared_with] == [extract_parameters(known)] * 2
