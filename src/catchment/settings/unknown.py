"""Variables that look like settings and are none: a misspelt one would be ignored in silence."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from difflib import get_close_matches
from typing import Final

#: Nobody else's variables begin like this.
OWN_PREFIX: Final = "CATCHMENT_"
#: Other programs may have variables that begin like these: one of them is named only if it is nearly one of ours.
SHARED_PREFIXES: Final = ("COLLECTOR_", "SCRAPER_", "TWITTER_", "FEISHU_", "AUTO_SUMMARIZATION_")
#: Ours, but read by n8n and by the tests.
ELSEWHERE: Final = frozenset({"CATCHMENT_URL", "CATCHMENT_API_KEY", "CATCHMENT_REAL_DATA"})
LIKENESS: Final = 0.75


def unknown_variables(
    names: Iterable[str], known: Collection[str], *, prefixes: tuple[str, ...] = SHARED_PREFIXES
) -> dict[str, str]:
    """Those that are no setting, each with the setting that is likely meant, or ""."""
    strangers = [name for name in names if name not in known and name not in ELSEWHERE]
    likely = {name: _likely_variable(name, known) for name in strangers if name.startswith((OWN_PREFIX, *prefixes))}
    return {name: meant for name, meant in sorted(likely.items()) if meant or name.startswith(OWN_PREFIX)}


def _likely_variable(name: str, known: Collection[str]) -> str:
    """Among those that begin alike: what they share makes none likelier."""
    prefix = name.partition("_")[0] + "_"
    meant = likely_one(name.removeprefix(prefix), [one.removeprefix(prefix) for one in known if one.startswith(prefix)])
    return meant and prefix + meant


def likely_one(name: str, known: Iterable[str]) -> str:
    """What was likely meant by a name that is not known, or ""."""
    return next(iter(get_close_matches(name, known, n=1, cutoff=LIKENESS)), "")
