"""The audit: each kind of finding with a planted leak and without, on files, on both stores and in the environment."""

from __future__ import annotations

import gzip
import os
import random
import subprocess
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sqlalchemy import insert, update

from catchment.crypto import KEY_PREFIX, Vault
from catchment.domain.sealing import seal_config
from catchment.monitor.audit import (
    BATCH,
    LOGIN_COOKIES,
    Issue,
    Kind,
    LeakSeverity,
    audit_environment,
    audit_logs,
    audit_source,
    audit_store,
    entropy,
    in_column,
    in_log,
    in_source,
    is_placeholder,
    report_of,
)
from catchment.settings import Settings
from catchment.store.database import Store
from catchment.store.platform_tables import cookies
from catchment.store.tables import config as config_table
from catchment.store.tables import sources, webhooks
from planted import LEAKED, leaky_cookie, planted_cookie
from source_factory import START

pytestmark = pytest.mark.proves("E-07")

MASTER_KEY = "a-passphrase-of-the-test-0123456789"
VAULT = Vault(key_id="key_v1", keys={"key_v1": lambda: bytes(32)})
COOKIE_ROW = {
    "name": "one",
    "platform": "xhs",
    "key_id": "key_v1",
    "status": "active",
    "is_enabled": True,
    "priority": 1,
    "daily_limit": 100,
    "daily_used": 0,
    "consecutive_errors": 0,
    "total_used": 0,
    "total_errors": 0,
    "counted_since": START,
    "description": "",
    "created_at": START,
    "updated_at": START,
}
HOOK_ROW = {
    "name": "hook",
    "url": "https://example.org/hook",
    "topics": [],
    "is_active": True,
    "allow_private": False,
    "created_at": START,
}
SOURCE_ROW = {
    "name": "A source",
    "type": "rss",
    "identity": "x",
    "tags": [],
    "is_active": True,
    "is_public": False,
    "is_deleted": False,
    "created_at": START,
    "updated_at": START,
    "fetch_count": 0,
    "fetch_error_count": 0,
    "memory": {},
    "version": 0,
}


def kinds(issues) -> list[Kind]:
    return [issue.kind for issue in issues]


def random_looking(length: int = 32) -> str:
    return ("q7Vx2Lr9Kd4Tz8Wm1Np6Bc3Hs5Jy0Gf" * 2)[:length]


def an_api_key() -> str:
    """Always the same: it is in the names of tests, which every worker must know alike."""
    return KEY_PREFIX + "0f1e2d3c4b" * 4


# Source


@pytest.mark.parametrize(
    ("name", "line", "kind"),
    [
        ("a.py", f"COOKIE = '{leaky_cookie()}'", Kind.COOKIE),
        ("a.py", f"COOKIE = '{leaky_cookie(platform='wb')}'", Kind.COOKIE),
        ("a.py", f"COOKIE = '{leaky_cookie(platform='dy')}'", Kind.COOKIE),
        ("a.py", f"API_KEY = '{random_looking()}'", Kind.SECRET),
        ("a.json", f'{{"app_secret": "{random_looking()}"}}', Kind.SECRET),
        ("a.yaml", f"password: {random_looking()}", Kind.SECRET),
        (".env.sample", f"COOKIE_MASTER_KEY={random_looking()}", Kind.SECRET),
        ("a.md", f"export SOME_TOKEN={random_looking()}", Kind.SECRET),
        ("a.txt", "-----BEGIN RSA " + "PRIVATE KEY-----", Kind.SECRET),
        ("a.py", f"KEY = '{an_api_key()}'", Kind.API_KEY),
    ],
)
def test_a_secret_in_the_source_is_found_with_its_line_and_not_shown(tmp_path, name, line, kind):
    (tmp_path / name).write_text(f"# first\n{line}\n")
    [issue] = audit_source(tmp_path)
    assert (issue.kind, issue.where, issue.line) == (kind, name, 2)
    assert LEAKED not in issue.message
    assert random_looking() not in issue.message


@pytest.mark.parametrize(
    ("name", "line"),
    [
        ("a.py", "COOKIE = f'web_session={value}; a1={other}'"),
        ("a.py", "token = read_token(settings, store)"),
        ("a.py", "password = 'correct-horse-battery-staple'"),
        ("a.py", "API_KEY = 'the-api-key-of-a-test-run-1'"),
        ("a.md", "API_KEY=<your key goes here>"),
        ("a.sh", "API_KEY=${SOME_OTHER_VARIABLE_1}"),
        ("a.json", f'{{"xsec_token": "{random_looking()}"}}'),
        ("a.json", '{"password": "***REDACTED***"}'),
        ("picture.png", f"API_KEY = '{random_looking()}'"),
    ],
)
def test_what_is_no_secret_in_the_source_is_left_alone(tmp_path, name, line):
    (tmp_path / name).write_text(line)
    assert list(audit_source(tmp_path)) == []


LOGINS = sorted(LOGIN_COOKIES | {"sessionid"})
#: As a platform might have made it up.
LOGIN = "7f3e9c2b8d1a6540" * 2


@pytest.mark.parametrize("name", LOGINS)
@pytest.mark.parametrize("form", ["{}={}", '{{"{}": "{}"}}', "https://example.org/?c=x%3B%20{}%3D{}"])
def test_a_login_is_known_by_itself_wherever_it_stands(name, form):
    text = form.format(name, LOGIN)
    assert Kind.COOKIE in kinds(in_source(f"LEAK = '{text}'", where="a.py", number=1, is_code=True))
    assert Kind.COOKIE in kinds(in_column("config", "value", text, where="here"))
    assert Kind.COOKIE in kinds(in_log(text, where="a.log", number=1))


def test_the_session_of_another_site_is_no_cookie_of_a_platform():
    assert list(in_column("config", "value", "sessionid=kq8w2m1x0zp4vt7r", where="here")) == []


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("{value}", True),
        ("040069b{value}", True),
        ("${NAME_OF_THE_VARIABLE_1}", True),
        ("$NAME_OF_THE_VARIABLE_1", True),
        ("<the-2nd-key-of-the-service>", True),
        ("***", True),
        ("…", True),
        ("key-of-the-service-12345", True),
        ("key-of-the-service-0123456789", True),
        ("q7Vx2Lr9$Kd4Tz8Wm1Np6", False),
        ("q7Vx2Lr9*Kd4Tz8Wm1Np6", False),
        ("q7Vx2Lr9{Kd4Tz8Wm1Np6", False),
        ("q7Vx2Lr9>Kd4Tz8Wm1Np6…", False),
        ("q7Vx2Lr9Kd4Tz8{x}Wm1Np6Bc3", False),
        ("q7Vx2Lr912345Kd4Tz8Wm1", False),
    ],
)
def test_a_placeholder_is_one_as_a_whole(value, expected):
    assert is_placeholder(value) is expected


def test_the_cookies_of_our_own_tests_are_placeholders():
    line = f"COOKIE = '{planted_cookie()}'"
    assert list(in_source(line, where="a.py", number=1, is_code=True)) == []


def test_hidden_folders_are_not_source_without_git(tmp_path):
    (tmp_path / ".cache").mkdir()
    (tmp_path / ".cache" / "a.py").write_text(f"API_KEY = '{random_looking()}'")
    assert list(audit_source(tmp_path)) == []


def test_this_repository_passes():
    report = report_of(audit_source(Path(__file__).parents[2]))
    assert report.passed, report.issues


@given(st.text(min_size=1))
def test_entropy_is_between_nothing_and_every_character_another(text):
    assert 0 <= entropy(text) <= 20


@given(st.text(max_size=15) | st.text(st.sampled_from("abcdefgh-"), max_size=60))
def test_what_is_short_or_made_of_words_is_a_placeholder(text):
    assert is_placeholder(text)


# Logs


@pytest.mark.proves("E-24")
@pytest.mark.parametrize(
    ("line", "kind"),
    [
        ("refused web_session=x", Kind.COOKIE),
        (f"sent Cookie: {leaky_cookie()}", Kind.COOKIE),
        ("sent Authorization: Basic abc", Kind.LOGGED),
        ("GET https://reader:abc@example.org/", Kind.LOGGED),
        (f"made the key {an_api_key()}", Kind.API_KEY),
    ],
)
@pytest.mark.parametrize("name", ["today.log", "older/yesterday.log.gz"])
def test_a_secret_in_a_log_is_found(tmp_path, line, kind, name):
    path = tmp_path / name
    path.parent.mkdir(exist_ok=True)
    with gzip.open(path, "wt") if path.suffix == ".gz" else path.open("w") as file:
        file.write(f"all is well\n{line}\n")
    [issue] = audit_logs(tmp_path)
    assert (issue.kind, issue.where, issue.line) == (kind, name, 2)


def test_a_log_that_was_redacted_is_clean(tmp_path):
    line = "Cookie: ***REDACTED***, web_session=***REDACTED*** at https://***REDACTED***@example.org, 12:30"
    (tmp_path / "today.log").write_text(f'{line}\n{{"message": "{line}", "where": "a:1"}}\n')
    assert list(audit_logs(tmp_path)) == []


WHOLE = gzip.compress(f"{leaky_cookie()}\n".encode() + random.Random(1).randbytes(100_000))


@pytest.mark.parametrize(
    ("data", "leaks"),
    [
        (WHOLE[: len(WHOLE) // 2], [Kind.COOKIE]),
        (WHOLE[:-8] + bytes(8), [Kind.COOKIE]),
        (WHOLE[:10] + b"\xff" * 20, []),
        (b"no gzip", []),
    ],
    ids=["cut off", "a wrong sum", "damaged", "no gzip"],
)
def test_a_log_that_cannot_be_read_to_its_end_is_named_and_the_next_is_looked_at(tmp_path, data, leaks):
    (tmp_path / "a.log.gz").write_bytes(data)
    (tmp_path / "z.log").write_text(leaky_cookie())
    found = list(audit_logs(tmp_path))
    (tmp_path / "z.log").unlink()
    assert [(issue.kind, issue.where) for issue in found if issue.kind is not Kind.COOKIE] == [
        (Kind.UNREADABLE, "a.log.gz")
    ]
    assert [issue.where for issue in found if issue.kind is Kind.COOKIE] == ["a.log.gz"] * len(leaks) + ["z.log"]
    assert "b'no'" not in str(found), "not even how it begins"
    assert LEAKED not in str(found)


def test_a_file_that_nobody_may_read_is_named_with_the_reason(tmp_path):
    # Not even root can read it from its beginning.
    (tmp_path / "a.py").symlink_to("/proc/self/mem")
    [issue] = audit_source(tmp_path)
    (tmp_path / "a.py").unlink()
    assert (issue.kind, issue.severity, issue.where) == (Kind.UNREADABLE, LeakSeverity.MEDIUM, "a.py")
    assert "Input/output error" in issue.message


@pytest.mark.parametrize("is_git", [True, False])
def test_a_file_whose_name_is_no_text_is_looked_at(tmp_path, is_git):
    if is_git:
        subprocess.run(["git", "init", "--quiet", tmp_path], check=True)
    path = tmp_path / os.fsdecode(b"caf\xe9.py")
    path.write_text(f"API_KEY = '{random_looking()}'")
    [issue] = audit_source(tmp_path)
    assert (issue.kind, issue.where) == (Kind.SECRET, r"caf\xe9.py")


# The store


async def planted(store: Store, table, **values) -> None:
    await store.write(lambda conn: conn.execute(insert(table).values(**values)))


async def test_a_store_that_keeps_its_secrets_is_clean(store):
    await planted(store, cookies, **COOKIE_ROW, sealed=VAULT.seal(leaky_cookie(), purpose="cookie one"))
    hook = {**HOOK_ROW, "url": VAULT.seal("https://example.org/hook", purpose="webhook address")}
    await planted(store, webhooks, **hook, secret=VAULT.seal("s", purpose="webhook"))
    auth = {"username": "ada", "password": VAULT.seal("p", purpose="password")}
    await planted(store, sources, **SOURCE_ROW, config={"url": "https://example.org/feed", "basic_auth": auth})
    assert await audit_store(store) == []


@pytest.mark.proves("R-23")
@pytest.mark.parametrize(
    "config",
    [
        {"headers": {"X-Anything": "plain"}},
        {"url": "https://user:pass@example.org/feed"},
        {"url": "https://example.org/feed?page=2&token=abc"},
        {"endpoint": "https://api.example.org/?api_key=abc"},
        {"params": {"apiKey": "abc"}},
        {"body": {"auth": {"secret": "abc"}}},
        {"basic_auth": {"username": "ada", "password": "plain"}},
    ],
    ids=lambda config: next(iter(config)),
)
async def test_a_secret_of_a_source_in_the_clear_is_found_by_what_is_declared_secret(store, config):
    await planted(store, sources, **SOURCE_ROW, config={"url": "https://example.org/feed", **config})
    [issue] = await audit_store(store)
    assert (issue.kind, issue.where) == (Kind.UNSEALED, "sources.config, row 1")
    key = next(iter(config))
    assert issue.message.startswith(key)
    sealed = seal_config({"url": "https://example.org/feed", **config}, VAULT)
    await store.write(lambda conn: conn.execute(update(sources).values(config=sealed)))
    assert await audit_store(store) == []


@pytest.mark.parametrize("leak", ["cookie", "text", "json", "api key", "hook", "password"])
async def test_a_secret_in_the_store_is_found_wherever_it_is(store, leak):
    expected = await plant(store, leak)
    issues = await audit_store(store)
    assert expected in [(issue.kind, issue.where) for issue in issues]
    assert LEAKED not in str(issues)


async def plant(store: Store, leak: str) -> tuple[Kind, str]:
    match leak:
        case "cookie":
            await planted(store, cookies, **COOKIE_ROW, sealed=leaky_cookie())
            return Kind.COOKIE, "cookies.sealed, row 1"
        case "hook":
            await planted(store, webhooks, **HOOK_ROW, secret="in the clear")
            return Kind.UNSEALED, "webhooks.secret, row 1"
        case "text" | "api key":
            value = leaky_cookie() if leak == "text" else f"key {an_api_key()}"
            await planted(store, config_table, key="k", value=value, updated_at=START)
            return (Kind.COOKIE if leak == "text" else Kind.API_KEY), "config.value, row k"
        case "json":
            config = {"url": "https://example.org/feed", "headers": {"Cookie": leaky_cookie()}}
        case _:
            auth = {"username": "ada", "password": "in the clear"}
            config = {"url": "https://example.org/feed", "basic_auth": auth}
    await planted(store, sources, **SOURCE_ROW, config=config)
    return (Kind.COOKIE if leak == "json" else Kind.UNSEALED), "sources.config, row 1"


async def test_every_row_is_looked_at_once_and_progress_is_told(store):
    rows = [{"key": f"k{number:05}", "value": "fine", "updated_at": START} for number in range(BATCH * 2 + 1)]
    rows[-1]["value"] = leaky_cookie()
    await store.write(lambda conn: conn.execute(insert(config_table), rows))
    told: list[tuple[int, int]] = []
    issues = await audit_store(store, progress=lambda done, total: told.append((done, total)))
    assert kinds(issues) == [Kind.COOKIE]
    assert told[-1][0] == told[-1][1]
    assert {total for _, total in told} == {told[-1][1]}


# The environment


def test_a_machine_that_is_set_up_has_nothing_to_complain_of(tmp_path):
    (tmp_path / "secret.key").touch(mode=0o600)
    settings = Settings(cookie_master_key=MASTER_KEY, cookie_key_salt="of this house", cookie_key_id="key_2026")
    assert (
        list(audit_environment(settings, files=[tmp_path / "secret.key", tmp_path / "not there"], holds_cookies=True))
        == []
    )


def test_what_the_settings_lack_is_named():
    found = {issue.kind: issue.severity for issue in audit_environment(Settings(), files=[], holds_cookies=True)}
    assert found == {
        Kind.NO_MASTER_KEY: LeakSeverity.HIGH,
        Kind.NO_SALT: LeakSeverity.LOW,
        Kind.NO_KEY_ID: LeakSeverity.LOW,
    }


@pytest.mark.proves("R-38")
def test_a_key_for_cookies_is_not_missed_where_there_are_none():
    found = {issue.kind for issue in audit_environment(Settings(), files=[], holds_cookies=False)}
    assert found == {Kind.NO_SALT, Kind.NO_KEY_ID}


@pytest.mark.parametrize("mode", [0o640, 0o604, 0o644])
def test_a_file_that_others_may_read_is_named(tmp_path, mode):
    path = tmp_path / "secret.key"
    path.touch()
    path.chmod(mode)
    settings = Settings(cookie_master_key=MASTER_KEY, cookie_key_salt="of this house", cookie_key_id="key_2026")
    [issue] = audit_environment(settings, files=[path], holds_cookies=True)
    assert (issue.kind, issue.severity, issue.where) == (Kind.READABLE, LeakSeverity.MEDIUM, str(path))


# The report


@given(st.lists(st.sampled_from(Kind)))
def test_the_report_counts_everything_and_passes_without_critical_and_high(found):
    report = report_of(Issue(kind=kind, where="here", message="") for kind in found).as_json()
    assert report["total_issues"] == len(found) == sum(report[severity] for severity in LeakSeverity)
    assert report["passed"] is (report["critical"] == report["high"] == 0)
    order = list(LeakSeverity)
    assert [order.index(one["severity"]) for one in report["issues"]] == sorted(
        order.index(one["severity"]) for one in report["issues"]
    )
