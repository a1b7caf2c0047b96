"""What a source's options make of the one client: the way out that its fetcher is given."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from catchment.crypto import Vault, is_sealed
from catchment.domain.options import Options, has_options, read_options
from catchment.errors import BadConfig
from catchment.fetch.client import HttpClient
from catchment.fetch.manner import SourceClient, manner_of
from catchment.sandbox.pool import ParserPool

#: What sealed passwords are bound to.
PASSWORD = "source password"  # noqa: S105 - a label
_NO_OPTIONS = Options()
_ADDRESS_KEYS = ("url", "endpoint")
_PLACEHOLDER = re.compile(r"\$\{([^}]*)\}")


class Outfitter:
    def __init__(self, *, http: HttpClient, vault: Vault, variables: Mapping[str, str], parsers: ParserPool) -> None:
        self._http = http
        #: Who reads what comes.
        self.parsers = parsers
        self._vault = vault
        #: What headers may name as `${NAME}`; "" for one that is allowed and not set.
        self._variables = variables
        self._plain = SourceClient(http)

    def outfit(self, config: Mapping[str, Any]) -> tuple[Options, SourceClient]:
        """The options in a config, and a client that heeds them."""
        if not has_options(config):
            return _NO_OPTIONS, self._plain
        options = read_options(config)
        manner = manner_of(options, address=address_of(config), unseal=self._unseal, fill=self._fill)
        return options, SourceClient(self._http, manner)

    def _unseal(self, password: str) -> str:
        """One that is not stored yet, as when a source is tried before it is added, is still plain."""
        return self._vault.open(password, purpose=PASSWORD) if is_sealed(password) else password

    def _fill(self, header: str) -> str:
        """The header with its variables filled in: only here, so that no fetcher ever holds their values."""
        return _PLACEHOLDER.sub(self._variable, header)

    def _variable(self, placeholder: re.Match[str]) -> str:
        name = placeholder[1]
        if name not in self._variables:
            raise BadConfig(f"headers may not use {name[:100]!r}; list it in CATCHMENT_API_ENV, or take it out.")
        if not self._variables[name]:
            raise BadConfig(f"headers use {name!r}, which is not set: set it where the collector runs.")
        return self._variables[name]


def address_of(config: Mapping[str, Any]) -> str | None:
    """The address that a source is at, where its config names one."""
    given = (config.get(key) for key in _ADDRESS_KEYS)
    return next((one.strip() for one in given if isinstance(one, str) and one.strip()), None)
