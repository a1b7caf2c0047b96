"""Slugs: names as they may stand in an address."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Collection

MOST_SLUG = 60


def slug_of(name: str, *, otherwise: str) -> str:
    """The name in small Latin letters and digits; `otherwise` when it has none."""
    plain = unicodedata.normalize("NFKD", name).encode("ascii", "ignore").decode().lower()
    return re.sub(r"[^a-z0-9]+", "-", plain).strip("-")[:MOST_SLUG].strip("-") or otherwise


def free_slug(wanted: str, taken: Collection[str]) -> str:
    """The slug itself, or with the first number that is free."""
    slug, number = wanted, 0
    while slug in taken:
        number += 1
        slug = f"{wanted}-{number}"
    return slug
