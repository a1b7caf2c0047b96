"""What a source's options make of the one client: the way out that its fetcher is given."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from catchment.crypto import Vault, is_sealed
from catchment.domain.options import Options, has_options, read_options
from catchment.fetch.client import HttpClient
from catchment.fetch.manner import SourceClient, manner_of

#: What sealed passwords are bound to.
PASSWORD = "source password"  # noqa: S105 - a label
_NO_OPTIONS = Options()
_ADDRESS_KEYS = ("url", "endpoint")


class Outfitter:
    def __init__(self, *, http: HttpClient, vault: Vault) -> None:
        self._http = http
        self._vault = vault
        self._plain = SourceClient(http)

    def outfit(self, config: Mapping[str, Any]) -> tuple[Options, SourceClient]:
        """The options in a config, and a client that heeds them."""
        if not has_options(config):
            return _NO_OPTIONS, self._plain
        options = read_options(config)
        manner = manner_of(options, address=_address(config), unseal=self._unseal)
        return options, SourceClient(self._http, manner)

    def _unseal(self, password: str) -> str:
        """One that is not stored yet, as when a source is tried before it is added, is still plain."""
        return self._vault.open(password, purpose=PASSWORD) if is_sealed(password) else password


def _address(config: Mapping[str, Any]) -> str | None:
    return next((config[key] for key in _ADDRESS_KEYS if isinstance(config.get(key), str)), None)
