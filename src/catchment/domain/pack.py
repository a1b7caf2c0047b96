"""A source pack: a named list of sources that people pass on."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from datetime import datetime
from typing import Any

from catchment.domain.caller import Caller


@dataclass(frozen=True, slots=True, kw_only=True)
class Pack:
    id: int
    #: Its name in addresses and commands.
    slug: str
    name: str
    description: str
    #: Entries such as a file of sources has them, without secrets.
    sources: tuple[Mapping[str, Any], ...]
    is_public: bool
    created_by: int | None
    install_count: int
    created_at: datetime

    def shown(self) -> dict[str, Any]:
        """As API and command line give it out."""
        facts = {field.name: getattr(self, field.name) for field in fields(self)}
        return facts | {"sources": [dict(entry) for entry in self.sources]}

    def is_seen_by(self, caller: Caller) -> bool:
        return self.is_public or caller.sees_all or caller.owns(self.created_by)
