"""Addresses as people paste them: with or without a scheme, and now and then with a trick in them."""

from __future__ import annotations

from yarl import URL

MAX_CHARS = 2048


def web_address(pasted: str) -> URL | None:
    """The web address that was pasted, or None. One that may mean another host to another reader is none."""
    text = pasted.strip()
    if not text or len(text) > MAX_CHARS or not text.isprintable() or " " in text or "\\" in text:
        return None
    try:
        url = URL(text if "://" in text else f"https://{text}")
        plain = url.scheme in {"http", "https"} and bool(url.host) and url.user is None and url.is_default_port()
    except ValueError:
        return None
    return url if plain else None


def path_of(url: URL) -> list[str]:
    """The parts of its path, without empty ones."""
    return [part for part in url.path.split("/") if part]
