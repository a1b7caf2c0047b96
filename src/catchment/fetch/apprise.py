"""Notices by Apprise: mail, Telegram, Discord and whatever else it knows, each by an address of its own.

Apprise makes its requests itself, and not by the guarded client. So each notice is sent by a process of its own, which
has a time, knows no variable and no secret but the one address, and is watched by the interpreter itself: it dials
nothing that the guard refuses, at the moment of dialling and after every redirect; it starts no program; and it reads
no file but Python's own. Which schemes it may be asked for is a setting.
"""

from __future__ import annotations

import asyncio
import json
import logging
import os
import re
import signal
import socket
import ssl
import sys
from asyncio.subprocess import DEVNULL, PIPE
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Final

from catchment.errors import BadAnswer, InvalidInput, RefusedAddress, TimedOut
from catchment.fetch.guard import AddressGuard
from catchment.redact import MASK

SECONDS: Final = 30.0
#: Each takes a process of some 50 MB for a second.
_AT_A_TIME: Final = 2
_SCHEME: Final = re.compile(r"([a-z][a-z0-9+.-]*)://", re.IGNORECASE)
_PROGRAMS: Final = frozenset({"os.exec", "os.fork", "os.posix_spawn", "os.spawn", "os.system", "subprocess.Popen"})
_DIALLED: Final = frozenset({"socket.connect", "socket.sendmsg", "socket.sendto"})
#: What of the machine Python reads besides its own: how times, types of files and certificates are there.
_OF_THE_MACHINE: Final = ("/usr", "/etc/localtime", "/etc/mime.types", "/etc/pki", "/etc/ssl", "/dev/null")
#: Shorter parts of an address are words that a reason may well need.
_LEAST_HIDDEN: Final = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class Notice:
    title: str
    body: str
    #: As Apprise says it: info, success, warning or failure.
    kind: str = "info"


class NoticeSender:
    def __init__(self, *, schemes: frozenset[str], allow_networks: str, seconds: float = SECONDS) -> None:
        self._schemes = schemes
        self._allow_networks = allow_networks
        self._seconds = seconds
        self._turns = asyncio.Semaphore(_AT_A_TIME)

    async def check(self, address: str) -> None:
        """InvalidInput unless it is an address that Apprise takes and the setting allows. Nothing is sent."""
        try:
            answer = await self._ask({"address": address}, scheme=self._allowed_scheme(address))
        except TimedOut as error:
            raise InvalidInput(str(error)) from error
        if answer["reason"]:
            raise InvalidInput(f"Apprise does not take this address: {answer['reason']}", field="url")

    async def send(self, address: str, notice: Notice, *, allow_private: bool = False) -> None:
        """Return when it was taken in; one of the visit errors says why it was not."""
        try:
            scheme = self._allowed_scheme(address)
        except InvalidInput as error:
            raise RefusedAddress(str(error)) from error
        order = {"address": address, "notice": asdict(notice), "allow_private": allow_private}
        answer = await self._ask(order, scheme=scheme)
        if answer["refused"]:
            raise RefusedAddress(answer["refused"])
        if answer["reason"]:
            raise BadAnswer(answer["reason"])

    def _allowed_scheme(self, address: str) -> str:
        found = _SCHEME.match(address)
        if found is None:
            raise InvalidInput("An address of Apprise begins with the name of a service, as in tgram://…", field="url")
        scheme = found[1].lower()
        if scheme not in self._schemes:
            raise InvalidInput(
                f"Notices by {scheme}:// are not allowed here; CATCHMENT_APPRISE_SCHEMES says which are: "
                f"{', '.join(sorted(self._schemes))}.",
                field="url",
            )
        if find_spec("apprise") is None:
            raise InvalidInput("Apprise is not installed: pip install 'catchment[notify]'.")
        return scheme

    async def _ask(self, order: Mapping[str, Any], *, scheme: str) -> dict[str, str]:
        told = json.dumps({**order, "allow_networks": self._allow_networks, "seconds": self._seconds}).encode()
        async with self._turns:
            # Isolated: what is in its working directory or in variables, proxies among them, is nothing to it.
            process = await asyncio.create_subprocess_exec(
                sys.executable, "-I", "-B", "-m", __name__, stdin=PIPE, stdout=PIPE, stderr=DEVNULL, env={},
                start_new_session=True,
            )  # fmt: skip
            try:
                async with asyncio.timeout(self._seconds):
                    said, _ = await process.communicate(told)
            except TimeoutError as error:
                raise TimedOut(f"The notice by {scheme}:// took longer than {self._seconds:g} seconds") from error
            finally:
                with suppress(ProcessLookupError):
                    process.kill()
        try:
            answer: dict[str, str] = json.loads(said)
        except ValueError:
            answer = {"refused": "", "reason": f"the process for {scheme}:// ended without a word"}
        return answer


# What follows runs in the process that sends one notice.


def main() -> None:
    order = json.load(sys.stdin)
    # It never outlives whoever started it for long.
    signal.alarm(int(order["seconds"]) + 1)
    said = _Said()
    logging.getLogger("apprise").addHandler(said)
    service = _service(order["address"])
    refused: list[str] = []
    is_sent = service is not None
    if service is not None and "notice" in order:
        guard = AddressGuard.parse(order["allow_networks"])
        _watch(guard.with_private() if order["allow_private"] else guard, refused)
        is_sent = _notify(service, order["notice"])
    reason = "" if is_sent else _hidden(order["address"], said.last or "it was not taken in")
    sys.stdout.write(json.dumps({"refused": refused[0] if refused and not is_sent else "", "reason": reason}))


class _Said(logging.Handler):
    """What Apprise says of a failure, which it only logs."""

    def __init__(self) -> None:
        super().__init__(level=logging.WARNING)
        self.last = ""

    def emit(self, record: logging.LogRecord) -> None:
        self.last = record.getMessage()


def _service(address: str) -> Any:
    """The one service at the address, or None; a text that names several is no address."""
    from apprise import Apprise, AppriseAsset

    asset = AppriseAsset(
        app_id="Catchment",
        app_desc="Catchment",
        storage_mode="memory",
        http_redirects=False,
        allow_templates=False,
        pgp_autogen=False,
        pem_autogen=False,
    )
    return Apprise.instantiate(address, asset=asset)


def _notify(service: Any, notice: Mapping[str, str]) -> bool:
    from apprise import Apprise, NotifyFormat

    sender = Apprise(asset=service.asset)
    sender.add(service)
    # As plain text: what a stranger wrote becomes no markup.
    return bool(
        sender.notify(
            title=notice["title"], body=notice["body"], notify_type=notice["kind"], body_format=NotifyFormat.TEXT
        )
    )


def _watch(guard: AddressGuard, refused: list[str]) -> None:
    """From here on this process dials what the guard lets it, starts no program and reads no file of the machine's."""
    # The certificates are read once, since nothing tells afterwards which files are theirs.
    ssl.create_default_context()
    names = _remember_names()
    prefixes = (*map(str, map(Path, sys.path)), sys.prefix, sys.base_prefix, *_OF_THE_MACHINE)

    def judge(event: str, args: tuple[Any, ...]) -> None:
        if event in _DIALLED:
            _dial(guard, args[1], names, refused)
        elif event in _PROGRAMS or (event == "open" and not _may_read(args, prefixes)):
            raise PermissionError(f"a notice does not {event}")

    sys.addaudithook(judge)


def _remember_names() -> dict[str, str]:
    """By address, the name that it was found for: the setting may let a name through."""
    resolve: Callable[..., list[Any]] = socket.getaddrinfo
    names: dict[str, str] = {}

    def remembering(host: Any, *args: Any, **kwargs: Any) -> list[Any]:
        found = resolve(host, *args, **kwargs)
        names.update({place[0]: str(host) for *_, place in found})
        return found

    socket.getaddrinfo = remembering
    return names


def _dial(guard: AddressGuard, place: Any, names: Mapping[str, str], refused: list[str]) -> None:
    if place is None:
        return
    # A socket of this machine has a path, which is no address that the guard would know.
    address, port = place[:2] if isinstance(place, tuple) else (str(place), 0)
    try:
        guard.check_address(names.get(address, address), port, address)
    except (RefusedAddress, ValueError) as error:
        refused.append(str(error))
        # What libraries take for a connection that failed.
        raise PermissionError(str(error)) from error


def _may_read(args: tuple[Any, ...], prefixes: tuple[str, ...]) -> bool:
    path, _, flags = args
    if isinstance(path, int):
        return True
    where = Path(path.decode() if isinstance(path, bytes) else str(path)).resolve()
    return flags & os.O_ACCMODE == os.O_RDONLY and any(where.is_relative_to(prefix) for prefix in prefixes if prefix)


def _hidden(address: str, text: str) -> str:
    """Any part of the address may be what lets in."""
    for part in sorted(set(re.split(r"[^\w.-]+", address.partition("://")[2])), key=len, reverse=True):
        if len(part) >= _LEAST_HIDDEN:
            text = text.replace(part, MASK)
    return text


if __name__ == "__main__":
    main()
