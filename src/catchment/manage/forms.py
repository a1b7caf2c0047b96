"""The formats in which a list of sources goes out. On its own, because the command line names them at its start."""

from __future__ import annotations

from enum import StrEnum


class Format(StrEnum):
    OPML = "opml"
    JSON = "json"
    YAML = "yaml"
