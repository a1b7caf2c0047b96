"""What the platforms that are searched by keyword have in common: troubles that strike whoever, or whatever, one says.

A test or a demo tells a service whose session, or which note, is in trouble and how often; each service says in its own
words what that looks like.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Final

from catchment.simulator.messages import Answer, IncomingRequest, Silence, Whole

Play = Callable[[], Answer]


class TroubleKind(StrEnum):
    CAPTCHA = "captcha"
    LOGIN_EXPIRED = "login expired"
    STALE = "stale cookie"
    ACCESS = "access restricted"
    IP_BLOCKED = "ip blocked"
    BANNED = "banned"
    GONE = "gone"
    SIGNATURE = "signature refused"
    #: A success that brings nothing.
    EMPTY = "empty"
    #: What nobody has a name for yet.
    ODD = "odd"
    SERVER_ERROR = "server error"
    MALFORMED = "malformed"
    SLOW = "slow"
    SILENT = "silent"


#: Those that look alike everywhere.
_COMMON: Final[Mapping[TroubleKind, Answer]] = {
    TroubleKind.SERVER_ERROR: Answer(
        status=502, headers=(("Content-Type", "text/html"),), body=b"<h1>502 Bad Gateway</h1>"
    ),
    TroubleKind.MALFORMED: Answer(
        headers=(("Content-Type", "application/json"),), body=b'{"success": true, "data": {"ite'
    ),
    TroubleKind.SILENT: Answer(delivery=Silence()),
}


@dataclass(slots=True, kw_only=True)
class _Scripted:
    kind: TroubleKind
    #: None is until it is lifted.
    times: int | None

    def strike(self) -> bool:
        if self.times is None:
            return True
        self.times -= 1
        return self.times >= 0


class Script:
    """Which troubles are up, by session and by note. A session's come before a note's, and those before everybody's."""

    def __init__(self, words: Mapping[TroubleKind, Answer], *, slow_seconds: float = 2.0) -> None:
        self._words = {**_COMMON, **words}
        self._slow = Whole(wait_seconds=slow_seconds)
        self._troubles: dict[tuple[str | None, str | None], list[_Scripted]] = {}

    def trouble(
        self, kind: TroubleKind, *, cookie: str | None = None, note: str | None = None, times: int | None = None
    ) -> None:
        """Strike this session, this note, this session at this note, or everybody: so many times, one after another."""
        self._troubles.setdefault((cookie, note), []).append(_Scripted(kind=kind, times=times))

    def lift(self, *, cookie: str | None = None, note: str | None = None) -> None:
        self._troubles.pop((cookie, note), None)

    def answer(self, *, cookie: str, note: str | None, play: Play) -> Answer:
        """What `play` answers, unless a trouble strikes."""
        kind = self._strike(cookie, note)
        if kind is None:
            return play()
        return replace(play(), delivery=self._slow) if kind is TroubleKind.SLOW else self._words[kind]

    def _strike(self, cookie: str, note: str | None) -> TroubleKind | None:
        for key in dict.fromkeys([(cookie, note), (cookie, None), (None, note), (None, None)]):
            for scripted in self._troubles.get(key, ()):
                if scripted.strike():
                    return scripted.kind
        return None


def cookies_of(request: IncomingRequest) -> dict[str, str]:
    pairs = (part.strip().partition("=") for part in request.headers.get("cookie", "").split(";"))
    return {name: value for name, _, value in pairs if name}
