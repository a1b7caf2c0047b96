"""Signatures hold for the very bytes that are sent, and who has no signer is told what to install."""

from __future__ import annotations

import sys
from contextlib import suppress
from dataclasses import dataclass, field
from hashlib import md5
from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from platform_visits import gathered
from xhs_bench import COOKIE, START, Bench, xhs_at_work
from xhshow import Xhshow

from catchment.domain.crawl_errors import Code, CrawlError
from catchment.domain.note import Search
from catchment.fetch.client import Request, Response
from catchment.fetch.guard import AddressGuard
from catchment.simulator.messages import IncomingRequest as Received
from catchment.sources.platforms.xhs import Call, XhshowSigner, read_cookie

pytestmark = pytest.mark.proves("E-13")
#: Where a signature holds its seed, and the beginning of the digest of what was signed, hidden by that seed.
SEED, DIGEST = 4, slice(36, 44)
WORDS = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
LIBRARY = Xhshow()


def signed_digest(signature: str) -> bytes:
    payload = LIBRARY.decode_x3(LIBRARY.decode_xs(signature)["x3"])
    return bytes(byte ^ payload[SEED] for byte in payload[DIGEST])


def received(request: Received) -> bytes:
    """What a platform digests: the path, then the query as it arrived or the body."""
    query = f"?{request.query}" if request.query else ""
    return f"{request.path}{query}".encode() + request.body


async def worked(bench: Bench) -> None:
    """Every kind of request once."""
    card = await bench.card(keyword="咖啡 & tea/豆")
    await bench.xhs.detail(bench.http, COOKIE, card.ref)
    await gathered(bench.xhs.comments(bench.http, COOKIE, card.ref, limit=1))
    await bench.xhs.is_valid(bench.http, COOKIE)


async def test_what_arrives_is_what_was_signed():
    async with xhs_at_work() as bench:
        await worked(bench)
        assert [request.method for request in bench.service.requests] == ["POST", "POST", "GET", "GET"]
        for request in bench.service.requests:
            digest = md5(received(request), usedforsecurity=False).digest()
            assert signed_digest(request.headers["x-s"]) == digest[:8]


@given(token=st.from_regex(r"[A-Za-z0-9_=.-]{1,60}", fullmatch=True))
def test_a_query_with_a_token_is_sent_as_it_is_written(token):
    call = Call(method="GET", path="/p", values={"image_formats": "jpg,webp", "cursor": "", "xsec_token": token})
    written = f"http://127.0.0.1{call.target}"
    assert str(AddressGuard.parse("127.0.0.1").check_url(written)) == written


async def test_requests_carry_all_that_the_platform_looks_at():
    async with xhs_at_work() as bench:
        await worked(bench)
        for request in bench.service.requests:
            headers = request.headers
            assert all(headers[name] for name in ("x-s", "x-t", "x-s-common", "x-b3-traceid"))
            assert headers["cookie"] == COOKIE
            assert headers["user-agent"] == LIBRARY.config.PUBLIC_USERAGENT
            assert headers["origin"] == bench.xhs.site_url
            assert headers["x-t"] == str(int(START.timestamp() * 1000))
            assert ("x-rap-param" in headers) == (request.method == "POST")


async def test_commas_stay_as_they_are_and_bodies_are_compact():
    async with xhs_at_work() as bench:
        await worked(bench)
        search, feed, comments, *_ = bench.service.requests
        assert "image_formats=jpg,webp,avif&xsec_token=AB" in comments.query
        assert '"keyword":"咖啡 & tea/豆","page":1'.encode() in search.body
        assert b'"image_formats":["jpg","webp","avif"],"extra":{"need_body_topic":1}' in feed.body


@given(values=st.dictionaries(st.sampled_from("abcde"), WORDS))
def test_a_call_is_written_as_the_library_writes_it(values):
    get = Call(method="GET", path="/p", values=values)
    post = Call(method="POST", path="/p", values=values)
    assert get.target == LIBRARY._build_content_string("GET", "/p", values)
    assert post.target.encode() + post.body == LIBRARY._build_content_string("POST", "/p", values).encode()


@given(cookie=st.text(max_size=60))
def test_no_cookie_breaks_the_reading_of_it(cookie):
    with suppress(CrawlError):
        assert set(read_cookie(cookie)) >= {"a1", "web_session", "webId"}


async def test_without_the_extra_the_error_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "xhshow", None)
    async with xhs_at_work() as bench:
        with pytest.raises(CrawlError, match=r"catchment\[xhs\]") as caught:
            await bench.xhs.search(bench.http, COOKIE, Search(keyword="咖啡"))
        assert (caught.value.code, caught.value.details["extra"]) == (Code.PLATFORM_ERROR, "xhs")
        assert not bench.service.requests


def test_the_library_is_loaded_once(monkeypatch):
    made = []

    class Counted(Xhshow):
        def __init__(self):
            super().__init__()
            made.append(self)

    monkeypatch.setitem(sys.modules, "xhshow", SimpleNamespace(Xhshow=Counted))
    signer = XhshowSigner()
    assert not made
    for _ in range(3):
        signer.headers(Call(method="GET", path="/p", values={}), read_cookie(COOKIE), at=START)
    assert len(made) == 1


@dataclass
class Echo:
    """A platform that repeats what it was asked with."""

    sent: list[Request] = field(default_factory=list)

    async def send(self, request: Request) -> Response:
        self.sent.append(request)
        said = request.headers["Cookie"].replace("web_session=", "您的会话 ")
        body = f'{{"success":false,"code":-1,"msg":"{said}"}}'.encode()
        return Response(status=200, url=request.url, headers={}, body=body)


async def test_what_a_platform_repeats_of_a_cookie_is_struck_out():
    async with xhs_at_work() as bench:
        with pytest.raises(CrawlError) as caught:
            await bench.xhs.search(Echo(), COOKIE, Search(keyword="咖啡"))
        assert "您的会话" in str(caught.value)
        for value in read_cookie(COOKIE).values():
            assert value == "yj" or value not in str(caught.value)
