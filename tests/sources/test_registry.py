"""A type owns its facts, and the registry tells them."""

from __future__ import annotations

import subprocess
import sys

import pytest

from catchment.domain.visit import Fetched
from catchment.settings import Settings
from catchment.sources.base import CrawlingType, Parts
from catchment.sources.registry import AT_HAND, BUILT_IN, FALLBACK_MINUTES, Registry

TYPES = Registry(parts=Parts(settings=Settings()))
LOADED = """
import sys
from catchment.settings import Settings
from catchment.sources.base import Parts
from catchment.sources.registry import Registry
types = Registry(parts=Parts(settings=Settings()))
assert types.get("rss") and types.default_minutes("rss") == 240 and types.host("rss", {"url": "https://a.example/f"})
print(*(name for name in sys.modules if name.startswith("catchment.sources.")))
"""


class Bare:
    """What a type has to have, and nothing else."""

    type = "bare"

    def identity(self, config):
        return str(config)

    async def fetch(self, _context):
        return Fetched()


@pytest.mark.parametrize("name", BUILT_IN)
def test_a_type_that_comes_along_is_called_as_the_registry_calls_it(name):
    known = TYPES.get(name)
    assert name in TYPES
    assert known is None or known.type == name
    assert TYPES.display_name(name) != name
    assert TYPES.display_name(name, "zh")
    assert 0 < TYPES.default_minutes(name) <= FALLBACK_MINUTES


@pytest.mark.proves("S-02")
@pytest.mark.parametrize("name", AT_HAND)
def test_what_is_told_of_a_type_without_loading_it_is_what_its_file_says(name):
    known = TYPES.get(name)
    assert known is not None, "it works wherever it is"
    assert getattr(known, "default_minutes", FALLBACK_MINUTES) == TYPES.default_minutes(name)
    assert getattr(known, "needed_key", None) is TYPES.needed_key(name) is None
    assert isinstance(known, CrawlingType) == TYPES.is_crawled(name)


def test_what_a_type_does_not_say_has_a_default():
    types = Registry([Bare()])
    assert list(types) == ["bare"]
    assert types.default_minutes("bare") == types.default_minutes("unheard_of") == FALLBACK_MINUTES
    assert types.display_name("bare", "zh") == "bare"
    assert types.needed_key("bare") is types.config_keys("bare") is types.suggest("bare", "x") is None
    assert types.recognise("https://bare.example/") is None
    assert types.can_fetch("bare")
    assert not types.can_fetch("rss")


def test_types_whose_key_is_missing_are_known_with_their_facts_but_fetch_nothing():
    assert not TYPES.can_fetch("twitter_feed")
    assert TYPES.needed_key("twitter_feed") == "TWITTER_API_KEY"
    assert TYPES.recognise("https://x.com/jack").config == {"handle": "@jack"}
    assert TYPES.suggest("weibo_search", "tea").config == {"keyword": "tea"}


def test_to_collect_a_feed_no_other_type_is_imported():
    done = subprocess.run([sys.executable, "-c", LOADED], capture_output=True, text=True, check=True, timeout=60)
    loaded = {name.removeprefix("catchment.sources.") for name in done.stdout.split()}
    assert loaded == {"base", "config", "items", "page", "registry", "rss"}
