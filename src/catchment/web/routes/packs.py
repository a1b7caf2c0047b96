"""What people follow, and source packs: lists of sources that they pass on."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter
from pydantic import AfterValidator, AliasChoices, Field, WithJsonSchema

from catchment.domain.listing import Pack, SourceList
from catchment.manage.packs import MAX_SOURCES, PackDraft, read_places
from catchment.web.auth import Anyone, Known, TheSystem
from catchment.web.errors import OF_A_BODY, problems
from catchment.web.inputs import MAX_ID, In, PathId, Text, check_json, or_as_json
from catchment.web.outputs import Moment, Ok, Out
from catchment.web.routes.sources import LineOut

MAX_AT_ONCE = 1000
subscriptions_router = APIRouter(prefix="/api/subscriptions", tags=["subscriptions"], responses=problems(401, 403))

Id = Annotated[int, Field(ge=1, le=MAX_ID)]


class SubscribeIn(In):
    source_id: Id = Field(validation_alias=AliasChoices("sourceId", "source_id"), examples=[5])


class SubscribeManyIn(In):
    source_ids: list[Id] = Field(
        validation_alias=AliasChoices("sourceIds", "source_ids"), max_length=MAX_AT_ONCE, examples=[[5, 7]]
    )


class SubscriptionOut(Out):
    id: int = Field(validation_alias="source_id")
    name: str
    type: str
    is_active: bool
    sourceDeleted: bool = Field(validation_alias="source_deleted")  # noqa: N815 (the interface's own spelling)
    subscribed_at: Moment


class SubscribedOut(Ok):
    added: int = Field(examples=[1])


@subscriptions_router.get("")
async def list_subscriptions(system: TheSystem, caller: Known) -> list[SubscriptionOut]:
    """What you follow; a source that was removed is marked `sourceDeleted`."""
    return [SubscriptionOut.model_validate(one) for one in await system.subscriptions.list(caller)]


@subscriptions_router.post("", responses=problems(404, *OF_A_BODY))
async def subscribe(body: SubscribeIn, system: TheSystem, caller: Known) -> SubscribedOut:
    """Follow one of your own sources or a public one. Twice is the same as once."""
    return SubscribedOut(added=await system.subscriptions.add(body.source_id, caller))


@subscriptions_router.post("/bulk", responses=problems(*OF_A_BODY))
async def subscribe_many(body: SubscribeManyIn, system: TheSystem, caller: Known) -> SubscribedOut:
    """Follow many; what cannot be followed is passed over."""
    return SubscribedOut(added=await system.subscriptions.add_many(body.source_ids, caller))


@subscriptions_router.delete("/{source_id}", responses=problems(404, 422))
async def unsubscribe(source_id: PathId, system: TheSystem, caller: Known) -> Ok:
    await system.subscriptions.remove(source_id, caller)
    return Ok()


router = APIRouter(prefix="/api/packs", tags=["packs"])


Sources = Annotated[
    list[Any],
    or_as_json('the sources are a list, or one as JSON, such as [{"url": "https://…"}]'),
    AfterValidator(check_json),
    Field(max_length=MAX_SOURCES),
    WithJsonSchema({"anyOf": [{"type": "array"}, {"type": "string", "contentMediaType": "application/json"}]}),
]


class PackIn(In):
    name: Text = Field(examples=["Morning reading"])
    description: Text = ""
    slug: Text | None = None
    sources: Sources = Field(validation_alias=AliasChoices("sourcesJson", "sources_json", "sources"))
    is_public: bool = Field(default=True, validation_alias=AliasChoices("is_public", "isPublic"))


class PackOut(Out):
    id: int
    slug: str
    name: str
    description: str
    is_public: bool
    install_count: int
    created_by: int | None
    created_at: Moment
    sources: list[dict[str, Any]]

    @classmethod
    def of(cls, pack: Pack) -> PackOut:
        return cls(**pack.shown())


class MadeOut(PackOut):
    notes: list[str] = Field(description="What of the sources is not in the pack: bad entries, and secrets.")


class InstalledOut(Ok):
    added: int = Field(examples=[12])
    skipped: int = Field(examples=[1])
    results: list[LineOut]


@router.get("", responses=problems(401))
async def list_packs(system: TheSystem, caller: Anyone) -> list[PackOut]:
    """Public packs; with a key also your own."""
    return [PackOut.of(pack) for pack in await system.packs.list(caller)]


@router.post("", status_code=201, responses=problems(401, 403, 409, *OF_A_BODY))
async def make_pack(body: PackIn, system: TheSystem, caller: Known) -> MadeOut:
    """Make a pack. Entries that cannot be sources, and everything secret, are left out and told."""
    draft = PackDraft(
        name=body.name,
        description=body.description,
        slug=body.slug or "",
        is_public=body.is_public,
        listing=SourceList(entries=read_places(body.sources)),
    )
    made = await system.packs.make(draft, caller)
    return MadeOut(**made.pack.shown(), notes=list(made.notes))


@router.get("/{slug}", responses=problems(401, 404))
async def show_pack(slug: str, system: TheSystem, caller: Anyone) -> PackOut:
    return PackOut.of(await system.packs.show(slug, caller))


@router.post("/{slug}/install", responses=problems(401, 403, 404))
async def install_pack(slug: str, system: TheSystem, caller: Known) -> InstalledOut:
    """Add the sources that you do not have, as private ones, and follow them all. What you removed stays removed."""
    installed = await system.packs.install(slug, caller)
    lines = [LineOut.model_validate(line) for line in installed.lines]
    return InstalledOut(added=installed.added, skipped=installed.skipped, results=lines)


@router.delete("/{pack_id}", responses=problems(401, 403, 404, 422))
async def remove_pack(pack_id: PathId, system: TheSystem, caller: Known) -> Ok:
    """Remove a pack of your own; the sources that came from it stay."""
    await system.packs.remove(pack_id, caller)
    return Ok()
