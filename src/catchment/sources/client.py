"""What a source's options make of the one client: the way out that its fetcher is given."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime
from typing import Any

from catchment.crypto import Vault
from catchment.domain.confidential import address_of
from catchment.domain.options import Options, has_options, read_options
from catchment.domain.sealing import open_config
from catchment.domain.source import Source
from catchment.errors import BadConfig
from catchment.fetch.client import HttpClient
from catchment.fetch.options import SourceClient, request_options
from catchment.sandbox.pool import ParserPool
from catchment.sources.base import Context

_NO_OPTIONS = Options()
_PLACEHOLDER = re.compile(r"\$\{([^}]*)\}")


class ClientFactory:
    def __init__(self, *, http: HttpClient, vault: Vault, variables: Mapping[str, str], parsers: ParserPool) -> None:
        self._http = http
        #: Who reads what comes.
        self.parsers = parsers
        self._vault = vault
        #: What headers may name as `${NAME}`; "" for one that is allowed and not set.
        self._variables = variables
        self._plain = SourceClient(http)

    def opened(self, source: Source) -> Source:
        """The source with its secrets, as its fetcher needs it. Most have none, and are given back as they are."""
        plain = open_config(source.config, self._vault)
        return source if plain is source.config else replace(source, config=plain)

    def context(self, source: Source, now: datetime) -> tuple[Options, Context]:
        """The source's options, and what its fetcher is given for a visit."""
        opened = self.opened(source)
        options, http = self.client_for(opened.config)
        parsers = self.parsers.for_source(is_well=not source.fetch_error_count)
        return options, Context(source=opened, now=now, http=http, parsers=parsers)

    def client_for(self, config: Mapping[str, Any]) -> tuple[Options, SourceClient]:
        """The options in an open config, and a client that heeds them."""
        if not has_options(config):
            return _NO_OPTIONS, self._plain
        options = read_options(config)
        manner = request_options(options, address=address_of(config), fill=self._fill)
        return options, SourceClient(self._http, manner)

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
