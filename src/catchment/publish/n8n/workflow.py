"""Workflows of n8n as we describe them, and the JSON that n8n imports."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Final
from uuid import UUID, uuid5

Json = dict[str, Any]

#: Nodes keep their ids from one writing to the next, so that a file changes only where the workflow does.
_IDS: Final = UUID("6f0c8f0e-7a55-4c0c-9a3e-2f3f6f3b7d11")
_COLUMN: Final = 220
_ROW: Final = 180


@dataclass(frozen=True, slots=True, kw_only=True)
class Node:
    name: str
    type: str
    version: float
    parameters: Json = field(default_factory=dict)
    #: What n8n keeps beside the parameters: tries again, what an error does.
    manner: Json = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """A node in its place. Of the branches of a node n8n takes the uppermost first, and each to its end."""

    node: Node
    #: Column and row.
    at: tuple[int, int]
    #: The node that follows each output.
    to: tuple[str, ...] = ()
    #: The node that hears of an error, which otherwise ends the execution.
    failing: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Workflow:
    id: str
    name: str
    steps: tuple[Step, ...]

    def to_json(self) -> str:
        shape = {
            "id": self.id,
            "name": self.name,
            "active": False,
            "nodes": [self._node(step) for step in self.steps],
            "connections": dict(self._connections()),
            "settings": {"executionOrder": "v1"},
            "pinData": {},
        }
        return json.dumps(shape, ensure_ascii=False, indent=2) + "\n"

    def _node(self, step: Step) -> Json:
        node = step.node
        column, row = step.at
        return {
            "id": str(uuid5(_IDS, f"{self.id}/{node.name}")),
            "name": node.name,
            "type": f"n8n-nodes-base.{node.type}",
            "typeVersion": node.version,
            "position": [column * _COLUMN, row * _ROW],
            "parameters": node.parameters,
            **node.manner,
            **({"onError": "continueErrorOutput"} if step.failing else {}),
        }

    def _connections(self) -> Iterator[tuple[str, Json]]:
        for step in self.steps:
            # The output for errors comes after all others, also where nothing follows those.
            outputs = [_link(name) for name in step.to] or [[]]
            errors = [_link(step.failing)] if step.failing else []
            if step.to or step.failing:
                yield step.node.name, {"main": [*outputs, *errors]}


def _link(name: str) -> list[Json]:
    return [{"node": name, "type": "main", "index": 0}]
