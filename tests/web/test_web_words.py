"""The catalogue of words: every key has both languages, and every key that is used is there."""

from __future__ import annotations

import ast
import json
import re
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

from catchment import errors
from catchment.domain.alert_rules import AlertMessage, AlertRule, Severity
from catchment.domain.caller import Scope
from catchment.domain.crawl_errors import CrawlError
from catchment.domain.outbox import WebhookFormat
from catchment.domain.source import SourceStatus
from catchment.fetch.client import Response
from catchment.manage.doctor import CheckVerdict
from catchment.monitor.status import Language, Mark, as_counted
from catchment.publish.payloads import refusal_in
from catchment.settings import Origin, specs
from catchment.sources.platforms import answers
from catchment.sources.platforms.xhs_parser import read_data
from catchment.sources.reddit import judge
from catchment.store.database import WriteTrouble
from catchment.store.source_list import Health, Sort
from catchment.web.pages import NAVIGATION
from catchment.web.routes.system_pages import TABS
from catchment.web.translations import catalogue, in_chinese, words_in
from service_visits import START

WEB = Path(__file__).parents[2] / "src" / "catchment" / "web"
USED = re.compile(r"""\b(?:t|words)\(\s*["']([a-z_]+\.[a-zA-Z_]+)["']\s*[,)]""")
PACKAGE = WEB.parent
#: What never comes to a page: commands, programs that ask by a protocol of theirs, and what is wrong before anything starts.
ELSEWHERE = (
    "agents.py", "cli", "crypto.py", "flows", "manage/site_feeds.py", "manage/sites.py", "monitor/audit.py",
    "platforms/workflow.py", "publish", "settings", "simulator", "store/backup_manifest.py", "store/backups.py",
    "store/copy.py", "store/database.py", "store/migrate.py", "store/scrape_tasks.py", "web/greader",
    "web/routes/workflow.py", "workers.py",
)  # fmt: skip
ERRORS = {
    name
    for name, kind in vars(errors).items()
    if isinstance(kind, type) and issubclass(kind, Exception) and kind is not errors.SettingsError
}
#: Made of parts that are sentences, or words of others, themselves.
MADE_OF_PARTS = {"7 7", "7: 7", "7: 7.", "r/7 7", "scrape 7 7: 7", "7 is to be a JSON object.", "7 to 7; 7 is not."}
BRACES = re.compile(r"\{(\w+)\}")


def used_keys() -> set[str]:
    files = [*WEB.rglob("*.html"), *WEB.rglob("*.py")]
    found = {key for path in files for key in USED.findall(path.read_text())}
    made = [
        *(f"alerts.{rule}" for rule in AlertRule),
        *(f"alerts.severity_{severity}" for severity in Severity),
        *(f"account.scope_{scope}" for scope in Scope),
        *(f"sources.status_{status}" for status in SourceStatus),
        *(f"sources.mark_{mark}" for mark in Mark),
        *(f"sources.health_{health}" for health in Health),
        *(f"sources.sort_{sort}" for sort in Sort),
        *(f"overview.trouble_{trouble}" for trouble in WriteTrouble),
        *(f"sources.did_{action}" for action in ("pause", "resume", "delete", "restore", "tag", "interval")),
        *(f"sources.backlog_{state}" for state in ("pending", "failed")),
        *(f"sources.lede_{state}" for state in ("none", "well", "one", "needy", "trouble")),
        *(place.name for place in NAVIGATION),
        *(f"system.tab_{tab}" for tab in TABS),
        *(f"system.state_{state}" for state in ("running", "paused", "new", "ticks", "ok", "failed")),
        *(f"system.origin_{origin}" for origin in Origin),
        *(f"system.scope_{scope}" for scope in Scope),
        *(f"system.verdict_{verdict}" for verdict in CheckVerdict),
        *(f"system.did_{action}" for action in ("pause", "resume", "disable", "enable")),
    ]
    return {*found, *made}


@pytest.mark.proves("G-11")
def test_every_key_has_both_languages_with_the_same_that_varies():
    for key, (english, chinese) in catalogue().items():
        assert english.strip(), key
        assert chinese.strip(), key
        assert set(BRACES.findall(english)) == set(BRACES.findall(chinese)), key


@pytest.mark.proves("G-11")
def test_every_key_that_is_used_exists():
    assert used_keys() - catalogue().keys() == set()


def recorded_deeds() -> set[str]:
    """The actions that the audit trail is given, wherever something is recorded there."""
    deeds = re.compile(r"(?:alert|config|cookie|feed|follow|job|key|pack|schedule|source|user|webhook)\.[a-z_]+")
    texts = [path.read_text() for path in PACKAGE.rglob("*.py") if re.search(r"\bimport .*\bdeed\b", path.read_text())]
    constants = [node.value for text in texts for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Constant)]
    #: What is told to those who listen, and what is logged, is no deed of anybody.
    return {one for one in constants if isinstance(one, str) and deeds.fullmatch(one)} - {
        "job.failed", "source.paused", "source.resumed",
    }  # fmt: skip


@pytest.mark.proves("G-11")
def test_every_deed_of_the_audit_trail_is_told_in_both_languages():
    deeds = recorded_deeds()
    assert {"alert.mute", "webhook.change", "source.add"} <= deeds
    assert {f"trail.{one.replace('.', '_')}" for one in deeds} - catalogue().keys() == set()


@pytest.mark.proves("G-10", "G-11")
def test_every_setting_is_explained_in_both_languages():
    told = {
        name: catalogue().get(f"settings.{name.lower()}", ("",))[0] for _, spec, _ in specs() for name in spec.names[:1]
    }
    assert told == {spec.names[0]: spec.help for _, spec, _ in specs()}


@pytest.mark.proves("G-11")
def test_what_is_counted_is_told_as_people_count():
    sentences = tomllib.loads((WEB / "words" / "errors.toml").read_text())["sentences"]
    english = [pair[0] for pair in (*catalogue().values(), *sentences)]
    counted = [re.sub(r"\{\w+\}", "7", one) for one in english if "(s)" in one]
    assert [one for one in map(as_counted, counted) if "(s)" in one] == []
    assert (
        as_counted("brought 1 new item(s), 2 old one(s), 1,234 row(s)") == "brought 1 new item, 2 old ones, 1,234 rows"
    )


@pytest.mark.proves("G-11")
@pytest.mark.parametrize(
    ("english", "chinese"),
    [
        ("a.example refuses connections; check the address and port", "a.example 拒绝连接；请检查地址和端口"),
        ("There is no source 7.", "没有编号为 7 的信息源"),
        (str(refusal_in(b"<html>", WebhookFormat.LARK)), "返回的不是飞书机器人的答复，请检查 Webhook 的地址"),
        (str(refusal_in(b"[]", WebhookFormat.LARK)), "返回的不是飞书机器人的答复，请检查 Webhook 的地址"),
        (str(refusal_in(b'{"code": 19021, "msg": "sign match fail"}', WebhookFormat.LARK)), "飞书拒绝了：sign match fail"),
        (
            "a.example answered HTTP 503 for https://a.example/f: the server is in trouble: tried again later",
            "a.example 对 https://a.example/f 返回 HTTP 503：服务器故障，稍后重试",
        ),
        ("News is paused by errors: a.example refuses connections; check the address and port",
         "News 因错误暂停：a.example 拒绝连接；请检查地址和端口"),
    ],
)  # fmt: skip
def test_errors_and_alerts_are_said_in_chinese_with_the_errors_in_them(english: str, chinese: str):
    assert in_chinese(english) == chinese
    assert words_in(Language.ENGLISH).say(english) == english


@pytest.mark.proves("G-11")
@pytest.mark.parametrize(
    ("error", "english", "chinese"),
    [
        ("a.example took too long to answer; tried again later", "a.example took too long to answer", "a.example 响应超时"),
        (
            "a.example answered HTTP 503 for https://a.example/f: the server is in trouble: tried again later",
            "a.example answered HTTP 503 for https://a.example/f: the server is in trouble",
            "a.example 对 https://a.example/f 返回 HTTP 503：服务器故障",
        ),
        ("the compressed body is damaged; it is tried again later", "the compressed body is damaged", "压缩内容已损坏"),
    ],
)  # fmt: skip
def test_what_is_over_is_not_said_to_be_tried_again(error: str, english: str, chinese: str):
    assert words_in(Language.ENGLISH).say_past(error) == english
    assert words_in(Language.CHINESE).say_past(error) == chinese


def test_a_sentence_that_nobody_translated_stays_as_it_is():
    for text in ("something {else} entirely", "x" * 5000, "{", "%s"):
        assert in_chinese(text) == text


def raised_sentences() -> Iterator[tuple[str, str]]:
    """What our errors say, with a 7 for what varies, and where."""
    for path in sorted(PACKAGE.rglob("*.py")):
        place = str(path.relative_to(PACKAGE))
        if place.startswith(ELSEWHERE):
            continue
        for node in ast.walk(ast.parse(path.read_text())):
            for told in told_by(node):
                if sentence := sentence_of(told):
                    yield f"{place}:{told.lineno}", sentence


def told_by(node: ast.AST) -> Iterator[ast.expr]:
    """What an error says, and why something pasted is what it is taken for, or is doubted."""
    if isinstance(node, ast.Call):
        if isinstance(node.func, ast.Name) and node.func.id in ERRORS:
            yield from node.args[:1]
        yield from (one.value for one in node.keywords if one.arg in {"why", "doubt"})


def sentence_of(node: ast.expr) -> str:
    if isinstance(node, ast.JoinedStr):
        return "".join(str(part.value) if isinstance(part, ast.Constant) else "7" for part in node.values)
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else ""


@pytest.mark.proves("G-11")
def test_every_error_that_may_come_to_a_page_is_said_in_chinese():
    said = {place: text for place, text in raised_sentences() if text not in MADE_OF_PARTS}
    assert len(said) > 200
    assert {place: text for place, text in said.items() if in_chinese(text) == text} == {}


def refusals() -> Iterator[str]:
    """What platforms and Reddit are said to have refused, which is put together from tables."""
    reasons = [reason for reason in vars(answers).values() if isinstance(reason, answers.Reason)]
    for refused in (answers.Refusals(platform=name, statuses={}, words=()) for name in ("Weibo", "Douyin")):
        yield from (str(refused.error(reason)) for reason in reasons)
        yield str(refused.unknown("", cookie=""))
    codes = (-510001, -104, -101, -1, 300011, 300012, 300013, 300031)
    bodies = [{"success": True}, *({"success": False, "code": code} for code in codes)]
    for response in (Response(status=status, url="", headers={}, body=json.dumps(body).encode())
                     for status in (200, 461) for body in bodies):  # fmt: skip
        with pytest.raises(CrawlError) as caught:
            read_data(response, cookie="", token="")
        yield str(caught.value)
    for reason in ("private", "banned", "quarantined", "gated", "gold_only"):
        body = json.dumps({"reason": reason}).encode()
        with pytest.raises(errors.HttpError) as refusal:
            judge(Response(status=403, url="https://x/", headers={}, body=body), START, subreddit="x")
        yield str(refusal.value)


@pytest.mark.proves("G-11")
def test_every_refusal_of_a_service_is_said_in_chinese():
    # A name of ours that has no Chinese may stand in it, but no word of English beside.
    said = {text: re.sub(r"[A-Z_]{4,}|HTTP|Cookie|Reddit|xhshow|r/x", "", in_chinese(text)) for text in refusals()}
    assert len(said) > 25
    assert {text: chinese for text, chinese in said.items() if re.search("[A-Za-z]{2,}", chinese)} == {}


#: What stands in the sentences of alerts where they vary.
VARYING = {
    **dict.fromkeys(("total", "asked", "count", "minutes", "pages", "cap", "free"), 2),
    "share": "80%",
    "platform": "wb",
    "name": "News",
    "path": "X",
    "detail": "2026-03-01 12:00 UTC",
    "sentence": "The pool of wb is dry; the next is back at 14:00 UTC.",
}
ALERTS = [
    *(message.english.format(**VARYING) for message in AlertMessage if message is not AlertMessage.SAID),
    "None of 2 cookie(s) of wb can be used. The pool of wb is dry; none comes back.",
    "At 30 requests an hour the pool of wb is dry at 14:00 UTC.",
    "News is paused by errors: nobody knows why",
    "X's provider refuses the key; check TWITTER_API_KEY (no such key)",
]


@pytest.mark.proves("G-11")
@pytest.mark.parametrize("english", ALERTS)
def test_alerts_are_said_in_chinese_with_the_forecasts_and_moments_in_them(english: str):
    spoken = in_chinese(english)
    assert spoken != english
    left = re.sub(r"no such key|TWITTER_API_KEY|UTC|News|Cookie|Webhook|MB|wb|X|[^A-Za-z]", "", spoken)
    assert left == "", spoken


@pytest.mark.proves("G-08", "G-11")
@pytest.mark.parametrize("rule", AlertRule)
def test_every_runbook_is_there_in_chinese_with_the_same_commands(rule: AlertRule):
    english = PACKAGE.parents[1] / rule.runbook
    chinese = english.parent / "zh" / english.name
    commands = [re.findall(r"`([^`\n]*catchment [^`\n]*)`", path.read_text("utf-8")) for path in (english, chinese)]
    assert sorted(commands[0]) == sorted(commands[1])
    assert chinese.read_text("utf-8").startswith(f"# {rule}\n\n## 含义\n")


@pytest.mark.proves("G-08", "G-11")
@pytest.mark.parametrize("rule", AlertRule)
def test_every_runbook_names_pages_and_buttons_as_they_are_written_there(rule: AlertRule):
    english = PACKAGE.parents[1] / rule.runbook
    texts = [path.read_text("utf-8") for path in (english, english.parent / "zh" / english.name)]
    named = zip(*(re.findall(r"\*\*([^*]+)\*\*", text) for text in texts), strict=True)
    assert set(named) <= set(catalogue().values())
    looks, does = texts[0].split("## What to look at")[1].split("## What to do")
    assert ("**" in looks) >= ("catchment " in looks), "what a command shows, a page does"
    assert "**" in looks + does


ADD_ONE = "add one on the page Platforms or with `catchment cookies add`, sealed by COOKIE_MASTER_KEY."


@pytest.mark.proves("G-11")
@pytest.mark.parametrize(
    ("sentence", "english", "chinese"),
    [
        (
            "None of 2 cookie(s) of xhs can be used. The pool of xhs is dry; none comes back.",
            "None of 2 cookies of Xiaohongshu can be used. The pool of Xiaohongshu is dry; none comes back.",
            "小红书的 2 个 Cookie 均不可用。小红书的 Cookie 已用尽，不会自行恢复。",
        ),
        (
            "Of 25 requests to wb in the last 10 minutes 64% succeeded.",
            "Of 25 requests to Weibo in the last 10 minutes 64% succeeded.",
            "最近 10 分钟对微博的 25 次请求成功率为 64%。",
        ),
        (
            f"There is no cookie of dy left to use: {ADD_ONE}",
            f"There is no cookie of Douyin left to use: {ADD_ONE}",
            "没有可用的抖音 Cookie：请在“平台”页或用 `catchment cookies add` 添加（由 COOKIE_MASTER_KEY 加密）。",
        ),
        ("The page of dy is gone", "The page of dy is gone", "The page of dy is gone"),
    ],
)
def test_a_platform_is_called_what_people_call_it(sentence: str, english: str, chinese: str):
    assert words_in(Language.ENGLISH).say(sentence) == english
    assert words_in(Language.CHINESE).say(sentence).rstrip("。") == chinese.rstrip("。")


#: Of these there are always several.
ALWAYS_SEVERAL = {"alerts.cut", "sources.fetching_some", "sources.fetching_some_done", "sources.fetching_some_failed"}


def test_of_one_thing_no_sentence_speaks_as_of_several():
    several = re.compile(r"\b1 (?!(?:is|was|has|needs)\b)[a-z]+s\b")
    for key, (english, _) in catalogue().items():
        names = BRACES.findall(english)
        values = {name: "It" if name in {"name", "what", "place", "address"} else 1 for name in names}
        said = as_counted(english.format(**values)) if names else ""
        assert key in ALWAYS_SEVERAL or not several.search(said), (key, said)
