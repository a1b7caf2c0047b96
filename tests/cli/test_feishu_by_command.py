from __future__ import annotations

from asyncio import to_thread

import pytest
from command import Command

from catchment.platforms.bitable import FIELDS
from feishu_table import feishu_table
from simulated_bitable import TEXT

pytestmark = pytest.mark.proves("E-15")


async def test_a_table_is_checked_and_its_missing_fields_are_made(catchment: Command) -> None:
    async with feishu_table(fields={"idempotency_key": TEXT}) as table:
        env = table.environment()
        result = await to_thread(catchment, "feishu", "check", **env)
        assert result.exit_code == 1
        assert "the table lacks platform, topic_id" in result.stderr
        made = await to_thread(catchment.json, "feishu", "check", "--create", **env)
        assert [one["verdict"] for one in made] == ["ok", *["created"] * (len(FIELDS) - 1)]
        assert table.service.fields == FIELDS
        assert (await to_thread(catchment, "feishu", "check", **env)).exit_code == 0


async def test_a_field_of_another_type_is_left_to_people(catchment: Command) -> None:
    async with feishu_table(fields={**FIELDS, "likes": TEXT}) as table:
        result = await to_thread(catchment, "feishu", "check", "--create", **table.environment())
    assert result.exit_code == 1
    assert "likes (number): change it in Bitable" in result.stderr


def test_what_is_not_set_is_named(catchment: Command) -> None:
    result = catchment("feishu", "check", FEISHU_APP_ID="cli_app")
    assert result.exit_code == 1
    assert "set FEISHU_APP_SECRET, FEISHU_APP_TOKEN, FEISHU_TABLE_ID first" in result.stderr
