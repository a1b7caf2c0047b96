from __future__ import annotations

import json
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest
from command import Command, environment

from planted import LEAKED, leaky_cookie

pytestmark = pytest.mark.proves("E-07")

ROOT = Path(__file__).parents[2]
SET_UP = {
    "COOKIE_MASTER_KEY": "a-passphrase-of-the-test-0123456789",
    "COOKIE_KEY_SALT": "of this house",
    "COOKIE_KEY_ID": "key_2026",
}


def leak(home: Path) -> None:
    with sqlite3.connect(home / "catchment.sqlite3") as conn:
        conn.execute("INSERT INTO config VALUES ('x', ?, '2026-03-01T12:00:00+00:00')", [leaky_cookie()])


def test_a_machine_that_is_set_up_passes_with_0(catchment: Command) -> None:
    catchment.json("sources", "list")
    for path in catchment.home.iterdir():
        path.chmod(0o600)
    expected = {"total_issues": 0, "critical": 0, "high": 0, "medium": 0, "low": 0, "issues": [], "passed": True}
    assert catchment.json("audit", **SET_UP) == expected


def test_a_plaintext_cookie_in_the_store_fails_with_1_and_is_not_shown(catchment: Command) -> None:
    catchment.json("sources", "list")
    leak(catchment.home)
    for words in (("audit", "--json"), ("audit",)):
        result = catchment(*words, **SET_UP)
        assert result.exit_code == 1
        assert "plaintext_cookie" in result.stdout
        assert LEAKED not in result.output
    [issue] = [
        one for one in json.loads(catchment("audit", "--json").stdout)["issues"] if one["severity"] == "critical"
    ]
    assert issue["where"] == "config.value, row x"
    assert {"kind", "message", "what_to_do"} < set(issue)


def test_settings_are_left_out_by_no_env(catchment: Command) -> None:
    assert "missing_key_salt" in {issue["kind"] for issue in catchment.json("audit")["issues"]}
    assert catchment.json("audit", "--no-env")["issues"] == []


def test_another_database_and_logs_may_be_named(catchment: Command) -> None:
    (catchment.home / "logs").mkdir()
    (catchment.home / "logs" / "today.log").write_text("sent web_session=abc\n")
    [issue] = json.loads(catchment("audit", "--no-env", "--check-logs", "logs", "--json").stdout)["issues"]
    assert (issue["where"], issue["line"]) == ("today.log", 1)
    catchment.json("config", "set", "FETCH_INTERVAL_RSS", "60", DATABASE_URL="sqlite:///other.sqlite3")
    assert catchment("audit", "--no-env", "--database", "sqlite:///other.sqlite3").exit_code == 0
    assert catchment("audit", "--no-env", "--database", "sqlite:///none.sqlite3").exit_code == 2
    assert catchment("audit", "--no-env", "--check-logs", "nowhere").exit_code == 1
    assert not (catchment.home / "none.sqlite3").exists()


@pytest.mark.docs
def test_the_script_audits_this_working_copy_in_the_same_way(home: Path) -> None:
    def run(*words: str) -> subprocess.CompletedProcess[str]:
        script = [sys.executable, str(ROOT / "scripts" / "security_audit.py"), "--json", *words]
        return subprocess.run(script, cwd=home, env=environment(home), capture_output=True, text=True, check=False)

    ended = run("--no-env")
    assert (ended.returncode, json.loads(ended.stdout)["passed"]) == (0, True), ended.stdout
    (home / "planted.py").write_text(f"COOKIE = {leaky_cookie()!r}\n")
    ended = run("--no-env", "--source", ".")
    assert (ended.returncode, json.loads(ended.stdout)["critical"]) == (1, 1)
