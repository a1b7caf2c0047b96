"""Packs: what goes into one, what comes out of one, and whose they are. Both stores."""

from __future__ import annotations

from typing import Any

import pytest

from catchment.bootstrap import System
from catchment.domain.caller import ANONYMOUS, OPERATOR, Caller, Role
from catchment.domain.listing import SourceList
from catchment.errors import Forbidden, InvalidInput, NotFound
from catchment.manage.catalog import Draft
from catchment.manage.import_export import ListFormat, read_sources
from catchment.manage.packs import MAX_SOURCES, PackDraft, read_places, write_pack
from stores import on_both_stores, on_sqlite_alone

pytestmark = [on_sqlite_alone, pytest.mark.proves("A-33")]

FEEDS = [{"name": name, "type": "rss", "config": {"url": f"https://{name}.example/feed"}} for name in "abc"]


def draft(sources: list[Any], **more: Any) -> PackDraft:
    return PackDraft(**{"name": "A pack", "listing": SourceList(entries=read_places(sources)), **more})


async def user(system: System, name: str) -> Caller:
    return Caller(role=Role.USER, user_id=(await system.accounts.add_user(f"{name}@example.org")).id)


async def test_slugs_come_from_names_and_are_numbered_when_taken(system: System) -> None:
    made = [await system.packs.make(draft([], name=name), OPERATOR) for name in ("Très bien!", "tres-bien", "早报")]
    assert [one.pack.slug for one in made] == ["tres-bien", "tres-bien-1", "pack"]
    assert (await system.packs.make(draft([], slug="My Own"), OPERATOR)).pack.slug == "my-own"


@on_both_stores
async def test_installing_adds_what_is_missing_once_and_counts(system: System) -> None:
    ada = await user(system, "ada")
    mine = await system.catalog.add(Draft(type="rss", config=FEEDS[0]["config"]), ada)
    pack = (await system.packs.make(draft([*FEEDS, {"type": "gopher", "config": {}}]), OPERATOR)).pack
    installed = await system.packs.install(pack.slug, ada)
    assert (installed.added, installed.skipped) == (2, 2)
    assert [line.result for line in installed.lines] == ["duplicate", "added", "added", "refused"]
    assert installed.lines[0].source_id == mine.id
    again = await system.packs.install(pack.slug, ada)
    assert (again.added, again.skipped) == (0, 4)
    assert (await system.packs.show(pack.slug, ada)).install_count == 2
    found = await system.catalog.list(ada)
    assert {(one.created_by, one.is_public) for one in found} == {(ada.user_id, False)}
    assert len(await system.subscriptions.list(ada)) == 3


async def test_what_its_owner_removed_is_never_brought_back_by_a_pack(system: System) -> None:
    ada, bob = await user(system, "ada"), await user(system, "bob")
    pack = (await system.packs.make(draft(FEEDS), OPERATOR)).pack
    await system.packs.install(pack.slug, ada)
    gone = (await system.catalog.list(ada))[0]
    await system.catalog.remove(gone.id, ada)
    again = await system.packs.install(pack.slug, ada)
    assert (again.added, again.skipped) == (0, 3)
    assert "removed it once" in again.lines[0].reason
    assert len(await system.catalog.list(ada)) == 2
    # It is gone for her alone, and not for ever: by hand it comes back.
    assert (await system.packs.install(pack.slug, bob)).added == 3
    await system.catalog.add(Draft(type="rss", config=gone.config), ada)
    assert (await system.packs.install(pack.slug, ada)).lines[0].result == "duplicate"


async def test_a_tag_that_no_source_has_makes_no_pack(system: System) -> None:
    await system.catalog.add(Draft(type="rss", config=FEEDS[0]["config"], tags=("tech",)), OPERATOR)
    for tags in (["news"], ["tech", "news"]):
        with pytest.raises(NotFound, match="No source of yours has the tag 'news'"):
            await system.packs.make_from_sources(draft([]), OPERATOR, tags=tags)
    assert await system.packs.list(OPERATOR) == []


async def test_a_pack_carries_no_secret_and_opens_no_door(system: System) -> None:
    config = {
        "url": "https://s.example/feed",
        "basic_auth": {"username": "ada", "password": "hunter2"},
        "headers": {"Authorization": "Bearer abc", "X-Lang": "en"},
        "verify_tls": False,
    }
    await system.catalog.add(Draft(type="rss", config=config, name="Secret", tags=("x",)), OPERATOR)
    token = {"url": "https://t.example/feed?token=abc"}
    await system.catalog.add(Draft(type="rss", config=token, name="Token", tags=("x",)), OPERATOR)
    await system.catalog.add(Draft(type="rss", config=FEEDS[0]["config"], name="Other", is_public=True), OPERATOR)
    made = await system.packs.make_from_sources(draft([]), OPERATOR, tags=["x"])
    assert made.pack.sources == (
        {
            "name": "Secret",
            "type": "rss",
            "config": {"url": "https://s.example/feed"},
            "tags": ["x"],
        },
    )
    assert made.notes == (
        "Left out of 'Secret': basic_auth, headers.Authorization, headers.X-Lang, verify_tls.",
        "Left out 'Token': its address holds a secret.",
    )


@on_both_stores
async def test_a_file_that_asks_for_more_trust_than_a_pack_may_is_refused_line_by_line(system: System) -> None:
    theirs = [{"url": "http://192.168.1.1/reboot", "options": {"allow_private": True}}, FEEDS[0]]
    installed = await system.packs.install_entries(read_places(theirs), OPERATOR)
    assert [line.result for line in installed.lines] == ["refused", "added"]
    assert "allow_private" in installed.lines[0].reason


@pytest.mark.parametrize(
    "named",
    [
        {"url": "https://a.example/${TOKEN}"},
        {"url": "https://a.example/", "headers": {"X-Key": "k-${TOKEN}"}},
        {"url": "https://a.example/", "method": "POST", "body": {"q": ["${TOKEN}"]}},
    ],
    ids=["url", "headers", "body"],
)
async def test_a_pack_takes_nothing_from_the_variables_of_whoever_installs_it(
    system: System, named: dict[str, Any]
) -> None:
    theirs = [{"type": "custom_api", "config": named}]
    [line] = (await system.packs.install_entries(read_places(theirs), OPERATOR)).lines
    assert (line.result, "a variable of this machine" in line.reason) == ("refused", True)


@pytest.mark.parametrize("form", [ListFormat.YAML, ListFormat.JSON])
async def test_a_pack_goes_from_store_to_store_as_a_file(system: System, form: ListFormat) -> None:
    pack = (await system.packs.make(draft(FEEDS, description="Three"), OPERATOR)).pack
    listing = read_sources(write_pack(pack, form))
    assert (listing.name, listing.description) == ("A pack", "Three")
    assert (await system.packs.install_entries(listing.entries, OPERATOR)).added == 3


@on_both_stores
async def test_a_private_pack_is_its_makers_own(system: System) -> None:
    ada, bob = await user(system, "ada"), await user(system, "bob")
    pack = (await system.packs.make(draft(FEEDS, is_public=False), ada)).pack
    assert [one.slug for one in await system.packs.list(ada)] == [pack.slug]
    assert await system.packs.list(bob) == await system.packs.list(ANONYMOUS) == []
    for work in (
        system.packs.show(pack.slug, bob),
        system.packs.install(pack.slug, bob),
        system.packs.remove(pack.id, bob),
    ):
        with pytest.raises(NotFound):
            await work
    await system.packs.remove(pack.id, ada)
    assert await system.packs.list(OPERATOR) == []


async def test_only_its_maker_and_an_admin_may_remove_a_public_pack(system: System) -> None:
    ada, bob = await user(system, "ada"), await user(system, "bob")
    first, second = [(await system.packs.make(draft(FEEDS), ada)).pack for _ in range(2)]
    with pytest.raises(Forbidden):
        await system.packs.remove(first.id, bob)
    await system.packs.remove(first.id, ada)
    await system.packs.remove(second.id, OPERATOR)
    with pytest.raises(NotFound):
        await system.packs.remove(second.id, OPERATOR)


@pytest.mark.parametrize(
    "wrong",
    [{"name": " "}, {"name": "x" * 201}, {"name": "a\0b"}, {"description": "x" * 2001}],
    ids=["empty", "long", "nul", "description"],
)
async def test_what_cannot_be_a_pack_is_refused(system: System, wrong: dict[str, Any]) -> None:
    with pytest.raises(InvalidInput):
        await system.packs.make(draft([], **wrong), OPERATOR)
    with pytest.raises(InvalidInput, match="at most 2,000 sources"):
        await system.packs.make(draft(["https://a.example/"] * (MAX_SOURCES + 1)), OPERATOR)


async def test_bad_entries_are_told_and_the_rest_is_the_pack(system: System) -> None:
    made = await system.packs.make(draft([FEEDS[0], 5, {"nonsense": 1}]), OPERATOR)
    assert len(made.pack.sources) == 1
    assert [note.partition(":")[0] for note in made.notes] == ["Left out entry 2", "Left out entry 3"]
