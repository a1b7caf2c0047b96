"""The operator's signer, as a service on loopback and as a command, in order and out of it."""

from __future__ import annotations

import asyncio
import json
import os
import shlex
import sys
from collections.abc import Awaitable
from contextlib import suppress
from pathlib import Path

import pytest
from aiohttp import web
from hypothesis import given
from hypothesis import strategies as st
from platform_visits import http_client

from catchment.domain.crawl_errors import Code, CrawlError
from catchment.errors import SettingsError
from catchment.sources.platforms.signer import CommandSigner, ServiceSigner, ToSign, make_signer, read_signature
from eventually import eventually
from feed_site import FeedSite

pytestmark = pytest.mark.proves("E-13")

WANTED = ToSign(url="https://www.douyin.com/aweme/v1/web/aweme/detail/", query="aweme_id=1&k=咖啡", user_agent="UA")


@pytest.fixture
def command(tmp_path: Path):
    """A signer made of a few lines of Python."""

    def write(code: str) -> list[str]:
        script = tmp_path / "signer with spaces.py"
        script.write_text(f"import json, os, subprocess, sys, time\n{code}\n")
        return [sys.executable, str(script)]

    return write


async def unsigned(signing: Awaitable[str]) -> str:
    with pytest.raises(CrawlError) as caught:
        await signing
    assert caught.value.code is Code.PLATFORM_ERROR
    assert caught.value.details == {"cause": "signer"}
    assert "CATCHMENT_DOUYIN_SIGNER" in str(caught.value)
    assert WANTED.query not in str(caught.value)
    return str(caught.value)


async def signed_by(words: list[str], *, seconds: float = 10.0) -> str:
    async with http_client() as http:
        return await CommandSigner(words, seconds=seconds).sign(http, WANTED)


class TestACommand:
    async def test_it_is_told_what_to_sign_and_answers_with_the_signature(self, command):
        words = command("asked = json.load(sys.stdin)\nprint(json.dumps({'a_bogus': '|'.join(asked.values())}))")
        wanted = ToSign(url="u", query="q=1", user_agent="a")
        async with http_client() as http:
            assert await CommandSigner(words).sign(http, wanted) == "u|q=1|a"

    async def test_it_is_run_by_its_words_and_by_no_shell(self, command):
        words = command("print(json.dumps({'a_bogus': sys.argv[1]}))")
        signer = make_signer(shlex.join([*words, "$HOME; echo >&2 | x"]))
        async with http_client() as http:
            assert await signer.sign(http, WANTED) == "$HOME; echo >&2 | x"

    async def test_it_learns_none_of_our_secrets(self, command, monkeypatch):
        monkeypatch.setenv("COOKIE_MASTER_KEY", "a passphrase that is nobody's business")
        assert await signed_by(command("print(json.dumps({'a_bogus': ','.join(sorted(os.environ))}))")) in {
            "LANG,PATH",
            "LANG,LC_CTYPE,PATH",
        }

    async def test_one_that_answers_without_listening_has_answered(self, command):
        code = 'sys.stdin.close()\nprint(\'{"a_bogus": "x"}\')'
        assert await signed_by(command(code)) == "x"

    async def test_one_that_hangs_is_not_waited_for(self, command):
        assert "took longer than 0.3 s" in await unsigned(signed_by(command("time.sleep(600)"), seconds=0.3))

    async def test_one_whose_asker_leaves_is_ended_with_all_that_it_started(self, command, tmp_path):
        pids = tmp_path / "pids"
        os.mkfifo(pids)
        child = "child = subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(600)'])"
        told = f"open({str(pids)!r}, 'w').write(f'{{os.getpid()}} {{child.pid}}')"
        asking = asyncio.ensure_future(
            signed_by(command(f"sys.stdin.read()\n{child}\n{told}\ntime.sleep(600)"), seconds=60)
        )
        started = [int(pid) for pid in (await asyncio.to_thread(pids.read_text)).split()]
        assert all(map(runs, started))
        asking.cancel()
        with pytest.raises(asyncio.CancelledError):
            await asking

        async def ended() -> bool:
            return not any(map(runs, started))

        assert await eventually(ended)

    async def test_what_one_leaves_behind_to_hold_its_output_is_ended_as_well(self, command, tmp_path):
        pids = tmp_path / "pids"
        os.mkfifo(pids)
        child = "child = subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(600)'])"
        told = f"open({str(pids)!r}, 'w').write(f'{{os.getpid()}} {{child.pid}}')"
        asking = asyncio.ensure_future(signed_by(command(f"sys.stdin.read()\n{child}\n{told}"), seconds=60))
        itself, left_behind = [int(pid) for pid in (await asyncio.to_thread(pids.read_text)).split()]

        async def is_buried() -> bool:
            return not is_known(itself)

        async def ended() -> bool:
            return not runs(left_behind)

        assert await eventually(is_buried)
        assert runs(left_behind)
        asking.cancel()
        with pytest.raises(asyncio.CancelledError):
            await asking
        assert await eventually(ended)

    @pytest.mark.parametrize(
        ("code", "said"),
        [
            ("print('junk')", "no JSON object"),
            ("", "no JSON object"),
            ("print('[]')", "no JSON object"),
            ("print('{}')", "a_bogus"),
            ("print(json.dumps({'a_bogus': 7}))", "a_bogus"),
            ("print(json.dumps({'a_bogus': ''}))", "a_bogus"),
            ("print(json.dumps({'a_bogus': 'x\\r\\nCookie: y'}))", "a_bogus"),
            ("print(json.dumps({'a_bogus': 'x' * 5000}))", "a_bogus"),
            ("sys.exit(3)", "ended with status 3"),
            ("while True: print('x' * 1000)", "says more"),
        ],
    )
    async def test_what_is_no_signature_is_said_to_be_none(self, command, code, said):
        assert said in await unsigned(signed_by(command(code)))

    async def test_one_that_is_not_there_is_said_to_be_missing(self):
        assert "cannot be run" in await unsigned(signed_by(["/nowhere/signer"]))

    @given(st.binary(max_size=200))
    def test_any_answer_is_a_signature_or_refused(self, answer):
        with suppress(CrawlError):
            assert read_signature(answer).isprintable()


class TestAService:
    async def test_it_is_asked_at_home_though_nothing_else_there_may_be(self):
        async with FeedSite() as site, http_client(allow="") as http:

            async def sign(request: web.Request) -> web.StreamResponse:
                asked = await request.json()
                return web.json_response({"a_bogus": f"{request.method}:{asked['query']}:{asked['user_agent']}"})

            signer = make_signer(site.script(sign, path="/sign"))
            assert isinstance(signer, ServiceSigner)
            wanted = ToSign(url="u", query="aweme_id=1", user_agent="UA")
            assert await signer.sign(http, wanted) == "POST:aweme_id=1:UA"

    @pytest.mark.parametrize("body", ["junk", "[]", "{}", json.dumps({"a_bogus": None})])
    async def test_what_is_no_signature_is_said_to_be_none(self, body):
        async with FeedSite() as site, http_client() as http:
            await unsigned(ServiceSigner(site.serve(body, path="/sign")).sign(http, WANTED))

    async def test_one_in_trouble_is_not_the_platforms_fault(self):
        async with FeedSite() as site, http_client() as http:
            url = site.serve("no", path="/sign", status=500)
            assert "HTTP 500" in await unsigned(ServiceSigner(url).sign(http, WANTED))
            assert "refuses" in await unsigned(ServiceSigner("http://127.0.0.1:9999/").sign(http, WANTED))

    async def test_one_that_hangs_is_not_waited_for(self):
        async with FeedSite() as site, http_client() as http:

            async def hang(_: web.Request) -> web.StreamResponse:
                await asyncio.Event().wait()
                raise AssertionError

            signer = ServiceSigner(site.script(hang, path="/sign"), seconds=0.1)
            assert "too long" in await unsigned(signer.sign(http, WANTED))


class TestTheSetting:
    @pytest.mark.parametrize("setting", ["", "  "])
    def test_without_one_there_is_no_signer(self, setting):
        assert make_signer(setting) is None

    def test_one_that_is_neither_an_address_nor_a_command_is_named(self):
        with pytest.raises(SettingsError, match="CATCHMENT_DOUYIN_SIGNER"):
            make_signer("node 'sign.js")


def runs(pid: int) -> bool:
    """Whether the process is there and not merely waiting to be buried."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


def is_known(pid: int) -> bool:
    """Whether there is such a process, be it one that waits to be buried."""
    return Path(f"/proc/{pid}").exists()
