"""What signs requests to Douyin: a service or a command of the operator's. We bring none of our own.

Either is given `{"url", "query", "user_agent"}` as JSON and answers `{"a_bogus"}`.
"""

from __future__ import annotations

import asyncio
import json
import os
import shlex
import signal
from asyncio.subprocess import DEVNULL, PIPE, Process
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import asdict, dataclass
from typing import Final, Protocol

from catchment.domain.crawl_errors import Code, CrawlError
from catchment.errors import ParseError, SettingsError, VisitError
from catchment.fetch.client import Request
from catchment.parse.json_values import read_object
from catchment.sources.platforms.answers import Sender

#: Less than the shortest time that a note may take, so that it is the signer that is blamed for a wait.
SECONDS: Final = 10.0
_MAX_BYTES: Final = 64 * 1024
_MAX_SIGNATURE: Final = 1_000


@dataclass(frozen=True, slots=True, kw_only=True)
class ToSign:
    url: str
    #: As it will be sent, but for the signature.
    query: str
    user_agent: str

    def as_json(self) -> bytes:
        return json.dumps(asdict(self), ensure_ascii=False).encode()


class Signer(Protocol):
    async def sign(self, http: Sender, wanted: ToSign) -> str:
        """The signature; CrawlError(PLATFORM_ERROR) when there is none to be had."""
        ...


class ServiceSigner:
    def __init__(self, url: str, *, seconds: float = SECONDS) -> None:
        self._url = url
        self._seconds = seconds

    async def sign(self, http: Sender, wanted: ToSign) -> str:
        request = Request(
            url=self._url,
            method="POST",
            headers={"Content-Type": "application/json"},
            body=wanted.as_json(),
            # The operator named it, so it may well be at home; and it is none of the hosts that are to be spared.
            allow_private=True,
            own_pace=True,
            follow_redirects=False,
            timeout_seconds=self._seconds,
        )
        try:
            response = await http.send(request)
        except VisitError as error:
            raise _unsigned(str(error)) from error
        return read_signature(response.body)


class CommandSigner:
    def __init__(self, words: Sequence[str], *, seconds: float = SECONDS) -> None:
        self._words = tuple(words)
        self._seconds = seconds

    async def sign(self, http: Sender, wanted: ToSign) -> str:  # noqa: ARG002 - a command needs no way out
        try:
            async with asyncio.timeout(self._seconds), _running(self._words) as process:
                said = await _answer(process, wanted.as_json())
                status = await process.wait()
        except TimeoutError as error:
            raise _unsigned(f"the command took longer than {self._seconds:g} s") from error
        except OSError as error:
            raise _unsigned(f"the command cannot be run: {error.strerror or 'it does not start'}") from error
        if status:
            raise _unsigned(f"the command ended with status {status}")
        return read_signature(said)


def make_signer(setting: str) -> Signer | None:
    """The signer that the setting names; None without one."""
    if not setting.strip():
        return None
    if setting.startswith(("http://", "https://")):
        return ServiceSigner(setting)
    try:
        return CommandSigner(shlex.split(setting))
    except ValueError as error:
        raise SettingsError(f"CATCHMENT_DOUYIN_SIGNER is no command that can be run: {error}") from error


@asynccontextmanager
async def _running(words: Sequence[str]) -> AsyncIterator[Process]:
    """The command, ended together with what it started unless it was waited for until its end.

    It is told where programs are, and none of our other variables: some of those are secrets.
    """
    process = await asyncio.create_subprocess_exec(
        *words,
        stdin=PIPE,
        stdout=PIPE,
        stderr=DEVNULL,
        env={"PATH": os.pathsep.join(os.get_exec_path()), "LANG": "C.UTF-8"},
        start_new_session=True,
    )
    try:
        yield process
    except BaseException:
        # Also when it has ended itself: what it started may hold its output, which is then read without an end.
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        raise
    finally:
        # Not only waited for: while something is left to read, its end is not noticed.
        await process.communicate()


async def _answer(process: Process, question: bytes) -> bytes:
    if process.stdin is None or process.stdout is None:
        raise _unsigned("the command cannot be talked to")
    # One that answers without listening has answered all the same.
    with suppress(BrokenPipeError, ConnectionResetError):
        process.stdin.write(question)
        await process.stdin.drain()
    process.stdin.close()
    try:
        await process.stdout.readexactly(_MAX_BYTES)
    except asyncio.IncompleteReadError as whole:
        return whole.partial
    raise _unsigned("the command says more than any signature needs")


def read_signature(answer: bytes) -> str:
    try:
        signature = read_object(answer).get("a_bogus")
    except ParseError as error:
        raise _unsigned("its answer is no JSON object") from error
    if not isinstance(signature, str) or not _is_sendable(signature):
        raise _unsigned('its answer holds no "a_bogus" that could be sent')
    return signature


def _is_sendable(signature: str) -> bool:
    return 0 < len(signature) <= _MAX_SIGNATURE and signature.isascii() and signature.isprintable()


def _unsigned(reason: str) -> CrawlError:
    return CrawlError(
        Code.PLATFORM_ERROR,
        f"The signer of Douyin gave no signature: {reason}; check CATCHMENT_DOUYIN_SIGNER",
        details={"cause": "signer"},
    )
