from __future__ import annotations

import re

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from catchment.redact import MASK, PLATFORM_COOKIES, is_secret_name, redact_hook, redact_text, redact_url, sightings

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
        "COOKIE_MASTER_KEY_OLD: hunter2",
        "COOKIE_KEY_KEY_V0=hunter2",
        "https://www.xiaohongshu.com/explore/1?xsec_token=hunter2&xsec_source=pc_search",
        "https://example.org/feed?page=1&sig=hunter2",
        'Cookie: a="x"; b=hunter2',
        'Cookie: "hunter2',
        '{"Cookie": "a=\\"x\\"; b=hunter2"}',
        '{"body": "{\\"cookie_value\\": \\"hunter2\\"}"}',
        "饼干a1=hunter2",
        "Bearer bearer hunter2",
        "SUB=_2Ahunter2; SUBP=hunter2; SSOLoginState=hunter2; WBPSESS=hunter2",
        "sessionid=hunter2; sid_tt=hunter2; ttwid=1%7Chunter2; msToken=hunter2; LOGIN_STATUS=1",
        "SCF=hunter2; uid_tt=hunter2; uid_tt_ss=hunter2; sid_ucp_v1=hunter2; ssid_ucp_v1=hunter2",
        "passport_auth_status=hunter2",
        "/visitor?from=x%3B%20SUB%3D_2A25hunter2",
        "cookies%5B%5D=a%3B%20sessionid%3Dhunter2",
        "state=%7B%22SUB%22%3A%22hunter2%22%7D",
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
        "LOGIN_STATUS=1",
        "COOKIE_KEY_SALT=mediacrawler_v3, COOKIE_KEY_ID=key_v1",
        "https://example.org/explore/1?xsec_source=pc_search&keyword=tea",
        "https://example.com/feed?page=2",
        "not well-formed (invalid token): line 1, column 5",
        "visited at 10:30, 3 new items",
    ],
)
def test_what_is_no_secret_stays(text: str) -> None:
    assert redact_text(text) == text


def test_json_stays_json() -> None:
    assert redact_text('{"cookie_value": "hunter2", "id": 1}') == f'{{"cookie_value": "{MASK}", "id": 1}}'


PIECES = [
    *("web_session", "a1", "token", "Cookie", "Authorization", "Bearer ", "api_key", "cookie_value", "COOKIE_KEY_V1"),
    *(
        "=",
        ":",
        ": ",
        " = ",
        "%3D",
        '"',
        "'",
        "\\",
        '\\"',
        " ",
        "\n",
        ";",
        "&",
        "?",
        "@",
        "://",
        "#",
        ",",
        MASK,
        "x",
        "é",
    ),
]


@given(st.text() | st.lists(st.sampled_from(PIECES)).map("".join))
def test_redacting_twice_changes_nothing_more(text: str) -> None:
    once = redact_text(text)
    assert redact_text(once) == once


PLACES = [
    "web_session={}",
    *(f" {name}={{}};" for name in PLATFORM_COOKIES),
    "Cookie: name={}; path=/",
    "\nset-cookie: sid={}",
    "Authorization: Basic {}",
    " bearer {}",
    "https://example.org/feed?page=1&access_token={}#top",
    "https://reader:{}@example.org/feed",
    '"cookie_string": "{}"',
    "'password': '{}'",
    '\\"api_key\\": \\"{}\\"',
    "COOKIE_MASTER_KEY={}",
]
SECRETS = st.text(st.sampled_from("abcdefXYZ0123456789_-+."), min_size=12, max_size=40)


@given(before=st.text(), place=st.sampled_from(PLACES), secret=SECRETS, after=st.text())
def test_a_secret_survives_nowhere(before: str, place: str, secret: str, after: str) -> None:
    assume(secret not in before and secret not in after)
    assert secret not in redact_text(f"{before}{place.format(secret)}{after}")


@given(place=st.sampled_from(PLACES), secret=SECRETS)
def test_a_secret_is_sighted_until_it_is_struck_out(place: str, secret: str) -> None:
    text = place.format(secret)
    assert [value for _, value in sightings(text) if secret in value]
    assert list(sightings(redact_text(text))) == []


@given(st.text(st.characters(exclude_characters=":=%@?")).filter(lambda text: "bearer" not in text.lower()))
def test_text_without_secrets_is_left_as_it_is(text: str) -> None:
    assert redact_text(text) == text


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


@pytest.mark.parametrize(
    ("url", "redacted"),
    [
        ("https://hooks.slack.com/services/T0A/B0B/QpZsEcReTpAtH", f"https://hooks.slack.com/services/T0A/B0B/{MASK}"),
        (
            "https://open.feishu.cn/open-apis/bot/v2/hook/1f2e-3d4c-5b6a",
            f"https://open.feishu.cn/open-apis/bot/v2/hook/{MASK}",
        ),
        ("https://e.com/hook/QpZsEcReTpAtH/?thread=2", f"https://e.com/hook/{MASK}/?thread=2"),
        ("https://u:p@e.com/hooks?token=abc", f"https://{MASK}@e.com/hooks?token={MASK}"),
        ("https://hooks.example.org", "https://hooks.example.org"),
        ("https://hooks.example.org/catchment", "https://hooks.example.org/catchment"),
        ("not a url", "not a url"),
    ],
)
def test_the_address_of_a_webhook_is_shown_without_what_lets_anybody_in(url: str, redacted: str) -> None:
    assert redact_hook(url) == redacted


@pytest.mark.parametrize("name", ["key", "api_key", "X-API-Key", "Authorization", "Cookie", "accessToken", "sid", "a1"])
def test_names_of_secrets_are_known(name: str) -> None:
    assert is_secret_name(name)


@pytest.mark.parametrize("name", ["keyword", "page", "author", "Accept", "monkey", "passage", "If-None-Match"])
def test_other_names_are_not_taken_for_secrets(name: str) -> None:
    assert not is_secret_name(name)
