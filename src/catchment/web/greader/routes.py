"""The Google Reader API, for the reader apps of others (docs/readers.md)."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import replace
from typing import Any, Final, TypeVar

from fastapi import APIRouter, Request
from fastapi.responses import PlainTextResponse, Response
from pydantic import Field

from catchment.bootstrap import System
from catchment.domain.caller import Caller
from catchment.domain.reading import Stream, StreamKind, StreamQuery
from catchment.errors import InvalidInput, NotFound, Unauthenticated
from catchment.manage.accounts import user_of
from catchment.manage.import_export import count_results
from catchment.manage.reading import NOT_FOLLOWED
from catchment.publish.feed import ATOM_TYPE
from catchment.web.auth import DOOR, TheSystem, address_of, system_of
from catchment.web.greader import rendering
from catchment.web.greader.access import ReaderRoute, TheReader, TheWriter, token_in
from catchment.web.greader.protocol import (
    LABEL,
    MAX_IDS,
    STATE,
    Parameters,
    TheParameters,
    feed_of,
    is_label,
    item_ids,
    label_of,
    long_id,
    marks_of,
    moment_of,
    read_continuation,
    seconds,
    stream_of,
    write_continuation,
)
from catchment.web.inputs import base_url, check_text
from catchment.web.outputs import ATOM_FEED, Out, stream

#: Items of one answer: by id alone, with their content, and in a document that is written whole.
MAX_REFS: Final = 10_000
MAX_CONTENTS: Final = 1000
#: What is counted is looked up, as a stream may be any mixture of folders, labels and states.
MAX_COUNTED: Final = 1000
MAX_ENTRIES: Final = 200
USUAL: Final = 20
#: Items whose content is in memory at a time.
AT_ONCE: Final = 50
#: And items of which nothing but the id is.
REFS_AT_ONCE: Final = 1000
_API: Final = "/reader/api/0"

_Answer = TypeVar("_Answer", bound=Callable[..., Any])


def _text(example: str) -> dict[str, Any]:
    return {"text/plain": {"schema": {"type": "string"}, "example": example}}


def _shows(example: str | dict[str, Any]) -> dict[int | str, dict[str, Any]]:
    """An answer, for the documents of the API."""
    if isinstance(example, str):
        return {200: {"content": _text(example)}}
    return {200: {"content": {"application/json": {"schema": {"type": "object"}, "example": example}}}}


_REFUSALS: dict[int | str, dict[str, Any]] = {
    status: {"description": said, "content": _text(f"Error={said}\n" if "=" not in said else f"{said}\n")}
    for status, said in {
        400: "What was asked cannot be",
        401: "Error=BadAuthentication",
        403: "Not for this key",
        404: "No such thing",
        413: "Too large",
        429: "Too many attempts",
    }.items()
}
router = APIRouter(prefix="/greader", tags=["reader apps"], route_class=ReaderRoute, responses=_REFUSALS)

_OK = PlainTextResponse
_DONE: Final = _shows("OK")
_ONE: Final[dict[str, Any]] = {
    "id": long_id(12),
    "title": "A title",
    "published": 1794912986,
    "categories": [f"{STATE}reading-list"],
    "alternate": [{"href": "https://example.org/a", "type": "text/html"}],
    "origin": {"streamId": "feed/3", "title": "Example blog", "htmlUrl": ""},
    "summary": {"content": "<p>A text</p>"},
}
_AS_JSON: Final = _shows({"id": f"{STATE}reading-list", "items": [_ONE], "continuation": "WzEyLCAi…"})
_STREAM: Final = ("n", "r", "ot", "nt", "c", "xt", "it")


def _takes(*names: str) -> dict[str, Any]:
    """Parameters that OpenAPI tells of; they may be in the query, in a form, or in both."""
    listed = {"type": "array", "items": {"type": "string"}}
    return {
        "parameters": [
            {
                "name": name,
                "in": "query",
                "schema": listed if name in {"i", "a", "r", "xt", "it"} else {"type": "string"},
            }
            for name in names
        ]
    }


class UserInfoOut(Out):
    userId: str = Field(examples=["1"])  # noqa: N815 (the interface's own spelling)
    userName: str = Field(examples=["you"])  # noqa: N815
    userProfileId: str = Field(examples=["1"])  # noqa: N815
    userEmail: str = Field(examples=["you@example.org"])  # noqa: N815


@router.post(
    "/accounts/ClientLogin",
    dependencies=[DOOR],
    response_class=_OK,
    responses=_shows("SID=k3.7dfb80e9\nLSID=null\nAuth=k3.7dfb80e9\n"),
    openapi_extra=_takes("Email", "Passwd", "output"),
)
async def client_login(request: Request, system: TheSystem, given: TheParameters) -> Response:
    """Sign in with your e-mail address and your password, or better: a key of yours in its place.

    The answer is lines of text, or JSON by `output=json`. Whoever was wrong too often has to wait, as at any login.
    """
    token = await system.authenticator.log_in_reader(
        given.first("Email"), given.first("Passwd"), address=address_of(request)
    )
    if token is None:
        raise Unauthenticated("wrong e-mail address or password")
    answer = {"SID": token, "LSID": "null", "Auth": token}
    if given.first("output") == "json":
        return _json(answer)
    return PlainTextResponse("".join(f"{name}={value}\n" for name, value in answer.items()))


@router.get(f"{_API}/token", response_class=_OK, responses=_shows("9363f93da77967c186c76907"))
async def post_token(request: Request, system: TheSystem, caller: TheReader) -> str:  # noqa: ARG001 (it lets in)
    """What a client sends along as `T` with each change. It is good for a day at most."""
    return system.authenticator.reader_post_token(token_in(request) or "")


@router.get(f"{_API}/user-info")
async def user_info(system: TheSystem, caller: TheReader) -> UserInfoOut:
    user = await system.accounts.get_user(user_of(caller))
    number = str(user.id)
    return UserInfoOut(userId=number, userName=user.name, userProfileId=number, userEmail=user.email)


@router.get(
    f"{_API}/subscription/list",
    responses=_shows({"subscriptions": [{"id": "feed/3", "title": "Example blog", "categories": []}]}),
)
async def list_subscriptions(request: Request, system: TheSystem, caller: TheReader) -> dict[str, Any]:
    followed = await system.reading.followed(caller)
    return {"subscriptions": [rendering.subscription(one, base_url(request)) for one in followed]}


@router.post(
    f"{_API}/subscription/edit",
    response_class=_OK,
    responses=_DONE,
    openapi_extra=_takes("ac", "s", "t", "a", "r", "T"),
)
async def edit_subscription(system: TheSystem, caller: TheWriter, given: TheParameters) -> str:
    """Subscribe (`ac=subscribe`), unsubscribe, or edit: `t` is the title, `a` and `r` are folders."""
    streams, action = given.all("s"), given.first("ac")
    if not streams or action not in {"subscribe", "unsubscribe", "edit"}:
        raise InvalidInput("Name a feed by s=feed/… and say ac=subscribe, unsubscribe or edit.", field="ac")
    if len(streams) > 1 and action == "subscribe" and given.first("t"):
        raise InvalidInput("One title is for one feed.", field="t")
    for named in streams:
        await _edit_one(system, caller, named, given)
    return "OK"


async def _edit_one(system: System, caller: Caller, named: str, given: Parameters) -> None:
    if given.first("ac") == "subscribe":
        source_id = (await system.reading.follow(feed_of(named), caller)).id
    else:
        source_id = await _source_id(system, caller, named)
    if given.first("ac") == "unsubscribe":
        await system.reading.unfollow(source_id, caller)
        return
    add, remove = (tuple(label_of(one) for one in given.all(name) if is_label(one)) for name in ("a", "r"))
    title = given.first("t") or None
    if title or add or remove:
        await system.reading.arrange(source_id, caller, title=title, add=add, remove=remove)


@router.post(
    f"{_API}/subscription/quickadd",
    responses=_shows(
        {"query": "https://example.org", "numResults": 1, "streamId": "feed/3", "streamName": "Example blog"}
    ),
    openapi_extra=_takes("quickadd", "T"),
)
async def quickadd(system: TheSystem, caller: TheWriter, given: TheParameters) -> dict[str, Any]:
    """Subscribe to an address or a name of any kind. What a source that you can see has is there at once."""
    wanted = given.first("quickadd")
    if not wanted.strip():
        raise InvalidInput("Name an address by quickadd=….", field="quickadd")
    target = feed_of(wanted) if wanted.startswith("feed/") else wanted
    try:
        source = await system.reading.follow(target, caller)
    except NOT_FOLLOWED as error:
        return {"query": wanted, "numResults": 0, "error": str(error)}
    return {"query": wanted, "numResults": 1, "streamId": rendering.feed_id(source.id), "streamName": source.name}


@router.get(
    f"{_API}/subscription/export",
    response_class=Response,
    responses={200: {"content": {"text/x-opml": {"schema": {"type": "string"}, "example": '<opml version="2.0"/>'}}}},
)
async def export_subscriptions(system: TheSystem, caller: TheReader) -> Response:
    """What you follow as OPML, with your own titles and folders and without secrets."""
    return await stream(system.reading.export_opml(caller), media_type="text/x-opml")


@router.post(f"{_API}/subscription/import", response_class=_OK, responses=_shows("OK: 3 added, 1 duplicate"))
async def import_subscriptions(request: Request, system: TheSystem, caller: TheWriter) -> str:
    """Follow everything of an OPML file, which is the body. What is not there yet is added."""
    counts = count_results(await system.reading.import_opml(await request.body(), caller))
    return f"OK: {', '.join(f'{count} {result}' for result, count in counts.items())}"


@router.get(f"{_API}/tag/list", responses=_shows({"tags": [{"id": f"{LABEL}tech", "type": "folder"}]}))
async def list_tags(system: TheSystem, caller: TheReader) -> dict[str, Any]:
    followed, labels = await system.reading.followed(caller), await system.reading.labels(caller)
    return {"tags": rendering.tags(followed, labels)}


@router.post(f"{_API}/rename-tag", response_class=_OK, responses=_DONE, openapi_extra=_takes("s", "dest", "T"))
async def rename_tag(system: TheSystem, caller: TheWriter, given: TheParameters) -> str:
    """Of folders and of items alike."""
    await system.reading.rename_label(_label_in(given), label_of(given.first("dest")), caller)
    return "OK"


@router.post(f"{_API}/disable-tag", response_class=_OK, responses=_DONE, openapi_extra=_takes("s", "T"))
async def disable_tag(system: TheSystem, caller: TheWriter, given: TheParameters) -> str:
    """What was in the folder or had the label stays, without it."""
    await system.reading.rename_label(_label_in(given), None, caller)
    return "OK"


@router.get(f"{_API}/unread-count", responses=_shows({"max": 11, "unreadcounts": [{"id": "feed/3", "count": 11}]}))
async def unread_count(system: TheSystem, caller: TheReader) -> dict[str, Any]:
    return rendering.unread_counts(await system.reading.unread(caller))


@router.get(f"{_API}/preference/list", responses=_shows({"prefs": []}))
async def list_preferences(caller: TheReader) -> dict[str, Any]:  # noqa: ARG001 (it lets in)
    """There are none; some clients ask before they begin."""
    return {"prefs": []}


@router.get(f"{_API}/preference/stream/list", responses=_shows({"streamprefs": {}}))
async def list_stream_preferences(caller: TheReader) -> dict[str, Any]:  # noqa: ARG001
    return {"streamprefs": {}}


def _get_or_post(path: str, *names: str, **told: Any) -> Callable[[_Answer], _Answer]:
    """For apps that ask by an address or by a form, in which there is room for more. Neither changes anything."""
    said = {"response_class": Response, "openapi_extra": _takes(*names), **told}
    return lambda answer: router.get(path, **said)(router.post(path, **said)(answer))


@_get_or_post(
    f"{_API}/stream/items/ids",
    "s",
    *_STREAM,
    responses=_shows({"itemRefs": [{"id": "12", "directStreamIds": ["feed/3"], "timestampUsec": "1794912986456009"}]}),
)
async def list_item_ids(system: TheSystem, caller: TheReader, given: TheParameters) -> Response:
    """The items of a stream, newest first (`r=o`: oldest first), in pages; `continuation` leads to the next."""
    query = await _query(system, caller, given.first("s") or f"{STATE}reading-list", given, most=MAX_REFS)
    return await stream(_written_refs(system, caller, query), media_type="application/json; charset=utf-8")


async def _written_refs(system: System, caller: Caller, query: StreamQuery) -> AsyncIterator[bytes]:
    """One JSON object, a part of its list at a time: apps ask for ten thousand, and others want to be served."""
    left, opening, is_first = query.limit, '{"itemRefs": [', True
    while True:
        page = await system.reading.page(replace(query, limit=min(left, REFS_AT_ONCE)), caller)
        left -= len(page.refs)
        refs = ",\n".join(json.dumps(rendering.item_ref(ref)) for ref in page.refs)
        # What was still to come may be gone by now.
        yield (opening + refs if refs or is_first else "").encode()
        if page.next is None or not left:
            break
        query, opening, is_first = replace(query, after=page.next), ",\n", False
    more = f', "continuation": {json.dumps(write_continuation(page.next))}' if page.next else ""
    yield f"]{more}}}".encode()


@router.get(f"{_API}/stream/items/count", response_class=_OK, responses=_shows("24"), openapi_extra=_takes("s"))
async def count_items(system: TheSystem, caller: TheReader, given: TheParameters) -> str:
    """How many items a stream has, counted up to 1,000."""
    query = await _query(system, caller, given.first("s") or f"{STATE}reading-list", given, most=MAX_REFS)
    page = await system.reading.page(replace(query, limit=MAX_COUNTED), caller)
    return str(len(page.refs))


@_get_or_post(f"{_API}/stream/items/contents", "i", responses=_AS_JSON)
async def item_contents(request: Request, system: TheSystem, caller: TheReader, given: TheParameters) -> Response:
    """These items, whole; those that are gone are left out."""
    ids = item_ids(given, most=MAX_IDS)
    head = {**_head(system, f"{STATE}reading-list"), "title": "Items"}
    return await _streamed(request, caller, head, ids)


@_get_or_post(f"{_API}/stream/contents", "s", *_STREAM, responses=_AS_JSON)
async def stream_contents(request: Request, system: TheSystem, caller: TheReader, given: TheParameters) -> Response:
    return await _answer_stream(request, system, caller, given.first("s") or f"{STATE}reading-list", given)


@_get_or_post(f"{_API}/stream/contents/{{stream_id:path}}", *_STREAM, responses=_AS_JSON)
async def contents_of_stream(
    stream_id: str, request: Request, system: TheSystem, caller: TheReader, given: TheParameters
) -> Response:
    """The items of a stream, whole, in pages."""
    return await _answer_stream(request, system, caller, _checked(stream_id), given)


@router.get(
    "/reader/atom/{stream_id:path}",
    response_class=Response,
    responses={200: {"content": {ATOM_TYPE: {"schema": {"type": "string"}, "example": ATOM_FEED}}}},
    openapi_extra=_takes(*_STREAM),
)
async def stream_as_atom(
    stream_id: str, request: Request, system: TheSystem, caller: TheReader, given: TheParameters
) -> Response:
    """The items of a stream as Atom; what you read and starred is told by categories."""
    stream_id = _checked(stream_id)
    page = await system.reading.page(await _query(system, caller, stream_id, given, most=MAX_ENTRIES), caller)
    items = await system.reading.items([ref.at.item_id for ref in page.refs], caller)
    home = base_url(request)
    title = await _title(system, caller, stream_id)
    document = rendering.atom(title, items, self_url=f"{home}/greader/reader/atom/{stream_id}", home_url=home)
    return Response(document, media_type=ATOM_TYPE)


@router.post(f"{_API}/edit-tag", response_class=_OK, responses=_DONE, openapi_extra=_takes("i", "a", "r", "T"))
async def edit_tag(system: TheSystem, caller: TheWriter, given: TheParameters) -> str:
    """Mark items as read, kept unread or starred, or label them; states that we do not keep are passed over."""
    await system.reading.mark(item_ids(given, most=MAX_IDS), marks_of(given.all("a"), given.all("r")), caller)
    return "OK"


@router.post(f"{_API}/mark-all-as-read", response_class=_OK, responses=_DONE, openapi_extra=_takes("s", "ts", "T"))
async def mark_all_as_read(system: TheSystem, caller: TheWriter, given: TheParameters) -> str:
    """Everything of a stream, up to the moment `ts` if one is given."""
    if not given.first("s"):
        raise InvalidInput("Name a stream by s=….", field="s")
    marked = await _stream(system, caller, given.first("s"))
    await system.reading.mark_all(marked, caller, until=moment_of(given, "ts"))
    return "OK"


async def _source_id(system: System, caller: Caller, named: str) -> int:
    feed = feed_of(named)
    if isinstance(feed, int):
        return feed
    found = await system.reading.find(feed, caller)
    if found is None:
        raise NotFound("There is no such feed.")
    return found.id


async def _stream(system: System, caller: Caller, named: str) -> Stream:
    if named.startswith("feed/"):
        return Stream(kind=StreamKind.SOURCE, source_id=await _source_id(system, caller, named))
    return stream_of(named)


async def _query(system: System, caller: Caller, named: str, given: Parameters, *, most: int) -> StreamQuery:
    within = [await _stream(system, caller, one) for one in given.all("it")]
    without = [await _stream(system, caller, one) for one in given.all("xt")]
    wanted = given.number("n")
    return StreamQuery(
        stream=await _stream(system, caller, named),
        within=tuple(within),
        without=tuple(without),
        since=moment_of(given, "ot"),
        until=moment_of(given, "nt"),
        oldest_first=given.first("r") == "o",
        after=read_continuation(given.first("c")),
        limit=min(wanted or USUAL, most),
    )


async def _answer_stream(request: Request, system: System, caller: Caller, named: str, given: Parameters) -> Response:
    page = await system.reading.page(await _query(system, caller, named, given, most=MAX_CONTENTS), caller)
    more = {"continuation": write_continuation(page.next)} if page.next else {}
    head = {**_head(system, named), "title": await _title(system, caller, named), **more}
    return await _streamed(request, caller, head, [ref.at.item_id for ref in page.refs])


def _head(system: System, named: str) -> dict[str, Any]:
    # No `self`: servers differ in whether it is a list, and so do the apps that read it.
    return {
        "direction": "ltr",
        "id": named,
        "updated": seconds(system.clock.now()),
    }


async def _title(system: System, caller: Caller, named: str) -> str:
    if not named.startswith("feed/"):
        return named.rpartition("/")[2]
    source_id = await _source_id(system, caller, named)
    mine = await system.reading.followed(caller, source_id)
    return mine[0].title if mine else (await system.catalog.get(source_id, caller)).name


async def _streamed(request: Request, caller: Caller, head: dict[str, Any], ids: Sequence[int]) -> Response:
    """One JSON object, whose items are read a few at a time: a page of long articles is never in memory whole."""
    return await stream(_written(request, caller, head, ids), media_type="application/json; charset=utf-8")


async def _written(request: Request, caller: Caller, head: dict[str, Any], ids: Sequence[int]) -> AsyncIterator[bytes]:
    system, home = system_of(request), base_url(request)
    opening = json.dumps(head, ensure_ascii=False)[:-1] + ', "items": ['
    separator = ""
    for start in range(0, len(ids), AT_ONCE):
        items = await system.reading.items(ids[start : start + AT_ONCE], caller)
        written = [json.dumps(rendering.item(one, home), ensure_ascii=False) for one in items]
        if written:
            yield (opening + separator + ",\n".join(written)).encode("utf-8", "replace")
            opening, separator = "", ",\n"
    yield (opening + "]}").encode("utf-8", "replace")


def _json(value: dict[str, Any]) -> Response:
    return Response(json.dumps(value), media_type="application/json; charset=utf-8")


def _label_in(given: Parameters) -> str:
    named = given.first("s") or given.first("t")
    if not label_of(named):
        raise InvalidInput("Name a label by s=user/-/label/….", field="s")
    return label_of(named)


def _checked(stream_id: str) -> str:
    try:
        return check_text(stream_id)
    except ValueError as error:
        raise InvalidInput(f"The stream cannot be read: {error}.", field="s") from error
