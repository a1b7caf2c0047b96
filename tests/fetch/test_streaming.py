"""Bodies that are read as they arrive: the same manners and caps as for any other answer, and nothing held."""

from __future__ import annotations

import asyncio
import gzip
import random
import zlib

import brotli
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from catchment.errors import BadBody, Blocked, HttpError, RefusedAddress, TimedOut
from catchment.fetch.body import Decoder
from catchment.fetch.client import HttpClient, Limits, Request
from catchment.fetch.freshness import Validators
from catchment.fetch.options import RequestOptions, SourceClient
from catchment.fetch.pacing import Deferred, PacePolicy
from loopback_site import MakeClient, Site, answer

pytestmark = pytest.mark.proves("F-05")

PACKERS = {"gzip": gzip.compress, "deflate": zlib.compress, "br": brotli.compress}
BODY = random.Random(1).randbytes(300_000)


async def streamed(client: HttpClient | SourceClient, request: Request) -> bytes:
    async with client.stream(request) as stream:
        return b"".join([piece async for piece in stream])


async def test_a_body_comes_in_pieces_with_what_the_answer_says(site: Site, client: HttpClient) -> None:
    site.pages["/map"] = answer(200, BODY, ETag='"v1"')
    async with client.stream(Request(url=site.url("/map"))) as stream:
        pieces = [piece async for piece in stream]
    assert b"".join(pieces) == BODY
    assert len(pieces) > 1
    assert (stream.status, stream.url, stream.headers["ETag"]) == (200, site.url("/map"), '"v1"')
    assert not stream.not_modified
    assert stream.permanent_url is None


@pytest.mark.parametrize("name", sorted(PACKERS))
async def test_packed_bodies_come_unpacked(site: Site, client: HttpClient, name: str) -> None:
    site.pages["/map"] = answer(200, PACKERS[name](BODY), Content_Encoding=name)
    assert await streamed(client, Request(url=site.url("/map"))) == BODY


@pytest.mark.proves("A-30")
async def test_validators_are_sent_and_a_304_has_no_pieces(site: Site, client: HttpClient) -> None:
    site.pages["/map"] = answer(304)
    request = Request(url=site.url("/map"), validators=Validators(etag='"v1"'))
    async with client.stream(request) as stream:
        assert stream.not_modified
        assert [piece async for piece in stream] == []
    assert 'If-None-Match: "v1"' in site.asked[0]


async def test_redirects_are_followed_and_permanent_ones_are_told(site: Site, client: HttpClient) -> None:
    site.pages["/old"] = answer(301, Location="/new")
    site.pages["/new"] = answer(200, b"here")
    async with client.stream(Request(url=site.url("/old"))) as stream:
        assert stream.url == stream.permanent_url == site.url("/new")
        assert [piece async for piece in stream] == [b"here"]


async def test_a_redirect_of_a_stream_to_a_private_address_is_refused(site: Site, client: HttpClient) -> None:
    site.pages["/map"] = answer(302, Location="http://10.0.0.1/map")
    with pytest.raises(RefusedAddress):
        await streamed(client, Request(url=site.url("/map")))


async def test_failures_and_block_pages_are_raised_before_any_piece(site: Site, client: HttpClient) -> None:
    site.pages["/gone"] = answer(410, b"gone")
    site.pages["/wall"] = answer(200, b"<html><title>Just a moment...</title>", Content_Type="text/html")
    with pytest.raises(HttpError, match="410"):
        await streamed(client, Request(url=site.url("/gone"), keep_failures=True))
    with pytest.raises(Blocked):
        await streamed(client, Request(url=site.url("/wall")))


async def test_a_stream_may_be_larger_than_an_answer_that_is_held_but_not_endless(
    site: Site, make_client: MakeClient
) -> None:
    client = make_client(limits=Limits(body_bytes=1_000, stream_bytes=len(BODY)))
    site.pages["/fits"] = answer(200, BODY)
    site.pages["/announced"] = answer(200, BODY + b"x")
    site.pages["/packed"] = answer(200, gzip.compress(BODY + b"x"), Content_Encoding="gzip")
    assert await streamed(client, Request(url=site.url("/fits"))) == BODY
    for path in ("/announced", "/packed"):
        with pytest.raises(BadBody):
            await streamed(client, Request(url=site.url(path)))


async def test_a_bomb_is_refused_while_it_unfolds(site: Site, client: HttpClient) -> None:
    site.pages["/map"] = answer(200, gzip.compress(bytes(50_000_000)), Content_Encoding="gzip")
    taken = 0

    async def take() -> None:
        nonlocal taken
        async with client.stream(Request(url=site.url("/map"))) as stream:
            async for piece in stream:
                taken += len(piece)

    with pytest.raises(BadBody, match="unfolds"):
        await take()
    assert taken < 20_000_000


@pytest.mark.parametrize("packed", [gzip.compress(BODY)[:-9], b"\x1f\x8b" + b"junk" * 9])
async def test_a_cut_or_damaged_stream_is_never_taken_for_whole(site: Site, client: HttpClient, packed: bytes) -> None:
    site.pages["/map"] = answer(200, packed, Content_Encoding="gzip")
    with pytest.raises(BadBody):
        await streamed(client, Request(url=site.url("/map")))


async def test_a_connection_that_breaks_off_is_told_by_our_own_error(site: Site, client: HttpClient) -> None:
    async def break_off(writer: asyncio.StreamWriter) -> None:
        writer.write(answer(200, BODY)[:200_000])
        await writer.drain()
        raise ConnectionError

    site.pages["/map"] = break_off
    with pytest.raises(BadBody, match="broke off"):
        await streamed(client, Request(url=site.url("/map")))


@pytest.mark.timeout(20)
async def test_a_stream_that_stands_still_is_given_up(site: Site, make_client: MakeClient) -> None:
    async def stall(writer: asyncio.StreamWriter) -> None:
        writer.write(answer(200, BODY)[:100_000])
        await asyncio.Event().wait()

    site.pages["/map"] = stall
    client = make_client(limits=Limits(total_seconds=0.2, stream_seconds=3600))
    with pytest.raises(TimedOut):
        await streamed(client, Request(url=site.url("/map")))


async def test_a_stream_may_take_longer_than_an_answer_but_not_for_ever(site: Site, make_client: MakeClient) -> None:
    async def drip(writer: asyncio.StreamWriter) -> None:
        writer.write(answer(200, BODY)[:20_000])
        while True:
            writer.write(b"x")
            await writer.drain()
            await asyncio.sleep(0.01)

    site.pages["/map"] = drip
    client = make_client(limits=Limits(total_seconds=0.2, stream_seconds=0.6))
    with pytest.raises(TimedOut):
        await streamed(client, Request(url=site.url("/map")))


async def test_the_turn_at_the_host_is_held_until_the_stream_is_left(site: Site, make_client: MakeClient) -> None:
    site.pages["/map"] = answer(200, BODY)
    site.pages["/page"] = answer(200, b"page")
    policy = PacePolicy(concurrency=1, spacing_seconds=0, budget_per_minute=100)
    client = make_client(limits=Limits(patience_seconds=0.05), policy=policy, pace_allowed=True)
    async with client.stream(Request(url=site.url("/map"))):
        with pytest.raises(Deferred):
            await client.get(site.url("/page"))
    assert (await client.get(site.url("/page"))).body == b"page"


async def test_a_stream_that_is_left_early_does_no_harm(site: Site, client: HttpClient) -> None:
    site.pages["/map"] = answer(200, BODY)
    for _ in range(3):
        async with client.stream(Request(url=site.url("/map"))) as stream:
            assert await anext(aiter(stream))


async def test_what_the_reader_of_a_stream_raises_passes_as_it_is(site: Site, client: HttpClient) -> None:
    site.pages["/map"] = answer(200, BODY)
    with pytest.raises(OSError, match="disk full"):
        async with client.stream(Request(url=site.url("/map"))):
            raise OSError("disk full")


async def test_a_stream_is_asked_for_in_the_manner_of_its_source(site: Site, client: HttpClient) -> None:
    site.pages["/map"] = answer(200, b"x")
    source = SourceClient(client, RequestOptions(headers={"X-Key": "k"}))
    assert await streamed(source, Request(url=site.url("/map"))) == b"x"
    assert "X-Key: k" in site.asked[0]


@settings(deadline=None)
@given(
    body=st.binary(max_size=3000),
    names=st.lists(st.sampled_from(sorted(PACKERS)), max_size=2),
    size=st.integers(1, 700),
)
def test_any_portions_unpack_to_the_same_body(body: bytes, names: list[str], size: int) -> None:
    packed = body
    for name in names:
        packed = PACKERS[name](packed)
    decoder = Decoder(", ".join(names), max_bytes=10_000_000, max_ratio=200)
    portions = [packed[start : start + size] for start in range(0, len(packed), size)]
    assert b"".join(piece for portion in portions for piece in decoder.feed(portion)) == body
    decoder.finish()


@pytest.mark.parametrize("size", [1, 2, 3, 1000])
def test_members_of_gzip_follow_each_other_in_any_portions(size: int) -> None:
    packed = gzip.compress(b"one ") + gzip.compress(b"") + gzip.compress(b"two") + b"\0\0\0" + b"\x1f\x8b"
    decoder = Decoder("gzip", max_bytes=1_000, max_ratio=200)
    portions = [packed[start : start + size] for start in range(0, len(packed), size)]
    assert b"".join(piece for portion in portions for piece in decoder.feed(portion)) == b"one two"
    decoder.finish()
