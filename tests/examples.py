"""How many examples Hypothesis makes up: few in `make test`, many in `make test-fuzz`."""

from __future__ import annotations

import os

from hypothesis import HealthCheck, settings

# How fast examples are made says how busy the machine is, and nothing about the code. Where CI judges a change, it tries
# the same examples every time: what is new is looked for at the desk, and is no change's fault.
settings.register_profile(
    "few",
    max_examples=25,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
    derandomize="CI" in os.environ,
)
settings.register_profile("many", settings.get_profile("few"), max_examples=200)


def at_most(examples: int) -> int:
    """Fewer than the profile says, where each one takes long."""
    return min(examples, settings.default.max_examples)  # type: ignore[union-attr]
