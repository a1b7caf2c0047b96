"""Feishu Bitable as its API shows it: one app, one document with one table, and every way to say no.

Troubles are scripted by endpoint. One may come after the work was done, as an answer that is lost does.
"""

from __future__ import annotations

import json
import re
from collections import Counter, defaultdict, deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Any
from urllib.parse import parse_qs

from catchment.simulator.messages import Answer, Cut, IncomingRequest, Silence, json_answer

TEXT, NUMBER, CHOICE, MOMENT = 1, 2, 3, 5
MAX_CONDITIONS = 50
MAX_RECORDS = 1000
MAX_CELL = 100_000
TOKEN_SECONDS = 7200
_TABLE = re.compile(r"/open-apis/bitable/v1/apps/(?P<document>[^/]+)/tables/(?P<table>[^/]+)/(?P<what>.+)")


class Endpoint(StrEnum):
    TOKEN = "/open-apis/auth/v3/tenant_access_token/internal"
    FIELDS = "fields"
    SEARCH = "records/search"
    CREATE = "records/batch_create"


@dataclass(frozen=True, slots=True, kw_only=True)
class Mishap:
    answer: Answer
    #: Whether what was asked for is done all the same.
    after: bool = False


class BitableService:
    """A place: `SimulatedWeb(world, places={"/open-apis": BitableService(...)})`."""

    def __init__(
        self, *, app_id: str, app_secret: str, document: str, table: str, fields: Mapping[str, int] | None = None
    ) -> None:
        self.fields = dict(fields or {})
        #: By record id, in the order in which they were made.
        self.records: dict[str, dict[str, Any]] = {}
        #: Texts that no cell may hold.
        self.disliked: set[str] = set()
        self.requests: list[IncomingRequest] = []
        self.asked: Counter[Endpoint] = Counter()
        self.tokens: dict[str, datetime] = {}
        self._credentials = {"app_id": app_id, "app_secret": app_secret}
        self._document = document
        self._table = table
        self._made: dict[str, list[str]] = {}
        self._mishaps: defaultdict[Endpoint, deque[Mishap]] = defaultdict(deque)

    def fail(self, endpoint: Endpoint, *answers: Answer, after: bool = False) -> None:
        """Answer the next requests there like this, one after the other."""
        self._mishaps[endpoint].extend(Mishap(answer=answer, after=after) for answer in answers)

    def void_tokens(self) -> None:
        """Take no token that was given out so far, whatever was said of its end."""
        self.tokens.clear()

    def __call__(self, request: IncomingRequest) -> Answer:
        self.requests.append(request)
        if request.path == Endpoint.TOKEN:
            return self._with_mishaps(Endpoint.TOKEN, lambda: self._new_token(request))
        if (refusal := self._refused(request)) is not None:
            return refusal
        endpoint = Endpoint(request.path.split("/", 8)[-1])
        work = {Endpoint.FIELDS: self._fields, Endpoint.SEARCH: self._search, Endpoint.CREATE: self._create}[endpoint]
        return self._with_mishaps(endpoint, lambda: work(request))

    def _with_mishaps(self, endpoint: Endpoint, work: Callable[[], Answer]) -> Answer:
        self.asked[endpoint] += 1
        if not self._mishaps[endpoint]:
            return work()
        mishap = self._mishaps[endpoint].popleft()
        if mishap.after:
            work()
        return mishap.answer

    def _new_token(self, request: IncomingRequest) -> Answer:
        if json.loads(request.body) != self._credentials:
            return refusal(10014, "app secret invalid")
        token = f"t-{len(self.tokens)}{request.at:%Y%m%d%H%M%S}"
        self.tokens[token] = request.at + timedelta(seconds=TOKEN_SECONDS)
        return json_answer({"code": 0, "msg": "ok", "tenant_access_token": token, "expire": TOKEN_SECONDS})

    def _refused(self, request: IncomingRequest) -> Answer | None:
        token = request.headers.get("authorization", "").removeprefix("Bearer ")
        if token not in self.tokens or self.tokens[token] <= request.at:
            return void_token()
        match = _TABLE.fullmatch(request.path)
        if match is None or match["what"] not in set(Endpoint):
            return Answer(status=404, body=b"404 page not found")
        if match["document"] != self._document:
            return refusal(1254040, "BaseTokenNotFound")
        return refusal(1254041, "TableIdNotFound") if match["table"] != self._table else None

    def _fields(self, request: IncomingRequest) -> Answer:
        if request.method == "POST":
            new = json.loads(request.body)
            self.fields[new["field_name"]] = new["type"]
            return done({"field": new})
        rows = [{"field_name": name, "type": type_} for name, type_ in self.fields.items()]
        return done(_page(rows, request))

    def _search(self, request: IncomingRequest) -> Answer:
        conditions = json.loads(request.body)["filter"]["conditions"]
        if len(conditions) > MAX_CONDITIONS:
            return refusal(1254018, "InvalidFilter")
        if any(one["field_name"] not in self.fields for one in conditions):
            return field_not_found()
        found = [
            {"record_id": number, "fields": {name: _shown(value) for name, value in cells.items()}}
            for number, cells in self.records.items()
            if any(cells.get(one["field_name"]) == one["value"][0] for one in conditions)
        ]
        return done(_page(found, request))

    def _create(self, request: IncomingRequest) -> Answer:
        records = [one["fields"] for one in json.loads(request.body)["records"]]
        if len(records) > MAX_RECORDS:
            return refusal(1254104, "RecordAddOnceExceedLimit")
        if (fault := next(filter(None, map(self._fault, records)), None)) is not None:
            return fault
        token = _query(request).get("client_token") or f"once-{len(self._made)}"
        if token not in self._made:
            self._made[token] = [self._add(record) for record in records]
        made = [{"record_id": number, "fields": self.records[number]} for number in self._made[token]]
        return done({"records": made})

    def _add(self, record: dict[str, Any]) -> str:
        number = f"rec{len(self.records):08d}"
        self.records[number] = record
        return number

    def _fault(self, record: Mapping[str, Any]) -> Answer | None:
        for name, value in record.items():
            if name not in self.fields:
                return field_not_found()
            if isinstance(value, str) is (self.fields[name] in {NUMBER, MOMENT}):
                return refusal(1254060 if self.fields[name] == TEXT else 1254061, "FieldConvFail")
            if isinstance(value, str) and (len(value) > MAX_CELL or value in self.disliked):
                return too_large_cell()
        return None


def _query(request: IncomingRequest) -> dict[str, str]:
    return {name: values[0] for name, values in parse_qs(request.query).items()}


def _page(rows: list[dict[str, Any]], request: IncomingRequest) -> dict[str, Any]:
    query = _query(request)
    start, size = int(query.get("page_token", 0)), int(query.get("page_size", 20))
    more = start + size < len(rows)
    paging = {"has_more": more, "total": len(rows)} | ({"page_token": str(start + size)} if more else {})
    return {"items": rows[start : start + size], **paging}


def _shown(value: object) -> object:
    """A search shows texts in pieces."""
    return [{"text": value, "type": "text"}] if isinstance(value, str) else value


def done(data: Mapping[str, Any]) -> Answer:
    return json_answer({"code": 0, "msg": "success", "data": data})


# What goes wrong, in Feishu's own words.


def refusal(code: int, message: str, *, status: int = 200) -> Answer:
    return json_answer({"code": code, "msg": message}, status=status)


def void_token() -> Answer:
    return refusal(99991663, "Invalid access token for authorization. Please make a test attempt with another.")


def rate_limited(*, reset_seconds: int = 1) -> Answer:
    headers = (("x-ogw-ratelimit-limit", "50"), ("x-ogw-ratelimit-reset", str(reset_seconds)))
    return json_answer({"code": 99991400, "msg": "request trigger frequency limit"}, status=429, headers=headers)


def write_conflict() -> Answer:
    return refusal(1254291, "Write conflict")


def no_scope() -> Answer:
    return refusal(99991672, "Access denied. One of the following scopes is required: [bitable:app]", status=400)


def field_not_found() -> Answer:
    return refusal(1254045, "FieldNameNotFound", status=400)


def too_large_cell() -> Answer:
    return refusal(1254130, "TooLargeCell")


def broken() -> Answer:
    return Answer(status=502, headers=(("Content-Type", "text/html"),), body=b"<html>Bad Gateway</html>")


def silent() -> Answer:
    return Answer(delivery=Silence())


def cut_off() -> Answer:
    """An answer that breaks off on its way."""
    return Answer(body=b'{"code": 0, "msg": "success", "data": {', delivery=Cut(share=0.5, reset=True))
