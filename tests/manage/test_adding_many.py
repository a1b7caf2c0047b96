"""Many sources at once, and those that a new catalogue starts with. Both stores."""

from __future__ import annotations

import pytest

from catchment.bootstrap import System
from catchment.domain.caller import OPERATOR, Caller, Role
from catchment.errors import Conflict, InvalidInput, RefusedAddress
from catchment.manage.catalog import BATCH, Added, Change, Draft, Refused
from catchment.manage.packs import STARTER_PACK, add_starter_pack
from stores import on_both_stores, on_sqlite_alone

pytestmark = on_sqlite_alone


def draft(path: object, **more: object) -> Draft:
    return Draft(type="rss", config={"url": f"https://example.org/{path}"}, **more)  # type: ignore[arg-type]


async def test_each_draft_has_its_outcome_in_the_order_given(system: System) -> None:
    first = await system.catalog.add(draft("known", name="Known"), OPERATOR)
    outcomes = await system.catalog.add_many(
        [
            draft("a", name="A", tags=("x",)),
            draft("known"),
            Draft(type="rss", config={"url": "http://10.0.0.1/"}),
            draft("a", name="A again"),
            Draft(type="gopher", config={}),
            draft("b"),
        ],
        OPERATOR,
    )
    a, known, private, again, gopher, b = outcomes
    assert isinstance(a, Added)
    assert (a.source.name, a.source.tags, a.source.next_check.at) == ("A", ("x",), system.clock.now())
    assert isinstance(known, Refused)
    assert isinstance(known.error, Conflict)
    assert known.error.existing_id == first.id
    assert isinstance(private, Refused)
    assert isinstance(private.error, RefusedAddress)
    assert isinstance(again, Refused)
    assert str(again.error) == f"This source exists already: 'A' (id {a.source.id})."
    assert isinstance(gopher, Refused)
    assert isinstance(gopher.error, InvalidInput)
    assert isinstance(b, Added)
    assert [source.name for source in await system.catalog.list(OPERATOR)] == ["Known", "A", "example.org"]


@on_both_stores
async def test_more_than_one_batch_keeps_its_order_and_meets_no_twin_twice(system: System) -> None:
    drafts = [draft(number, name=str(number)) for number in range(BATCH + 10)]
    outcomes = await system.catalog.add_many([*drafts, drafts[0]], OPERATOR)
    assert [one.source.name for one in outcomes if isinstance(one, Added)] == [one.name for one in drafts]
    assert isinstance(outcomes[-1], Refused)


async def test_a_user_is_subscribed_to_what_they_add_and_shares_no_private_twin(system: System) -> None:
    ada = await system.accounts.add_user("ada@example.org")
    caller = Caller(role=Role.USER, user_id=ada.id)
    await system.catalog.add(draft("private"), OPERATOR)
    public = await system.catalog.add(draft("public", is_public=True), OPERATOR)
    mine, twin = await system.catalog.add_many([draft("private"), draft("public")], caller)
    assert isinstance(mine, Added)
    assert mine.source.created_by == ada.id
    assert isinstance(twin, Refused)
    assert isinstance(twin.error, Conflict)
    assert twin.error.existing_id == public.id


async def test_nothing_to_add_adds_nothing(system: System) -> None:
    assert await system.catalog.add_many([], OPERATOR) == []


@on_both_stores
@pytest.mark.proves("F-01")
async def test_the_starter_pack_comes_once_and_only_into_an_empty_catalogue(system: System) -> None:
    async def offer() -> int:
        return await add_starter_pack(system.catalog, system.store, system.clock, OPERATOR)

    assert await offer() == len(STARTER_PACK)
    for source in await system.catalog.list(OPERATOR):
        await system.catalog.remove(source.id, OPERATOR)
    assert await offer() == 0
    assert await system.catalog.list(OPERATOR) == []


async def test_a_catalogue_with_sources_gets_no_starter_pack_even_when_they_are_removed(system: System) -> None:
    source = await system.catalog.add(draft("a"), OPERATOR)
    assert await add_starter_pack(system.catalog, system.store, system.clock, OPERATOR) == 0
    await system.catalog.remove(source.id, OPERATOR)
    assert await add_starter_pack(system.catalog, system.store, system.clock, OPERATOR) == 0


@pytest.mark.proves("S-03", "G-06")
async def test_what_is_offered_follows_every_edit_and_shows_nobody_what_is_anothers(system: System) -> None:
    alice = Caller(role=Role.USER, user_id=(await system.accounts.add_user("alice@example.org")).id)
    mine = await system.catalog.add(draft("mine", name="Mine", tags=("sea",)), OPERATOR)
    await system.catalog.add(draft("open", name="Open", tags=("land", "sea"), is_public=True), OPERATOR)

    async def offered(caller: Caller) -> tuple[str, set[str], list[str]]:
        found = await system.catalog.offers(caller)
        return found.tags[0], set(found.tags), list(found.names)

    for _ in range(2):
        assert await offered(OPERATOR) == ("sea", {"sea", "land"}, ["Mine", "Open"])
        assert (await offered(alice))[1:] == ({"land", "sea"}, ["Open"])
    await system.catalog.change(mine.id, Change(tags=("air",), name="Kite"), OPERATOR)
    assert (await offered(OPERATOR))[1:] == ({"land", "sea", "air"}, ["Kite", "Open"])
    await system.catalog.remove(mine.id, OPERATOR)
    assert (await offered(OPERATOR))[1:] == ({"land", "sea"}, ["Open"])
