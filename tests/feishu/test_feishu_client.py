"""The client of one Bitable table, over real sockets."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import timedelta

import pytest

import simulated_bitable as feishu
from catchment.clock import ManualClock
from catchment.fetch.client import HttpClient, Limits
from catchment.fetch.guard import AddressGuard
from catchment.fetch.pacing import PacePolicy, Pacer
from catchment.platforms.bitable import FIELDS, App, Bitable, BitableError, BitableTrouble, FieldType
from catchment.redact import redact_text
from catchment.simulator.messages import Answer
from feishu_table import APP_ID, DOCUMENT, SECRET, START, TABLE, feishu_table
from simulated_bitable import TOKEN_SECONDS, BitableService, Endpoint, refusal

pytestmark = pytest.mark.proves("E-15")


@asynccontextmanager
async def working(clock: ManualClock | None = None, **options) -> AsyncIterator[tuple[Bitable, BitableService]]:
    clock = clock or ManualClock(START)
    http = HttpClient(
        guard=AddressGuard.parse("127.0.0.1"),
        pacer=Pacer(PacePolicy()),
        limits=Limits(total_seconds=5),
        user_agent="Catchment/test",
        clock=clock,
    )
    app = App(id=APP_ID, secret=SECRET, document=DOCUMENT, table=TABLE)
    async with feishu_table(clock, **options) as table, http:
        yield Bitable(http=http, base_url=table.base_url, app=app, clock=clock), table.service


def record(number: int) -> dict[str, str | int]:
    return {"idempotency_key": f"n{number}_v1", "platform": "xhs", "likes": number}


async def test_a_token_is_asked_for_once_and_again_shortly_before_its_end():
    clock = ManualClock(START)
    async with working(clock) as (bitable, service):
        for _ in range(3):
            await bitable.fields()
        assert service.asked[Endpoint.TOKEN] == 1
        clock.advance(timedelta(seconds=TOKEN_SECONDS - 60))
        await bitable.fields()
        assert service.asked[Endpoint.TOKEN] == 2


async def test_a_token_that_is_void_before_its_end_is_replaced_within_the_call():
    async with working() as (bitable, service):
        await bitable.fields()
        service.void_tokens()
        assert await bitable.create([record(1)])
        assert service.asked[Endpoint.TOKEN] == 2
        assert len(service.records) == 1


async def test_tokens_that_are_never_taken_are_a_trouble_after_two():
    async with working() as (bitable, service):
        service.fail(Endpoint.FIELDS, feishu.void_token(), feishu.void_token())
        with pytest.raises(BitableError) as refusal:
            await bitable.fields()
    assert refusal.value.trouble is BitableTrouble.TOKEN
    assert refusal.value.halts
    assert service.asked[Endpoint.TOKEN] == 2


async def test_the_secret_goes_to_where_tokens_are_and_nowhere_else():
    async with working() as (bitable, service):
        await bitable.create([record(1)])
        [token, create] = service.requests
    assert SECRET.encode() in token.body
    assert SECRET.encode() not in create.body
    for request in (token, create):
        assert SECRET not in f"{request.path}{request.query}{request.headers}"


async def test_fields_are_listed_over_all_pages_and_made():
    many = {f"f{number}": 1 for number in range(250)}
    async with working(fields=many) as (bitable, service):
        assert await bitable.fields() == many
        assert service.asked[Endpoint.FIELDS] == 3
        await bitable.create_field("likes", FieldType.NUMBER)
        assert (await bitable.fields())["likes"] == 2


async def test_records_are_found_by_key_and_platform_however_many_are_asked_for():
    async with working() as (bitable, service):
        made = await bitable.create([record(number) for number in range(120)])
        asked = [("xhs", f"n{number}_v1") for number in range(100, 230)]
        found = await bitable.find([*asked, ("wb", "n1_v1")])
        assert found == {key: made[key] for key in asked[:20]} | {("xhs", "n1_v1"): made["xhs", "n1_v1"]}
        assert service.asked[Endpoint.SEARCH] == 3


async def test_of_records_that_somebody_doubled_the_first_is_taken():
    async with working() as (bitable, service):
        service.records |= {"recA": record(1), "recB": record(1)}
        assert await bitable.find([("xhs", "n1_v1")]) == {("xhs", "n1_v1"): "recA"}


async def test_the_same_creation_twice_makes_nothing_new():
    async with working() as (bitable, service):
        first = await bitable.create([record(1), record(2)])
        assert await bitable.create([record(2), record(1)]) == first
        assert len(service.records) == 2


@pytest.mark.parametrize(
    ("answer", "trouble", "words"),
    [
        (feishu.rate_limited(), BitableTrouble.LATER, "fewer requests"),
        (feishu.write_conflict(), BitableTrouble.LATER, "somebody else writes"),
        (feishu.broken(), BitableTrouble.LATER, "HTTP 502"),
        (feishu.cut_off(), BitableTrouble.LATER, "broke off"),
        (feishu.no_scope(), BitableTrouble.SETUP, "scope bitable:app"),
        (feishu.field_not_found(), BitableTrouble.REFUSED, "catchment feishu check"),
        (feishu.too_large_cell(), BitableTrouble.REFUSED, "1254130"),
        (feishu.refusal(1254103, "RecordExceedLimit"), BitableTrouble.SETUP, "the table is full"),
        (feishu.refusal(424242, "odd", status=400), BitableTrouble.REFUSED, "odd"),
        (feishu.json_answer([1]), BitableTrouble.LATER, "not JSON"),
        (feishu.json_answer({"code": "zero"}), BitableTrouble.LATER, "not JSON"),
        (Answer(status=404, body=b"404 page not found"), BitableTrouble.LATER, "check FEISHU_BASE_URL"),
        (Answer(status=429), BitableTrouble.LATER, "fewer requests"),
        (feishu.done({"records": [{"record_id": "recX", "fields": {}}]}), BitableTrouble.LATER, "does not say"),
    ],
)
async def test_every_no_has_its_kind_and_a_sentence(answer, trouble, words):
    async with working() as (bitable, service):
        service.fail(Endpoint.CREATE, answer)
        with pytest.raises(BitableError, match=words) as refusal:
            await bitable.create([record(1)])
    assert refusal.value.trouble is trouble


async def test_paging_that_leads_nowhere_comes_to_an_end():
    async with working() as (bitable, service):
        again = feishu.done({"items": [{"field_name": "a", "type": 1}], "has_more": True, "page_token": "same"})
        service.fail(Endpoint.FIELDS, *[again] * 5)
        assert await bitable.fields() == {"a": 1}
        assert service.asked[Endpoint.FIELDS] == 2


def test_an_app_does_not_show_its_secrets():
    shown = repr(App(id=APP_ID, secret=SECRET, document=DOCUMENT, table=TABLE))
    assert SECRET not in shown
    assert DOCUMENT not in shown
    assert set(FIELDS.values()) == {FieldType.TEXT, FieldType.NUMBER, FieldType.MOMENT}


@pytest.mark.parametrize(
    ("code", "said", "told"),
    [
        (10014, "app secret invalid", "check FEISHU_APP_ID and FEISHU_APP_SECRET (app secret invalid)"),
        (1254040, "BaseTokenNotFound", "check FEISHU_APP_TOKEN (BaseTokenNotFound)"),
        (1254041, "TableIdNotFound", "check FEISHU_TABLE_ID (TableIdNotFound)"),
    ],
)
async def test_what_feishu_says_of_a_setting_outlives_the_striking_out_of_secrets(code, said, told):
    async with working() as (bitable, service):
        service.fail(Endpoint.FIELDS, refusal(code, said))
        with pytest.raises(BitableError) as no:
            await bitable.fields()
    assert redact_text(str(no.value)).endswith(told)
