"""The crawl as a workflow of n8n: keywords are searched, what they found is claimed, read and written, ten at a time.

n8n decides what comes next; every lock, every count and every write is Catchment's. Whatever goes wrong after the lock
was taken leads to its release, so that the next execution need not wait for the recovery.
"""

from __future__ import annotations

from datetime import timedelta
from typing import Final

from catchment.domain.execution import MEDIA_CRAWLER
from catchment.publish.n8n.nodes import (
    Catchment,
    by_hand,
    decide,
    in_one_go,
    item,
    landmark,
    on_schedule,
    once,
    one_by_one,
    one_item_each,
    script,
    sort_by,
    stop,
    wait,
)
from catchment.publish.n8n.scripts import by_the_rules, script_text
from catchment.publish.n8n.workflow import Node, Step, Workflow

BATCH_SIZE: Final = 10
EVERY: Final = timedelta(hours=1)

_WORKFLOW: Final = "/api/workflow"
_LOCK: Final = "$('Take the lock').first().json.body.data"
_SEARCHED: Final = "$('What the search came to').first().json"
_BATCH: Final = "$('Batch to read').first().json"
_FAILED: Final = "Why it failed"


def crawl_workflow(url: str) -> Workflow:
    before = Catchment(url=url, trace='"n8n-" + $execution.id')
    locked = Catchment(url=url, trace=f"{_LOCK}.trace_id")
    steps = (*_starting(before), *_searching(locked), *_reading(locked), *_writing(locked), *_ending(locked))
    return Workflow(id="catchment-crawl", name="Catchment: crawl", steps=steps)


def _starting(catchment: Catchment) -> tuple[Step, ...]:
    wanted = f"{{ workflow_name: '{MEDIA_CRAWLER}' }}"
    take = in_one_go(catchment.post("Take the lock", f"{_WORKFLOW}/lock", step="lock", body=wanted))
    return (
        Step(node=by_hand(), at=(0, 0), to=(take.name,)),
        Step(node=on_schedule(EVERY), at=(0, 1), to=(take.name,)),
        Step(node=take, at=(1, 0), to=("Locked?",)),
        Step(node=decide("Locked?", "$json.body.data.locked"), at=(2, 0), to=("Keywords", "Already running")),
        Step(node=stop("Already running", "$json.body.data.reason"), at=(3, 1)),
    )


def _searching(catchment: Catchment) -> tuple[Step, ...]:
    keywords = catchment.get("Keywords", f"{_WORKFLOW}/keywords", step="keywords")
    has_any = decide("Any keywords?", "$json.body.data.sources.length > 0")
    ask = (
        "{ platform: $json.platform, keyword: $json.keyword, sort_type: $json.sort_type, note_type: $json.note_type,"
        " page: $json.page ?? 1 }"
    )
    search = catchment.post("Search", "/api/search", step="search", body=ask, answers=True)
    judge = script("What the search came to", by_the_rules("search"))
    sort = sort_by("After the search", "$json.outcome", ("found", "again", "skip", "stop"))
    found = "source_id: $json.source_id, items: $json.items"
    keep = _own(catchment, "Keep candidates", "candidates", found)
    has_more = decide("More pages?", f"{_SEARCHED}.next !== null")
    return (
        _guarded(keywords, (3, 0), has_any.name),
        Step(node=has_any, at=(4, 0), to=("One item each", "Claim notes")),
        Step(node=one_item_each("One item each", "body.data.sources"), at=(5, 0), to=("Each keyword",)),
        Step(node=one_by_one("Each keyword"), at=(6, 0), to=("Claim notes", "Page to search")),
        Step(node=landmark("Page to search"), at=(7, 0), to=(search.name,)),
        _guarded(search, (8, 0), judge.name),
        _guarded(judge, (9, 0), sort.name),
        Step(node=sort, at=(10, 0), to=(keep.name, "Wait to search", "Keyword given up", _FAILED)),
        _guarded(keep, (11, 0), has_more.name),
        Step(node=has_more, at=(12, 0), to=("Next request", "Each keyword")),
        Step(node=wait("Wait to search", "$json.wait"), at=(11, 1), to=("Next request",)),
        Step(node=item("Next request", f"{_SEARCHED}.next"), at=(13, 1), to=("Page to search",)),
        Step(node=landmark("Keyword given up"), at=(11, 2), to=("Each keyword",)),
    )


def _reading(catchment: Catchment) -> tuple[Step, ...]:
    claim = once(_own(catchment, "Claim notes", "claim", f"batch_size: {BATCH_SIZE}"))
    has_any = decide("Any claimed?", "$json.body.data.locked_count > 0")
    group = script("Group by platform", script_text("group"))
    beat = _own(catchment, "Heartbeat", "heartbeat")
    ask = (
        f"{{ platform: {_BATCH}.platform, note_ids: {_BATCH}.records.map((record) => record.note_url),"
        f" get_comments: {_BATCH}.comments_limit > 0, comments_limit: {_BATCH}.comments_limit }}"
    )
    read = catchment.post("Read notes", "/api/note/detail", step="detail", body=ask, answers=True)
    judge = script("What became of them", by_the_rules("details"))
    return (
        _guarded(claim, (6, 4), has_any.name),
        Step(node=has_any, at=(7, 4), to=(group.name, "Release")),
        _guarded(group, (8, 4), "Each batch"),
        Step(node=one_by_one("Each batch", anew_after=group.name), at=(9, 4), to=(claim.name, "Batch to read")),
        Step(node=landmark("Batch to read"), at=(10, 4), to=(beat.name,)),
        _guarded(beat, (11, 4), read.name),
        _guarded(read, (12, 4), judge.name),
        _guarded(judge, (13, 4), "After the reading"),
    )


def _writing(catchment: Catchment) -> tuple[Step, ...]:
    sort = sort_by("After the reading", "$json.outcome", ("write", "fail", "again", "stop", "done"))
    note = "note: $json.note, meta: $json.meta"
    failure = "note_id: $json.note_id, platform: $json.platform, error: $json.error"
    write = _own(catchment, "Write note", "commit", note)
    fail = _own(catchment, "Record failure", "fail", failure)
    rest = item("Rest of the batch", "$('What became of them').last().json.next")
    return (
        # What is settled stands above, and so is done before the last item goes on.
        Step(node=sort, at=(14, 4), to=(write.name, fail.name, "Wait to read", _FAILED, "Each batch")),
        _guarded(write, (15, 2)),
        _guarded(fail, (15, 3)),
        Step(node=wait("Wait to read", "$json.wait"), at=(15, 4), to=(rest.name,)),
        Step(node=rest, at=(16, 4), to=("Batch to read",)),
    )


def _ending(catchment: Catchment) -> tuple[Step, ...]:
    given_up = "$('Keyword given up')"
    missed = f"{given_up}.isExecuted ? {given_up}.first().json.missed : undefined"
    completed = f"status: 'completed', error_summary: {missed}"
    told = "[$json.error?.code, $json.error?.message ?? $json.error].filter(Boolean).join(': ')"
    why = f"{{ reason: Array.from({told}).slice(0, 500).join('') }}"
    reason = f"$('{_FAILED}').first().json.reason"
    failed = f"status: 'failed', error_summary: {reason}"
    release = _own(catchment, "Release as failed", "release", failed, answers=True)
    return (
        Step(node=_own(catchment, "Release", "release", completed), at=(8, 6)),
        Step(node=item(_FAILED, why), at=(16, 6), to=(release.name,)),
        # Whether that works or not, as when the lock is lost, the first reason is the one to tell.
        Step(node=release, at=(17, 6), to=("Stop",), failing="Stop"),
        Step(node=stop("Stop", reason), at=(18, 6)),
    )


def _own(catchment: Catchment, name: str, what: str, said: str = "", *, answers: bool = False) -> Node:
    """A call that only the execution which holds the lock may make."""
    body = f"{{ execution_id: {_LOCK}.execution_id, {said} }}"
    return catchment.post(name, f"{_WORKFLOW}/{what}", step=what, body=body, answers=answers)


def _guarded(node: Node, at: tuple[int, int], *to: str) -> Step:
    """A step whose error leads to the release of the lock."""
    return Step(node=node, at=at, to=to, failing=_FAILED)
