"""What a setting is, and how the texts that settings come as are read."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from ipaddress import ip_network
from pathlib import Path
from typing import Any

LEAST_PASSPHRASE = 16
#: HS256 asks for a key as long as its hash.
LEAST_SIGNING_KEY = 32


def any_text(value: str) -> str:
    return value


def path(value: str) -> Path:
    return Path(value).expanduser()


def flag(value: str) -> bool:
    words = {
        "1": True,
        "true": True,
        "yes": True,
        "on": True,
        "0": False,
        "false": False,
        "no": False,
        "off": False,
    }
    return words[value.lower()]


def log_level(value: str) -> str:
    if value.upper() not in {"TRACE", "DEBUG", "INFO", "WARNING", "ERROR", "CRITICAL"}:
        raise ValueError(value)
    return value.upper()


def log_format(value: str) -> str:
    if value.lower() not in {"text", "json"}:
        raise ValueError(value)
    return value.lower()


def passphrase(value: str) -> str:
    if len(value) < LEAST_PASSPHRASE:
        raise ValueError(value)
    return value


def signing_key(value: str) -> str:
    if len(value.encode()) < LEAST_SIGNING_KEY:
        raise ValueError(value)
    return value


def base_url(value: str) -> str:
    if not value.startswith(("http://", "https://")):
        raise ValueError(value)
    return value.rstrip("/")


def variables(value: str) -> str:
    names = [name.strip() for name in value.split(",") if name.strip()]
    if not all(name.isascii() and name.isidentifier() for name in names):
        raise ValueError(value)
    return ",".join(names)


def networks(value: str) -> str:
    """Addresses and networks, each as it is usually written."""
    return ",".join(str(ip_network(part.strip())) for part in value.split(",") if part.strip())


def list_path(value: str) -> str:
    if value not in {"list/tweets", "list/tweets_timeline"}:
        raise ValueError(value)
    return value


def whole(least: int, most: int) -> Callable[[str], int]:
    def read(value: str) -> int:
        number = int(value)
        if not least <= number <= most:
            raise ValueError(value)
        return number

    return read


def number(least: float, most: float) -> Callable[[str], float]:
    def read(value: str) -> float:
        number = float(value)
        if not least <= number <= most:
            raise ValueError(value)
        return number

    return read


@dataclass(frozen=True, slots=True, kw_only=True)
class Spec:
    """What is known about one setting before any value is read."""

    names: tuple[str, ...]
    help: str
    read: Callable[[str], Any]
    expects: str
    secret: bool


def setting(
    *names: str,
    default: Any,
    help: str,  # noqa: A002 - the word for it everywhere
    read: Callable[[str], Any],
    expects: str = "text",
    secret: bool = False,
) -> Any:
    return field(
        default=default,
        repr=not secret,
        metadata={"spec": Spec(names=names, help=help, read=read, expects=expects, secret=secret)},
    )
