"""The inbox of the simulated web keeps what it is told, in whatever form it comes."""

from __future__ import annotations

import json
from datetime import UTC, datetime

from catchment.simulator.messages import Answer, IncomingRequest
from catchment.simulator.services.places import MAX_LETTERS, Inbox

START = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)


def post(inbox: Inbox, body: bytes) -> Answer:
    return inbox(IncomingRequest(method="POST", path="/inbox", query="", headers={}, body=body, at=START))


def letters(inbox: Inbox) -> list[dict[str, object]]:
    shown = inbox(IncomingRequest(method="GET", path="/inbox", query="", headers={}, body=b"", at=START))
    return json.loads(shown.body)["letters"]


def test_what_is_posted_is_shown_in_its_order():
    inbox = Inbox()
    assert letters(inbox) == []
    assert json.loads(post(inbox, b'{"alert": "A"}').body)["code"] == 0
    post(inbox, b"plain \xff")
    at = "2026-03-01T12:00:00+00:00"
    assert letters(inbox) == [{"at": at, "said": {"alert": "A"}}, {"at": at, "said": "plain \ufffd"}]


def test_the_oldest_make_room():
    inbox = Inbox()
    for number in range(MAX_LETTERS + 1):
        post(inbox, str(number).encode())
    kept = [letter["said"] for letter in letters(inbox)]
    assert (kept[0], kept[-1], len(kept)) == (1, MAX_LETTERS, MAX_LETTERS)
