"""One table of Feishu Bitable: its fields, the records that are there, and new ones.

Every answer is an envelope whose code is 0 or tells of a refusal. Requests go one after the other, as Bitable takes no
two writers at once. Whatever an error says, the app's secret, its token and the document's are not in it.
"""

from __future__ import annotations

import hashlib
import json
import uuid
from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from enum import IntEnum, StrEnum
from http import HTTPStatus
from types import MappingProxyType
from typing import Any, Final
from urllib.parse import urlencode

from catchment.clock import Clock
from catchment.domain.note import DueNote, Identity
from catchment.errors import ParseError, VisitError
from catchment.fetch.client import HttpClient, Request, Response
from catchment.fetch.freshness import retry_after
from catchment.parse.json_values import number_at, object_at, objects_at, read_object, text_at
from catchment.redact import MASK, redact_text

#: A cell takes this many characters.
MAX_CELL: Final = 100_000
KEY, PLATFORM = "idempotency_key", "platform"
#: What the rows of the table are in the words of whoever crawls by keyword.
STATUS: Final = "collected"

Cells = Mapping[str, str | int]


class FieldType(IntEnum):
    """By the numbers that Bitable gives them."""

    TEXT = 1
    NUMBER = 2
    CHOICE = 3
    MOMENT = 5

    @property
    def word(self) -> str:
        return _WORDS[self]


_WORDS = {FieldType.TEXT: "text", FieldType.NUMBER: "number", FieldType.CHOICE: "choice", FieldType.MOMENT: "date"}
#: Types that take the same cells: what is text may be a choice as well.
_FITTING = {
    FieldType.TEXT: {FieldType.TEXT, FieldType.CHOICE},
    FieldType.NUMBER: {FieldType.NUMBER},
    FieldType.MOMENT: {FieldType.MOMENT},
}

FIELDS: Final[Mapping[str, FieldType]] = {
    KEY: FieldType.TEXT,
    PLATFORM: FieldType.TEXT,
    "topic_id": FieldType.TEXT,
    "note_id": FieldType.TEXT,
    "note_url": FieldType.TEXT,
    "published_at": FieldType.MOMENT,
    "title": FieldType.TEXT,
    "content": FieldType.TEXT,
    "note_type": FieldType.TEXT,
    "images": FieldType.TEXT,
    "video_url": FieldType.TEXT,
    "likes": FieldType.NUMBER,
    "collects": FieldType.NUMBER,
    "comments": FieldType.NUMBER,
    "shares": FieldType.NUMBER,
    "author_id": FieldType.TEXT,
    "author_name": FieldType.TEXT,
    "tags": FieldType.TEXT,
    "status": FieldType.TEXT,
    "extracted_at": FieldType.MOMENT,
    "exec_meta": FieldType.TEXT,
    "retry_count": FieldType.NUMBER,
    "last_error_code": FieldType.TEXT,
}


def cells(note: DueNote) -> Cells:
    """The note as a record. What is empty is left out: Bitable tells an empty cell from one with nothing in it."""
    values = {
        KEY: note.idempotency_key,
        PLATFORM: note.platform,
        "topic_id": None if note.topic_id is None else str(note.topic_id),
        "note_id": note.note_id,
        "note_url": note.url,
        "published_at": _millis(note.published_at) if note.published_at else None,
        "title": note.title,
        "content": note.content,
        "note_type": note.note_type,
        "images": "\n".join(note.images),
        "video_url": note.video_url,
        "likes": note.likes,
        "collects": note.collects,
        "comments": note.comments,
        "shares": note.shares,
        "author_id": note.author_id,
        "author_name": note.author_name,
        "tags": ", ".join(note.tags),
        "status": STATUS,
        "extracted_at": _millis(note.extracted_at),
        "exec_meta": json.dumps(dict(note.exec_meta), ensure_ascii=False, sort_keys=True),
        "retry_count": note.retry_count,
        "last_error_code": note.last_error_code,
    }
    return {name: _fitted(value) for name, value in values.items() if value is not None and value != ""}


def _millis(moment: datetime) -> int:
    return round(moment.timestamp() * 1000)


def _fitted(value: str | int) -> str | int:
    return value[:MAX_CELL] if isinstance(value, str) else value


def identity_in(record: Mapping[str, Any]) -> Identity:
    """Of a record as Bitable shows it: a text is plain, or in pieces."""
    return cell_text(record.get(PLATFORM)), cell_text(record.get(KEY))


def cell_text(value: object) -> str:
    if isinstance(value, list):
        return "".join(cell_text(piece.get("text")) for piece in value if isinstance(piece, dict))
    return value if isinstance(value, str) else ""


def batch_token(identities: Iterable[Identity]) -> str:
    """The same for the same records: Bitable takes two creations of one token for one. It wants a UUID of version 4."""
    text = "\n".join(sorted("/".join(identity) for identity in identities))
    return str(uuid.UUID(bytes=hashlib.sha256(text.encode()).digest()[:16], version=4))


class Verdict(StrEnum):
    OK = "ok"
    MISSING = "missing"
    CREATED = "created"
    OTHER_TYPE = "other type"


@dataclass(frozen=True, slots=True, kw_only=True)
class FieldCheck:
    name: str
    wanted: str
    verdict: Verdict


def check_fields(found: Mapping[str, int]) -> list[FieldCheck]:
    """Each field that the table should have, and what became of it there."""
    return [
        FieldCheck(name=name, wanted=wanted.word, verdict=_verdict(wanted, found.get(name)))
        for name, wanted in FIELDS.items()
    ]


def _verdict(wanted: FieldType, found: int | None) -> Verdict:
    if found is None:
        return Verdict.MISSING
    return Verdict.OK if found in _FITTING[wanted] else Verdict.OTHER_TYPE


def faults_told(checks: Sequence[FieldCheck]) -> str:
    """What is wrong with the table and what to do about it; nothing when nothing is."""
    missing = [check.name for check in checks if check.verdict is Verdict.MISSING]
    others = [f"{check.name} ({check.wanted})" for check in checks if check.verdict is Verdict.OTHER_TYPE]
    sentences = []
    if missing:
        sentences.append(f"the table lacks {', '.join(missing)}: run `catchment feishu check --create`")
    if others:
        sentences.append(f"these fields have another type than they should: {', '.join(others)}: change it in Bitable")
    return "; ".join(sentences)


class BitableTrouble(StrEnum):
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
        self, message: str, *, trouble: BitableTrouble, code: int | None = None, retry_after: float | None = None
    ) -> None:
        super().__init__(message, retry_after=retry_after)
        self.trouble = trouble
        self.code = code

    @property
    def halts(self) -> bool:
        """No other record would fare better."""
        return self.trouble is not BitableTrouble.REFUSED


_CREDENTIALS = (BitableTrouble.SETUP, "Feishu does not take the app; check FEISHU_APP_ID and FEISHU_APP_SECRET")
_PERMISSION = (
    BitableTrouble.SETUP,
    "the app may not use the table; give it the scope bitable:app, publish it, and add it to the document as an editor",
)
_DOCUMENT = (BitableTrouble.SETUP, "there is no such Bitable document; check FEISHU_APP_TOKEN")
_TABLE = (BitableTrouble.SETUP, "there is no such table in the document; check FEISHU_TABLE_ID")
_FIELDS = (
    BitableTrouble.REFUSED,
    "the fields of the table are not those of a note; run `catchment feishu check --create`",
)
_FULL = (BitableTrouble.SETUP, "the table is full; make another one and set FEISHU_TABLE_ID")
_TOKEN = (BitableTrouble.TOKEN, "Feishu does not take the token any more")
_BUSY = (BitableTrouble.LATER, "Feishu asks for fewer requests")
_CONFLICT = (BitableTrouble.LATER, "somebody else writes to the table at this moment")
_NOT_READY = (BitableTrouble.LATER, "Feishu is not ready for this")

MEANINGS: Final[Mapping[int, tuple[BitableTrouble, str]]] = MappingProxyType(
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


def meaning_of(code: int | None, status: int) -> tuple[BitableTrouble, str]:
    """The kind of no, and a sentence about it."""
    if code is not None and code in MEANINGS:
        return MEANINGS[code]
    if status == HTTPStatus.TOO_MANY_REQUESTS:
        return _BUSY
    if status >= HTTPStatus.INTERNAL_SERVER_ERROR:
        return BitableTrouble.LATER, f"Feishu is in trouble (HTTP {status})"
    if code is None:
        return (
            BitableTrouble.LATER,
            f"Feishu answered something that is not JSON (HTTP {status}); check FEISHU_BASE_URL",
        )
    return BitableTrouble.REFUSED, f"Feishu refused (code {code}, HTTP {status})"


#: Records of one creation; Bitable takes more, but all of them are refused for one that it does not like.
MAX_RECORDS: Final = 100
#: Conditions of one search, as many as Bitable takes.
MAX_CONDITIONS: Final = 50
PAGE: Final = 500
FIELDS_PAGE: Final = 100
TIMEOUT_SECONDS: Final = 30.0
MAX_SAID: Final = 200
#: A token is given up this long before its end, so that none ends on its way.
MARGIN: Final = timedelta(minutes=5)
_TOKEN_PATH: Final = "auth/v3/tenant_access_token/internal"  # noqa: S105 - where to ask for one
_RESET_HEADER: Final = "x-ogw-ratelimit-reset"


@dataclass(frozen=True, slots=True, kw_only=True)
class App:
    """Who asks, and for which table of which document."""

    id: str
    secret: str = field(repr=False)
    document: str = field(repr=False)
    table: str


@dataclass(frozen=True, slots=True, kw_only=True)
class _Tenant:
    """What requests are let in by."""

    token: str = field(repr=False)
    good_until: datetime


class Bitable:
    def __init__(self, *, http: HttpClient, base_url: str, app: App, clock: Clock) -> None:
        self._http = http
        self._root = f"{base_url}/open-apis"
        self._app = app
        self._clock = clock
        self._tenant: _Tenant | None = None

    async def fields(self) -> dict[str, int]:
        """The fields that the table has, by name, each with the number of its type."""
        pages = self._pages("GET", "fields", page_size=FIELDS_PAGE)
        return {text_at(one, "field_name"): number_at(one, "type") async for one in pages}

    async def create_field(self, name: str, type_: FieldType) -> None:
        await self._call("POST", "fields", {"field_name": name, "type": int(type_)})

    async def find(self, identities: Iterable[Identity]) -> dict[Identity, str]:
        """The ids of those records that are there already."""
        keys = sorted({key for _, key in identities})
        found: dict[Identity, str] = {}
        for start in range(0, len(keys), MAX_CONDITIONS):
            asked = _search(keys[start : start + MAX_CONDITIONS])
            async for record in self._pages("POST", "records/search", asked, page_size=PAGE):
                found.setdefault(identity_in(object_at(record, "fields")), text_at(record, "record_id"))
        return found

    async def create(self, records: Sequence[Cells]) -> dict[Identity, str]:
        """The ids of the new records: all of them are made, or none. The same once more makes nothing new."""
        wanted = {identity_in(record) for record in records}
        path = f"records/batch_create?{urlencode({'client_token': batch_token(wanted)})}"
        data = await self._call("POST", path, {"records": [{"fields": record} for record in records]})
        made = {identity_in(object_at(one, "fields")): text_at(one, "record_id") for one in objects_at(data, "records")}
        if made.keys() != wanted or not all(made.values()):
            raise BitableError(
                "Feishu does not say which records it made; looked up later", trouble=BitableTrouble.LATER
            )
        return made

    async def _pages(
        self, method: str, path: str, body: Mapping[str, Any] | None = None, *, page_size: int
    ) -> AsyncIterator[Mapping[str, Any]]:
        """All that is listed; a page that leads to itself or nowhere is the last one."""
        page_token, seen = "", {""}
        while True:
            query = {"page_size": page_size} | ({"page_token": page_token} if page_token else {})
            data = await self._call(method, f"{path}?{urlencode(query)}", body)
            for one in objects_at(data, "items"):
                yield one
            page_token = text_at(data, "page_token")
            if data.get("has_more") is not True or page_token in seen:
                return
            seen.add(page_token)

    async def _call(self, method: str, path: str, body: Mapping[str, Any] | None = None) -> Mapping[str, Any]:
        path = f"bitable/v1/apps/{self._app.document}/tables/{self._app.table}/{path}"
        try:
            return await self._let_in(method, path, body)
        except BitableError as error:
            if error.trouble is not BitableTrouble.TOKEN:
                raise
        # A token may be void before its time is over: once more with a new one.
        self._tenant = None
        return await self._let_in(method, path, body)

    async def _let_in(self, method: str, path: str, body: Mapping[str, Any] | None) -> Mapping[str, Any]:
        token = await self._token()
        answer = await self._ask(method, path, body, headers={"Authorization": f"Bearer {token}"})
        return object_at(answer, "data")

    async def _token(self) -> str:
        now = self._clock.now()
        if self._tenant is None or self._tenant.good_until <= now:
            answer = await self._ask("POST", _TOKEN_PATH, {"app_id": self._app.id, "app_secret": self._app.secret})
            good_for = timedelta(seconds=number_at(answer, "expire"))
            self._tenant = _Tenant(token=text_at(answer, "tenant_access_token"), good_until=now + good_for - MARGIN)
        return self._tenant.token

    async def _ask(
        self, method: str, path: str, body: Mapping[str, Any] | None, *, headers: Mapping[str, str] | None = None
    ) -> Mapping[str, Any]:
        request = Request(
            url=f"{self._root}/{path}",
            method=method,
            headers={"Content-Type": "application/json; charset=utf-8", **(headers or {})},
            body=None if body is None else json.dumps(body).encode(),
            timeout_seconds=TIMEOUT_SECONDS,
            keep_failures=True,
            # One request at a time is slower than what Bitable allows.
            own_pace=True,
            follow_redirects=False,
        )
        try:
            response = await self._http.send(request)
        except VisitError as error:
            # Without its cause, whose words may hold the document's token.
            trouble = BitableError(
                self._masked(str(error)), trouble=BitableTrouble.LATER, retry_after=error.retry_after
            )
            raise trouble from None
        return self._opened(response)

    def _opened(self, response: Response) -> Mapping[str, Any]:
        """What is in the envelope, or the refusal in it."""
        try:
            envelope = read_object(response.body)
        except ParseError:
            envelope = {}
        code = envelope.get("code")
        if code == 0:
            return envelope
        code = code if isinstance(code, int) else None
        trouble, meaning = meaning_of(code, response.status)
        said = self._masked(text_at(envelope, "msg"))[:MAX_SAID]
        # After a colon it would be taken for the value of the setting that the meaning names, and be struck out.
        message = f"{meaning} ({said})" if said else meaning
        raise BitableError(message, trouble=trouble, code=code, retry_after=self._asked_wait(response))

    def _asked_wait(self, response: Response) -> float | None:
        reset = response.headers.get(_RESET_HEADER) or response.headers.get("Retry-After")
        return retry_after(reset, self._clock.now())

    def _masked(self, text: str) -> str:
        secrets = (self._app.secret, self._app.document, self._tenant.token if self._tenant else "")
        for secret in filter(None, secrets):
            text = text.replace(secret, MASK)
        return redact_text(text)


def _search(keys: Sequence[str]) -> dict[str, Any]:
    conditions = [{"field_name": KEY, "operator": "is", "value": [key]} for key in keys]
    return {"field_names": [KEY, PLATFORM], "filter": {"conjunction": "or", "conditions": conditions}}
