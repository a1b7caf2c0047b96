"""The pages of feeds: the saved ones with their addresses, and the builder that shows what one would hold."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import Any

from fastapi.responses import RedirectResponse, Response
from sqlalchemy import Connection
from starlette.datastructures import FormData, QueryParams

from catchment.domain.caller import Caller
from catchment.domain.feed import LIMIT, SavedFeed, filter_shape
from catchment.domain.source import Source
from catchment.errors import BadConfig, Conflict, InvalidInput, NotFound
from catchment.manage.catalog import split_tags
from catchment.manage.feeds import FeedChange, FeedDraft, Published
from catchment.publish.feed import FeedFormat
from catchment.store import sources
from catchment.store.views import Glance
from catchment.web.errors import OF_FORMS, page_router
from catchment.web.inputs import base_url, check_text, whole_number
from catchment.web.pages import OpenPage, Page, SignedInPage, form_fields
from catchment.web.routes.item_pages import source_named
from catchment.web.routes.source_pages import read_rules, rule_lines

MAX_SHOWN, MAX_BY_NAME = 8, 50
#: The preview follows while somebody writes, so it looks at fewer items than the feed itself.
MAX_LOOKED_AT = 100
NOTHING = Glance(items=(), count=0, is_more=False)
router = page_router("/feeds")


@dataclass(frozen=True, slots=True, kw_only=True)
class FeedForm:
    """What stands in the fields of the builder."""

    title: str = ""
    slug: str = ""
    q: str = ""
    #: One a line, by name or number.
    sources: str = ""
    types: tuple[str, ...] = ()
    tags: str = ""
    days: str = ""
    limit: str = str(LIMIT)
    include: str = ""
    exclude: str = ""
    description: str = ""
    link: str = ""
    language: str = ""
    public: str = ""
    #: Words that are looked for without the index; only feeds that were made elsewhere have any.
    search: str = ""
    #: On, if its new items are to be sent to a chat, which is asked for once it is saved.
    chat: str = ""


_NAMES = tuple(field.name for field in fields(FeedForm))
_OF_FORMS: dict[str, Any] = {
    "responses": OF_FORMS,
    "openapi_extra": form_fields(*_NAMES, "do"),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class FeedPreview:
    """What a feed would show now; with a problem nothing."""

    glance: Glance = NOTHING
    #: Of the sources that its items are of.
    names: Mapping[int, str] = field(default_factory=dict)
    problem: str = ""
    #: Shows the same already.
    twin: SavedFeed | None = None

    @property
    def words(self) -> str:
        """The key of the sentence that says how many items it holds."""
        if self.glance.is_more:
            return "feeds.holds_many" if self.glance.count else "feeds.holds_none_yet"
        return "feeds.holds" if self.glance.count else "feeds.holds_none"


@router.get("")
async def feeds_page(page: OpenPage) -> Response:
    """The feeds that the caller may see, with their addresses."""
    return await _list(page)


@router.get("/new")
async def new_feed_page(page: SignedInPage) -> Response:
    """The builder; a search that is to be saved stands in the address."""
    return await _builder(page, _prefilled(page.request.query_params))


async def _known_for_chat(page: Page, given: FeedForm) -> SavedFeed | None:
    """What is to be sent to a chat, if it is a feed already."""
    if not (given.chat and page.caller.is_admin):
        return None
    try:
        return await page.system.feeds.twin_of(await _draft(page, given), page.caller)
    except (InvalidInput, BadConfig, NotFound):
        return None


def _on_to_chat(page: Page, feed: SavedFeed, key: str) -> Response:
    return page.done(f"/webhooks?feed={feed.slug}", key, name=(feed.title or feed.slug)[:200])


@router.post("/new", **_OF_FORMS)
async def make_feed(page: SignedInPage) -> Response:
    form = await page.form()
    given = _given(form)
    if form.get("do") == "preview":
        return await _builder(page, given)
    if form.get("do") != "again" and (known := await _known_for_chat(page, given)):
        return _on_to_chat(page, known, "feeds.twin_for_chat")
    try:
        draft = replace(await _draft(page, given), slug=await page.system.feeds.free_slug(given.slug, given.title))
        if form.get("do") != "again" and await page.system.feeds.twin_of(draft, page.caller):
            return await _builder(page, given, status=409)
        published = await page.system.feeds.add(draft, page.caller)
    except (InvalidInput, BadConfig, Conflict, NotFound) as error:
        return await _builder(page, given, problem=page.words.say(str(error)), status=422)
    if given.chat and page.caller.is_admin:
        return _on_to_chat(page, published.feed, "feeds.saved_for_chat")
    return await _list(page, made=published)


@router.get("/{slug}/edit")
async def edit_feed_page(page: SignedInPage, slug: str) -> Response:
    feed = await page.system.feeds.get(slug, page.caller)
    if not feed.may_be_changed_by(page.caller):
        return RedirectResponse(page.link("/feeds"), status_code=303)
    return await _builder(page, await page.system.store.read(_form_of, feed, page.caller), feed=feed)


@router.post("/{slug}/edit", **_OF_FORMS)
async def edit_feed(page: SignedInPage, slug: str) -> Response:
    feed, form = await page.system.feeds.get(slug, page.caller), await page.form()
    given, do = _given(form), form.get("do")
    if do == "delete":
        await page.system.feeds.remove(slug, page.caller)
        return page.done("/feeds", "feeds.deleted", name=(feed.title or slug)[:200])
    if do == "token":
        made = await page.system.feeds.change(slug, FeedChange(new_token=True), page.caller)
        return await _list(page, made=made)
    if do == "preview":
        return await _builder(page, given, feed=feed)
    try:
        changed = await page.system.feeds.change(slug, _change(await _draft(page, given)), page.caller)
    except (InvalidInput, BadConfig, NotFound) as error:
        return await _builder(page, given, feed=feed, problem=page.words.say(str(error)), status=422)
    if changed.token:
        return await _list(page, made=changed)
    return page.done("/feeds", "feeds.saved", name=(changed.feed.title or slug)[:200])


async def _list(page: Page, made: Published | None = None) -> Response:
    feeds = await page.system.feeds.list(page.caller)
    rows = [(feed, page.may_write and feed.may_be_changed_by(page.caller)) for feed in feeds]
    made_at = _addresses(page, made.feed, made.token) if made else []
    return await page.show("feeds.html", rows=rows, formats=list(FeedFormat), made=made, made_at=made_at)


def _addresses(page: Page, feed: SavedFeed, token: str | None = None) -> list[tuple[FeedFormat, str]]:
    secret = f"?token={token}" if token and not feed.is_public else ""
    return [(format_, f"{base_url(page.request)}/feeds/{feed.slug}.{format_}{secret}") for format_ in FeedFormat]


async def _builder(
    page: Page, given: FeedForm, *, feed: SavedFeed | None = None, problem: str = "", status: int = 200
) -> Response:
    offers = await page.system.catalog.offers(page.caller)
    preview = FeedPreview() if problem else await _previewed(page, given, feed)
    action = f"/feeds/{feed.slug}/edit" if feed else "/feeds/new"
    return await page.show(
        "feed_edit.html",
        status=status,
        form=given,
        feed=feed,
        action=action,
        **({} if feed else await _slug_help(page, given)),
        addresses=_addresses(page, feed) if feed else [],
        problem=problem,
        preview=page.part("parts/feed_preview.html", preview=preview),
        twin=preview.twin,
        types=sorted({*offers.types, *given.types}),
        tags=offers.tags,
    )


async def _slug_help(page: Page, given: FeedForm) -> dict[str, Any]:
    """The address that a new feed will have, or why it will not have the one that is wanted."""
    try:
        slug = await page.system.feeds.free_slug(given.slug, given.title)
    except (InvalidInput, Conflict) as error:
        return {"slug_help": page.words("feeds.slug_refused", problem=page.words.say(str(error))), "refused": True}
    address = f"{base_url(page.request)}/feeds/{slug}.{FeedFormat.RSS}"
    return {"slug_help": page.words("feeds.slug_help", address=address)}


async def _previewed(page: Page, given: FeedForm, feed: SavedFeed | None) -> FeedPreview:
    try:
        draft = await _draft(page, given)
        wanted = page.system.feeds.imagine(draft, page.caller)
    except (InvalidInput, BadConfig, NotFound) as error:
        return FeedPreview(problem=page.words.say(str(error)))
    twin = None if feed else await page.system.feeds.twin_of(draft, page.caller)
    if feed is not None:
        # It goes on showing what its owner may see, whoever edits it.
        wanted = replace(wanted, owner_id=feed.owner_id, sees_all=feed.sees_all)
    glance = await page.system.renderer.preview(wanted, look_at=MAX_LOOKED_AT, show=MAX_SHOWN)
    found = await page.system.catalog.find([one.source_id for one in glance.items], page.caller)
    return FeedPreview(glance=glance, names={source.id: source.name for source in found}, twin=twin)


def _prefilled(params: QueryParams) -> FeedForm:
    """A search of the items as the beginning of a feed."""
    given = {name: _sane(params.get(name, "")) for name in ("q", "source", "tag", "type", "days", "chat")}
    return FeedForm(
        title=given["q"],
        q=given["q"],
        sources=given["source"],
        tags=given["tag"],
        types=(given["type"],) if given["type"] else (),
        days=given["days"],
        chat="on" if given["chat"] else "",
    )


def _given(form: FormData) -> FeedForm:
    texts = {name: _sane(str(form.get(name, ""))) for name in _NAMES if name != "types"}
    return FeedForm(**texts, types=tuple(_sane(str(one)) for one in form.getlist("types")))


def _sane(text: str) -> str:
    """What no store could keep counts as not said."""
    try:
        return check_text(text.strip())
    except ValueError:
        return ""


async def _draft(page: Page, given: FeedForm) -> FeedDraft:
    named = [line.strip() for line in given.sources.splitlines() if line.strip()]
    chosen = await page.system.store.read(_sources_named, named, page.caller)
    return FeedDraft(
        slug=given.slug,
        title=given.title,
        description=given.description,
        link=given.link,
        language=given.language,
        filter=_filter_of(given, [source.id for source in chosen]),
        is_public=given.public == "on",
    )


def _sources_named(conn: Connection, named: Sequence[str], caller: Caller) -> list[Source]:
    return [source_named(conn, one, caller) for one in named]


def _filter_of(given: FeedForm, source_ids: Sequence[int]) -> dict[str, Any]:
    shape: Mapping[str, Any] = {
        "sources": list(dict.fromkeys(source_ids)),
        "types": list(given.types),
        "tags": list(split_tags(given.tags)),
        "include": read_rules(given.include),
        "exclude": read_rules(given.exclude),
        "search": given.search,
        "q": given.q,
        "since_days": whole_number(given.days, "filter"),
        "limit": whole_number(given.limit, "filter") or LIMIT,
    }
    return {name: value for name, value in shape.items() if value}


def _change(draft: FeedDraft) -> FeedChange:
    return FeedChange(**{field.name: getattr(draft, field.name) for field in fields(draft) if field.name != "slug"})


def _form_of(conn: Connection, feed: SavedFeed, caller: Caller) -> FeedForm:
    shape = filter_shape(feed.filter)
    return FeedForm(
        title=feed.title,
        slug=feed.slug,
        q=feed.filter.q,
        sources="\n".join(_named(conn, feed.filter.sources, caller)),
        types=feed.filter.types,
        tags=", ".join(feed.filter.tags),
        days=str(feed.filter.since_days or ""),
        limit=str(feed.filter.limit),
        include=rule_lines(shape.get("include", ())),
        exclude=rule_lines(shape.get("exclude", ())),
        description=feed.description,
        link=feed.link,
        language=feed.language,
        public="on" if feed.is_public else "",
        search=feed.filter.search,
    )


def _named(conn: Connection, source_ids: Sequence[int], caller: Caller) -> list[str]:
    """By their names, if they are few; by number where a name would mean another one, or the source is gone."""
    seen = {one.id: one.name for one in sources.get_many(conn, source_ids[:MAX_BY_NAME]) if caller.may_see(one)}
    return [seen[one] if one in seen and _means(conn, seen[one], one, caller) else str(one) for one in source_ids]


def _means(conn: Connection, name: str, source_id: int, caller: Caller) -> bool:
    try:
        return source_named(conn, name, caller).id == source_id
    except (InvalidInput, NotFound):
        return False
