"""A count of every visit to the simulated web."""

from __future__ import annotations

from collections import Counter


class Hits:
    """How often each path was asked for, with the status of the answer it was given (even if cut off)."""

    def __init__(self) -> None:
        self.counts: Counter[tuple[str, int]] = Counter()

    def of(self, prefix: str = "/") -> int:
        """Visits to all paths that begin so: `/s/17/` is a site, `/s/17/posts/` its pages."""
        return self.statuses(prefix).total()

    def statuses(self, prefix: str = "/") -> Counter[int]:
        found: Counter[int] = Counter()
        for (path, status), count in self.counts.items():
            if path.startswith(prefix):
                found[status] += count
        return found
