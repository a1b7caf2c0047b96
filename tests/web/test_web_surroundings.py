"""What surrounds every request: ids, sizes, headers, and answers to what went wrong."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator

import httpx
import pytest
from web_site import ADMIN_KEY, Site

from catchment.web.middleware import MAX_BODY


@pytest.mark.parametrize("given", ["abc-1.2:3_X", "x" * 128])
async def test_a_sane_request_id_is_echoed(lean_site: Site, given: str):
    answer = await lean_site.get("/api/health", headers={"X-Request-ID": given})
    assert answer.headers["x-request-id"] == given


@pytest.mark.parametrize("given", ["", "x" * 129, "a b", "a\tb", "<script>", "ä"])
async def test_any_other_request_id_is_replaced(lean_site: Site, given: str):
    answer = await lean_site.get("/api/health", headers={b"X-Request-ID": given.encode("latin-1")})
    assert re.fullmatch(r"req-[0-9a-f]{12}", answer.headers["x-request-id"])


async def test_the_log_has_the_request_id_and_never_a_query_or_a_key(lean_site: Site, log: list[str]):
    await lean_site.get("/signin?token=s3cret", "admin", headers={"X-Request-ID": "trace-1"})
    assert any("GET /signin 401" in line and "[trace-1]" in line for line in log)
    assert not any("s3cret" in line or ADMIN_KEY in line for line in log)


async def test_a_body_over_the_cap_is_refused_whether_it_says_so_or_not(lean_site: Site):
    answer = await lean_site.post("/api/digests", "service", content=b"x" * (MAX_BODY + 1))
    assert (answer.status_code, "larger" in answer.json()["error"]) == (413, True)

    async def stream() -> AsyncIterator[bytes]:
        for _ in range(20):
            yield b" " * (MAX_BODY // 16)

    headers = {"Content-Type": "application/json"}
    assert (await lean_site.post("/api/digests", "service", content=stream(), headers=headers)).status_code == 413


async def test_a_body_of_just_the_cap_is_read(lean_site: Site):
    start, end = '{"type": "daily", "content": "', '"}'
    body = start + "x" * (MAX_BODY - len(start) - len(end)) + end
    headers = {"Content-Type": "application/json"}
    assert (await lean_site.post("/api/digests", "service", content=body, headers=headers)).status_code == 201


@pytest.mark.parametrize("body", ["", "{", "null", "[" * 50_000, '{"type":' + "9" * 5000 + "}"])
async def test_a_body_that_is_no_json_object_is_a_client_error(lean_site: Site, body: str):
    headers = {"Content-Type": "application/json"}
    answer = await lean_site.post("/api/sources", "alice", content=body, headers=headers)
    assert answer.status_code in {400, 422}
    assert answer.json()["error"]


async def test_a_request_that_does_not_fit_says_what_is_wrong_as_text_and_as_a_list(lean_site: Site):
    answer = await lean_site.post("/api/sources", "alice", json={"config": {}, "name": 5})
    assert answer.status_code == 422
    body = answer.json()
    assert body["error"].startswith("body.type: ")
    assert [part["loc"] for part in body["detail"]] == [["body", "type"], ["body", "name"]]


@pytest.mark.parametrize(("method", "path", "status"), [("GET", "/api/nothing", 404), ("PATCH", "/api/sources", 405)])
async def test_unknown_places_and_methods_have_the_same_body_as_every_error(
    lean_site: Site, method: str, path: str, status: int
):
    answer = await lean_site.ask(method, path)
    assert answer.status_code == status
    assert answer.json().keys() == {"error", "detail"}


@pytest.mark.proves("B-10", "E-16")
@pytest.mark.parametrize(
    ("path", "status"),
    [
        ("/", 200),
        ("/health", 200),
        ("/ready", 200),
        ("/feed/alice", 200),
        ("/feed/alice.rss", 200),
        ("/feeds/view.rss", 200),
        ("/static/mark.svg", 200),
        ("/api/tweets", 401),
        ("/feeds/other.rss", 404),
        ("/signout", 405),
    ],
)
async def test_head_is_answered_as_get_without_the_body(lean_site: Site, path: str, status: int):
    await lean_site.post("/api/feeds", "admin", json={"slug": "view", "title": "A view", "public": True})
    whole, head = await lean_site.get(path), await lean_site.ask("HEAD", path)
    assert (whole.status_code, head.status_code) == (status, status)
    assert head.content == b""
    assert head.headers["content-type"] == whole.headers["content-type"]
    assert int(head.headers["content-length"]) > 0
    assert head.headers.get("etag") == whole.headers.get("etag")


async def test_the_head_of_a_stream_without_end_is_not_to_be_had(lean_site: Site):
    answer = await lean_site.ask("HEAD", "/api/events")
    assert (answer.status_code, answer.headers["allow"]) == (405, "GET")


async def test_head_is_logged_and_counted_as_what_it_is(lean_site: Site, log: list[str]):
    await lean_site.ask("HEAD", "/feed/alice")
    assert any("HEAD /feed/alice 200" in line for line in log)
    assert 'method="HEAD",route="/feed/{slug}",status="200"' in (await lean_site.get("/metrics")).text


async def test_what_nobody_foresaw_is_logged_and_answered_without_a_trace(lean_site: Site, log: list[str]):
    @lean_site.app.get("/explode")
    async def explode() -> None:
        raise RuntimeError("the password is hunter2")

    answer = await lean_site.get("/explode", headers={"X-Request-ID": "boom-1"})
    assert answer.status_code == 500
    assert "boom-1" in answer.json()["error"]
    assert "hunter2" not in answer.text
    assert any("GET /explode failed [boom-1]" in line for line in log)
    await lean_site.post("/signin", data={"key": lean_site.keys["alice"]})
    page = await lean_site.get("/explode", headers={"X-Request-ID": "boom-2", "Accept": "text/html"})
    assert (page.status_code, page.headers["content-type"]) == (500, "text/html; charset=utf-8")
    assert "<h1>That did not work</h1>" in page.text
    assert "boom-2" in page.text


@pytest.mark.proves("G-01")
async def test_whoever_is_signed_in_stays_so_where_there_is_no_page(lean_site: Site):
    page = await lean_site.get("/nowhere", headers={"Accept": "text/html"})
    assert "Sign in</a>" in page.text
    await lean_site.post("/signin", data={"key": lean_site.keys["alice"]})
    page = await lean_site.get("/nowhere", headers={"Accept": "text/html"})
    assert page.status_code == 404
    assert "There is no page at this address" in page.text
    assert "Sign out</button>" in page.text
    assert 'href="/items"' in page.text


async def test_answers_have_the_headers_that_keep_a_browser_safe(lean_site: Site):
    for path in ("/", "/signin", "/api/sources", "/static/catchment.js", "/nothing"):
        headers = (await lean_site.get(path)).headers
        assert headers["x-content-type-options"] == "nosniff"
        policy = headers["content-security-policy"]
        assert "script-src 'self'" in policy
        assert "frame-ancestors 'none'" in policy
        assert "unsafe" not in policy
        assert "access-control-allow-origin" not in headers


async def test_other_sites_are_not_let_in(lean_site: Site):
    headers = {"Origin": "https://evil.example", "Access-Control-Request-Method": "POST"}
    answer: httpx.Response = await lean_site.ask("OPTIONS", "/api/sources", headers=headers)
    assert "access-control-allow-origin" not in answer.headers
