"""Secrets: keys and tokens are shown once, and only their hashes are kept."""

from __future__ import annotations

import hashlib
import hmac
import secrets

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
