from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from catchment.redact import MASK, is_secret_name, redact_text, redact_url

pytestmark = pytest.mark.proves("E-24")


@pytest.mark.parametrize(
    "text",
    [
        "cookie web_session=hunter2; path=/",
        "my_web_session=hunter2",
        "web_session=(hunter2)",
        "web_session='hunter2",
        "web_session%3Dhunter2",
        '{"web_session": "hunter2"}',
        "a1=hunter2; gid=hunter2; webId=hunter2",
        "Authorization: Bearer hunter2",
        "{'Authorization': 'Basic hunter2'}",
        "sent Bearer hunter2 to the server",
        "Cookie: sid=hunter2; other=hunter2",
        "Set-Cookie: sid=hunter2; HttpOnly",
        "X-API-Key: hunter2",
        "api_key=hunter2&x=1",
        "apikey=hunter2",
        "client_secret='hunter2'",
        "password = hunter2",
        '"access_token": "hunter2 with spaces"',
        "CATCHMENT_MASTER_KEY=hunter2",
        '"cookie_value": "hunter2"',
        "GET https://user:hunter2@example.com/feed failed",
        "postgresql://catchment:hunter2@db/catchment",
        "postgresql://catchment:p@hunter2@db/catchment",
    ],
)
def test_secrets_do_not_survive(text: str) -> None:
    redacted = redact_text(text)
    assert "hunter2" not in redacted
    assert MASK in redacted


@pytest.mark.parametrize(
    "text",
    [
        "data1=5 and sha1=abc",
        "tokens used: 5",
        "gidding=5, webIdx=3",
        "https://example.com/feed?page=2",
        "not well-formed (invalid token): line 1, column 5",
        "visited at 10:30, 3 new items",
    ],
)
def test_what_is_no_secret_stays(text: str) -> None:
    assert redact_text(text) == text


@given(st.text())
def test_redacting_twice_changes_nothing_more(text: str) -> None:
    once = redact_text(text)
    assert redact_text(once) == once


@given(before=st.text(), value=st.text(st.characters(exclude_characters="\r\n"), max_size=30), after=st.text())
def test_nothing_but_the_mask_follows_web_session(before: str, value: str, after: str) -> None:
    redacted = redact_text(f"{before}web_session={value}{after}")
    follows = re.findall(r"web_session=(.{0,14})", redacted, re.DOTALL)
    assert all(text == MASK for text in follows)


@pytest.mark.parametrize(
    ("url", "redacted"),
    [
        ("https://example.com/feed?page=2#top", "https://example.com/feed?page=2#top"),
        ("https://u:p@example.com/", f"https://{MASK}@example.com/"),
        ("https://u:p@ss@example.com/", f"https://{MASK}@example.com/"),
        ("https://e.com/?token=abc&page=2", f"https://e.com/?token={MASK}&page=2"),
        ("https://e.com/?X-Amz-Signature=abc#x", f"https://e.com/?X-Amz-Signature={MASK}#x"),
        ("https://e.com/?accessToken=abc", f"https://e.com/?accessToken={MASK}"),
        ("https://e.com/?keyword=abc&author=me", "https://e.com/?keyword=abc&author=me"),
        ("not a url", "not a url"),
    ],
)
def test_a_url_is_shown_without_its_secrets(url: str, redacted: str) -> None:
    assert redact_url(url) == redacted


@pytest.mark.parametrize("name", ["key", "api_key", "X-API-Key", "Authorization", "Cookie", "accessToken", "sid", "a1"])
def test_names_of_secrets_are_known(name: str) -> None:
    assert is_secret_name(name)


@pytest.mark.parametrize("name", ["keyword", "page", "author", "Accept", "monkey", "passage", "If-None-Match"])
def test_other_names_are_not_taken_for_secrets(name: str) -> None:
    assert not is_secret_name(name)
