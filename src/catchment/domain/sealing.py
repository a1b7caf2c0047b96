"""Configs at rest: masks where their secrets were, and all of those in one sealed text.

The seal is bound to the origin that the secrets are for: should an address be changed past every door, none opens.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Final

from catchment.crypto import Vault, is_sealed
from catchment.domain.confidential import at, is_masked, masked, origin_of, put, secret_paths
from catchment.domain.options import AUTH_KEY, SEALED_KEY

#: What passwords were bound to while they were sealed by themselves.
PASSWORD: Final = "source password"  # noqa: S105 - a label


def seal_config(config: Mapping[str, Any], vault: Vault) -> dict[str, Any]:
    """A plain config as it is stored."""
    secrets = [(path, at(config, path)) for path in secret_paths(config)]
    if not secrets:
        return dict(config)
    return {**masked(config), SEALED_KEY: vault.seal(json.dumps(secrets), purpose=_purpose(config))}


def open_config(config: Mapping[str, Any], vault: Vault) -> Mapping[str, Any]:
    """A stored config with its secrets, or Unsealable. One that has none is given back as it is."""
    # Nearly every source has none, and is visited all day long.
    if SEALED_KEY not in config:
        return _with_open_password(config, vault) if AUTH_KEY in config else config
    sealed = config[SEALED_KEY]
    plain = {key: value for key, value in config.items() if key != SEALED_KEY}
    for path, value in json.loads(vault.open(sealed, purpose=_purpose(config))):
        plain = put(plain, tuple(path), value)
    return plain


def is_plain(config: Mapping[str, Any]) -> bool:
    """Whether a stored config has secrets that are not sealed with the others."""
    return not is_masked(config)


def _with_open_password(config: Mapping[str, Any], vault: Vault) -> Mapping[str, Any]:
    password = at(config, (AUTH_KEY, "password"))
    if not isinstance(password, str) or not is_sealed(password):
        return config
    return put(config, (AUTH_KEY, "password"), vault.open(password, purpose=PASSWORD))


def _purpose(config: Mapping[str, Any]) -> str:
    return f"secrets of a source at {origin_of(config)}"
