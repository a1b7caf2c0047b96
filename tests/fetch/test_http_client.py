from __future__ import annotations

import asyncio
import gzip
import socket
import ssl
import zlib
from collections.abc import AsyncIterator, Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, nullcontext
from datetime import timedelta
from pathlib import Path
from typing import Any

import brotli
import pytest

from catchment.clock import ManualClock
from catchment.errors import BadAnswer, BadBody, BadConfig, Blocked, HttpError, RefusedAddress, TimedOut, Unreachable
from catchment.eventloop import run as run_loop
from catchment.fetch import client as client_module
from catchment.fetch.client import HttpClient, Limits, Request, why_distrusted
from catchment.fetch.freshness import Validators, address_mark
from catchment.fetch.guard import AddressGuard
from catchment.fetch.pacing import Deferred, PacePolicy, Pacer
from loopback_site import NOW, FakeNames, MakeClient, Site, answer, opened

pytestmark = pytest.mark.proves("F-05")


async def test_an_answer_carries_status_address_headers_and_body(site: Site, client: HttpClient) -> None:
    site.pages["/feed"] = answer(200, b"<rss/>", Content_Type="application/rss+xml")
    response = await client.get(site.url("/feed"))
    assert (response.status, response.body, response.url) == (200, b"<rss/>", site.url("/feed"))
    assert response.headers["content-type"] == "application/rss+xml"
    assert response.permanent_url is None
    assert "User-Agent: Catchment/test" in site.asked[0]


async def test_connections_are_kept_and_cookies_are_not(site: Site, client: HttpClient) -> None:
    site.pages["/feed"] = answer(200, b"x", Set_Cookie="a=b")
    for _ in range(3):
        await client.get(site.url("/feed"))
    assert site.connections == 1
    assert "Cookie" not in "".join(site.asked)


async def test_the_proxies_of_the_environment_are_not_used(
    site: Site, client: HttpClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:9/")
    site.pages["/feed"] = answer(200, b"x")
    assert (await client.get(site.url("/feed"))).body == b"x"


async def test_hundreds_of_requests_at_once_all_come_back(site: Site, client: HttpClient) -> None:
    site.pages["/feed"] = answer(200, b"x" * 34_000)
    responses = await asyncio.gather(*(client.get(site.url("/feed")) for _ in range(400)))
    assert {len(response.body) for response in responses} == {34_000}


@pytest.mark.proves("A-30")
async def test_validators_are_sent_and_a_304_is_an_answer_without_body(site: Site, client: HttpClient) -> None:
    site.pages["/feed"] = answer(304, ETag='"v1"')
    known = Validators(etag='"v1"', last_modified="Sun, 01 Mar 2026 10:00:00 GMT")
    response = await client.get(site.url("/feed"), validators=known)
    assert response.not_modified
    assert response.body == b""
    assert 'If-None-Match: "v1"' in site.asked[0]
    assert "If-Modified-Since: Sun, 01 Mar 2026 10:00:00 GMT" in site.asked[0]


async def test_a_post_carries_its_body_and_headers(site: Site, client: HttpClient) -> None:
    site.pages["/api"] = answer(200, b"{}")
    await client.send(Request(url=site.url("/api"), method="POST", body=b"q=1", headers={"X-Api-Key": "k"}))
    assert site.asked[0].startswith("POST /api ")
    assert "X-Api-Key: k" in site.asked[0]
    assert "Content-Length: 3" in site.asked[0]


async def test_a_header_that_would_start_a_new_line_is_the_sources_fault(site: Site, client: HttpClient) -> None:
    with pytest.raises(BadConfig, match="X-Evil"):
        await client.send(Request(url=site.url("/"), headers={"X-Evil": "a\r\nHost: b"}))


# Redirects


@pytest.mark.parametrize(
    ("statuses", "is_permanent"),
    [((301, 308), True), ((301, 302), False), ((302, 301), False), ((307,), False), ((308,), True)],
)
async def test_redirects_are_followed_and_remembered_when_all_are_permanent(
    site: Site, client: HttpClient, statuses: tuple[int, ...], is_permanent: bool
) -> None:
    for number, status in enumerate(statuses):
        site.pages[f"/{number}"] = answer(status, b"moved", Location=f"/{number + 1}#part")
    site.pages[f"/{len(statuses)}"] = answer(200, b"here")
    response = await client.get(site.url("/0"))
    end = site.url(f"/{len(statuses)}")
    assert (response.body, response.url) == (b"here", end)
    assert response.permanent_url == (end if is_permanent else None)


@pytest.mark.parametrize(
    "location",
    [
        "http://169.254.169.254/latest/meta-data/",
        "http://localhost.:8000/",
        "http://2852039166/",
        "http://[::ffff:169.254.169.254]/",
        "//10.0.0.1/",
        "http://10.0.0.1\\@127.0.0.1/",
        "/\\10.0.0.1/",
        "\\\\10.0.0.1\\",
        "http://user@127.0.0.1/",
        "file:///etc/passwd",
        "gopher://127.0.0.1:6379/",
        "javascript:alert(1)",
    ],
)
async def test_a_redirect_to_a_refused_address_is_refused(site: Site, make_client: MakeClient, location: str) -> None:
    client = make_client(allow=f"127.0.0.1:{site.port}")
    site.pages["/"] = answer(302, Location=location)
    with pytest.raises(RefusedAddress):
        await client.get(site.url("/"))
    assert len(site.asked) == 1


async def test_a_redirect_in_a_circle_is_told_as_such(site: Site, client: HttpClient) -> None:
    site.pages["/a"] = answer(302, Location="/b")
    site.pages["/b"] = answer(302, Location="/a")
    with pytest.raises(BadAnswer, match="circle"):
        await client.get(site.url("/a"))


async def test_redirects_end_at_the_cap(site: Site, make_client: MakeClient) -> None:
    for number in range(9):
        site.pages[f"/{number}"] = answer(302, Location=f"/{number + 1}")
    with pytest.raises(BadAnswer, match="more than 3"):
        await make_client(limits=Limits(redirects=3)).get(site.url("/0"))
    assert len(site.asked) == 4


async def test_secrets_do_not_follow_a_redirect_to_another_origin(site: Site, make_client: MakeClient) -> None:
    client = make_client(lookup=FakeNames(a_example=[["127.0.0.1"]], b_example=[["127.0.0.1"]]))
    site.pages["/here"] = answer(302, Location="/same")
    site.pages["/same"] = answer(302, Location=site.url("/other", host="b.example"))
    site.pages["/other"] = answer(200)
    secrets = {"Authorization": "Bearer x", "Cookie": "a=b", "X-Api-Key": "k", "Accept": "text/xml"}
    await client.send(Request(url=site.url("/here", host="a.example"), headers=secrets))
    assert all(f"{name}: {value}" in site.asked[1] for name, value in secrets.items())
    assert "Accept: text/xml" in site.asked[2]
    assert not any(name in site.asked[2] for name in ("Authorization", "Cookie", "X-Api-Key"))


@pytest.mark.proves("A-30")
async def test_validators_are_sent_to_the_address_that_gave_them_and_to_no_other(
    site: Site, client: HttpClient
) -> None:
    site.pages["/here"] = answer(302, Location="/there")
    site.pages["/there"] = answer(200)
    for path, told in (("/there", [False, True]), ("/here", [True, False]), ("/before", [False, False])):
        site.asked.clear()
        validators = Validators(etag='"v1"', given_by=address_mark(site.url(path)))
        await client.get(site.url("/here"), validators=validators)
        assert [("If-None-Match" in asked) for asked in site.asked] == told
    site.asked.clear()
    await client.get(site.url("/here"), validators=Validators(etag='"v1"'))
    assert [("If-None-Match" in asked) for asked in site.asked] == [True, False]


@pytest.mark.proves("R-22")
@pytest.mark.parametrize("status", [307, 308])
async def test_what_is_posted_is_told_to_nobody_else(site: Site, make_client: MakeClient, status: int) -> None:
    client = make_client(lookup=FakeNames(a_example=[["127.0.0.1"]], b_example=[["127.0.0.1"]]))
    site.pages["/here"] = answer(status, Location=site.url("/there", host="b.example"))
    with pytest.raises(BadAnswer, match=r"redirects to http://b\.example:\d+ .*nothing was handed over"):
        await client.send(Request(url=site.url("/here", host="a.example"), method="POST", body=b"key=secret"))
    assert len(site.asked) == 1


async def test_whoever_vouches_for_a_host_does_not_vouch_for_those_it_leads_to(
    site: Site, make_client: MakeClient
) -> None:
    client = make_client(allow="", lookup=FakeNames(a_example=[["127.0.0.1"]], b_example=[["127.0.0.1"]]))
    site.pages["/here"] = answer(302, Location=site.url("/there", host="b.example"))
    site.pages["/there"] = answer(200)
    with pytest.raises(RefusedAddress, match=r"b\.example"):
        await client.send(Request(url=site.url("/here", host="a.example"), allow_private=True))
    site.pages["/here"] = answer(302, Location="/there")
    found = await client.send(Request(url=site.url("/here", host="a.example"), allow_private=True))
    assert found.status == 200


async def test_a_byte_that_is_no_text_stays_in_the_address_that_a_redirect_names(
    site: Site, client: HttpClient
) -> None:
    site.pages["/old"] = b"HTTP/1.1 302 Found\r\nLocation: /f\xe9ed\r\nContent-Length: 0\r\n\r\n"
    site.pages["/f%E9ed"] = answer(200, b"kept")
    assert (await client.get(site.url("/old"))).body == b"kept"


@pytest.mark.parametrize("name", ["Content-Length", "transfer-encoding", "Connection"])
async def test_no_source_says_where_a_request_ends(site: Site, client: HttpClient, name: str) -> None:
    with pytest.raises(BadConfig, match=f"{name}.*belongs to the connection"):
        await client.send(Request(url=site.url("/"), headers={name: "150"}))
    assert not site.asked


@pytest.mark.parametrize("location", ["/web/2024/https://example.org/feed", "web/2024/https://example.org/feed"])
async def test_an_address_within_the_path_of_a_redirect_is_no_host(
    site: Site, client: HttpClient, location: str
) -> None:
    site.pages["/old"] = answer(302, Location=location)
    site.pages["/web/2024/https://example.org/feed"] = answer(200, b"kept")
    assert (await client.get(site.url("/old"))).body == b"kept"


@pytest.mark.parametrize(
    ("own", "new", "has_secrets", "is_trusted"),
    [
        ("https://a.example/1", "https://a.example/2", True, True),
        ("https://a.example/1", "https://b.example/1", False, True),
        ("http://a.example/1", "https://a.example/1", False, True),
        ("https://a.example/1", "https://b.example/1", True, False),
        ("https://a.example/1", "https://a.example:8443/1", True, False),
        ("https://a.example/1", "http://a.example/1", False, False),
        ("https://a.example/1", "elsewhere", False, False),
    ],
)
def test_an_address_is_taken_over_where_nothing_is_lost_by_it(
    own: str, new: str, has_secrets: bool, is_trusted: bool
) -> None:
    assert (why_distrusted(own, new, has_secrets=has_secrets) is None) is is_trusted


async def test_a_posted_form_becomes_a_get_after_a_303(site: Site, client: HttpClient) -> None:
    site.pages["/form"] = answer(303, Location="/done")
    site.pages["/done"] = answer(200, b"ok")
    sent = {"Content-Type": "application/x-www-form-urlencoded"}
    await client.send(Request(url=site.url("/form"), method="POST", body=b"a=b", headers=sent))
    assert site.asked[1].startswith("GET /done ")
    assert "Content-" not in site.asked[1]


# The dialled address


async def test_a_name_that_leads_inside_is_refused(site: Site, make_client: MakeClient) -> None:
    client = make_client(allow="", lookup=FakeNames(evil_example=[["127.0.0.1"]]))
    with pytest.raises(RefusedAddress, match="not a public address"):
        await client.get(site.url("/", host="evil.example"))
    assert site.connections == 0


async def test_a_name_with_one_inside_address_among_public_ones_is_refused(site: Site, make_client: MakeClient) -> None:
    client = make_client(allow="", lookup=FakeNames(evil_example=[["93.184.216.34", "127.0.0.1"]]))
    with pytest.raises(RefusedAddress):
        await client.get(site.url("/", host="evil.example"))
    assert site.connections == 0


async def test_a_name_that_answers_differently_the_second_time_gains_nothing(
    site: Site, make_client: MakeClient
) -> None:
    # The first answer is let through by the setting, as a public one would be; the second is the attack.
    names = FakeNames(rebind_example=[["127.0.0.1"], ["127.0.0.2"]])
    client = make_client(allow="127.0.0.1", lookup=names)
    # Another port makes the client look the name up again.
    site.pages["/"] = answer(302, Location=f"http://rebind.example:{site.port + 1}/")
    with pytest.raises(RefusedAddress, match=r"127\.0\.0\.2"):
        await client.get(site.url("/", host="rebind.example"))
    assert names.lookups == 2


async def test_a_host_in_the_setting_may_lead_anywhere(site: Site, make_client: MakeClient) -> None:
    client = make_client(allow=f"nas.home:{site.port}", lookup=FakeNames(nas_home=[["127.0.0.1"]]))
    site.pages["/"] = answer(200, b"mine")
    assert (await client.get(site.url("/", host="nas.home"))).body == b"mine"
    assert f"Host: nas.home:{site.port}" in site.asked[0]


# Caps


def gzip_bomb() -> bytes:
    return gzip.compress(bytes(64 * 1024 * 1024), 9)


@pytest.mark.parametrize(
    ("encoding", "pack"),
    [
        ("gzip", gzip.compress),
        ("x-gzip", gzip.compress),
        ("deflate", zlib.compress),
        ("deflate", lambda body: zlib.compress(body, wbits=-15)),
        ("br", brotli.compress),
        ("gzip, br", lambda body: brotli.compress(gzip.compress(body))),
        ("identity", lambda body: body),
    ],
)
async def test_a_packed_body_comes_out_whole(site: Site, client: HttpClient, encoding: str, pack) -> None:
    body = b"<item>text</item>" * 60_000
    site.pages["/"] = answer(200, pack(body), Content_Encoding=encoding)
    assert (await client.get(site.url("/"))).body == body


async def test_encodings_in_lines_of_their_own_are_all_undone(site: Site, client: HttpClient) -> None:
    packed = brotli.compress(gzip.compress(b"text"))
    site.pages["/"] = answer(200, packed, Content_Encoding="gzip\r\nContent-Encoding: br")
    assert (await client.get(site.url("/"))).body == b"text"


@pytest.mark.parametrize(
    ("encoding", "pack"),
    [
        ("gzip", gzip_bomb),
        ("br", lambda: brotli.compress(bytes(64 * 1024 * 1024), quality=1)),
        ("gzip, gzip", lambda: gzip.compress(gzip_bomb())),
    ],
)
async def test_a_bomb_is_refused(site: Site, client: HttpClient, encoding: str, pack: Callable[[], bytes]) -> None:
    site.pages["/"] = answer(200, pack(), Content_Encoding=encoding)
    with pytest.raises(BadBody, match="unfolds to more"):
        await client.get(site.url("/"))


async def test_a_body_announced_or_found_too_large_is_refused(site: Site, make_client: MakeClient) -> None:
    client = make_client(limits=Limits(body_bytes=1000))
    site.pages["/announced"] = answer(200, b"x" * 1001)
    site.pages["/found"] = (
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n" + b"3e8\r\n" + b"x" * 1000 + b"\r\n1\r\nx\r\n0\r\n\r\n"
    )
    for path in ("/announced", "/found"):
        with pytest.raises(BadBody, match="larger than 1,000 bytes"):
            await client.get(site.url(path))


def closing(data: bytes):
    async def script(writer: asyncio.StreamWriter) -> None:
        writer.write(data)
        await writer.drain()
        writer.close()

    return script


@pytest.mark.parametrize(
    "said",
    [
        b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nonly this",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n64\r\nonly this",
        answer(200, gzip.compress(b"a feed " * 100)[:-12], Content_Encoding="gzip"),
        answer(200, brotli.compress(b"a feed " * 100)[:-3], Content_Encoding="br"),
        answer(200, b"not packed at all", Content_Encoding="gzip"),
        answer(200, b"not packed at all", Content_Encoding="br"),
        answer(200, b"what is this", Content_Encoding="zstd"),
    ],
    ids=["short", "short chunk", "cut gzip", "cut brotli", "no gzip", "no brotli", "unknown"],
)
async def test_a_cut_or_damaged_body_is_never_taken_for_whole(site: Site, client: HttpClient, said: bytes) -> None:
    site.pages["/"] = closing(said)
    with pytest.raises(BadBody):
        await client.get(site.url("/"))


async def test_a_slow_drip_is_ended_by_the_total_time(site: Site, make_client: MakeClient) -> None:
    async def drip(writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 1000000\r\n\r\n")
        while True:
            writer.write(b"x")
            await writer.drain()
            await asyncio.sleep(0.01)

    site.pages["/"] = drip
    with pytest.raises(TimedOut):
        await make_client(limits=Limits(total_seconds=0.2)).get(site.url("/"))


async def test_the_total_time_holds_over_all_redirects(
    site: Site, make_client: MakeClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    passed = [0.0]
    monkeypatch.setattr(client_module, "monotonic", lambda: sum(passed))

    async def slow(writer: asyncio.StreamWriter) -> None:
        passed.append(20.0)
        writer.write(answer(302, Location=f"/{len(site.asked)}"))

    site.pages |= dict.fromkeys(("/", "/1", "/2", "/3", "/4"), slow)
    with pytest.raises(TimedOut):
        await make_client(limits=Limits(total_seconds=30.0)).get(site.url("/"))
    assert len(site.asked) == 2


# What goes wrong on the way


async def test_a_refused_connection_is_unreachable_and_not_our_fault(site: Site, client: HttpClient) -> None:
    with pytest.raises(Unreachable) as failure:
        await client.get(site.url("/", host="127.0.0.9"))
    assert failure.value.host == "127.0.0.9"
    assert not failure.value.ours


class DeadNames(FakeNames):
    def __init__(self, error: OSError) -> None:
        super().__init__()
        self._error = error

    async def __call__(self, host: str, port: int) -> list[str]:
        raise self._error


@pytest.mark.parametrize(("code", "ours"), [("EAI_AGAIN", True), ("EAI_NONAME", False)])
async def test_a_name_that_cannot_be_looked_up_is_unreachable(make_client: MakeClient, code: str, ours: bool) -> None:
    client = make_client(lookup=DeadNames(socket.gaierror(getattr(socket, code), "no")))
    with pytest.raises(Unreachable, match=r"feeds\.example") as failure:
        await client.get("http://feeds.example/")
    assert failure.value.ours is ours


@pytest.mark.parametrize(
    "said",
    [
        b"",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nnothex\r\nbody\r\n",
        b"SSH-2.0-OpenSSH_9.6\r\n",
        b"HTTP/1.1 abc\r\n\r\n",
        b"HTTP/1.1 200 OK\r\n" + b"A: " + b"x" * 200_000 + b"\r\n\r\n",
    ],
)
async def test_what_is_not_http_is_a_bad_answer(site: Site, client: HttpClient, said: bytes) -> None:
    site.pages["/"] = closing(said)
    with pytest.raises((BadAnswer, BadBody)):
        await client.get(site.url("/"))


async def test_plain_http_behind_https_is_a_bad_answer(client: HttpClient) -> None:
    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read(1)
        await closing(answer(400))(writer)

    async with await asyncio.start_server(serve, "127.0.0.1", 0) as server:
        port = server.sockets[0].getsockname()[1]
        with pytest.raises(BadAnswer, match="TLS"):
            await client.get(f"https://127.0.0.1:{port}/")


@pytest.mark.parametrize(
    ("status", "advice"),
    [
        (401, "credentials"),
        (403, "let this collector in"),
        (404, "nothing at this address"),
        (410, "gone for good"),
        (500, "in trouble"),
        (418, "refused"),
        (300, "several addresses"),
    ],
)
async def test_a_failing_status_says_what_to_do(site: Site, client: HttpClient, status: int, advice: str) -> None:
    site.pages["/"] = answer(status, b"no")
    with pytest.raises(HttpError, match=advice) as failure:
        await client.get(site.url("/?api_key=hunter2"))
    assert failure.value.status == status
    assert "hunter2" not in str(failure.value)


async def test_a_status_counts_more_than_its_broken_page(site: Site, client: HttpClient) -> None:
    site.pages["/"] = closing(b"HTTP/1.1 503 No\r\nContent-Length: 99\r\n\r\nbroken")
    with pytest.raises(HttpError):
        await client.get(site.url("/"))
    site.pages["/"] = answer(502, b"x" * 1_000_000)
    with pytest.raises(HttpError):
        await client.get(site.url("/"))


@pytest.mark.proves("A-30")
@pytest.mark.parametrize(
    ("value", "seconds"),
    [
        ("120", 120),
        ((NOW + timedelta(minutes=5)).strftime("%a, %d %b %Y %H:%M:%S GMT"), 300),
        ("9999999", 86_400),
        ("soon", None),
    ],
)
@pytest.mark.parametrize("status", [429, 503])
async def test_retry_after_comes_with_the_error(
    site: Site, client: HttpClient, status: int, value: str, seconds: float | None
) -> None:
    site.pages["/"] = answer(status, Retry_After=value)
    with pytest.raises(HttpError) as failure:
        await client.get(site.url("/"))
    assert failure.value.retry_after == seconds


CHALLENGE = b"<!DOCTYPE html><html><head><title>Just a moment...</title></head></html>"


@pytest.mark.parametrize("status", [200, 403, 503])
async def test_a_challenge_page_is_blocked_and_not_content(site: Site, client: HttpClient, status: int) -> None:
    site.pages["/"] = answer(
        status, gzip.compress(CHALLENGE), Content_Type="text/html", Content_Encoding="gzip", Retry_After="60"
    )
    with pytest.raises(Blocked, match="human") as failure:
        await client.get(site.url("/"))
    assert failure.value.retry_after == 60


# TLS


@pytest.fixture
async def tls_site() -> AsyncIterator[Site]:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(Path(__file__).with_name("self_signed.pem"))
    async with opened(tls=context) as site:
        yield site


async def test_tls_is_verified_unless_the_request_says_otherwise(tls_site: Site, client: HttpClient) -> None:
    tls_site.pages["/"] = answer(200, b"private")
    url = tls_site.url("/").replace("http://", "https://")
    with pytest.raises(BadAnswer, match="certificate"):
        await client.get(url)
    assert tls_site.asked == []
    assert (await client.send(Request(url=url, verify_tls=False))).body == b"private"


@pytest.mark.parametrize(("says_goodbye", "ends"), [(True, nullcontext()), (False, pytest.raises(BadBody))])
def test_what_ends_with_a_tls_connection_is_whole_only_if_that_was_ended_as_well(
    says_goodbye: bool, ends: AbstractContextManager[Any]
) -> None:
    """On the loop that the product runs on: asyncio's own does not tell."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(Path(__file__).with_name("self_signed.pem"))

    def serve(listening: socket.socket) -> None:
        plain, _ = listening.accept()
        with context.wrap_socket(plain, server_side=True) as secure:
            secure.recv(10_000)
            secure.sendall(b"HTTP/1.1 200 OK\r\n\r\nhalf a feed")
            if says_goodbye:
                secure.unwrap()

    async def ask(port: int) -> None:
        async with HttpClient(
            guard=AddressGuard.parse("127.0.0.1"),
            pacer=Pacer(PacePolicy()),
            limits=Limits(),
            user_agent="Catchment/test",
            clock=ManualClock(NOW),
        ) as client:
            await client.send(Request(url=f"https://127.0.0.1:{port}/", verify_tls=False))

    with socket.create_server(("127.0.0.1", 0)) as listening, ThreadPoolExecutor(1) as threads:
        served = threads.submit(serve, listening)
        with ends:
            run_loop(ask(listening.getsockname()[1]))
        served.result()


# Pacing


@pytest.mark.proves("A-34")
async def test_requests_over_budget_are_deferred_and_not_sent(site: Site, make_client: MakeClient) -> None:
    client = make_client(
        policy=PacePolicy(spacing_seconds=0, budget_per_minute=2),
        limits=Limits(patience_seconds=1),
        pace_allowed=True,
    )
    site.pages["/"] = answer(200, b"x")
    request = Request(url=site.url("/"))
    for _ in range(2):
        await client.send(request)
    with pytest.raises(Deferred) as later:
        await client.send(request)
    assert 50 < later.value.seconds <= 60
    assert len(site.asked) == 2


@pytest.mark.proves("A-34")
async def test_hosts_of_one_group_share_one_budget(site: Site, make_client: MakeClient) -> None:
    names = FakeNames(a_example=[["127.0.0.1"]], b_example=[["127.0.0.1"]])
    client = make_client(
        policy=PacePolicy(spacing_seconds=0, budget_per_minute=1), limits=Limits(patience_seconds=0.5), lookup=names
    )
    site.pages["/"] = answer(200, b"x")
    await client.send(Request(url=site.url("/", "a.example"), host_group="twins"))
    with pytest.raises(Deferred):
        await client.send(Request(url=site.url("/", "b.example"), host_group="twins"))


@pytest.mark.proves("A-34")
async def test_the_users_own_hosts_are_not_paced_unless_asked(site: Site, make_client: MakeClient) -> None:
    client = make_client(policy=PacePolicy(spacing_seconds=60, budget_per_minute=1), limits=Limits(patience_seconds=0))
    site.pages["/"] = answer(200, b"x")
    for _ in range(5):
        await client.send(Request(url=site.url("/")))
