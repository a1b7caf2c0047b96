"""What n8n does besides crawling, on schedules of its own: it frees locks that were left behind, and tries cookies."""

from __future__ import annotations

from datetime import timedelta
from typing import Final

from catchment.publish.n8n.nodes import Catchment, by_hand, decide, on_schedule, one_item_each, stop
from catchment.publish.n8n.workflow import Step, Workflow

RECOVERY_EVERY: Final = timedelta(minutes=15)
COOKIE_CHECK_EVERY: Final = timedelta(hours=6)

_TRACE: Final = '"n8n-" + $execution.id'


def recovery_workflow(url: str) -> Workflow:
    recover = Catchment(url=url, trace=_TRACE).post("Free stale locks", "/api/workflow/recover", step="recover")
    steps = (*_starts(recover.name, every=RECOVERY_EVERY), Step(node=recover, at=(1, 0)))
    return Workflow(id="catchment-lock-recovery", name="Catchment: lock recovery", steps=steps)


def cookie_check_workflow(url: str) -> Workflow:
    """Tries each cookie that is in use. What is refused Catchment lends no more; n8n fails, and says which."""
    catchment = Catchment(url=url, trace=_TRACE)
    cookies = catchment.get("Cookies", "/api/admin/cookies", step="cookies")
    # One that cools down is left alone: another error would ban it.
    in_use = decide("In use?", "$json.is_enabled && $json.status === 'active'")
    path = "/api/cookie/validate?cookie_name={{ encodeURIComponent($json.cookie_name) }}"
    check = catchment.get("Try it", path, step="validate", answers=True)
    refused = decide("Refused?", "!$json.body.data?.is_valid")
    each = "one.json.body.data?.cookie_name ?? one.json.body.error?.message"
    steps = (
        *_starts(cookies.name, every=COOKIE_CHECK_EVERY),
        Step(node=cookies, at=(1, 0), to=("One item each",)),
        Step(node=one_item_each("One item each", "body.data"), at=(2, 0), to=(in_use.name,)),
        Step(node=in_use, at=(3, 0), to=(check.name,)),
        Step(node=check, at=(4, 0), to=(refused.name,)),
        Step(node=refused, at=(5, 0), to=("Say which",)),
        Step(node=stop("Say which", f"'Refused: ' + $input.all().map((one) => {each}).join(', ')"), at=(6, 0)),
    )
    return Workflow(id="catchment-cookie-check", name="Catchment: cookie check", steps=steps)


def _starts(first: str, *, every: timedelta) -> tuple[Step, ...]:
    return (
        Step(node=by_hand(), at=(0, 0), to=(first,)),
        Step(node=on_schedule(every), at=(0, 1), to=(first,)),
    )
