"""What Feishu says no with, as people get to read it."""

from __future__ import annotations

import pytest

from catchment.clock import ManualClock
from catchment.collect.feishu.client import App, Bitable
from catchment.collect.feishu.refusals import BitableError
from catchment.fetch.client import HttpClient, Limits
from catchment.fetch.guard import AddressGuard
from catchment.fetch.pacing import PacePolicy, Pacer
from catchment.redact import redact_text
from catchment.simulator.services.bitable import Endpoint, refusal
from feishu_table import APP_ID, DOCUMENT, SECRET, START, TABLE, feishu_table


@pytest.mark.parametrize(
    ("code", "said", "told"),
    [
        (10014, "app secret invalid", "check FEISHU_APP_ID and FEISHU_APP_SECRET (app secret invalid)"),
        (1254040, "BaseTokenNotFound", "check FEISHU_APP_TOKEN (BaseTokenNotFound)"),
        (1254041, "TableIdNotFound", "check FEISHU_TABLE_ID (TableIdNotFound)"),
    ],
)
@pytest.mark.proves("E-15")
async def test_what_feishu_says_of_a_setting_outlives_the_striking_out_of_secrets(code, said, told):
    clock = ManualClock(START)
    http = HttpClient(
        guard=AddressGuard.parse("127.0.0.1"),
        pacer=Pacer(PacePolicy()),
        limits=Limits(total_seconds=5),
        user_agent="Catchment/test",
        clock=clock,
    )
    app = App(id=APP_ID, secret=SECRET, document=DOCUMENT, table=TABLE)
    async with feishu_table(clock) as table, http:
        table.service.fail(Endpoint.FIELDS, refusal(code, said))
        with pytest.raises(BitableError) as no:
            await Bitable(http=http, base_url=table.base_url, app=app, clock=clock).fields()
    assert redact_text(str(no.value)).endswith(told)
