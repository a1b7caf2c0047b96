"""Reading a source's config: each value checked where it is used, with a sentence for whoever wrote it."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from yarl import URL

from catchment.domain.options import read_flag
from catchment.errors import BadConfig

MAX_CHARS = 8192


def text(
    config: Mapping[str, Any],
    name: str,
    *,
    default: str | None = None,
    example: str = "…",
    most: int = MAX_CHARS,
) -> str:
    """A line of text. Without a default it must be there."""
    value = config.get(name)
    if value is None and default is not None:
        return default
    if not isinstance(value, str) or not value.strip() or len(value) > most:
        raise BadConfig(f'The config needs {{"{name}": "{example}"}}, a text of at most {most} characters.')
    return value.strip()


def choice(config: Mapping[str, Any], name: str, among: Collection[str], *, default: str) -> str:
    value = config.get(name)
    if value is None:
        return default
    if value not in among:
        raise BadConfig(f"{name} is one of {', '.join(among)}; {value!r} is none of them.")
    return str(value)


def whole(config: Mapping[str, Any], name: str, *, default: int, least: int, most: int) -> int:
    """A whole number; numbers as text are taken too, since forms send those."""
    value = config.get(name)
    if value is None:
        return default
    try:
        number = int(value) if isinstance(value, int | str) and not isinstance(value, bool) else None
    except ValueError:
        number = None
    if number is None or not least <= number <= most:
        raise BadConfig(f"{name} is a whole number, {least} to {most}; {value!r} is not.")
    return number


def flag(config: Mapping[str, Any], name: str, *, default: bool) -> bool:
    value = config.get(name)
    return default if value is None else read_flag(name, value)


def texts(config: Mapping[str, Any], name: str, *, most: int = 100) -> tuple[str, ...]:
    """A list of texts, empty when it is not there."""
    value = config.get(name)
    if value is None:
        return ()
    if not isinstance(value, list) or len(value) > most or not all(isinstance(one, str) and one for one in value):
        raise BadConfig(f"{name} is a list of at most {most} texts.")
    return tuple(value)


def mapping(config: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    """An object, empty when it is not there."""
    value = config.get(name)
    if value is None:
        return {}
    if not isinstance(value, Mapping):
        raise BadConfig(f"{name} is an object; {type(value).__name__} is not.")
    return value


MAX_CHARS = 2048


def web_address(pasted: str) -> URL | None:
    """The web address that was pasted, or None. One that may mean another host to another reader is none."""
    text = pasted.strip()
    if not text or len(text) > MAX_CHARS or not text.isprintable() or " " in text or "\\" in text:
        return None
    try:
        url = URL(text if "://" in text else f"https://{text.removeprefix('//')}")
        plain = url.scheme in {"http", "https"} and bool(url.host) and url.user is None and url.is_default_port()
    except ValueError:
        return None
    return url if plain else None


def path_of(url: URL) -> list[str]:
    """The parts of its path, without empty ones."""
    return [part for part in url.path.split("/") if part]
