"""Sources as a file wants them: what would have to change, and the change itself.

The file says everything about the sources it names. Only a name and the pause are left as they are where it says
nothing of them: a name may come from the feed, and what paused by itself should not start again by itself.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any

from catchment.crypto import Unsealable, Vault
from catchment.domain.caller import Caller
from catchment.domain.confidential import mask_paths, masked, restored, secret_paths
from catchment.domain.listing import BadLine, ListedSource, SourceList
from catchment.domain.sealing import open_config
from catchment.domain.source import Source
from catchment.errors import CatchmentError, InvalidInput, VisitError
from catchment.manage.catalog import Catalog, Change
from catchment.manage.import_export import LineResult, add_entries, draft_of, listed_of
from catchment.store.sources import identity_hash

NEW_SECRET = "(a new secret)"  # noqa: S105 - what is shown in its place


class PlanAction(StrEnum):
    ADD = "add"
    CHANGE = "change"
    UNCHANGED = "unchanged"
    #: Somebody else has it already; it is collected, and theirs.
    LEFT_ALONE = "left alone"
    REMOVE = "remove"


@dataclass(frozen=True, slots=True, kw_only=True)
class DesiredSource:
    #: What makes it the same source as one that is there.
    key: str
    listed: ListedSource


@dataclass(frozen=True, slots=True, kw_only=True)
class Present:
    key: str
    id: int
    listed: ListedSource
    is_mine: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class FieldChange:
    """One field, as it may be shown: secrets are masked."""

    field: str
    old: Any
    new: Any


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanStep:
    action: PlanAction
    #: As it is wanted; as it is, where it is to be removed.
    listed: ListedSource
    source_id: int | None = None
    differences: tuple[FieldChange, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    steps: tuple[PlanStep, ...]

    def of(self, action: PlanAction) -> list[PlanStep]:
        return [step for step in self.steps if step.action is action]

    @property
    def is_empty(self) -> bool:
        """There is nothing to do."""
        return all(step.action in {PlanAction.UNCHANGED, PlanAction.LEFT_ALONE} for step in self.steps)


@dataclass(frozen=True, slots=True, kw_only=True)
class StepFailure:
    name: str
    address: str
    reason: str


def plan(wanted: Sequence[DesiredSource], present: Sequence[Present], *, prune: bool = False) -> Plan:
    """What leads from what is there to what is wanted. Without `prune`, what is not wanted stays."""
    there = {one.key: one for one in sorted(present, key=lambda one: one.is_mine)}
    steps = [_step(one, there.get(one.key)) for one in wanted]
    if prune:
        keys = {one.key for one in wanted}
        steps += [
            PlanStep(action=PlanAction.REMOVE, listed=one.listed, source_id=one.id)
            for one in present
            if one.is_mine and one.key not in keys
        ]
    return Plan(steps=tuple(steps))


class Applier:
    def __init__(self, *, catalog: Catalog, vault: Vault) -> None:
        self._catalog = catalog
        self._vault = vault

    async def prepare(self, listing: SourceList, caller: Caller, *, prune: bool) -> Plan | list[BadLine]:
        """The plan, or every line of the file that is wrong."""
        present = [self._present(source, caller) for source in await self._catalog.list(caller)]
        wanted, bad = self._wanted(listing, present, caller)
        return bad or plan(wanted, present, prune=prune)

    async def carry_out(self, steps: Plan, caller: Caller) -> list[StepFailure]:
        """Add, change, then remove; what fails is told and stops nothing else."""
        added = await add_entries(self._catalog, [step.listed for step in steps.of(PlanAction.ADD)], caller)
        failures = [
            StepFailure(name=line.name, address=line.url, reason=line.reason)
            for line in added
            if line.result is not LineResult.ADDED
        ]
        for step in (*steps.of(PlanAction.CHANGE), *steps.of(PlanAction.REMOVE)):
            try:
                await self._do(step, caller)
            except CatchmentError as error:
                failures.append(StepFailure(name=step.listed.name, address=step.listed.address, reason=str(error)))
        return failures

    async def _do(self, step: PlanStep, caller: Caller) -> None:
        assert step.source_id is not None  # only what is there is changed or removed
        if step.action is PlanAction.REMOVE:
            await self._catalog.remove(step.source_id, caller)
        else:
            await self._catalog.change(step.source_id, _change(step), caller)

    def _wanted(
        self, listing: SourceList, present: Sequence[Present], caller: Caller
    ) -> tuple[list[DesiredSource], list[BadLine]]:
        stored = self._by_masked_identity(present)
        wanted: dict[str, DesiredSource] = {}
        bad = listing.bad_lines
        for listed in listing.sources:
            try:
                one = self._checked(listed, stored, caller)
            except (InvalidInput, VisitError) as error:
                bad.append(listed.refused(str(error)))
                continue
            if one.key in wanted:
                bad.append(listed.refused(f"It is the same source as on line {wanted[one.key].listed.line}."))
            else:
                wanted[one.key] = one
        return list(wanted.values()), sorted(bad, key=lambda one: one.line)

    def _by_masked_identity(self, present: Sequence[Present]) -> dict[tuple[str, str], Mapping[str, Any]]:
        """The configs that masks in a file stand for, by what of them a file shows. One's own come last, and win."""
        found: dict[tuple[str, str], Mapping[str, Any]] = {}
        for one in sorted(present, key=lambda one: one.is_mine):
            config = one.listed.config
            # What may not be asked any more, or is of a type that is not there any more, is nothing to stand for.
            with suppress(InvalidInput, VisitError):
                if secret_paths(config):
                    found[one.listed.type, self._catalog.identity(one.listed.type, masked(config))] = config
        return found

    def _checked(
        self, listed: ListedSource, stored: Mapping[tuple[str, str], Mapping[str, Any]], caller: Caller
    ) -> DesiredSource:
        """As the catalogue would store it, in plain text."""
        if mask_paths(listed.config):
            alike = stored.get((listed.type, self._catalog.identity(listed.type, listed.config)), {})
            listed = replace(listed, config=restored(listed.config, alike))
        new = self._catalog.check(draft_of(listed), caller)
        key = identity_hash(new.type, new.identity)
        config = self._open(new.config)
        name = new.name if listed.name else ""
        return DesiredSource(key=key, listed=replace(listed, name=name, type=new.type, config=config, tags=new.tags))

    def _present(self, source: Source, caller: Caller) -> Present:
        return Present(
            key=source.identity,
            id=source.id,
            listed=replace(listed_of(source), config=self._open(source.config), is_active=source.is_active),
            is_mine=source.created_by == caller.user_id,
        )

    def _open(self, config: Mapping[str, Any]) -> Mapping[str, Any]:
        """In plain text, to compare it with the file's. What does not open is a different one."""
        try:
            return open_config(config, self._vault)
        except Unsealable:
            return masked(config)


def _step(wanted: DesiredSource, present: Present | None) -> PlanStep:
    if present is None:
        return PlanStep(action=PlanAction.ADD, listed=wanted.listed)
    listed = replace(wanted.listed, name=wanted.listed.name or present.listed.name)
    if not present.is_mine:
        return PlanStep(action=PlanAction.LEFT_ALONE, listed=listed, source_id=present.id)
    differences = tuple(_differences(present.listed, listed))
    action = PlanAction.CHANGE if differences else PlanAction.UNCHANGED
    return PlanStep(action=action, listed=listed, source_id=present.id, differences=differences)


def _differences(old: ListedSource, new: ListedSource) -> list[FieldChange]:
    found = [
        FieldChange(field=field, old=getattr(old, field), new=getattr(new, field))
        for field in ("name", "tags", "is_public", "is_active")
        if getattr(old, field) != getattr(new, field) and getattr(new, field) is not None
    ]
    before, after = masked(old.config), masked(new.config)
    for key in (key for key in {**old.config, **new.config} if old.config.get(key) != new.config.get(key)):
        shown = after.get(key)
        found.append(
            FieldChange(
                field=f"config.{key}", old=before.get(key), new=NEW_SECRET if shown == before.get(key) else shown
            )
        )
    return found


def _change(step: PlanStep) -> Change:
    """Only what differs, so that nothing else counts as changed."""
    fields = {difference.field.partition(".")[0] for difference in step.differences}
    return Change(**{field: getattr(step.listed, field) for field in fields})
