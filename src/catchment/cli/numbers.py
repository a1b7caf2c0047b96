"""Numbers that commands are given."""

from __future__ import annotations

import typer

#: More than this is in no column of either store.
MOST = 2**63 - 1


def storable(number: int | None) -> int | None:
    """Lets pass what can be looked for in a store."""
    if number is not None and not -MOST <= number <= MOST:
        raise typer.BadParameter(f"{number} is more than any number here; at most {MOST}.")
    return number
