"""What of a source's config stays where it is when the source goes into a file. Pure.

A config holds secrets in two places: the password of `basic_auth`, and headers, parameters or fields of a body whose
names say so. Keys on the first level belong to the type's own vocabulary and are no secrets.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from catchment.domain.options import ALLOW_PRIVATE_KEY, AUTH_KEY, VERIFY_TLS_KEY
from catchment.redact import MASK, is_secret_name, redact_url

#: What opens doors on the machine that reads the file, with the value that opens none: for its owner to decide.
RISKY_OPTIONS: Final[Mapping[str, bool]] = {ALLOW_PRIVATE_KEY: False, VERIFY_TLS_KEY: True}


def secret_paths(config: Mapping[str, Any]) -> list[tuple[str, ...]]:
    """Where the secrets of a config are, such as `("headers", "Authorization")`."""
    auth = config.get(AUTH_KEY)
    found: list[tuple[str, ...]] = [(AUTH_KEY, "password")] if isinstance(auth, Mapping) else []
    for key, value in config.items():
        if key != AUTH_KEY and isinstance(value, Mapping):
            found += _named_secrets(value, (key,))
    return found


def masked(config: Mapping[str, Any]) -> dict[str, Any]:
    """The config with a mask in place of each secret."""
    shown = dict(config)
    for path in secret_paths(config):
        shown = _with(shown, path, MASK)
    return shown


def unmasked(config: Mapping[str, Any], stored: Mapping[str, Any]) -> dict[str, Any]:
    """The config with what is stored in place of each mask, where there is something stored."""
    whole = dict(config)
    for path in mask_paths(config):
        kept = _at(stored, path)
        if kept is not None:
            whole = _with(whole, path, kept)
    return whole


def mask_paths(config: Mapping[str, Any], before: tuple[str, ...] = ()) -> list[tuple[str, ...]]:
    found: list[tuple[str, ...]] = []
    for key, value in config.items():
        if value == MASK:
            found.append((*before, key))
        elif isinstance(value, Mapping):
            found += mask_paths(value, (*before, key))
    return found


def without(config: Mapping[str, Any], paths: list[tuple[str, ...]]) -> dict[str, Any]:
    """The config without these parts. A user name without its password is of no use, and goes with it."""
    rest = dict(config)
    for path in paths:
        rest = _without(rest, path[:1] if path[0] == AUTH_KEY else path)
    return rest


def names_of(paths: list[tuple[str, ...]]) -> str:
    return ", ".join(dict.fromkeys(AUTH_KEY if path[0] == AUTH_KEY else ".".join(path) for path in paths))


def has_secret_address(config: Mapping[str, Any]) -> bool:
    """The address itself holds a key or a password, so nothing of the source can be shared."""
    return any(isinstance(value, str) and "://" in value and redact_url(value) != value for value in config.values())


def _named_secrets(values: Mapping[str, Any], before: tuple[str, ...]) -> list[tuple[str, ...]]:
    found: list[tuple[str, ...]] = []
    for name, value in values.items():
        if isinstance(value, Mapping):
            found += _named_secrets(value, (*before, name))
        elif isinstance(value, str) and is_secret_name(name):
            found.append((*before, name))
    return found


def _at(config: Any, path: tuple[str, ...]) -> Any:
    for step in path:
        config = config.get(step) if isinstance(config, Mapping) else None
    return config


def _with(config: Mapping[str, Any], path: tuple[str, ...], value: Any) -> dict[str, Any]:
    head, *rest = path
    return {**config, head: _with(config[head], tuple(rest), value) if rest else value}


def _without(config: Mapping[str, Any], path: tuple[str, ...]) -> dict[str, Any]:
    """An object that is left empty goes too."""
    head, *rest = path
    inner = _without(config[head], tuple(rest)) if rest and head in config else {}
    return {key: inner if key == head else value for key, value in config.items() if key != head or inner}
