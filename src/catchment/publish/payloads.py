"""Letters as they are posted: the JSON of our own, signed; a card for Lark; a message for Slack or Apprise. Pure."""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any

from catchment.domain.alert_rules import Severity
from catchment.domain.outbox import Delivery, Topic, WebhookFormat, sign

#: Of a long list the first ones tell enough.
MAX_LINES = 10


class Tone(StrEnum):
    RED = "red"
    ORANGE = "orange"
    YELLOW = "yellow"
    GREEN = "green"
    BLUE = "blue"


TONES: Mapping[str, Tone] = {
    Severity.P0: Tone.RED,
    Severity.P1: Tone.ORANGE,
    Severity.P2: Tone.YELLOW,
    Severity.P3: Tone.BLUE,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Message:
    title: str
    lines: tuple[str, ...]
    tone: Tone = Tone.BLUE

    @property
    def text(self) -> str:
        return "\n".join(self.lines)


def message_of(topic: str, payload: Mapping[str, Any]) -> Message:
    match topic:
        case Topic.ALERT:
            return _of_alert(payload)
        case Topic.ITEMS_NEW:
            return _of_items(payload)
        case Topic.TWEETS_NEW:
            return Message(title=_counted(len(payload["tweet_ids"]), "new tweet"), lines=_cut(payload["tweet_ids"]))
        case _:
            return Message(title="Catchment", lines=(str(payload.get("message", topic)),))


def _of_alert(payload: Mapping[str, Any]) -> Message:
    """Those that come from a rule say more than the others do."""
    is_over = payload.get("state") == "resolved"
    severity = payload.get("severity", Severity.P1)
    title = f"{severity} {payload['alert']}"
    told = {"About": payload.get("subject"), "Since": payload.get("since"), "Runbook": payload.get("runbook")}
    return Message(
        title=f"Resolved: {title}" if is_over else title,
        lines=(str(payload["message"]), *(f"{name}: {value}" for name, value in told.items() if value)),
        tone=Tone.GREEN if is_over else TONES[severity],
    )


def _of_items(payload: Mapping[str, Any]) -> Message:
    items = payload["items"]
    return Message(
        title=f"{payload['source']['name']}: {_counted(len(items), 'new item')}",
        lines=_cut([f"{item['title']} {item['url']}".strip() for item in items]),
    )


def _counted(count: int, noun: str) -> str:
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"


def _cut(lines: list[str]) -> tuple[str, ...]:
    left = len(lines) - MAX_LINES
    return (*lines[:MAX_LINES], *([f"and {left} more"] if left > 0 else []))


#: What Slack takes at most in a headline and in a section.
MAX_HEADLINE, MAX_SECTION = 150, 3000


@dataclass(frozen=True, slots=True, kw_only=True)
class HttpPost:
    body: bytes
    headers: Mapping[str, str]


def as_post(delivery: Delivery, form: WebhookFormat, *, secret: str, timestamp: int) -> HttpPost:
    """`secret` may be empty for Lark and Slack, whose addresses are secrets themselves."""
    match form:
        case WebhookFormat.JSON:
            return _own(delivery, secret, timestamp)
        case WebhookFormat.LARK:
            card = _lark_card(message_of(delivery.topic, delivery.payload))
            return _plain({**_lark_signature(secret, timestamp), **card})
        case WebhookFormat.SLACK:
            return _plain(_slack_message(message_of(delivery.topic, delivery.payload)))
        case WebhookFormat.APPRISE:
            raise ValueError("Apprise makes its own requests.")


def for_chats(message: Message) -> Message:
    """As it may be said in a room of whatever service: nothing that a stranger wrote calls everybody in it."""
    return replace(message, title=_uncalling(message.title), lines=tuple(map(_uncalling, message.lines)))


#: How rooms are called: `@everyone` and `@here` in most, `<!channel>` in Slack, `<@&12>` in Discord.
_CALLS = re.compile(r"(?<=@)(?=[!&\d]|all\b|channel\b|everyone\b|here\b|room\b)|(?<=<)(?=[!@#])", re.IGNORECASE)


def _uncalling(text: str) -> str:
    return _CALLS.sub("\u200b", text)


def refusal_in(answer: bytes, form: WebhookFormat) -> str | None:
    """Why it was not taken in although the answer's status says so; Lark tells it in the body alone."""
    if form is not WebhookFormat.LARK:
        return None
    try:
        said = json.loads(answer)
    except ValueError:
        said = None
    if not isinstance(said, dict):
        return "no bot of Lark answered; check the webhook's address"
    if 0 in (said.get("code"), said.get("StatusCode")):
        return None
    return f"Lark refused it: {said.get('msg') or said.get('StatusMessage') or said}"


def lark_sign(secret: str, timestamp: int) -> str:
    """As Lark's bots want it: the key is what would be the message elsewhere, and the message is empty."""
    return base64.b64encode(hmac.digest(f"{timestamp}\n{secret}".encode(), b"", hashlib.sha256)).decode()


def _own(delivery: Delivery, secret: str, timestamp: int) -> HttpPost:
    told = {"id": delivery.event_id, "topic": delivery.topic, "at": delivery.created_at.isoformat(), **delivery.payload}
    body = json.dumps(told).encode()
    return HttpPost(
        body=body,
        headers={
            "Content-Type": "application/json",
            "X-Catchment-Event": delivery.topic,
            "X-Catchment-Delivery": delivery.event_id,
            "X-Catchment-Timestamp": str(timestamp),
            "X-Catchment-Signature": f"sha256={sign(body, secret=secret, timestamp=timestamp)}",
        },
    )


def _plain(message: Mapping[str, Any]) -> HttpPost:
    body = json.dumps(message, ensure_ascii=False).encode()
    return HttpPost(body=body, headers={"Content-Type": "application/json; charset=utf-8"})


def _lark_signature(secret: str, timestamp: int) -> dict[str, str]:
    return {"timestamp": str(timestamp), "sign": lark_sign(secret, timestamp)} if secret else {}


def _lark_card(notice: Message) -> dict[str, Any]:
    # Plain text throughout: what a stranger wrote must not become a link or call everybody in the room.
    return {
        "msg_type": "interactive",
        "card": {
            "header": {"title": {"tag": "plain_text", "content": notice.title}, "template": notice.tone},
            "elements": [{"tag": "div", "text": {"tag": "plain_text", "content": line}} for line in notice.lines],
        },
    }


def _slack_message(notice: Message) -> dict[str, Any]:
    return {
        "text": _escaped(f"{notice.title}\n{notice.text}")[:MAX_SECTION],
        "blocks": [
            {"type": "header", "text": {"type": "plain_text", "text": notice.title[:MAX_HEADLINE]}},
            {"type": "section", "text": {"type": "plain_text", "text": notice.text[:MAX_SECTION] or notice.title}},
        ],
    }


def _escaped(text: str) -> str:
    """`text` is read as markup, where `<!channel>` would call everybody."""
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
