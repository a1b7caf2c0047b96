"""Secrets: keys and tokens are shown once and only their hashes are kept; what must be read back is sealed."""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
import os
import secrets
from collections.abc import Callable, Mapping
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Final

from catchment.errors import SettingsError

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.ciphers.aead import AESGCM

KEY_PREFIX = "cat_"
#: Characters of a key by which its owner recognises it in a list.
SHOWN = 10


def new_api_key() -> str:
    return KEY_PREFIX + secrets.token_hex(20)


def new_token() -> str:
    return secrets.token_urlsafe(32)


def hash_secret(secret: str) -> str:
    """For secrets of our own making: long and random, so a plain hash cannot be guessed back."""
    return hashlib.sha256(secret.encode()).hexdigest()


def same_secret(given: str, expected: str) -> bool:
    """Compare without telling by the time it takes; an empty secret is never right."""
    return bool(expected) and hmac.compare_digest(given.encode(), expected.encode())


class Unsealable(SettingsError):
    """A sealed secret that the keys at hand do not open."""


SEAL_PREFIX: Final = "v2:"
ROUNDS: Final = 100_000
NONCE_BYTES: Final = 12
KEY_BYTES: Final = 32


@lru_cache(maxsize=32)
def derive_key(passphrase: str, salt: str) -> bytes:
    """A key of 256 bits from a passphrase: PBKDF2 with HMAC-SHA256."""
    return hashlib.pbkdf2_hmac("sha256", passphrase.encode(), salt.encode(), ROUNDS, dklen=KEY_BYTES)


class Vault:
    """Seals secrets with AES-256-GCM. The key's id and what the secret is for are bound into the seal."""

    def __init__(self, *, key_id: str, keys: Mapping[str, Callable[[], bytes]]) -> None:
        """`keys` are called when they are first needed: deriving one takes a while."""
        self._key_id = key_id
        self._keys = keys

    def seal(self, secret: str, *, purpose: str) -> str:
        """`v2:<key id>:<nonce and ciphertext>`; sealing twice gives two texts."""
        nonce = os.urandom(NONCE_BYTES)
        sealed = self._cipher(self._key_id).encrypt(nonce, secret.encode(), _bound(self._key_id, purpose))
        return f"{SEAL_PREFIX}{self._key_id}:{base64.urlsafe_b64encode(nonce + sealed).decode()}"

    def open(self, sealed: str, *, purpose: str) -> str:
        from cryptography.exceptions import InvalidTag

        key_id, _, text = sealed.removeprefix(SEAL_PREFIX).partition(":")
        if not is_sealed(sealed) or key_id not in self._keys:
            raise Unsealable(f"A stored secret was sealed with the key {key_id!r}, which is not at hand.")
        try:
            raw = base64.urlsafe_b64decode(text)
            plain = self._cipher(key_id).decrypt(raw[:NONCE_BYTES], raw[NONCE_BYTES:], _bound(key_id, purpose))
        except (binascii.Error, ValueError, InvalidTag) as error:
            raise Unsealable(
                f"A stored secret does not open with the key {key_id!r}: the key changed, or the secret was moved here "
                "from elsewhere. Enter it again."
            ) from error
        return plain.decode()

    def _cipher(self, key_id: str) -> AESGCM:
        # Imported here, as hardly any command ever seals or opens anything.
        from cryptography.hazmat.primitives.ciphers.aead import AESGCM

        return AESGCM(self._keys[key_id]())

    def derive(self, purpose: str) -> bytes:
        """A key of its own for this purpose, always the same; it tells nothing about the vault's."""
        return hmac.digest(self._keys[self._key_id](), f"derived\0{purpose}".encode(), "sha256")


def is_sealed(text: str) -> bool:
    return text.startswith(SEAL_PREFIX) and text.count(":") >= 2  # noqa: PLR2004 - prefix, key id, ciphertext


def key_from_file(path: Path) -> bytes:
    """The installation's own key; made at first use, readable by its owner alone."""
    try:
        return _read_key(path)
    except FileNotFoundError:
        return _make_key(path)


def _read_key(path: Path) -> bytes:
    try:
        key = base64.urlsafe_b64decode(path.read_bytes())
    except binascii.Error:  # cut off
        key = b""
    if len(key) != KEY_BYTES:
        raise SettingsError(f"{path} does not hold a key of {KEY_BYTES} bytes; restore it from a backup.")
    return key


def _make_key(path: Path) -> bytes:
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    key = secrets.token_bytes(KEY_BYTES)
    draft = path.with_name(f".{path.name}.{secrets.token_hex(4)}")
    descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "wb") as file:
        file.write(base64.urlsafe_b64encode(key))
    try:
        # Whoever links first wins: processes that start together end up with one key.
        os.link(draft, path)
    except FileExistsError:
        return _read_key(path)
    finally:
        draft.unlink()
    return key


def _bound(key_id: str, purpose: str) -> bytes:
    return f"{key_id}\0{purpose}".encode()
