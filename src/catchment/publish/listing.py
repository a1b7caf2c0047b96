"""Lists of sources in YAML or JSON, such as `parse/listing.py` reads."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import yaml

_DUMPER: Any = getattr(yaml, "CSafeDumper", yaml.SafeDumper)


def write_json(document: Mapping[str, Any]) -> bytes:
    return (json.dumps(document, ensure_ascii=False, indent=2) + "\n").encode()


def write_yaml(document: Mapping[str, Any]) -> bytes:
    written: bytes = yaml.dump(
        _separate(document), Dumper=_DUMPER, encoding="utf-8", allow_unicode=True, sort_keys=False, width=120
    )
    return written


def _separate(value: Any) -> Any:
    """Copies all the way down: what is there twice would be written as an alias."""
    if isinstance(value, Mapping):
        return {key: _separate(inner) for key, inner in value.items()}
    return [_separate(inner) for inner in value] if isinstance(value, list) else value
