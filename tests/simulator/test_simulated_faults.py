from __future__ import annotations

import asyncio
import gzip
import zlib
from collections.abc import Iterable
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from email.utils import parsedate_to_datetime
from ipaddress import ip_address, ip_network
from xml.etree import ElementTree as ET

import aiohttp
import feedparser
import pytest
from yarl import URL

from catchment.simulator import faults
from catchment.simulator.faults import FAULTS, Fault, SiteTrouble, scattered
from catchment.simulator.formats import Abilities, Dialect, Style
from catchment.simulator.messages import Answer, IncomingRequest
from catchment.simulator.server import NETWORKS, SimulatedWeb
from catchment.simulator.world import World

START = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)
MINUTE = timedelta(minutes=1)


@asynccontextmanager
async def web_with(clock, *troubles: SiteTrouble | Fault, style: Style | None = None):
    world = World(
        seed=1,
        sites=1,
        started_at=START,
        styles=[style or Style()],
        abilities=Abilities(etag=True, gzip=True),
    )
    told = [each if isinstance(each, SiteTrouble) else SiteTrouble(fault=each) for each in troubles]
    async with SimulatedWeb(world, now=clock.now, troubles={0: told}) as web:
        yield web


async def fetch(visitor, web: SimulatedWeb, path: str = "") -> tuple[aiohttp.ClientResponse, bytes]:
    async with visitor.get(web.feed_url(0) + path, allow_redirects=False) as answer:
        return answer, await answer.read()


async def answers(visitor, clock, fault: Fault, style: Style | None = None) -> tuple[aiohttp.ClientResponse, bytes]:
    async with web_with(clock, fault, style=style) as web:
        return await fetch(visitor, web)


@pytest.mark.parametrize("code", [500, 502, 503, 410])
async def test_a_status_is_answered_as_scripted(visitor, clock, code) -> None:
    answer, _ = await answers(visitor, clock, faults.status(code))
    assert answer.status == code


async def test_the_wait_is_told_in_seconds_or_as_a_date(visitor, clock) -> None:
    seconds, _ = await answers(visitor, clock, faults.told_to_wait(2 * MINUTE))
    date, _ = await answers(visitor, clock, faults.told_to_wait(2 * MINUTE, code=503, form="date"))
    assert (seconds.status, seconds.headers["Retry-After"]) == (429, "120")
    assert date.status == 503
    assert parsedate_to_datetime(date.headers["Retry-After"]) == clock.now() + 2 * MINUTE


async def test_a_304_can_come_unasked(visitor, clock) -> None:
    answer, body = await answers(visitor, clock, faults.unasked_304())
    assert (answer.status, body) == (304, b"")


async def test_silence_holds_the_connection_and_says_nothing(visitor, clock) -> None:
    asked = asyncio.Event()

    def listener(_request: IncomingRequest) -> Answer:
        asked.set()
        return Answer(body=b"words")

    world = World(seed=1, sites=1, started_at=START)
    async with SimulatedWeb(world, now=clock.now, places={"/quiet": listener}) as web:
        web.trouble("/quiet", SiteTrouble(fault=faults.silence()))
        reader, writer = await asyncio.open_connection("127.0.0.1", web.port)
        writer.write(b"GET /quiet HTTP/1.1\r\n\r\n")
        await asked.wait()
        async with visitor.get(web.url("/opml")) as answer:
            assert answer.status == 200, "others are served meanwhile"
        assert not reader.at_eof()
    assert await reader.read() == b"", "nothing was said by the time the web closed"
    assert asyncio.all_tasks() == {asyncio.current_task()}, "no silent task is left behind"
    writer.close()


async def connected(web: SimulatedWeb) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    host, _, rest = web.feed_url(0).removeprefix("http://").partition(":")
    port, _, path = rest.partition("/")
    reader, writer = await asyncio.open_connection(host, int(port))
    writer.write(f"GET /{path} HTTP/1.1\r\nHost: {host}\r\n\r\n".encode())
    return reader, writer


async def test_a_drip_brings_the_whole_body_in_small_pieces(visitor, clock) -> None:
    async with web_with(clock, faults.drip(piece_bytes=4000, pause_seconds=0.001)) as web:
        async with visitor.get(web.feed_url(0), headers={"Accept-Encoding": "identity"}) as answer:
            pieces = [piece async for piece in answer.content.iter_any()]
        assert len(pieces) > 3
        assert len(b"".join(pieces)) == int(answer.headers["Content-Length"])


async def test_a_late_answer_is_whole_and_the_connection_lives_on(visitor, clock) -> None:
    async with web_with(clock, SiteTrouble(fault=faults.late(0.01))) as web:
        for _ in range(2):
            answer, body = await fetch(visitor, web)
            assert len(body) == int(answer.headers["Content-Length"])


async def test_a_body_cut_short_breaks_its_promised_length(visitor, clock) -> None:
    with pytest.raises(aiohttp.ClientPayloadError):
        await answers(visitor, clock, faults.cut_short())


@pytest.mark.parametrize("share", [0.0, 0.5])
async def test_a_reset_is_a_reset(clock, share) -> None:
    async with web_with(clock, faults.reset(share=share)) as web:
        reader, writer = await connected(web)
        with pytest.raises(ConnectionResetError):
            await reader.read()
        writer.close()


async def test_a_redirect_loop_never_ends(visitor, clock) -> None:
    async with web_with(clock, faults.redirect_loop()) as web:
        with pytest.raises(aiohttp.TooManyRedirects):
            await visitor.get(web.feed_url(0), max_redirects=30)


@pytest.mark.parametrize("code", [301, 302, 307, 308])
async def test_a_redirect_chain_leads_to_the_feed(visitor, clock, code) -> None:
    async with (
        web_with(clock, faults.redirect_chain(3, code=code)) as web,
        visitor.get(web.feed_url(0)) as answer,
    ):
        assert [step.status for step in answer.history] == [code] * 3
        assert len(feedparser.parse(gzip.decompress(await answer.read())).entries) == 30


async def test_a_redirect_can_point_to_a_private_address(visitor, clock) -> None:
    answer, _ = await answers(visitor, clock, faults.redirect_to())
    target = URL(answer.headers["Location"])
    assert answer.status == 302
    assert target.host is not None
    address = ip_address(target.host)
    assert address.is_loopback, "following it by mistake must not leave the machine"
    assert not any(address in ip_network(network) for network in NETWORKS)


BROKEN_XML = [
    faults.unclosed_tags(), faults.bad_entities(), faults.leading_junk(), faults.control_characters(),
]  # fmt: skip
XML_FORMATS = [each for each in Dialect if each is not Dialect.JSONFEED]


@pytest.mark.parametrize("feed_format", XML_FORMATS)
@pytest.mark.parametrize("fault", BROKEN_XML, ids=lambda fault: fault.name)
async def test_malformed_xml_is_refused_by_a_strict_parser(visitor, clock, fault, feed_format) -> None:
    answer, body = await answers(visitor, clock, fault, Style(format=feed_format))
    assert answer.status == 200
    with pytest.raises(ET.ParseError):
        ET.fromstring(body)
    assert len(feedparser.parse(body).entries) == 30, "a lenient parser still finds the posts"


async def test_the_header_can_name_a_wrong_charset(visitor, clock) -> None:
    answer, body = await answers(visitor, clock, faults.wrong_charset_in_header())
    assert answer.charset == "iso-8859-7"
    assert body.decode("utf-8")


async def test_the_prolog_can_name_a_wrong_charset(visitor, clock) -> None:
    _, body = await answers(visitor, clock, faults.wrong_charset_in_prolog())
    assert b'encoding="utf-8"' in body[:60]
    with pytest.raises(UnicodeDecodeError):
        body.decode("utf-8")


async def test_a_truncated_gzip_ends_within_its_stream(visitor, clock) -> None:
    answer, body = await answers(visitor, clock, faults.truncated_gzip())
    assert answer.headers.getall("Content-Encoding") == ["gzip"]
    unpacker = zlib.decompressobj(wbits=31)
    assert unpacker.decompress(body).startswith(b"<?xml")
    assert not unpacker.eof


async def test_a_huge_body_goes_on_beyond_ten_mebibytes_without_a_length(visitor, clock) -> None:
    answer, body = await answers(visitor, clock, faults.huge())
    assert "Content-Length" not in answer.headers
    assert len(body) > 12 * faults.MEBIBYTE


async def test_a_visitor_may_leave_a_huge_body_and_come_back(visitor, clock) -> None:
    async with web_with(clock, SiteTrouble(fault=faults.huge(200), until=START + 2 * MINUTE)) as web:
        async with visitor.get(web.feed_url(0)) as answer:
            await answer.content.readexactly(1000)
        clock.advance(2 * MINUTE)
        answer, _ = await fetch(visitor, web)
        assert answer.headers["Content-Encoding"] == "gzip"


async def test_a_bomb_is_small_on_the_wire_and_large_unpacked(visitor, clock) -> None:
    answer, body = await answers(visitor, clock, faults.bomb(16))
    assert answer.headers["Content-Encoding"] == "gzip"
    assert len(body) < 100_000
    assert len(gzip.decompress(body)) > 16 * faults.MEBIBYTE


async def test_pages_come_in_place_of_feeds(visitor, clock) -> None:
    moved, page = await answers(visitor, clock, faults.html_instead())
    assert (moved.status, moved.content_type) == (200, "text/html")
    assert page.startswith(b"<!doctype html>")
    nothing, body = await answers(visitor, clock, faults.empty())
    assert (nothing.status, body) == (200, b"")


@pytest.mark.parametrize("code", [200, 403])
async def test_challenges_ask_for_a_browser_or_for_a_human(visitor, clock, code) -> None:
    check, page = await answers(visitor, clock, faults.challenge(code=code))
    assert (check.status, check.headers["cf-mitigated"]) == (code, "challenge")
    assert b"Just a moment" in page
    captcha, form = await answers(visitor, clock, faults.challenge("captcha", code=code))
    assert captcha.status == code
    assert b"g-recaptcha" in form


async def test_a_flaky_site_fails_at_every_kth_visit(visitor, clock) -> None:
    async with web_with(clock, SiteTrouble(fault=faults.status(500), every=3)) as web:
        statuses = [(await fetch(visitor, web))[0].status for _ in range(6)]
    assert statuses == [200, 200, 500, 200, 200, 500]


async def test_a_trouble_keeps_to_its_time_and_is_counted(visitor, clock) -> None:
    async with web_with(clock) as web:
        trouble = SiteTrouble(fault=faults.status(502), since=START + 2 * MINUTE, until=START + 3 * MINUTE)
        troubled = web.trouble("/s/0", trouble)
        statuses = []
        for _ in range(3):
            statuses.append((await fetch(visitor, web))[0].status)
            clock.advance(MINUTE)
        assert statuses == [200, 502, 200]
        assert (troubled.visits, troubled.struck) == (3, {"status 502": 1})


async def test_troubles_can_be_replaced_while_the_web_is_open(visitor, clock) -> None:
    async with web_with(clock, faults.gone()) as web:
        web.trouble("/s/0")
        assert (await fetch(visitor, web))[0].status == 200


async def test_faults_wrap_any_place(visitor, clock) -> None:
    def greeting(request: IncomingRequest) -> Answer:
        return Answer(body=request.method.encode() + b" " + request.body)

    world = World(seed=1, sites=1, started_at=START)
    async with SimulatedWeb(world, now=clock.now, places={"/hello": greeting}) as web:
        async with visitor.post(web.url("/hello/you"), data=b"you") as answer:
            assert await answer.read() == b"POST you"
        web.trouble("/hello", SiteTrouble(fault=faults.status(503)))
        async with visitor.get(web.url("/hello/you")) as answer:
            assert answer.status == 503


def test_a_share_of_the_sites_is_in_trouble_and_always_the_same_ones() -> None:
    world = World(seed=3, sites=900, started_at=START)
    troubles = scattered(world, 0.33)
    assert len(troubles) == 297
    assert troubles == scattered(world, 0.33)
    assert not set(range(12)) & set(troubles), "the welcome sites stay well"
    struck = fault_names(trouble.fault for given in troubles.values() for trouble in given)
    assert struck == fault_names(FAULTS)


def fault_names(several: Iterable[Fault]) -> set[str]:
    return {fault.name for fault in several}


async def test_what_is_not_http_is_refused(clock) -> None:
    async with web_with(clock) as web:
        reader, writer = await asyncio.open_connection("127.0.0.1", web.port)
        writer.write(b"hello\r\n\r\n")
        assert (await reader.read()).startswith(b"HTTP/1.1 400 ")
        writer.close()


async def test_requests_sent_together_are_answered_in_order(clock) -> None:
    async with web_with(clock, SiteTrouble(fault=faults.late(0.01), every=2)) as web:
        reader, writer = await asyncio.open_connection("127.0.0.1", web.port)
        paths = ["/s/0/nothing", "/s/0/feed.xml", "/s/0/neither"]
        requests = [f"HEAD {path} HTTP/1.1\r\nHost: sim\r\n" for path in paths]
        writer.write("\r\n".join([*requests[:-1], requests[-1] + "Connection: close\r\n\r\n"]).encode())
        said = await reader.read()
        writer.close()
    assert [line[9:12] for line in said.split(b"\r\n") if line.startswith(b"HTTP/")] == [
        b"404",
        b"200",
        b"404",
    ]
