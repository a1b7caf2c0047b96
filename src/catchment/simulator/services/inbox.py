"""An inbox: takes in whatever is posted to it, and shows it to whoever comes by."""

from __future__ import annotations

import json
from collections import deque
from typing import Any

from catchment.simulator.messages import Answer, Request, json_answer

#: The oldest make room for the newest.
MOST_LETTERS = 1000


class Inbox:
    def __init__(self) -> None:
        self._letters: deque[Request] = deque(maxlen=MOST_LETTERS)

    def __call__(self, request: Request) -> Answer:
        if request.method == "POST":
            self._letters.append(request)
            # A bot of Lark says in these words that all is well; others mind the status alone.
            return json_answer({"code": 0, "msg": "success"})
        shown = json.dumps({"letters": [_letter(one) for one in self._letters]}, ensure_ascii=False, indent=2)
        return Answer(headers=(("Content-Type", "application/json; charset=utf-8"),), body=f"{shown}\n".encode())


def _letter(request: Request) -> dict[str, Any]:
    """As JSON where it is that, or else as text."""
    try:
        said = json.loads(request.body)
    except ValueError:
        said = request.body.decode(errors="replace")
    return {"at": request.at.isoformat(timespec="seconds"), "said": said}
