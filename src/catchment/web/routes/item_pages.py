"""The pages of items: found by what they say, and read one by one."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Annotated, Any

from fastapi import APIRouter, Query
from fastapi.responses import HTMLResponse, Response
from markupsafe import Markup, escape
from sqlalchemy import Connection
from starlette.datastructures import QueryParams

from catchment.domain.caller import Caller
from catchment.domain.differences import ChangeKind, Difference
from catchment.domain.item import StoredItem
from catchment.domain.source import Source
from catchment.errors import InvalidInput, NotFound
from catchment.parse.html import for_reading, plain_text
from catchment.store import source_list, sources
from catchment.store.search import FoundPage, ItemFilter
from catchment.store.source_list import Sort, SourceQuery
from catchment.web.auth import SignedIn, TheSystem
from catchment.web.errors import problems_of_page
from catchment.web.inputs import PathId, Text, check_text, id_if_any, write_cursor
from catchment.web.pages import Content, Page, SignedInPage, live
from catchment.web.routes.items import place_of

PAGE_ITEMS = 50
#: For choosing from; a longer list is searched by writing a part of a name.
DAYS = (1, 7, 30, 365)
#: How much of a text is looked through for the stretch that is shown, and how long that is.
MAX_READ, MAX_EXCERPT, BEFORE_HIT = 20_000, 220, 60
#: Of what an edit left as it was, so much is shown at each side.
MAX_SAME = 120
MAX_ADDRESS, _DAY_SECONDS = 4000, 24 * 3600
#: Even what a browser took for a document could do nothing.
_SANDBOX = "default-src 'none'; sandbox"
_PICTURE: dict[int | str, dict[str, Any]] = {
    200: {"description": "The picture", "content": {"image/*": {"schema": {"type": "string", "format": "binary"}}}}
}
_ASKED_WORD = re.compile(r'-?"[^"]*"?|\S+')
router = APIRouter(
    prefix="/items",
    tags=["dashboard"],
    default_response_class=HTMLResponse,
    responses=problems_of_page(401, 403, 404, 422),
)
pictures_router = APIRouter(prefix="/pictures", tags=["dashboard"], responses=problems_of_page(401, 403, 404, 422))


@dataclass(frozen=True, slots=True, kw_only=True)
class AskedItems:
    """What the address asks for, as it was written."""

    q: str
    source: str
    tag: str
    type: str
    days: str
    cursor: str

    @property
    def is_narrowed(self) -> bool:
        return any((self.q, self.source, self.tag, self.type, self.days))


@dataclass(frozen=True, slots=True, kw_only=True)
class ListedItem:
    item: StoredItem
    #: What was looked for is marked in both.
    title: Markup
    excerpt: Markup

    @property
    def part(self) -> str:
        return f"item-{self.item.id}"


@router.get("")
async def items_page(page: SignedInPage) -> Response:
    content = await read_items(page)
    if content.context["problem"]:
        return await page.show("items.html", status=422, parts=content.parts, **content.context)
    return await page.show_live("items.html", content)


@live("/items", may=lambda caller: caller.is_known)
async def read_items(page: Page) -> Content:
    asked, problem, source = _asked(page.request.query_params), "", None
    found = FoundPage(items=[], next=None)
    try:
        source = await page.system.store.read(source_named, asked.source, page.caller) if asked.source else None
        wanted = _wanted(asked, source, page)
        after = place_of(asked.cursor or None, is_search=bool(asked.q))
        found = await page.system.items.find(page.caller, wanted, q=asked.q, after=after, limit=PAGE_ITEMS)
    except (InvalidInput, NotFound) as error:
        problem = page.words.say(str(error))
    rows = [_row(item, pattern_of(asked.q)) for item in found.items]
    parts = {row.part: page.part("parts/item_row.html", row=row) for row in rows}
    lede = Markup('<p class="lede" id="lede">{}</p>').format(_lede(page, asked, found, problem))
    context = {
        "asked": asked,
        "source": source,
        "problem": problem,
        "rows": rows,
        "next_cursor": write_cursor(found.next.item_id, found.next.fetched_at) if found.next else "",
        "days": DAYS,
        "offers": await page.system.catalog.offers(page.caller),
    }
    return Content(context=context, parts={"lede": lede, **parts}, lists={"rows": [row.part for row in rows]})


def _asked(params: QueryParams) -> AskedItems:
    """What no store could compare counts as not said."""

    def said(name: str) -> str:
        try:
            return check_text(params.get(name, "").strip())
        except ValueError:
            return ""

    days = said("days")
    return AskedItems(
        q=said("q"),
        source=said("source"),
        tag=said("tag"),
        type=said("type"),
        days=days if days in map(str, DAYS) else "",
        cursor=said("cursor"),
    )


def _wanted(asked: AskedItems, source: Source | None, page: Page) -> ItemFilter:
    since = page.system.clock.now() - timedelta(days=int(asked.days)) if asked.days else None
    # What was written since then was collected since then, which an index knows.
    return ItemFilter(
        source_id=source.id if source else None,
        tag=asked.tag or None,
        type=asked.type or None,
        since=since,
        written_since=since,
    )


def _lede(page: Page, asked: AskedItems, found: FoundPage, problem: str) -> str:
    if problem or asked.cursor or not asked.is_narrowed:
        return page.words("items.lede")
    if not found.items:
        return page.words("items.lede_none")
    return page.words("items.lede_more" if found.next else "items.lede_found", count=len(found.items))


def source_named(conn: Connection, text: str, caller: Caller) -> Source:
    """By its number or its name, or by a part of the name that no other has."""
    query = SourceQuery(caller=caller, text=text, sort=Sort.NAME, limit=2)
    found = _by_number(conn, text, caller) or source_list.list_called(conn, query) or source_list.list_page(conn, query)
    if not found:
        raise NotFound(f"There is no source {text[:100]}.")
    if len(found) > 1:
        raise InvalidInput(f"Several sources are called like {text[:100]}: write the whole name, or its number.")
    return found[0]


def _by_number(conn: Connection, text: str, caller: Caller) -> list[Source]:
    number = id_if_any(text)
    source = sources.get(conn, number) if number else None
    return [source] if source and caller.may_see(source) else []


def _row(item: StoredItem, pattern: re.Pattern[str]) -> ListedItem:
    title = item.title.strip()
    return ListedItem(item=item, title=_marked(title, pattern), excerpt=excerpt_of(item.content, pattern, title=title))


def pattern_of(q: str) -> re.Pattern[str]:
    """What fits the words that are looked for, to show where they stand."""
    words = [word.strip('"*') for word in _ASKED_WORD.findall(q) if not word.startswith("-")]
    return re.compile("|".join(re.escape(word) for word in words if word) or r"(?!)", re.IGNORECASE)


def excerpt_of(content: str, pattern: re.Pattern[str], *, title: str = "") -> Markup:
    """A stretch of the text, around the first of the words that were looked for, with those marked.

    A text that begins with its title, as a post does, is not told twice.
    """
    text = plain_text(content[:MAX_READ], MAX_READ).removeprefix(title).strip()
    hit = pattern.search(text)
    start = max(hit.start() - BEFORE_HIT, 0) if hit else 0
    end = start + MAX_EXCERPT
    shown = _marked(text[start:end], pattern)
    return Markup("{}{}{}").format("…" if start else "", shown, "…" if end < len(text) else "")


def _marked(text: str, pattern: re.Pattern[str]) -> Markup:
    pieces, place = [], 0
    for hit in pattern.finditer(text):
        pieces += [escape(text[place : hit.start()]), Markup("<mark>{}</mark>").format(hit[0])]
        place = hit.end()
    return Markup("").join([*pieces, escape(text[place:])])


@router.get("/{item_id}")
async def item_page(page: SignedInPage, item_id: PathId) -> Response:
    view = await page.system.items.get(item_id, page.caller)

    def picture_at(address: str) -> str:
        return page.link(f"/pictures/{page.system.pictures.sign(item_id, address)}/{item_id}", url=address)

    return await page.show(
        "item.html",
        item=view.item,
        source=view.source,
        links=view.links,
        edits=[(edit, changed(edit.title), changed(edit.text)) for edit in view.edits],
        content=readable(page, view.item.content, picture_at=picture_at),
        enclosures=_enclosures(view.item),
    )


def readable(page: Page, content: str, *, picture_at: Callable[[str], str] | None = None) -> Markup:
    words = page.words
    cleaned = for_reading(
        content, picture=words("items.picture"), recording=words("items.recording"), picture_at=picture_at
    )
    return Markup(cleaned)  # noqa: S704 (sanitised just now)


@pictures_router.get("/{signature}/{item_id}", response_class=Response, responses=_PICTURE)
async def picture(
    signature: str,
    item_id: PathId,
    url: Annotated[Text, Query(max_length=MAX_ADDRESS)],
    system: TheSystem,
    caller: SignedIn,
) -> Response:
    """A picture in an item, for who may see the item; only the pages know which addresses are signed."""
    found = await system.pictures.get(signature, item_id, url, caller)
    headers = {"Cache-Control": f"private, max-age={_DAY_SECONDS}, immutable", "Content-Security-Policy": _SANDBOX}
    return Response(found.body, media_type=found.media_type, headers=headers)


def changed(differences: Sequence[Difference]) -> list[Difference]:
    """What an edit changed, with a little of what it left; nothing where it left all."""
    if all(one.kind is ChangeKind.SAME for one in differences):
        return []
    return [_shortened(one) if one.kind is ChangeKind.SAME else one for one in differences]


def _shortened(same: Difference) -> Difference:
    text = same.text
    return same if len(text) <= 3 * MAX_SAME else Difference(same.kind, f"{text[:MAX_SAME]} … {text[-MAX_SAME:]}")


def _enclosures(item: StoredItem) -> list[str]:
    """What plug-ins put down may be anything."""
    listed = item.metadata.get("enclosures")
    addresses = [one.get("url") for one in listed if isinstance(one, dict)] if isinstance(listed, list) else []
    return [one for one in addresses if isinstance(one, str) and one.startswith(("http://", "https://"))]
