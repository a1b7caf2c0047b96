"""Letters in the forms that receivers want."""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from catchment.domain.alert_rules import Severity
from catchment.domain.outbox import Delivery, Topic, WebhookFormat
from catchment.publish.payloads import MAX_HEADLINE, MAX_LINES, MAX_SECTION, as_post, message_of, refusal_in
from source_factory import START

ALERT = {
    "alert": "COOKIE_EXHAUSTED",
    "state": "firing",
    "severity": "P0",
    "subject": "xhs",
    "message": "No cookie is left.",
    "since": START.isoformat(),
    "runbook": "docs/runbooks/cookie-exhausted.md",
}
STAMP = int(START.timestamp())


def delivery(payload=None, topic=Topic.ALERT):
    return Delivery(
        id=1,
        event_id="e-1",
        topic=topic,
        webhook_id=1,
        payload=payload or ALERT,
        created_at=START,
        attempts=0,
        next_try_at=START + timedelta(0),
        delivered_at=None,
        dead_at=None,
        last_error=None,
    )


def posted(form, payload=None, *, secret="", topic=Topic.ALERT):
    return json.loads(as_post(delivery(payload, topic), form, secret=secret, timestamp=STAMP).body)


@pytest.mark.proves("E-12")
def test_an_alert_is_a_card_for_lark():
    card = posted(WebhookFormat.LARK)
    assert (card["msg_type"], card["card"]["header"]["template"]) == ("interactive", "red")
    assert card["card"]["header"]["title"]["content"] == "P0 COOKIE_EXHAUSTED"
    assert "No cookie is left." in [element["text"]["content"] for element in card["card"]["elements"]]
    assert "sign" not in card


@pytest.mark.proves("E-12")
def test_a_signed_bot_of_lark_gets_timestamp_and_signature():
    card = posted(WebhookFormat.LARK, secret="s3cret")
    digest = hmac.new(f"{STAMP}\ns3cret".encode(), b"", hashlib.sha256).digest()
    assert (card["timestamp"], card["sign"]) == (str(STAMP), base64.b64encode(digest).decode())


@pytest.mark.proves("E-12")
@pytest.mark.parametrize(
    ("severity", "template"), list(zip(Severity, ["red", "orange", "yellow", "blue"], strict=True))
)
def test_the_colour_tells_the_severity_and_green_the_end(severity, template):
    assert posted(WebhookFormat.LARK, {**ALERT, "severity": severity})["card"]["header"]["template"] == template
    over = posted(WebhookFormat.LARK, {**ALERT, "severity": severity, "state": "resolved"})["card"]["header"]
    assert (over["template"], over["title"]["content"][:9]) == ("green", "Resolved:")


@pytest.mark.proves("E-12")
def test_an_alert_is_a_message_with_blocks_for_slack():
    message = posted(WebhookFormat.SLACK)
    assert message["text"].startswith("P0 COOKIE_EXHAUSTED\nNo cookie is left.")
    assert [block["type"] for block in message["blocks"]] == ["header", "section"]


def test_what_strangers_wrote_calls_nobody():
    message = posted(WebhookFormat.SLACK, {**ALERT, "message": "<!channel> & <@U1>"})
    assert "&lt;!channel&gt; &amp;" in message["text"]
    assert {block["text"]["type"] for block in message["blocks"]} == {"plain_text"}
    card = posted(WebhookFormat.LARK, {**ALERT, "message": "<at id=all></at>"})["card"]
    assert {element["text"]["tag"] for element in card["elements"]} == {"plain_text"}


@pytest.mark.proves("E-12")
@pytest.mark.parametrize(
    ("answer", "refused"),
    [
        (b'{"code": 0, "msg": "success"}', False),
        (b'{"StatusCode": 0, "StatusMessage": "success"}', False),
        (b'{"code": 19021, "msg": "sign match fail"}', True),
        (b"{}", True),
        (b"[]", True),
        (b"ok", True),
        (b"", True),
    ],
)
def test_lark_says_in_the_body_whether_it_took_it_in(answer, refused):
    assert (refusal_in(answer, WebhookFormat.LARK) is not None) == refused
    assert refusal_in(answer, WebhookFormat.SLACK) is None


#: Apprise makes its own requests.
POSTED = [form for form in WebhookFormat if form is not WebhookFormat.APPRISE]


@pytest.mark.parametrize(
    ("topic", "payload", "title"),
    [
        (
            Topic.ITEMS_NEW,
            {"source": {"id": 1, "name": "News"}, "items": [{"title": "A", "url": "https://a.example"}]},
            "News: 1 new item",
        ),
        (Topic.TWEETS_NEW, {"tweet_ids": [str(number) for number in range(30)]}, "30 new tweets"),
        (Topic.PING, {"message": "hello"}, "Catchment"),
        (Topic.ALERT, {"alert": "x_no_credit", "task_id": "1", "message": "no credit"}, "P1 x_no_credit"),
    ],
)
def test_every_topic_can_be_told_in_every_form(topic, payload, title):
    notice = message_of(topic, payload)
    assert (notice.title, len(notice.lines) <= MAX_LINES + 1) == (title, True)
    for form in POSTED:
        assert posted(form, payload, topic=topic)


@given(message=st.text(max_size=5000), severity=st.sampled_from(Severity), secret=st.text(max_size=20))
def test_no_message_is_too_much_for_a_form(message, severity, secret):
    for form in POSTED:
        told = posted(form, {**ALERT, "message": message, "severity": severity}, secret=secret)
        if form is WebhookFormat.SLACK:
            assert len(told["blocks"][0]["text"]["text"]) <= MAX_HEADLINE
            assert 0 < len(told["blocks"][1]["text"]["text"]) <= MAX_SECTION
