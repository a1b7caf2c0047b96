"""What Feishu says no with, and what follows from it: one table of its codes."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from http import HTTPStatus
from types import MappingProxyType
from typing import Final

from catchment.errors import VisitError


class Trouble(StrEnum):
    #: It passes by itself: too many requests, another writer, a server in trouble, no answer.
    LATER = "later"
    #: The token that we hold is not taken any more.
    TOKEN = "token"  # noqa: S105 - a label
    #: Somebody has to put it right: credentials, permissions, the table.
    SETUP = "setup"
    #: About what was sent.
    REFUSED = "refused"


class BitableError(VisitError):
    """`code` is Feishu's own, where there was one."""

    def __init__(
        self, message: str, *, trouble: Trouble, code: int | None = None, retry_after: float | None = None
    ) -> None:
        super().__init__(message, retry_after=retry_after)
        self.trouble = trouble
        self.code = code

    @property
    def halts(self) -> bool:
        """No other record would fare better."""
        return self.trouble is not Trouble.REFUSED


_CREDENTIALS = (Trouble.SETUP, "Feishu does not take the app; check FEISHU_APP_ID and FEISHU_APP_SECRET")
_PERMISSION = (
    Trouble.SETUP,
    "the app may not use the table; give it the scope bitable:app, publish it, and add it to the document as an editor",
)
_DOCUMENT = (Trouble.SETUP, "there is no such Bitable document; check FEISHU_APP_TOKEN")
_TABLE = (Trouble.SETUP, "there is no such table in the document; check FEISHU_TABLE_ID")
_FIELDS = (Trouble.REFUSED, "the fields of the table are not those of a note; run `catchment feishu check --create`")
_FULL = (Trouble.SETUP, "the table is full; make another one and set FEISHU_TABLE_ID")
_TOKEN = (Trouble.TOKEN, "Feishu does not take the token any more")
_BUSY = (Trouble.LATER, "Feishu asks for fewer requests")
_CONFLICT = (Trouble.LATER, "somebody else writes to the table at this moment")
_NOT_READY = (Trouble.LATER, "Feishu is not ready for this")

MEANINGS: Final[Mapping[int, tuple[Trouble, str]]] = MappingProxyType(
    {
        **dict.fromkeys((10003, 10012, 10014, 10015, 99991543), _CREDENTIALS),
        **dict.fromkeys((99991661, 99991663, 99991664, 99991671, 99991677), _TOKEN),
        **dict.fromkeys((91403, 99991672, 99991679, 1254301, 1254302), _PERMISSION),
        **dict.fromkeys((91402, 1254003, 1254040), _DOCUMENT),
        **dict.fromkeys((1254004, 1254041), _TABLE),
        **dict.fromkeys((1254015, 1254018, 1254024, 1254045, *range(1254060, 1254075)), _FIELDS),
        **dict.fromkeys((1254103, 1254105), _FULL),
        **dict.fromkeys((99991400, 1254290), _BUSY),
        1254291: _CONFLICT,
        **dict.fromkeys((1254036, 1254607, 1254608, 1255001, 1255002, 1255040), _NOT_READY),
    }
)


def meaning_of(code: int | None, status: int) -> tuple[Trouble, str]:
    """The kind of no, and a sentence about it."""
    if code is not None and code in MEANINGS:
        return MEANINGS[code]
    if status == HTTPStatus.TOO_MANY_REQUESTS:
        return _BUSY
    if status >= HTTPStatus.INTERNAL_SERVER_ERROR:
        return Trouble.LATER, f"Feishu is in trouble (HTTP {status})"
    if code is None:
        return Trouble.LATER, f"Feishu answered something that is not JSON (HTTP {status}); check FEISHU_BASE_URL"
    return Trouble.REFUSED, f"Feishu refused (code {code}, HTTP {status})"
