"""Text and numbers that one store or JSON could not give back are refused, whichever door they come by. Both stores."""

from __future__ import annotations

import math
from typing import Any

import pytest

from catchment.bootstrap import System
from catchment.domain.caller import OPERATOR
from catchment.domain.item import is_storable
from catchment.domain.sealing import open_config
from catchment.errors import InvalidInput
from catchment.manage.catalog import Change, Draft
from catchment.manage.feeds import FeedDraft
from catchment.manage.webhooks import NewWebhook
from stores import on_sqlite_alone

pytestmark = on_sqlite_alone

HALF = "caf\udce9"
GOOD: dict[str, Any] = {"url": "https://example.org/feed"}
BAD: list[dict[str, Any]] = [
    {"config": {**GOOD, "x": HALF}},
    {"config": {**GOOD, HALF: 1}},
    {"config": {**GOOD, "x": [{"y": math.nan}]}},
    {"config": {**GOOD, "x": math.inf}},
    {"config": {**GOOD, "x": "a\0b"}},
    {"name": HALF},
    {"tags": ("fine", HALF)},
]


@pytest.mark.parametrize("wrong", BAD, ids=repr)
async def test_no_source_is_stored_that_could_not_be_given_back(system: System, wrong: dict[str, Any]) -> None:
    (field,) = wrong
    with pytest.raises(InvalidInput) as refused:
        await system.catalog.add(Draft(type="rss", **{"config": GOOD, **wrong}), OPERATOR)
    assert refused.value.field == field
    assert await system.catalog.list(OPERATOR) == []
    source = await system.catalog.add(Draft(type="rss", config=GOOD), OPERATOR)
    with pytest.raises(InvalidInput):
        await system.catalog.change(source.id, Change(**wrong), OPERATOR)
    assert await system.catalog.get(source.id, OPERATOR) == source


async def test_what_only_looks_like_a_nul_is_kept(system: System) -> None:
    config = {**GOOD, "headers": {"X-Pattern": r"a\u0000b", "X-Sea": "海 🌊"}}
    source = await system.catalog.add(Draft(type="rss", config=config, name="海"), OPERATOR)
    stored = (await system.catalog.get(source.id, OPERATOR)).config
    assert open_config(stored, system.catalog._vault) == config


async def test_nor_is_anything_else_that_has_a_name(system: System) -> None:
    with pytest.raises(InvalidInput, match="title"):
        await system.feeds.add(FeedDraft(slug="news", title=HALF, filter={}), OPERATOR)
    with pytest.raises(InvalidInput, match="filter"):
        await system.feeds.add(FeedDraft(slug="news", title="News", filter={"tags": [HALF]}), OPERATOR)
    with pytest.raises(InvalidInput, match="name"):
        await system.accounts.enrol("ada@example.org", name=HALF)
    with pytest.raises(InvalidInput, match="name"):
        await system.webhooks.add(NewWebhook(name=HALF, url="https://example.org/hook", topics=("items.new",)))


def test_a_value_nested_too_deep_to_be_written_is_not_storable() -> None:
    value: list[Any] = []
    for _ in range(100_000):
        value = [value]
    assert not is_storable(value)
