"""What a file wants, and what is done about it: the plan by itself, and carried out in both stores."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from catchment.bootstrap import System
from catchment.domain.caller import OPERATOR, Caller, Role
from catchment.domain.listing import BadLine, ListedSource
from catchment.manage.apply import NEW_SECRET, DesiredSource, Plan, PlanAction, Present, plan
from catchment.manage.catalog import Change, Draft
from catchment.manage.import_export import ListFormat, export_sources, read_sources
from catchment.redact import MASK
from stores import on_both_stores, on_sqlite_alone

pytestmark = [on_sqlite_alone, pytest.mark.proves("A-33")]

# The plan by itself

KEYS = st.sampled_from(list("abcdef"))
CONFIGS = st.dictionaries(st.sampled_from(["url", "limit", "headers"]), st.integers(0, 2), max_size=3)


def listeds(is_active: st.SearchStrategy[bool | None]) -> st.SearchStrategy[ListedSource]:
    return st.builds(
        ListedSource,
        type=st.just("rss"),
        config=CONFIGS,
        name=st.sampled_from(["", "x", "y"]),
        tags=st.lists(st.sampled_from("pq"), max_size=2).map(tuple),
        is_public=st.booleans(),
        is_active=is_active,
    )


wanted_lists = st.dictionaries(KEYS, listeds(st.none() | st.booleans()), max_size=5).map(
    lambda found: [DesiredSource(key=key, listed=listed) for key, listed in found.items()]
)
present_lists = st.dictionaries(KEYS, st.tuples(listeds(st.booleans()), st.booleans()), max_size=5).map(
    lambda found: [
        Present(key=key, id=number, listed=listed, is_mine=is_mine)
        for number, (key, (listed, is_mine)) in enumerate(found.items())
    ]
)


def carried_out(steps: Plan, wanted: list[DesiredSource], present: list[Present]) -> list[Present]:
    """The plan as a store would carry it out, in which a new source is active."""
    keys = {one.id: one.key for one in present}
    after = {one.id: one for one in present}
    for step in steps.steps:
        match step.action:
            case PlanAction.CHANGE:
                assert step.source_id is not None
                is_active = {one.field: one.new for one in step.differences}.get("is_active")
                before = after[step.source_id]
                changed = replace(step.listed, is_active=before.listed.is_active if is_active is None else is_active)
                after[step.source_id] = replace(before, listed=changed)
            case PlanAction.REMOVE:
                assert step.source_id is not None
                del after[step.source_id], keys[step.source_id]
            case PlanAction.ADD:
                key = next(one.key for one in wanted if one.listed is step.listed)
                number = 100 + len(after)
                listed = replace(step.listed, is_active=step.listed.is_active is not False)
                after[number] = Present(key=key, id=number, listed=listed)
            case _:
                pass
    return list(after.values())


@given(wanted=wanted_lists, present=present_lists, prune=st.booleans())
def test_a_plan_that_was_carried_out_leads_to_what_is_wanted_and_leaves_nothing_to_do(
    *, wanted: list[DesiredSource], present: list[Present], prune: bool
) -> None:
    steps = plan(wanted, present, prune=prune)
    after = carried_out(steps, wanted, present)
    again = plan(wanted, after, prune=prune)
    assert again.is_empty
    there = {one.key: one for one in after}
    for one in wanted:
        found, is_theirs = there[one.key].listed, not there[one.key].is_mine
        assert is_theirs or (found.config, found.tags, found.is_public) == (
            one.listed.config,
            one.listed.tags,
            one.listed.is_public,
        )
        assert is_theirs or one.listed.name in {"", found.name}
        assert is_theirs or one.listed.is_active in {None, found.is_active}


@given(wanted=wanted_lists, present=present_lists, prune=st.booleans())
def test_what_is_somebody_elses_is_never_touched_and_nothing_goes_unasked(
    *, wanted: list[DesiredSource], present: list[Present], prune: bool
) -> None:
    steps = plan(wanted, present, prune=prune)
    mine = {one.id for one in present if one.is_mine}
    assert {step.source_id for step in (*steps.of(PlanAction.CHANGE), *steps.of(PlanAction.REMOVE))} <= mine
    assert prune or not steps.of(PlanAction.REMOVE)


def test_each_difference_is_told_with_its_old_and_new_value() -> None:
    old = ListedSource(
        type="rss", config={"url": "u", "fetch_interval_minutes": 60}, name="Old", tags=("a",), is_active=True
    )
    new = replace(old, config={"url": "u", "keep_days": 3}, name="New", tags=(), is_active=False)
    [step] = plan([DesiredSource(key="k", listed=new)], [Present(key="k", id=1, listed=old)]).steps
    assert {(one.field, str(one.old), str(one.new)) for one in step.differences} == {
        ("name", "Old", "New"),
        ("tags", "('a',)", "()"),
        ("is_active", "True", "False"),
        ("config.fetch_interval_minutes", "60", "None"),
        ("config.keep_days", "None", "3"),
    }


def test_a_new_secret_is_a_difference_that_gives_nothing_away() -> None:
    def listed(password: str) -> ListedSource:
        return ListedSource(type="rss", config={"url": "u", "basic_auth": {"username": "a", "password": password}})

    steps = plan([DesiredSource(key="k", listed=listed("new"))], [Present(key="k", id=1, listed=listed("old"))])
    [difference] = steps.steps[0].differences
    assert difference.new == NEW_SECRET
    assert "old" not in str(difference.old)


# In a store


async def applied(system: System, body: str, *, prune: bool = False, caller: Caller = OPERATOR) -> dict[str, int]:
    prepared = await system.applier.prepare(read_sources(body.encode()), caller, prune=prune)
    assert isinstance(prepared, Plan), prepared
    assert await system.applier.carry_out(prepared, caller) == []
    return {action: len(prepared.of(action)) for action in PlanAction if prepared.of(action)}


async def names(system: System) -> set[str]:
    return {source.name for source in await system.catalog.list(OPERATOR)}


@on_both_stores
async def test_a_file_is_applied_once_and_then_there_is_nothing_to_do(system: System) -> None:
    await system.catalog.add(Draft(type="rss", config={"url": "https://old.example/feed"}, name="Old"), OPERATOR)
    body = """
- {name: New, url: https://new.example/feed, tags: [a], interval: 30, active: false}
- {name: "Old  one", url: https://old.example/feed, is_public: true}
- {type: reddit, name: Hot, config: {subreddit: python}}
"""
    assert await applied(system, body) == {"add": 2, "change": 1}
    assert await applied(system, body) == {"unchanged": 3}
    found = {source.name: source for source in await system.catalog.list(OPERATOR)}
    assert found.keys() == {"New", "Old one", "Hot"}
    assert found["Old one"].is_public
    assert (found["New"].is_active, found["New"].tags) == (False, ("a",))
    assert found["New"].config == {"url": "https://new.example/feed", "fetch_interval_minutes": 30}


async def test_what_the_file_does_not_name_goes_only_with_prune(system: System) -> None:
    await applied(system, "- {name: A, url: https://a.example/feed}\n- {name: B, url: https://b.example/feed}")
    assert await applied(system, "- https://a.example/feed") == {"unchanged": 1}
    assert await names(system) == {"A", "B"}
    assert await applied(system, "- https://a.example/feed", prune=True) == {"unchanged": 1, "remove": 1}
    assert await names(system) == {"A"}


async def test_a_users_own_sources_are_left_alone_even_with_prune(system: System) -> None:
    ada = await system.accounts.add_user("ada@example.org")
    hers = Caller(role=Role.USER, user_id=ada.id)
    await system.catalog.add(Draft(type="rss", config={"url": "https://a.example/feed"}, name="Hers"), hers)
    await system.catalog.add(Draft(type="rss", config={"url": "https://b.example/feed"}, name="Hers too"), hers)
    assert await applied(system, "- {name: Mine, url: https://a.example/feed}", prune=True) == {"left alone": 1}
    assert await names(system) == {"Hers", "Hers too"}


@on_both_stores
async def test_a_source_that_paused_itself_is_not_started_by_a_file_that_says_nothing_of_it(system: System) -> None:
    body = "- {name: A, url: https://a.example/feed}"
    await applied(system, body)
    [source] = await system.catalog.list(OPERATOR)
    await system.catalog.change(source.id, Change(is_active=False), OPERATOR)
    assert await applied(system, body) == {"unchanged": 1}
    assert await applied(system, body.replace("}", ", active: true}")) == {"change": 1}


SECRETS = """
- name: Secret
  url: https://a.example/feed
  options:
    basic_auth: {username: ada, password: hunter2}
    headers: {X-Api-Key: k3y, X-Lang: en}
"""


async def stored(system: System) -> Any:
    [source] = await system.catalog.list(OPERATOR)
    return source.config


async def test_a_password_is_sealed_and_compared_all_the_same(system: System) -> None:
    assert await applied(system, SECRETS) == {"add": 1}
    sealed = (await stored(system))["sealed"]
    assert sealed.startswith("v2:")
    assert await applied(system, SECRETS) == {"unchanged": 1}
    assert await applied(system, SECRETS.replace("hunter2", "hunter3")) == {"change": 1}
    assert (await stored(system))["sealed"] != sealed
    assert await applied(system, SECRETS.replace("hunter2", "hunter3")) == {"unchanged": 1}


async def test_a_masked_secret_keeps_the_stored_one(system: System) -> None:
    await applied(system, SECRETS)
    exporting = export_sources(system.catalog, OPERATOR, ListFormat.YAML, now=system.clock.now())
    exported = [part async for part in exporting]
    body = b"".join(part.body for part in exported).decode()
    assert "hunter2" not in body
    assert "k3y" not in body
    assert exported[0].notes == ("Masked: basic_auth, headers.X-Api-Key, headers.X-Lang of 'Secret'.",)
    assert await applied(system, body) == {"unchanged": 1}
    assert await applied(system, body.replace("X-Lang: '***REDACTED***'", "X-Lang: zh")) == {"change": 1}
    assert await applied(system, SECRETS.replace("X-Lang: en", "X-Lang: zh")) == {"unchanged": 1}
    assert await applied(system, SECRETS) == {"change": 1}


async def test_every_bad_line_is_told_and_then_nothing_is_planned(system: System) -> None:
    body = f"""
- https://good.example/feed
- {{url: http://10.0.0.1/feed, name: Private}}
- {{url: https://good.example/feed}}
- {{type: gopher, config: {{}}}}
- {{nonsense: 1}}
- {{url: https://m.example/feed, options: {{headers: {{X-Api-Key: "{MASK}"}}}}}}
"""
    bad = await system.applier.prepare(read_sources(body.encode()), OPERATOR, prune=False)
    assert isinstance(bad, list)
    assert all(isinstance(one, BadLine) for one in bad)
    assert [one.line for one in bad] == [3, 4, 5, 6, 7]
    assert bad[1].reason == "It is the same source as on line 2."
    assert "masked" in bad[4].reason
    assert await names(system) == set()
