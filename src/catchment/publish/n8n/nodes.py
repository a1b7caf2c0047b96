"""The kinds of nodes that our workflows are made of, with the settings that n8n wants for them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Any, Final

from catchment.publish.n8n.workflow import Json, Node

_HOUR: Final = timedelta(hours=1)
#: Three tries, five seconds apart, which is the most that n8n allows: Catchment may be starting anew.
_PATIENT: Final[Json] = {"retryOnFail": True, "maxTries": 3, "waitBetweenTries": 5000}


def by_hand() -> Node:
    return Node(name="By hand", type="manualTrigger", version=1)


def on_schedule(every: timedelta) -> Node:
    """Minutes up to an hour, and hours from then on: n8n has a clock for each."""
    if every < _HOUR:
        interval = {"field": "minutes", "minutesInterval": every // timedelta(minutes=1)}
    else:
        interval = {"field": "hours", "hoursInterval": every // _HOUR}
    return Node(name="On schedule", type="scheduleTrigger", version=1.2, parameters={"rule": {"interval": [interval]}})


@dataclass(frozen=True, slots=True, kw_only=True)
class Catchment:
    """The Catchment that is called: how its requests look. The key is in the environment of n8n, never in a file."""

    #: Where it is unless CATCHMENT_URL says otherwise.
    url: str
    #: What the id of each request begins with, as an expression.
    trace: str

    def get(self, name: str, path: str, *, step: str, answers: bool = False) -> Node:
        return self._call(name, "GET", path, step=step, answers=answers)

    def post(self, name: str, path: str, *, step: str, body: str = "{}", answers: bool = False) -> Node:
        """`body` is an expression. `answers`: what Catchment says no to is an answer as well."""
        sent = {"sendBody": True, "specifyBody": "json", "jsonBody": f"={{{{ JSON.stringify({body}) }}}}"}
        return self._call(name, "POST", path, step=step, answers=answers, sent=sent)

    def _call(self, name: str, method: str, path: str, *, step: str, answers: bool, sent: Json | None = None) -> Node:
        headers = {"X-API-Key": "={{ $env.CATCHMENT_API_KEY }}", "X-Request-ID": f"={{{{ {self.trace} }}}}-{step}"}
        # The answer lies in `body`: one that has an `error` on top, be it null, n8n takes for its own and tries again.
        response = {"fullResponse": True, "responseFormat": "json", "neverError": answers}
        parameters = {
            "method": method,
            "url": f'={{{{ $env.CATCHMENT_URL || "{self.url}" }}}}{path}',
            "sendHeaders": True,
            "headerParameters": {"parameters": [{"name": key, "value": value} for key, value in headers.items()]},
            **(sent or {}),
            # A node is given many items, and Catchment is asked for one after the other.
            "options": {
                "batching": {"batch": {"batchSize": 1, "batchInterval": 0}},
                "response": {"response": response},
            },
        }
        return Node(name=name, type="httpRequest", version=4.2, parameters=parameters, manner=_PATIENT)


def once(node: Node) -> Node:
    """The node, run for the first item of those it is given."""
    return replace(node, manner={**node.manner, "executeOnce": True})


def in_one_go(node: Node) -> Node:
    """The node, never tried again: what it asks for may have happened although the answer was lost."""
    return replace(node, manner={})


def script(name: str, source: str) -> Node:
    return Node(name=name, type="code", version=2, parameters={"jsCode": source})


def decide(name: str, condition: str) -> Node:
    """Two ways on: the condition holds, or it does not."""
    holds = {"type": "boolean", "operation": "true", "singleValue": True}
    return Node(name=name, type="if", version=2.2, parameters={**_conditions(condition, holds, ""), "options": {}})


def sort_by(name: str, value: str, ways: Iterable[str]) -> Node:
    """As many ways on as words, in their order."""
    equals = {"type": "string", "operation": "equals"}
    rules = [{**_conditions(value, equals, way), "renameOutput": True, "outputKey": way} for way in ways]
    return Node(name=name, type="switch", version=3.2, parameters={"rules": {"values": rules}, "options": {}})


def _conditions(left: str, operator: Mapping[str, Any], right: str) -> Json:
    condition = {"id": "is", "leftValue": f"={{{{ {left} }}}}", "rightValue": right, "operator": operator}
    options = {"caseSensitive": True, "leftValue": "", "typeValidation": "strict", "version": 2}
    return {"conditions": {"options": options, "conditions": [condition], "combinator": "and"}}


def one_item_each(name: str, field: str) -> Node:
    return Node(name=name, type="splitOut", version=1, parameters={"fieldToSplitOut": field, "options": {}})


def one_by_one(name: str, *, anew_after: str | None = None) -> Node:
    """A loop, whose first output is its end and whose second goes round; it begins again with what one node brings."""
    reset = {"reset": f"={{{{ $prevNode.name === '{anew_after}' }}}}"} if anew_after else {}
    return Node(name=name, type="splitInBatches", version=3, parameters={"batchSize": 1, "options": reset})


def item(name: str, value: str) -> Node:
    """One item, which is the object that the expression makes."""
    parameters = {"mode": "raw", "jsonOutput": f"={{{{ {value} }}}}", "options": {}}
    return once(Node(name=name, type="set", version=3.4, parameters=parameters))


def landmark(name: str) -> Node:
    """Does nothing, but what passed here last can be looked up by its name."""
    return Node(name=name, type="noOp", version=1)


def wait(name: str, seconds: str) -> Node:
    parameters = {"amount": f"={{{{ {seconds} }}}}", "unit": "seconds"}
    return Node(name=name, type="wait", version=1.1, parameters=parameters)


def stop(name: str, reason: str) -> Node:
    """Ends the execution, whatever else was to follow, as one that failed for this reason."""
    return Node(name=name, type="stopAndError", version=1, parameters={"errorMessage": f"={{{{ {reason} }}}}"})
