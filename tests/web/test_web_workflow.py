"""The workflow over HTTP: how somebody else drives it, and what they are told."""

from __future__ import annotations

import re

import pytest
from sqlalchemy import select

from catchment.domain.caller import OPERATOR
from catchment.domain.note import Platform
from catchment.domain.note_json import card_to_json, note_to_json
from catchment.store.items import ItemQuery, list_items
from catchment.store.platform_tables import notes
from crawl_notes import LOCK_TIMEOUT, add_keyword, card, note
from stores import on_both_stores, on_sqlite_alone

pytestmark = on_sqlite_alone


class Driver:
    """Somebody who drives the workflow, step by step."""

    def __init__(self, site):
        self._site = site
        self.execution = ""

    async def post(self, path, body=None, *, key="service", request_id=None):
        headers = {"X-Request-ID": request_id} if request_id else {}
        answer = await self._site.post(f"/api/workflow{path}", key, json=body or {}, headers=headers)
        return answer.status_code, answer.json()

    async def begin(self, name="media_crawler"):
        _, answer = await self.post("/lock", {"workflow_name": name})
        self.execution = answer["execution_id"]
        return answer

    async def step(self, name, body=None, **rest):
        """What a step answers. The words of those who drive it stand at the top as well as in the envelope."""
        status, answer = await self.post(f"/{name}", {"execution_id": self.execution, **(body or {})}, **rest)
        assert not answer["success"] or answer["data"].items() <= answer.items()
        return status, answer


@pytest.fixture
def driver(site):
    return Driver(site)


@pytest.fixture
async def keyword(site, clock):
    return await add_keyword(site.system.store, clock, "coffee")


async def found(driver, source, *numbers):
    items = [card_to_json(card(number)) for number in numbers]
    return await driver.step("candidates", {"source_id": source.id, "items": items})


@pytest.mark.proves("E-22", "E-20")
async def test_the_lock_is_answered_in_the_documents_words(driver):
    data = await driver.begin()
    assert data["locked"] is data["data"]["locked"] is True
    assert re.fullmatch(r"exec-\d+-\w+", data["execution_id"])
    status, answer = await driver.post("/lock", {"workflow_name": "media_crawler"}, request_id="req-second")
    assert status == 200
    assert (answer["success"], answer["data"]["locked"], answer["data"]["reason"]) == (True, False, "已有执行在运行")
    assert answer["meta"]["request_id"] == "req-second"
    assert set(answer["meta"]) == {"request_id", "timestamp", "latency_ms", "cookie_used", "retry_count"}


@on_both_stores
@pytest.mark.proves("E-14", "E-15", "E-22", "E-06")
async def test_the_whole_workflow_can_be_driven_from_outside(driver, keyword, site, clock):
    data = await driver.begin()
    keywords = await site.get("/api/workflow/keywords", "service")
    (listed,) = keywords.json()["data"]["sources"]
    assert (listed["source_id"], listed["platform"], listed["keyword"]) == (keyword.id, "xhs", "coffee")
    assert (await found(driver, keyword, 1, 2))[1]["data"] == {"added": 2, "known": 0}
    assert (await found(driver, keyword, 2))[1]["data"] == {"added": 0, "known": 1}
    _, claimed = await driver.step("claim", {"batch_size": 10})
    assert claimed["data"]["locked_count"] == 2
    one, two = claimed["data"]["records"]
    assert one["source_keyword"] == "coffee"
    body = {"note": note_to_json(note(1)), "meta": {"latency_ms": 12}}
    _, written = await driver.step("commit", body, request_id=f"{data['trace_id']}-write")
    assert written["data"]["action"] == "created"
    _, again = await driver.step("commit", body)
    assert (again["data"]["action"], again["data"]["existing_id"]) == ("skipped", written["data"]["id"])
    failure = {"note_id": two["note_id"], "error": {"code": "TIMEOUT_ERROR", "message": "No answer."}}
    assert (await driver.step("fail", failure))[1]["data"] == {"status": "pending", "retry_count": 1}
    assert (await driver.step("heartbeat"))[1]["data"] == {"alive": True}
    assert (await driver.step("claim"))[1]["data"] == {"records": [], "locked_count": 0}
    _, released = await driver.step("release", {"status": "completed"})
    assert released["data"] == {"released": True, "items_processed": 1, "items_failed": 1}
    (item,) = await site.system.store.read(list_items, ItemQuery(caller=OPERATOR))
    assert item.title == "Note 1"
    executions = await site.get("/api/workflow/executions?workflow_name=media_crawler", "service")
    (shown,) = executions.json()["data"]["executions"]
    assert (shown["status"], shown["trace_id"]) == ("completed", data["trace_id"])


@pytest.mark.proves("E-05", "E-20")
async def test_every_step_of_an_execution_that_lost_its_lock_is_refused(driver, keyword, clock):
    await driver.begin()
    await found(driver, keyword, 1)
    clock.advance(LOCK_TIMEOUT)
    _, recovered = await driver.post("/recover")
    assert recovered["data"] == {"executions": 1, "records": 0}
    steps = {
        "heartbeat": {},
        "candidates": {"source_id": keyword.id, "items": []},
        "claim": {},
        "commit": {"note": note_to_json(note(1))},
        "fail": {"note_id": "1", "error": "NOT_FOUND"},
        "release": {},
    }
    for name, body in steps.items():
        status, answer = await driver.step(name, body)
        assert (status, answer["success"], answer["error"]["code"]) == (409, False, "LOCK_LOST"), name


@pytest.mark.proves("E-20")
@pytest.mark.parametrize(
    ("step", "body", "field"),
    [
        ("commit", {"note": {"note_id": "x"}}, "platform"),
        ("commit", {}, "note"),
        ("candidates", {"source_id": 1, "items": [{"platform": "xhs"}]}, "note_id"),
        ("claim", {"batch_size": 0}, "batch_size"),
        ("fail", {"note_id": "1", "error": "NONSENSE"}, "code"),
    ],
)
async def test_what_cannot_be_is_refused_in_the_envelope_and_says_what_is_wrong(driver, keyword, step, body, field):
    await driver.begin()
    status, answer = await driver.step(step, body)
    assert (status, answer["error"]["code"]) == (400, "INVALID_INPUT")
    assert field in str(answer["error"])


async def test_a_failure_may_leave_the_platform_out_whichever_it_is(driver, site, clock):
    source = await add_keyword(site.system.store, clock, "coffee", type_="weibo_search")
    await driver.begin()
    item = card_to_json(card(1, Platform.WEIBO))
    await driver.step("candidates", {"source_id": source.id, "items": [item]})
    await driver.step("claim")
    status, answer = await driver.step("fail", {"note_id": item["note_id"], "error": "TIMEOUT_ERROR"})
    assert (status, answer["status"]) == (200, "pending")


@pytest.mark.proves("R-34")
async def test_candidates_of_another_platform_are_refused_and_nothing_is_stored(driver, keyword):
    await driver.begin()
    items = [card_to_json(card(1)), card_to_json(card(2, Platform.WEIBO))]
    status, answer = await driver.step("candidates", {"source_id": keyword.id, "items": items})
    assert (status, answer["error"]["code"]) == (400, "INVALID_INPUT")
    assert answer["error"]["details"]["field"] == "items[1].platform"
    assert "wb" in answer["error"]["message"]
    assert (await driver.step("claim"))[1]["locked_count"] == 0


@on_both_stores
@pytest.mark.proves("R-34", "E-06")
async def test_the_keyword_that_found_a_note_and_the_trace_are_written_with_it(driver, keyword, site):
    begun = await driver.begin()
    await found(driver, keyword, 1)
    await driver.step("claim")
    await driver.step("commit", {"note": note_to_json(note(1)), "meta": {"latency_ms": 12}})
    [row] = await site.system.store.read(lambda conn: conn.execute(select(notes.c.exec_meta)).all())
    assert (row.exec_meta["source_keyword"], row.exec_meta["latency_ms"]) == ("coffee", 12)
    assert row.exec_meta["workflow_trace_id"] == begun["trace_id"], "whatever the request calls itself"


@on_both_stores
@pytest.mark.proves("R-34")
@pytest.mark.parametrize("path", ["keywords", "executions"])
async def test_what_is_listed_stands_at_the_top_as_well(driver, keyword, site, path):
    await driver.begin()
    answer = (await site.get(f"/api/workflow/{path}", "service")).json()
    assert answer["data"].items() <= answer.items()
    assert len(answer["sources" if path == "keywords" else "executions"]) == 1


async def test_what_is_found_for_no_keyword_source_is_refused(driver):
    await driver.begin()
    status, answer = await driver.step("candidates", {"source_id": 77, "items": []})
    assert (status, answer["error"]["code"]) == (404, "NOT_FOUND")


@pytest.mark.proves("E-01")
@pytest.mark.parametrize(("key", "refused"), [(None, (401, "UNAUTHENTICATED")), ("alice", (403, "FORBIDDEN"))])
async def test_only_the_service_and_admins_drive_the_workflow(driver, key, refused):
    status, answer = await driver.post("/lock", {"workflow_name": "x"}, key=key)
    assert (status, answer["error"]["code"], answer["success"]) == (*refused, False)
