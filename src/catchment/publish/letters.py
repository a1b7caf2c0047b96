"""Letters as they are posted: the JSON of our own, signed; a card for Lark; a message for Slack. Pure."""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from catchment.domain.outbox import Format, Letter, sign
from catchment.publish.notices import Notice, notice_of

#: What Slack takes at most in a headline and in a section.
MOST_HEADLINE, MOST_SECTION = 150, 3000


@dataclass(frozen=True, slots=True, kw_only=True)
class Post:
    body: bytes
    headers: Mapping[str, str]


def as_post(letter: Letter, form: Format, *, secret: str, timestamp: int) -> Post:
    """`secret` may be empty for Lark and Slack, whose addresses are secrets themselves."""
    match form:
        case Format.JSON:
            return _own(letter, secret, timestamp)
        case Format.LARK:
            card = _lark_card(notice_of(letter.topic, letter.payload))
            return _plain({**_lark_signature(secret, timestamp), **card})
        case Format.SLACK:
            return _plain(_slack_message(notice_of(letter.topic, letter.payload)))


def refusal_in(answer: bytes, form: Format) -> str | None:
    """Why it was not taken in although the answer's status says so; Lark tells it in the body alone."""
    if form is not Format.LARK:
        return None
    try:
        said = json.loads(answer)
    except ValueError:
        return "Lark's answer is not JSON"
    if not isinstance(said, dict):
        return "Lark's answer is not an object"
    if 0 in (said.get("code"), said.get("StatusCode")):
        return None
    return f"Lark refused it: {said.get('msg') or said.get('StatusMessage') or said}"


def lark_sign(secret: str, timestamp: int) -> str:
    """As Lark's bots want it: the key is what would be the message elsewhere, and the message is empty."""
    return base64.b64encode(hmac.digest(f"{timestamp}\n{secret}".encode(), b"", hashlib.sha256)).decode()


def _own(letter: Letter, secret: str, timestamp: int) -> Post:
    told = {"id": letter.event_id, "topic": letter.topic, "at": letter.created_at.isoformat(), **letter.payload}
    body = json.dumps(told).encode()
    return Post(
        body=body,
        headers={
            "Content-Type": "application/json",
            "X-Catchment-Event": letter.topic,
            "X-Catchment-Delivery": letter.event_id,
            "X-Catchment-Timestamp": str(timestamp),
            "X-Catchment-Signature": f"sha256={sign(body, secret=secret, timestamp=timestamp)}",
        },
    )


def _plain(message: Mapping[str, Any]) -> Post:
    body = json.dumps(message, ensure_ascii=False).encode()
    return Post(body=body, headers={"Content-Type": "application/json; charset=utf-8"})


def _lark_signature(secret: str, timestamp: int) -> dict[str, str]:
    return {"timestamp": str(timestamp), "sign": lark_sign(secret, timestamp)} if secret else {}


def _lark_card(notice: Notice) -> dict[str, Any]:
    # Plain text throughout: what a stranger wrote must not become a link or call everybody in the room.
    return {
        "msg_type": "interactive",
        "card": {
            "header": {"title": {"tag": "plain_text", "content": notice.title}, "template": notice.tone},
            "elements": [{"tag": "div", "text": {"tag": "plain_text", "content": line}} for line in notice.lines],
        },
    }


def _slack_message(notice: Notice) -> dict[str, Any]:
    return {
        "text": _escaped(f"{notice.title}\n{notice.text}")[:MOST_SECTION],
        "blocks": [
            {"type": "header", "text": {"type": "plain_text", "text": notice.title[:MOST_HEADLINE]}},
            {"type": "section", "text": {"type": "plain_text", "text": notice.text[:MOST_SECTION] or notice.title}},
        ],
    }


def _escaped(text: str) -> str:
    """`text` is read as markup, where `<!channel>` would call everybody."""
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
