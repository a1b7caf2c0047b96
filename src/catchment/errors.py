"""Every error the product raises on purpose, and what the caller should do about it.

CatchmentError
├── SettingsError            a setting is wrong: stop and say which (exit 2)
├── InvalidInput             what was asked cannot be: say why (422, exit 1)
├── Unauthenticated          no or bad credentials (401)
├── Forbidden                known, but not allowed (403)
├── NotFound                 no such thing, or not yours to see (404)
├── Conflict                 it exists already or is being changed (409)
├── TooManyAttempts          wait as long as it says (429)
│   └── TooBusy              it is us, not whoever asks (503)
├── LeaseLost                another worker took the work over: drop the result
├── StoreError               the database could not be used: stop and say why
│   ├── DamagedStore         its file is broken: restore a backup, or start a new one
│   ├── MissingStore         there is none where the settings say, and a command that reads makes none
│   ├── FullStore            there is no room left for it: make room, and it goes on
│   └── ReadOnlyStore        it can be read but not written: have it writable again
├── ParserUnavailable        no process to read documents can be started: blame no source
├── SchedulerFailed          an alarm could not be set, so nothing was changed (500)
└── VisitError               one visit to a source failed: record it, back off, go on
    ├── RefusedAddress       the outbound guard said no: not worth a retry until changed
    ├── Unreachable          no connection could be made: maybe our own network
    │   └── OutOfDescriptors too much is open here: it is us, and nobody else
    ├── TimedOut             it took too long: back off
    ├── BadAnswer            TLS, a cut connection, endless redirects, or not HTTP at all: back off
    ├── HttpError            an HTTP status that is not success: back off, mind Retry-After
    ├── BadBody              too large, cut short, or badly compressed: back off
    ├── Blocked              a challenge or block page instead of the content: back off
    ├── SiteUnavailable      the whole site, not the page that was asked for: end the visit, blame no page
    ├── ParserFailed         reading the content took too long, too much memory, or broke the reader: back off
    ├── ParseError           the content cannot be read as what it should be: back off
    └── BadConfig            the source's own config is wrong: fix the source
"""

from __future__ import annotations

from typing import TypeVar

_T = TypeVar("_T")


class CatchmentError(Exception):
    """The root. `str(error)` is a sentence for a person."""


class SettingsError(CatchmentError):
    pass


class InvalidInput(CatchmentError):
    """What was asked cannot be; `field` names the part at fault where there is one."""

    def __init__(self, message: str, *, field: str | None = None) -> None:
        super().__init__(message)
        self.field = field


class Unauthenticated(CatchmentError):
    pass


class Forbidden(CatchmentError):
    pass


class NotFound(CatchmentError):
    pass


def or_not_found(thing: _T | None, sentence: str) -> _T:
    if thing is None:
        raise NotFound(sentence)
    return thing


class Conflict(CatchmentError):
    """It exists already; `existing_id` names it where it is known."""

    def __init__(self, message: str, *, existing_id: int | None = None) -> None:
        super().__init__(message)
        self.existing_id = existing_id


class TooManyAttempts(CatchmentError):
    """`retry_after` is the wait in whole seconds."""

    def __init__(self, message: str, *, retry_after: int) -> None:
        super().__init__(message)
        self.retry_after = retry_after


class TooBusy(TooManyAttempts):
    pass


class LeaseLost(CatchmentError):
    pass


class StoreError(CatchmentError):
    pass


class DamagedStore(StoreError):
    pass


class MissingStore(StoreError):
    pass


class FullStore(StoreError):
    pass


class ReadOnlyStore(StoreError):
    pass


class ParserUnavailable(CatchmentError):
    pass


class SchedulerFailed(CatchmentError):
    pass


class VisitError(CatchmentError):
    """One visit failed. `retry_after` is the wait in seconds that the other side asked for."""

    def __init__(self, message: str, *, retry_after: float | None = None) -> None:
        super().__init__(message)
        self.retry_after = retry_after


class RefusedAddress(VisitError):
    pass


class Unreachable(VisitError):
    """No connection could be made. `ours` when the fault is surely on our side of the wire."""

    def __init__(self, message: str, *, host: str, ours: bool = False) -> None:
        super().__init__(message)
        self.host = host
        self.ours = ours


class OutOfDescriptors(Unreachable):
    pass


class TimedOut(VisitError):
    pass


class BadAnswer(VisitError):
    pass


class HttpError(VisitError):
    def __init__(self, message: str, *, status: int, retry_after: float | None = None) -> None:
        super().__init__(message, retry_after=retry_after)
        self.status = status


class BadBody(VisitError):
    pass


class Blocked(VisitError):
    pass


class SiteUnavailable(VisitError):
    pass


class ParserFailed(VisitError):
    pass


class ParseError(VisitError):
    pass


class BadConfig(VisitError):
    pass
