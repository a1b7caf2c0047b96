"""The simulated Xiaohongshu looks like the real one, and refuses whom it should."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from catchment.simulator.messages import Answer, IncomingRequest, head_lines
from catchment.simulator.services.keyword_platforms import Script, TroubleKind
from catchment.simulator.services.xhs import XhsService
from catchment.simulator.world import World
from service_visits import capture

pytestmark = pytest.mark.proves("E-13")
START = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)
SIGNED = {"x-s": "XYS_1", "x-t": "1", "x-s-common": "2"}
SIGNED_IN = {**SIGNED, "cookie": "a1=1; web_session=s1; webId=3"}
SEARCH = {"keyword": "茶", "page": 1, "page_size": 20, "sort": "general", "note_type": 0}


def service(seed: int = 1) -> XhsService:
    return XhsService(World(seed=seed, sites=1, started_at=START))


def ask(
    place: XhsService, path: str, body: object = None, *, query: str = "", headers: dict[str, str] = SIGNED_IN, at=START
) -> dict[str, Any]:
    sent = b"" if body is None else json.dumps(body).encode()
    request = IncomingRequest(
        method="GET" if body is None else "POST",
        path=f"/api/sns/web{path}",
        query=query,
        headers=headers,
        body=sent,
        at=at,
    )
    answer: dict[str, Any] = json.loads(place(request).body)
    return answer


def found(place: XhsService, **more: Any) -> list[dict[str, Any]]:
    listed = ask(place, "/v1/search/notes", SEARCH, **more)["data"]["items"]
    return [item for item in listed if item["model_type"] == "note"]


def feed(place: XhsService, item: dict[str, Any], *, token: str | None = None) -> list[dict[str, Any]]:
    body = {"source_note_id": item["id"], "xsec_token": token or item["xsec_token"]}
    items: list[dict[str, Any]] = ask(place, "/v1/feed", body)["data"]["items"]
    return items


def assert_alike(captured: dict[str, Any], played: dict[str, Any], *, only: set[str]) -> None:
    assert {key: type(captured[key]) for key in only} == {key: type(played[key]) for key in only}


def test_notes_have_the_fields_of_captured_ones():
    captured = json.loads(capture("xhs", "web_search_notes_2026-04_trimmed.json"))["data"]["items"][0]
    played = found(service())[0]
    assert_alike(captured, played, only={"id", "model_type", "xsec_token", "note_card"})
    assert_alike(
        captured["note_card"],
        played["note_card"],
        only={"type", "display_title", "user", "interact_info", "image_list"},
    )
    told = feed(service(), played)[0]["note_card"]
    captured = json.loads(capture("xhs", "web_feed_note_detail_2023.json"))["data"]["items"][0]["note_card"]
    assert_alike(captured, told, only=set(captured) - {"share_info"})


def test_comments_have_the_fields_of_captured_ones():
    captured = json.loads(capture("xhs", "web_comment_page_2026-04_trimmed.json"))["data"]["comments"][0]
    place = service()
    item = max(found(place), key=lambda one: int(one["note_card"]["interact_info"]["comment_count"]))
    query = f"note_id={item['id']}&cursor=&xsec_token={item['xsec_token']}"
    played = ask(place, "/v2/comment/page", query=query)["data"]["comments"][0]
    assert_alike(captured, played, only=set(captured) - {"ip_location", "show_tags", "at_users"})


def test_the_same_seed_tells_the_same_story():
    assert found(service()) == found(service())
    assert feed(service(), found(service())[0]) == feed(service(), found(service())[0])
    assert found(service(seed=2)) != found(service())


def test_notes_appear_with_time():
    place = service()
    later = found(place, at=START + timedelta(minutes=10))
    assert later[1:] == found(place)[:-1]


@pytest.mark.parametrize("missing", SIGNED)
def test_who_does_not_sign_is_refused(missing):
    headers = {name: value for name, value in SIGNED_IN.items() if name != missing}
    assert ask(service(), "/v1/search/notes", SEARCH, headers=headers)["code"] == -104


@pytest.mark.parametrize("cookie", ["", "a1=1; webId=3", "web_session=s1; webId=3", "a1=1; web_session=s1"])
def test_who_is_not_signed_in_is_told_so(cookie):
    answer = ask(service(), "/v1/search/notes", SEARCH, headers={**SIGNED, "cookie": cookie})
    assert answer["msg"] == "登录已过期"


@pytest.mark.parametrize("token", ["", "nonsense", "AB====", "AB*"])
def test_a_note_is_shown_for_its_own_token_only(token):
    place = service()
    first, second = found(place)[:2]
    assert feed(place, first)
    assert not feed(place, first, token=token or second["xsec_token"])


def test_troubles_strike_whom_they_are_for_and_as_often_as_they_say():
    script = Script({kind: Answer(body=kind.encode()) for kind in TroubleKind if kind is not TroubleKind.SLOW})

    def answered(cookie: str, note: str | None = None) -> bytes:
        return script.answer(cookie=cookie, note=note, play=lambda: Answer(body=b"well")).body

    script.trouble(TroubleKind.CAPTCHA, cookie="s1", times=2)
    script.trouble(TroubleKind.BANNED, cookie="s1", times=1)
    script.trouble(TroubleKind.GONE, note="n1")
    assert [answered("s1") for _ in range(4)] == [b"captcha", b"captcha", b"banned", b"well"]
    assert [answered("s2", "n1"), answered("s2", "n2")] == [b"gone", b"well"]
    script.lift(note="n1")
    assert answered("s2", "n1") == b"well"


def test_numbers_that_http_does_not_know_can_be_answered():
    assert head_lines(461, (), 0).startswith(b"HTTP/1.1 461 Unknown\r\n")
