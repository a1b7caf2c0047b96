"""Events for others: what happened, told to whoever asked, at least once and in order. Pure."""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Any

#: Waits after the first, second, … failed delivery. After the last one the event is dead until somebody revives it.
RETRIES = tuple(timedelta(minutes=minutes) for minutes in (1, 5, 15, 60, 60, 180, 360, 720, 1440))


class Topic(StrEnum):
    """What can be listened to."""

    ITEMS_NEW = "items.new"
    TWEETS_NEW = "tweets.new"
    #: Something that somebody should look after.
    ALERT = "alert"
    #: A test message, sent on request.
    PING = "ping"


class WebhookFormat(StrEnum):
    """The form in which a webhook takes its events."""

    JSON = "json"
    #: The cards of Lark's and Feishu's bots.
    LARK = "lark"
    #: Slack's incoming webhooks, and whoever understands the same.
    SLACK = "slack"
    #: An address of Apprise, such as `tgram://…` or `mailtos://…`, which knows itself how to send there.
    APPRISE = "apprise"


_FORMATS_OF_HOSTS = {
    "hooks.slack.com": WebhookFormat.SLACK,
    "open.feishu.cn": WebhookFormat.LARK,
    "open.larksuite.com": WebhookFormat.LARK,
}


def format_told_by(url: str) -> WebhookFormat | None:
    """The only form that can be right for this address; None where it says nothing."""
    scheme, has_scheme, rest = url.strip().partition("://")
    if not has_scheme:
        return None
    if scheme.lower() not in ("http", "https"):
        return WebhookFormat.APPRISE
    return _FORMATS_OF_HOSTS.get(rest.partition("/")[0].lower())


@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    topic: Topic
    payload: Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Webhook:
    id: int
    name: str
    #: Sealed as it is stored, masked as it is shown: whoever knows the address of a Slack or Lark hook may post there.
    url: str
    topics: tuple[str, ...]
    is_active: bool
    #: The user vouches for it: it may be at a private address.
    allow_private: bool
    #: Sealed; what deliveries are signed with.
    secret: str
    created_at: datetime
    format: WebhookFormat = WebhookFormat.JSON
    #: The short name of a saved feed: of new items it is told those that are in it. Empty for all.
    feed: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Delivery:
    """One event on its way to one webhook."""

    id: int
    event_id: str
    topic: str
    webhook_id: int
    payload: Mapping[str, Any]
    created_at: datetime
    attempts: int
    #: None once it was delivered or given up.
    next_try_at: datetime | None
    delivered_at: datetime | None
    dead_at: datetime | None
    last_error: str | None


def next_try(attempts: int, now: datetime) -> datetime | None:
    """When to try again after so many failures; None when it was tried often enough."""
    return now + RETRIES[attempts - 1] if attempts <= len(RETRIES) else None


def sign(body: bytes, *, secret: str, timestamp: int) -> str:
    """HMAC-SHA256 over `timestamp.body`, so that neither can be changed nor an old one sent again unnoticed."""
    return hmac.new(secret.encode(), f"{timestamp}.".encode() + body, hashlib.sha256).hexdigest()
