"""The crawler's API: the envelope, batches that fail in part, the id that runs through, and that it only reads."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
from sqlalchemy import Connection, text

import catchment
from catchment.clock import ManualClock
from catchment.domain.crawl_errors import HANDLING, Code, CrawlError
from catchment.domain.note import Platform, Search
from catchment.domain.note_json import card_from_json, note_from_json
from catchment.simulator.services.keyword_platforms import TroubleKind
from catchment.sources.platforms.request import RequestOutcome
from catchment.store.tables import metadata
from catchment.web.crawler.envelope import Asking
from catchment.web.crawler.notes import answer_of, status_of
from catchment.web.crawler.shapes import DetailIn
from crawler_site import START, CrawlerSite, cookie_value, crawler_site, session_of
from stores import on_sqlite_alone

SEARCH = {"platform": "xhs", "keyword": "咖啡"}
READS = [
    ("POST", "/api/search", SEARCH),
    ("POST", "/api/note/detail", {"platform": "xhs", "note_ids": ["69a42a40c6681ef00000003b"]}),
    ("GET", "/api/note/69a42a40c6681ef00000003b?platform=xhs", None),
    ("GET", "/api/cookie/validate?cookie_name=a", None),
]


@pytest.fixture
async def crawler(sqlite_url: str) -> AsyncIterator[CrawlerSite]:
    async with crawler_site(sqlite_url, ManualClock(START)) as site:
        yield site


@pytest.fixture
async def crawler_on_both(store_url: str) -> AsyncIterator[CrawlerSite]:
    async with crawler_site(store_url, ManualClock(START)) as site:
        yield site


@pytest.fixture
async def impatient(store_url: str) -> AsyncIterator[CrawlerSite]:
    """Waits no longer than it has to, for what never answers; a busy machine may answer later than that."""
    async with crawler_site(store_url, ManualClock(START), detail_timeout=1.0, search_timeout=1.0) as site:
        yield site


def checked(body: dict[str, Any]) -> dict[str, Any]:
    """The envelope, which has everything that it always has."""
    assert body.keys() >= {"success", "data", "error", "meta"}
    assert body["meta"].keys() == {"request_id", "timestamp", "latency_ms", "cookie_used", "retry_count"}
    assert (body["error"] is None) == body["success"]
    if body["error"]:
        assert body["error"].keys() == {"code", "message", "retryable", "details"}
    return body


@pytest.mark.proves("E-20", "E-13")
async def test_a_search_gives_cards_that_can_be_read_back(crawler: CrawlerSite):
    await crawler.add_cookies("account_01")
    answer = await crawler.post("/api/search", {**SEARCH, "sort_type": "time_descending", "note_type": "2"})
    body = checked(answer.json())
    assert answer.status_code == 200
    assert body["meta"]["cookie_used"] == "account_01"
    data = body["data"]
    assert data.keys() == {"keyword", "platform", "page", "page_size", "items", "total", "has_more"}
    assert (data["keyword"], data["page"], data["page_size"]) == ("咖啡", 1, 20)
    assert len(data["items"]) == data["total"] > 0
    assert {card_from_json(item).type for item in data["items"]} == {"normal"}


@pytest.mark.proves("E-20", "E-13")
async def test_a_batch_takes_ids_addresses_and_tokens_and_each_note_once(crawler: CrawlerSite):
    await crawler.add_cookies("a", "b")
    first, second, third = await crawler.refs(3)
    body = {
        "platform": "xhs",
        "note_ids": [crawler.url_of(first), f"看看这个 {crawler.url_of(first)}", second.note_id],
        "notes": [
            {"note_id": second.note_id, "xsec_token": second.token},
            {"note_id": third.note_id, "xsec_token": third.token, "xsec_source": "pc_search"},
        ],
        "comments_limit": 3,
    }
    answer = await crawler.post("/api/note/detail", body)
    told = checked(answer.json())
    assert answer.status_code == 200
    assert told["items"] == told["data"]["items"]
    assert told["data"]["platform"] == "xhs"
    assert told["summary"] == {"total": 3, "succeeded": 3, "failed": 0}
    assert [item["id"] for item in told["items"]] == [crawler.url_of(first), second.note_id, third.note_id]
    notes = [note_from_json(item["data"]) for item in told["items"]]
    assert [note.ref.note_id for note in notes] == [first.note_id, second.note_id, third.note_id]
    assert all(len(note.comments) <= 3 for note in notes)


@pytest.mark.proves("R-34")
async def test_one_note_is_read_by_its_id_and_its_token(crawler: CrawlerSite):
    await crawler.add_cookies("a")
    [ref] = await crawler.refs(1)
    path = f"/api/note/{ref.note_id}?platform=xhs"
    without = await crawler.get(path)
    assert (without.status_code, without.json()["error"]["code"]) == (400, "INVALID_INPUT")
    answer = await crawler.get(f"{path}&xsec_token={quote(ref.token)}&xsec_source=pc_search")
    assert answer.status_code == 200
    assert checked(answer.json())["data"]["note_id"] == ref.note_id


@pytest.mark.proves("E-08")
async def test_of_three_notes_one_times_out_two_are_given_and_the_failed_one_is_named(impatient: CrawlerSite):
    crawler = impatient
    await crawler.add_cookies("a", "b", "c")
    urls = await crawler.urls(3)
    hanging = urls[1].partition("/explore/")[2].partition("?")[0]
    crawler.xhs.trouble(TroubleKind.SILENT, note=hanging)
    answer = await crawler.post("/api/note/detail", {"platform": "xhs", "note_ids": urls, "get_comments": False})
    told = checked(answer.json())
    assert answer.status_code == 207
    assert told["summary"] == {"total": 3, "succeeded": 2, "failed": 1}
    error = told["error"]
    assert (error["code"], error["retryable"], error["details"]) == (
        "PARTIAL_FAIL",
        True,
        {"failed_ids": [urls[1]], "not_retryable_ids": []},
    )
    assert [item["success"] for item in told["items"]] == [True, False, True]
    assert told["items"][1]["error"]["code"] == "TIMEOUT_ERROR"
    assert told["items"][1]["error"]["details"]["timeout_seconds"] == 1.0
    assert told["items"][1]["data"] is None
    assert max(told["items"][place]["latency_ms"] for place in (0, 2)) < told["items"][1]["latency_ms"]

    crawler.xhs.lift(note=hanging)
    again = await crawler.post("/api/note/detail", {"platform": "xhs", "note_ids": error["details"]["failed_ids"]})
    assert (again.status_code, again.json()["summary"]["succeeded"]) == (200, 1)


@pytest.mark.proves("E-08")
async def test_a_cookie_that_dies_in_the_batch_is_switched_and_the_answer_names_who_took_over(crawler: CrawlerSite):
    await crawler.add_cookies("1 dies", "2 lives")
    urls = await crawler.urls(2)
    crawler.xhs.trouble(TroubleKind.LOGIN_EXPIRED, cookie=session_of("1 dies"))
    answer = await crawler.post("/api/note/detail", {"platform": "xhs", "note_ids": urls})
    told = checked(answer.json())
    assert answer.status_code == 200
    assert told["meta"]["cookie_used"] == "2 lives"
    assert told["meta"]["retry_count"] >= 1


def _verdict_of(*codes: Code | None) -> tuple[int, str | None, bool | None]:
    asking = Asking(id="req-1", at=START, started=0.0)
    body = DetailIn(platform=Platform.XHS, note_ids=["x"])
    errors = [CrawlError(code, "no") if code else None for code in codes]
    told = answer_of(body, asking, [(str(place), RequestOutcome(error=error)) for place, error in enumerate(errors)])
    return status_of(told), told.error and told.error.code, told.error and told.error.retryable


@pytest.mark.proves("E-08", "E-09")
def test_a_batch_that_fails_as_a_whole_is_told_by_its_one_code_and_otherwise_as_a_part():
    assert _verdict_of(None, None) == (200, None, None)
    assert _verdict_of(None, Code.NOT_FOUND) == (207, "PARTIAL_FAIL", False)
    assert _verdict_of(Code.NOT_FOUND, Code.NOT_FOUND) == (404, "NOT_FOUND", False)
    assert _verdict_of(Code.NOT_FOUND, Code.TIMEOUT_ERROR) == (207, "PARTIAL_FAIL", True)
    assert _verdict_of(Code.COOKIE_EXHAUSTED) == (503, "COOKIE_EXHAUSTED", False)


@pytest.mark.proves("R-33")
def test_only_what_is_worth_asking_again_is_among_the_failed_and_the_others_are_named_apart():
    asking = Asking(id="req-1", at=START, started=0.0)
    codes = {"a": None, "b": Code.TIMEOUT_ERROR, "c": Code.NOT_FOUND, "d": Code.INVALID_INPUT, "e": Code.NETWORK_ERROR}
    results = [(name, RequestOutcome(error=CrawlError(code, "no") if code else None)) for name, code in codes.items()]
    told = answer_of(DetailIn(platform=Platform.XHS, note_ids=["x"]), asking, results)
    assert told.error.details == {"failed_ids": ["b", "e"], "not_retryable_ids": ["c", "d"]}
    assert told.error.retryable is True
    gone = answer_of(DetailIn(platform=Platform.XHS, note_ids=["x"]), asking, results[2:3])
    assert (gone.error.code, gone.error.details) == ("NOT_FOUND", {"failed_ids": [], "not_retryable_ids": ["c"]})


TABLE = {
    "COOKIE_EXHAUSTED": (503, False, []),
    "COOKIE_INVALID": (401, True, [0, 0, 0]),
    "COOKIE_COOLING": (429, True, [0, 0, 0]),
    "ACCOUNT_BANNED": (403, False, []),
    "PLATFORM_ERROR": (502, True, [5, 15]),
    "PARSE_ERROR": (500, True, [5, 15]),
    "NETWORK_ERROR": (503, True, [5, 15, 45]),
    "TIMEOUT_ERROR": (504, True, [10, 30]),
    "PARTIAL_FAIL": (207, True, [10, 10]),
    "INVALID_INPUT": (400, False, []),
    "NOT_FOUND": (404, False, []),
    "RATE_LIMITED": (429, True, [10, 30]),
}


@pytest.mark.proves("E-09")
def test_the_table_of_errors_is_the_documents():
    assert {
        code.value: (row.status.value, row.retryable, [wait.total_seconds() for wait in row.waits])
        for code, row in HANDLING.items()
    } == TABLE


@on_sqlite_alone
@pytest.mark.proves("E-09", "E-20")
@pytest.mark.parametrize(
    ("kind", "code"),
    [
        (TroubleKind.LOGIN_EXPIRED, "COOKIE_INVALID"),
        (TroubleKind.BANNED, "ACCOUNT_BANNED"),
        (TroubleKind.SERVER_ERROR, "PLATFORM_ERROR"),
        (TroubleKind.MALFORMED, "PARSE_ERROR"),
        (TroubleKind.SILENT, "TIMEOUT_ERROR"),
        (TroubleKind.CAPTCHA, "RATE_LIMITED"),
    ],
)
async def test_what_a_platform_says_has_the_status_of_the_table(impatient: CrawlerSite, kind: TroubleKind, code: str):
    crawler = impatient
    await crawler.add_cookies("only")
    crawler.xhs.trouble(kind)
    answer = await crawler.post("/api/search", SEARCH)
    body = checked(answer.json())
    assert (body["error"]["code"], answer.status_code, body["error"]["retryable"]) == (code, *TABLE[code][:2])
    assert body["data"] is None
    assert body["meta"]["cookie_used"] == "only"


@pytest.mark.proves("E-09")
async def test_a_note_that_is_gone_is_not_found_and_without_a_cookie_nothing_is_read(crawler: CrawlerSite):
    nobody = await crawler.post("/api/search", SEARCH)
    assert (nobody.status_code, checked(nobody.json())["error"]["code"]) == (503, "COOKIE_EXHAUSTED")
    await crawler.add_cookies("a", platform=Platform.WEIBO)
    [ref] = await crawler.refs(1, Platform.WEIBO)
    found = await crawler.get(f"/api/note/{ref.note_id}?platform=wb&comments_limit=2")
    assert (found.status_code, checked(found.json())["data"]["note_id"]) == (200, ref.note_id)
    assert len(found.json()["data"]["comment_list"]) <= 2
    gone = await crawler.get("/api/note/4999999999999999?platform=wb")
    assert (gone.status_code, checked(gone.json())["error"]["code"]) == (404, "NOT_FOUND")


@pytest.mark.proves("E-09", "E-20")
@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("/api/search", {}),
        ("/api/search", {**SEARCH, "platform": "ks"}),
        ("/api/search", {**SEARCH, "keyword": "   "}),
        ("/api/search", {**SEARCH, "keyword": "x" * 101}),
        ("/api/search", {**SEARCH, "page": 101}),
        ("/api/search", {**SEARCH, "page_size": 51}),
        ("/api/search", {**SEARCH, "note_type": "3"}),
        ("/api/note/detail", {"platform": "xhs"}),
        ("/api/note/detail", {"platform": "xhs", "note_ids": []}),
        ("/api/note/detail", {"platform": "xhs", "note_ids": ["x"] * 21}),
        ("/api/note/detail", {"platform": "xhs", "note_ids": ["x"] * 11, "notes": [{"note_id": "y"}] * 10}),
        ("/api/note/detail", {"platform": "xhs", "note_ids": ["x"], "comments_limit": 201}),
        ("/api/note/detail", {"platform": "xhs", "note_ids": ["not an id"]}),
        ("/api/note/detail", {"platform": "xhs", "note_ids": ["69a42a40c6681ef00000003b"]}),
        ("/api/note/detail", {"platform": "wb", "notes": [{"note_id": "../api/config"}]}),
        ("/api/note/detail", {"platform": "wb", "note_ids": ["https://weibo.com/1234567/\u017f12345678"]}),
    ],
)
async def test_what_cannot_be_is_invalid_input(crawler: CrawlerSite, path: str, body: dict[str, Any]):
    answer = await crawler.post(path, body)
    assert (answer.status_code, checked(answer.json())["error"]["code"]) == (400, "INVALID_INPUT")
    assert crawler.xhs.requests == crawler.weibo.requests == []


@pytest.mark.proves("E-20")
@pytest.mark.parametrize("content", [b"", b"{", b"[]", b"\xff", b"x" * (1024 * 1024 + 1)])
async def test_a_body_that_cannot_be_read_is_told_in_the_envelope_too(crawler: CrawlerSite, content: bytes):
    answer = await crawler.ask("POST", "/api/search", content=content, headers={"Content-Type": "application/json"})
    assert answer.status_code == (413 if len(content) > 9 else 400)
    assert checked(answer.json())["error"]["code"] == "INVALID_INPUT"


@pytest.mark.proves("E-20")
async def test_who_may_not_is_told_in_the_envelope_too(crawler: CrawlerSite):
    for who, status, code in ((None, 401, "UNAUTHENTICATED"), ("reader", 403, "FORBIDDEN")):
        answer = await crawler.get("/api/admin/cookies", who)
        assert (answer.status_code, checked(answer.json())["error"]["code"]) == (status, code)
    assert (await crawler.post("/api/search", SEARCH, None)).status_code == 401


@pytest.mark.proves("E-06")
async def test_one_search_in_the_log_finds_everything_that_a_request_did(crawler: CrawlerSite, log: list[str]):
    await crawler.add_cookies("1 dies", "2 lives")
    urls = await crawler.urls(2)
    crawler.xhs.trouble(TroubleKind.LOGIN_EXPIRED, cookie=session_of("1 dies"))
    trace = "wf-1772366400-1a2b3c4d-detail"
    answer = await crawler.post(
        "/api/note/detail", {"platform": "xhs", "note_ids": urls}, headers={"X-Request-ID": trace}
    )
    assert answer.headers["x-request-id"] == answer.json()["meta"]["request_id"] == trace
    chain = [line for line in log if f"[{trace}]" in line]
    assert any("1 dies" in line and "COOKIE_INVALID" in line for line in chain)
    for url in urls:
        note_id = url.partition("/explore/")[2].partition("?")[0]
        assert any(f"note {note_id} with cookie 2 lives" in line for line in chain)
        assert any(f"comments of {note_id}" in line for line in chain)
    assert "POST /api/note/detail 200" in chain[-1]
    made = await crawler.post("/api/search", SEARCH)
    assert re.fullmatch(r"req-[0-9a-f]{12}", made.json()["meta"]["request_id"])


@pytest.mark.proves("E-01")
async def test_whatever_is_read_leaves_the_store_as_it_was(crawler_on_both: CrawlerSite):
    crawler = crawler_on_both
    await crawler.add_cookies("a")

    async def everything() -> dict[str, list[str]]:
        def rows(conn: Connection) -> dict[str, list[str]]:
            # What a read does leave: that a cookie was used, and how it went.
            kept = {*metadata.tables, "tbl_candidate", "tbl_source"} - {"cookies", "runs", "crawl_minutes"}
            return {one: sorted(str(row) for row in conn.execute(text(f"SELECT * FROM {one}"))) for one in kept}

        return await crawler.system.store.read(rows)

    # Of a key it is remembered that it was used, a moment later.
    assert (await crawler.post("/api/search", {**SEARCH, "keyword": ""})).status_code == 400
    await crawler.system.authenticator.key_uses.wait()
    before = await everything()
    [url] = await crawler.urls(1)
    for method, path, body in (*READS, ("POST", "/api/note/detail", {"platform": "xhs", "note_ids": [url]})):
        assert (await crawler.ask(method, path, json=body)).status_code in {200, 400}
    assert await everything() == before
    assert before["raw_items"] == before["notes"] == before["candidates"] == []
    assert before["users"], "there is something that could have been changed"


@pytest.mark.proves("E-01")
def test_what_reads_does_not_so_much_as_name_where_notes_are_written_to():
    package = Path(catchment.__file__).parent
    modules = [*(package / "web" / "crawler").glob("*.py"), *(package / "sources" / "platforms").glob("*.py")]
    assert len(modules) > 10
    for module in modules:
        words = module.read_text().lower()
        for forbidden in (
            "feishu",
            "bitable",
            "lark",
            "catchment.store",
            "catchment.engine",
            "catchment.crawl",
            "catchment.jobs",
            "catchment.platforms",
            "insert_new",
        ):
            assert forbidden not in words, f"{module.name} names {forbidden}"


@on_sqlite_alone
@pytest.mark.proves("E-07", "E-18")
async def test_cookies_are_managed_and_their_values_never_come_out(crawler_on_both: CrawlerSite, log: list[str]):
    crawler = crawler_on_both
    value = cookie_value("account_01")
    new = {"cookie_name": "account_01", "platform": "xhs", "cookie_value": value, "priority": 5}
    said: list[str] = []

    async def done(method: str, path: str, status: int, body: Any = None) -> Any:
        answer = await crawler.ask(method, path, "admin", json=body)
        said.append(answer.text)
        assert answer.status_code == status, answer.text
        return checked(answer.json())["data"]

    added = await done("POST", "/api/admin/cookies", 201, new)
    assert (added["cookie_name"], added["status"], added["priority"], added["daily_limit"]) == (
        "account_01", "active", 5, 100,
    )  # fmt: skip
    changed = await done("PATCH", "/api/admin/cookies/account_01", 200, {"is_enabled": False, "daily_limit": 7})
    assert (changed["is_enabled"], changed["daily_limit"], changed["priority"]) == (False, 7, 5)
    assert [one["cookie_name"] for one in await done("GET", "/api/admin/cookies", 200)] == ["account_01"]
    assert await done("GET", "/api/admin/cookies?platform=wb", 200) == []
    assert (await done("POST", "/api/admin/cookies/account_01/reset", 200))["status"] == "active"
    assert await done("POST", "/api/admin/cookies/rotate", 200) == {"total": 0, "resealed": 0, "unreadable": []}
    [forecast] = await done("GET", "/api/admin/cookies/forecast", 200)
    assert (forecast["platform"], forecast["available"]) == ("xhs", 0)
    assert (await done("GET", "/api/cookie/validate?cookie_name=account_01", 200))["is_valid"] is True
    await done(
        "POST", "/api/admin/cookies", 409, {**new, "platform": "wb", "cookie_value": cookie_value("b", Platform.WEIBO)}
    )
    await done("POST", "/api/admin/cookies", 400, {**new, "cookie_name": "b", "platform": "wb"})
    await done("POST", "/api/admin/cookies", 400, {**new, "cookie_value": "short"})
    await done("POST", "/api/admin/cookies", 400, {**new, "priority": value})
    await done("DELETE", "/api/admin/cookies/account_01", 200)
    await done("DELETE", "/api/admin/cookies/account_01", 404)
    await done("GET", "/api/cookie/validate?cookie_name=account_01", 404)
    assert not [text for text in (*said, *log) if session_of("account_01") in text]


@pytest.mark.proves("E-10")
async def test_a_cookie_that_its_platform_does_not_know_is_found_out(crawler: CrawlerSite):
    await crawler.add_cookies("a")
    crawler.xhs.trouble(TroubleKind.LOGIN_EXPIRED, cookie=session_of("a"))
    answer = await crawler.get("/api/cookie/validate?cookie_name=a")
    data = checked(answer.json())["data"]
    assert (answer.status_code, data["is_valid"], data["status"]) == (200, False, "invalid")


@pytest.mark.proves("E-09", "E-10")
async def test_a_ban_that_a_validation_brings_to_light_is_one(crawler: CrawlerSite):
    await crawler.add_cookies("a")
    crawler.xhs.trouble(TroubleKind.BANNED, cookie=session_of("a"))
    answer = await crawler.get("/api/cookie/validate?cookie_name=a")
    assert (answer.status_code, checked(answer.json())["error"]["code"]) == (403, "ACCOUNT_BANNED")
    assert (await crawler.system.cookies.get("a")).status == "banned"


async def test_without_a_key_to_seal_them_with_no_cookie_is_taken(sqlite_url: str):
    async with crawler_site(sqlite_url, ManualClock(START), cookie_master_key="") as crawler:
        new = {"cookie_name": "a", "platform": "xhs", "cookie_value": cookie_value("a")}
        answer = await crawler.post("/api/admin/cookies", new, "admin")
        error = checked(answer.json())["error"]
        assert (answer.status_code, error["code"]) == (503, "NOT_CONFIGURED")
        assert "COOKIE_MASTER_KEY" in error["message"]


@on_sqlite_alone
@pytest.mark.proves("E-16")
async def test_readiness_health_and_metrics_tell_of_cookies_and_requests(crawler_on_both: CrawlerSite):
    crawler = crawler_on_both
    assert (await crawler.get("/live", None)).json() == {"status": "ok"}
    assert (await crawler.get("/ready", None)).json()["ready"] is True
    await crawler.add_cookies("a")
    await crawler.refs(1)
    crawler.xhs.trouble(TroubleKind.SERVER_ERROR, times=1)
    await crawler.system.reader.search(Platform.XHS, Search(keyword="茶"))
    told = (await crawler.get("/api/metrics", None)).json()
    assert told["requests"] == {"total": 2, "success": 1, "error": 1, "success_rate": 0.5}
    assert told["cookies"] == {
        "active": 1, "cooling": 0, "invalid": 0, "banned": 0, "total": 1, "available": 1, "daily_usage_rate": 0.02,
    }  # fmt: skip
    assert told["resources"]["memory_mb"] > 0
    prometheus = (await crawler.get("/metrics", None)).text
    assert 'catchment_cookies{platform="xhs",status="active"} 1.0' in prometheus
    assert 'catchment_crawl_requests_24h{platform="xhs",result="failed"} 1.0' in prometheus

    await crawler.ask("PATCH", "/api/admin/cookies/a", "admin", json={"is_enabled": False})
    unready = await crawler.get("/ready", None)
    assert (unready.status_code, unready.json()) == (503, {"ready": False, "reason": "no_active_cookies"})
    assert (await crawler.get("/health", None)).json()["checks"]["cookies"] is False
