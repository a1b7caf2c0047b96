"""Saved feeds: list, show, publish, change, remove."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter, Request
from pydantic import AliasChoices, BaseModel, Field

from catchment.domain.caller import Caller
from catchment.domain.feed import SavedFeed, filter_shape
from catchment.manage.feeds import FeedChange, FeedDraft, Published
from catchment.publish.feed import FeedFormat
from catchment.web.auth import Anyone, Known, TheSystem
from catchment.web.errors import OF_A_BODY, problems
from catchment.web.inputs import JsonObject, Text
from catchment.web.outputs import Moment, Ok, Out
from catchment.web.routes.published import folder_url

router = APIRouter(prefix="/api/feeds", tags=["feeds"])
_PUBLIC = AliasChoices("public", "is_public", "isPublic")


class FeedIn(BaseModel):
    slug: Text
    title: Text = ""
    description: Text = ""
    link: Text = ""
    language: Text = ""
    filter: JsonObject = Field(default_factory=dict)
    public: bool = Field(default=False, validation_alias=_PUBLIC)


class FeedChangeIn(BaseModel):
    title: Text | None = None
    description: Text | None = None
    link: Text | None = None
    language: Text | None = None
    filter: JsonObject | None = None
    public: bool | None = Field(default=None, validation_alias=_PUBLIC)
    new_token: bool = Field(default=False, description="Make another token; the old one is void.")


class FeedOut(Out):
    """A feed. Fields that a caller may not see are left out."""

    id: int
    slug: str
    title: str
    description: str
    link: str
    language: str
    public: bool
    owner_id: int | None
    created_at: Moment
    updated_at: Moment
    urls: dict[str, str]
    filter: dict[str, Any] = Field(default_factory=dict, description="Only for those who may change the feed.")
    token: str = Field(default="", description="Shown only when it was just made.")


@router.get("", response_model_exclude_unset=True, responses=problems(401))
async def list_feeds(request: Request, system: TheSystem, caller: Anyone) -> list[FeedOut]:
    """Public feeds; with a key also your own, with the service's or an admin's all."""
    return [_shown(request, feed, caller) for feed in await system.feeds.list(caller)]


@router.post("", status_code=201, response_model_exclude_unset=True, responses=problems(401, 403, 409, *OF_A_BODY))
async def add_feed(request: Request, body: FeedIn, system: TheSystem, caller: Known) -> FeedOut:
    """Publish a view. It shows what you may see; a private one comes with a token that is shown this once."""
    draft = FeedDraft(
        slug=body.slug,
        title=body.title,
        description=body.description,
        link=body.link,
        language=body.language,
        filter=body.filter,
        is_public=body.public,
    )
    return _just_made(request, await system.feeds.add(draft, caller), caller)


@router.get("/{slug}", response_model_exclude_unset=True, responses=problems(401, 404))
async def show_feed(request: Request, slug: str, system: TheSystem, caller: Anyone) -> FeedOut:
    return _shown(request, await system.feeds.get(slug, caller), caller)


@router.put("/{slug}", response_model_exclude_unset=True, responses=problems(401, 403, 404, *OF_A_BODY))
async def change_feed(request: Request, slug: str, body: FeedChangeIn, system: TheSystem, caller: Known) -> FeedOut:
    """Change what is named and leave the rest."""
    change = FeedChange(
        title=body.title,
        description=body.description,
        link=body.link,
        language=body.language,
        filter=body.filter,
        is_public=body.public,
        new_token=body.new_token,
    )
    return _just_made(request, await system.feeds.change(slug, change, caller), caller)


@router.delete("/{slug}", responses=problems(401, 403, 404))
async def remove_feed(slug: str, system: TheSystem, caller: Known) -> Ok:
    await system.feeds.remove(slug, caller)
    return Ok()


def _just_made(request: Request, published: Published, caller: Caller) -> FeedOut:
    shown = _shown(request, published.feed, caller)
    return shown.model_copy(update={"token": published.token}) if published.token else shown


def _shown(request: Request, feed: SavedFeed, caller: Caller) -> FeedOut:
    folder = folder_url(request)
    facts: dict[str, Any] = {
        "id": feed.id,
        "slug": feed.slug,
        "title": feed.title,
        "description": feed.description,
        "link": feed.link,
        "language": feed.language,
        "public": feed.is_public,
        "owner_id": feed.owner_id,
        "created_at": feed.created_at,
        "updated_at": feed.updated_at,
        "urls": {format_.value: f"{folder}/{feed.slug}.{format_}" for format_ in FeedFormat},
    }
    if feed.may_be_changed_by(caller):
        facts["filter"] = filter_shape(feed.filter)
    return FeedOut(**facts)
