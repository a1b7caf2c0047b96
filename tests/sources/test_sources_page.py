"""docs/sources.md tells the truth: its examples can be added as they stand."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from service_visits import registry

PAGE = (Path(__file__).parents[2] / "docs" / "sources.md").read_text(encoding="utf-8")
EXAMPLES = [json.loads(block) for block in re.findall(r"^```json\n(.*?)^```", PAGE, re.DOTALL | re.MULTILINE)]


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda example: example["type"])
def test_every_example_is_a_source_that_can_be_added(example):
    fetcher = registry().get(example["type"])
    assert fetcher.identity(example["config"])


def test_every_type_has_an_example():
    assert {example["type"] for example in EXAMPLES} >= {
        "rss", "digest_feed", "hackernews", "reddit", "github_trending", "custom_api",
    }  # fmt: skip
