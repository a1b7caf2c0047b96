"""What of a source's config is secret: the one declaration that sealing, masking, files and the audit go by. Pure.

Secret are: the password of `basic_auth`; the value of every header, whatever its name, unless it only names a variable
(`Bearer ${TOKEN}`); headers, parameters and fields of a body whose names say so; a list with such a field in it, and a
body that is text and holds one, each as a whole; and an address that holds a password or a key. Other keys on the first
level belong to the type's own vocabulary and are no secrets.

Stored, a config has masks in place of its secrets, and all of them in one sealed text (`domain/sealing.py`): whoever
shows or passes on a config has nothing to leave out.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final
from urllib.parse import urlsplit

from catchment.domain.options import ALLOW_PRIVATE_KEY, AUTH_KEY, HEADERS_KEY, SEALED_KEY, VERIFY_TLS_KEY
from catchment.errors import InvalidInput
from catchment.redact import MASK, is_secret_name, redact_text, redact_url

#: What opens doors on the machine that reads the file, with the value that opens none: for its owner to decide.
RISKY_OPTIONS: Final[Mapping[str, bool]] = {ALLOW_PRIVATE_KEY: False, VERIFY_TLS_KEY: True}
#: Where a source is, in its config.
ADDRESS_KEYS: Final = ("url", "endpoint")
#: What is sent along, in the config of a type that sends something: text, or an object.
BODY_KEY: Final = "body"
_NAMES_A_VARIABLE: Final = re.compile(r"(?:[A-Za-z]+ )?\$\{[^}]*\}")
_PORTS: Final = {"http": 80, "https": 443}

Path = tuple[str, ...]


def secret_paths(config: Mapping[str, Any]) -> list[Path]:
    """Where the secrets of a config are, such as `("headers", "Authorization")`, masked or not; always in one order."""
    found: list[Path] = []
    for key, value in config.items():
        if isinstance(value, Mapping):
            found += _secrets_of_option(key, value)
        elif _is_secret_value(key, value):
            found.append((key,))
    return sorted(found)


def is_masked(config: Mapping[str, Any]) -> bool:
    """Whether each secret has its mask already."""
    return all(at(config, path) == _mask_of(config, path) for path in secret_paths(config))


def masked(config: Mapping[str, Any]) -> dict[str, Any]:
    """The config with a mask in place of each secret."""
    shown = {key: value for key, value in config.items() if key != SEALED_KEY}
    for path in secret_paths(config):
        shown = put(shown, path, _mask_of(config, path))
    return shown


def restored(config: Mapping[str, Any], stored: Mapping[str, Any]) -> dict[str, Any]:
    """The config with what is stored in place of each mask; InvalidInput where nothing may take its place.

    What was entered for one origin is told to no other: whoever moves a source elsewhere enters its secrets again.
    """
    hidden = names_of(mask_paths(config))
    if hidden and stored and origin_of(config) != origin_of(stored):
        raise InvalidInput(
            f"{hidden} was entered for {origin_of(stored)}, and is not told to {origin_of(config) or 'anybody else'}: "
            "enter it again, or leave it out.",
            field="config",
        )
    whole = dict(config)
    for path in mask_paths(config):
        if path in secret_paths(stored) and at(config, path) == _mask_of(stored, path):
            whole = put(whole, path, at(stored, path))
    if missing := names_of(mask_paths(whole)):
        raise InvalidInput(
            f"{missing} is masked, and nothing is stored that it could stand for: write it out.", field="config"
        )
    return whole


def mask_paths(config: Mapping[str, Any], before: Path = ()) -> list[Path]:
    found: list[Path] = []
    for key, value in config.items():
        if isinstance(value, str) and (value == MASK or (MASK in value and _is_secret_address(value))):
            found.append((*before, key))
        elif isinstance(value, Mapping):
            found += mask_paths(value, (*before, key))
    return found


def without(config: Mapping[str, Any], paths: list[Path]) -> dict[str, Any]:
    """The config without these parts. A user name without its password is of no use, and goes with it; an address
    stays, masked, or nobody would know what it was.
    """
    rest = {key: value for key, value in config.items() if key != SEALED_KEY}
    for path in paths:
        if _is_address(config, path):
            rest = put(rest, path, _mask_of(config, path))
        else:
            rest = _without(rest, path[:1] if path[0] == AUTH_KEY else path)
    return rest


def names_of(paths: list[Path]) -> str:
    return ", ".join(dict.fromkeys(AUTH_KEY if path[0] == AUTH_KEY else ".".join(path) for path in paths))


def has_secret_address(config: Mapping[str, Any]) -> bool:
    """The address itself holds a key or a password, so nothing of the source can be shared."""
    return any(_is_secret_address(value) for key, value in config.items() if key != BODY_KEY)


def holds_secrets(config: Mapping[str, Any]) -> bool:
    """Whether a config has what only the source's own origin may be told. Any header may be that, whatever its name."""
    return bool(config.get(HEADERS_KEY)) or bool(secret_paths(config))


def address_of(config: Mapping[str, Any]) -> str | None:
    given = (config.get(key) for key in ADDRESS_KEYS)
    return next((one.strip() for one in given if isinstance(one, str) and one.strip()), None)


def origin_of(config: Mapping[str, Any]) -> str:
    """Scheme, host and port of where a source is; empty for one that is at no address."""
    return origin_of_url(address_of(config) or "")


def origin_of_url(url: str) -> str:
    try:
        parts = urlsplit(url)
        port = parts.port or _PORTS.get(parts.scheme, 0)
    except ValueError:
        return ""
    return f"{parts.scheme}://{parts.hostname}:{port}" if parts.hostname else ""


def at(config: Any, path: Path) -> Any:
    for step in path:
        config = config.get(step) if isinstance(config, Mapping) else None
    return config


def put(config: Mapping[str, Any], path: Path, value: Any) -> dict[str, Any]:
    head, *rest = path
    return {**config, head: put(config[head], tuple(rest), value) if rest else value}


def _secrets_of_option(key: str, value: Mapping[str, Any]) -> list[Path]:
    if key == AUTH_KEY:
        return [(key, "password")]
    if key == HEADERS_KEY:
        return [(key, name) for name, text in value.items() if not _NAMES_A_VARIABLE.fullmatch(str(text))]
    return _named_secrets(value, (key,))


def _named_secrets(values: Mapping[str, Any], before: Path) -> list[Path]:
    found: list[Path] = []
    for name, value in values.items():
        if isinstance(value, Mapping):
            found += _named_secrets(value, (*before, name))
        elif _is_secret_field(name, value):
            found.append((*before, name))
    return found


def _is_secret_field(name: str, value: Any) -> bool:
    return value == MASK or _holds_named_secret(value) or (isinstance(value, str | list) and is_secret_name(name))


def _is_secret_value(key: str, value: Any) -> bool:
    """On the first level, where names say nothing."""
    is_body = key == BODY_KEY and isinstance(value, str)
    return (
        value == MASK
        or _holds_named_secret(value)
        or (_is_secret_body(value) if is_body else _is_secret_address(value))
    )


def _holds_named_secret(value: Any) -> bool:
    """Whether a list has one somewhere in it; paths lead through no list."""
    if isinstance(value, Mapping):
        return bool(_named_secrets(value, ()))
    return isinstance(value, list) and any(map(_holds_named_secret, value))


def _is_secret_body(text: str) -> bool:
    """A text of whatever form: JSON, lines, or pairs such as a query has."""
    as_query = f"?{text}"
    return redact_text(as_query) != as_query


def _is_secret_address(value: Any) -> bool:
    return isinstance(value, str) and "://" in value and (MASK in value or redact_url(value) != value)


def _is_address(config: Mapping[str, Any], path: Path) -> bool:
    """Of an address the rest may be shown; of a body it may not, whatever addresses are in it."""
    return path != (BODY_KEY,) and _is_secret_address(at(config, path))


def _mask_of(config: Mapping[str, Any], path: Path) -> str:
    return redact_url(at(config, path)) if _is_address(config, path) else MASK


def _without(config: Mapping[str, Any], path: Path) -> dict[str, Any]:
    """An object that is left empty goes too."""
    head, *rest = path
    inner = _without(config[head], tuple(rest)) if rest and head in config else {}
    return {key: inner if key == head else value for key, value in config.items() if key != head or inner}
