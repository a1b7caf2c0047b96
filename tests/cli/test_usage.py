from __future__ import annotations

import gc
import io
import json
import subprocess
import sys
from contextlib import redirect_stdout
from pathlib import Path

import pytest
from command import Command, Start, environment
from typer.core import TyperGroup
from typer.main import get_command

from catchment import __version__
from catchment.cli.main import app, run


def every_command(group: TyperGroup, *path: str) -> list[tuple[str, ...]]:
    found: list[tuple[str, ...]] = []
    for name in group.list_commands(None):
        command = group.get_command(None, name)
        found += every_command(command, *path, name) if isinstance(command, TyperGroup) else [(*path, name)]
    return found


COMMANDS = every_command(get_command(app))
#: More than a column of either store holds.
BEYOND = str(2**63)


def test_a_command_that_is_none_is_answered_with_the_likely_one(catchment: Command) -> None:
    said = catchment("stauts").stderr
    assert "Did you mean 'status'" in said


def test_the_commands_are_those_that_were_promised() -> None:
    promised = [
        "up",
        "signin",
        "demo",
        "collect",
        "worker",
        "add",
        "import",
        "export",
        "apply",
        "sitemap",
        "undo",
        "status",
        "why",
        "trail",
        "alerts",
        "doctor",
        "docs",
        "audit",
        "backup",
        "restore",
        "migrate-store",
        "mcp",
    ]
    groups = {
        "sources": "list show pause resume remove history set",
        "items": "list search show export reindex",
        "packs": "create list show install export remove",
        "feeds": "create list show set remove write upload",
        "x": "scrape schedule status follow unfollow follows",
        "cookies": "add list enable disable set reset remove validate rotate forecast",
        "crawl": "search detail run executions recover n8n",
        "jobs": "list pause resume run",
        "hooks": "add list remove ping deliveries redeliver",
        "feishu": "check",
        "config": "list set unset",
        "keys": "create list revoke",
        "users": "add list disable enable digests reset-password subscribe",
    }
    expected = {(name,) for name in promised} | {(group, one) for group, all_ in groups.items() for one in all_.split()}
    assert set(COMMANDS) == expected


@pytest.mark.parametrize("words", COMMANDS, ids=" ".join)
def test_every_command_explains_itself_with_an_example(catchment: Command, words: tuple[str, ...]) -> None:
    result = catchment(*words, "--help")
    assert result.exit_code == 0
    assert f"Example: catchment {' '.join(words)}" in " ".join(result.stdout.split())


@pytest.mark.parametrize(
    "words",
    [
        ("fly",),
        ("add",),
        ("add", ""),
        ("add", " "),
        ("apply",),
        ("export", "--format", "csv"),
        ("sources", "show", "five"),
        ("items", "list", "--limit", "-1"),
        ("up", "--port", "70000"),
        ("demo", "--faulty", "2"),
        ("demo", "--faulty", "nan"),
        ("demo", "--speed", "inf"),
        ("collect", "--loop", "--source", "5"),
        ("collect", "--loop", "--json"),
        ("collect", "--source", BEYOND),
        ("sources", "show", BEYOND),
        ("items", "list", "--source", BEYOND),
        ("items", "list", "--limit", BEYOND),
        ("keys", "revoke", BEYOND),
        ("hooks", "ping", BEYOND),
        ("hooks", "deliveries", "--webhook", BEYOND),
        ("hooks", "redeliver", BEYOND),
        ("crawl", "run", "--source", BEYOND),
    ],
    ids=" ".join,
)
def test_wrong_usage_is_exit_code_2_and_says_why_on_stderr(catchment: Command, words: tuple[str, ...]) -> None:
    result = catchment(*words)
    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("COLLECTOR_TICK", "soon"),
        ("COLLECTOR_CONCURRENCY", "0"),
        ("CATCHMENT_PORT", "high"),
        ("CATCHMENT_ALLOW_NETWORKS", "not a network"),
        ("DATABASE_URL", "mysql://somewhere/db"),
        ("DATABASE_URL", "postgresql://somebody@somewhere:port/db"),
        ("COOKIE_DAILY_TZ", "Asia"),
        ("SCRAPER_CRON", "now and then"),
    ],
)
def test_a_setting_that_cannot_be_read_is_exit_code_2_and_named(catchment: Command, name: str, value: str) -> None:
    result = catchment("sources", "list", **{name: value})
    assert result.exit_code == 2
    assert result.stderr.startswith(f"Error: {name}")
    assert result.stderr.count("\n") == 1


async def test_a_real_process_ends_with_the_same_codes_and_no_trace(start: Start) -> None:
    process = await start("sources", "list", COLLECTOR_TICK="soon")
    assert await process.ends() == 2
    assert "".join(process.said).startswith("Error: COLLECTOR_TICK: 'soon' is not seconds")
    assert "Traceback" not in "".join(process.said)


def test_a_store_that_cannot_be_used_is_a_sentence_not_a_trace(catchment: Command) -> None:
    (catchment.home / "catchment.sqlite3").write_text("this is no database, however long one looks at it" * 100)
    result = catchment("sources", "list")
    assert result.exit_code == 1
    assert result.stderr.startswith("Error: ")
    assert "Traceback" not in result.stderr


def test_settings_that_are_no_text_are_a_sentence_not_a_trace(catchment: Command) -> None:
    (catchment.home / ".env").write_bytes("API_KEY=café".encode("latin-1"))
    result = catchment("sources", "list")
    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr == "Error: .env is not text in UTF-8; save it as such.\n"


@pytest.mark.parametrize("words", [("sitemap",), ("sitemap", "--full"), ("add", "--no-check", "--type", "rss")])
@pytest.mark.parametrize("address", ["http://[bad", "https://xn--/", "https://example.org:port/"])
def test_what_is_no_address_is_a_sentence_not_a_trace(catchment: Command, words: tuple[str, ...], address: str) -> None:
    result = catchment(*words, address)
    assert (result.exit_code, result.stdout) == (1, "")
    assert result.stderr.startswith(f"Error: '{address}' is not a URL that can be read")


#: No system takes a name so long: looking for it fails, as it does in a folder of somebody else.
UNREACHABLE = "x" * 300


@pytest.mark.parametrize(
    "words",
    ["backup", "restore", "export -o", "items export -o", "packs install", "audit --source", "audit --database"],
)
def test_a_file_that_may_not_even_be_looked_for_is_a_sentence_not_a_trace(catchment: Command, words: str) -> None:
    catchment.json("add", "https://example.org/feed", "--no-check")
    result = catchment(*words.split(), UNREACHABLE)
    assert (result.exit_code, result.stdout) == (1, "")
    assert result.stderr.startswith(f"Error: {UNREACHABLE}")
    assert result.stderr.endswith(": File name too long.\n")


def test_a_data_folder_that_may_not_be_looked_into_is_a_sentence_not_a_trace(catchment: Command) -> None:
    result = catchment("status", CATCHMENT_HOME=UNREACHABLE)
    assert (result.exit_code, result.stdout) == (1, "")
    assert result.stderr.startswith(f"Error: {UNREACHABLE}")


@pytest.mark.parametrize(
    "words",
    [
        ("cookies", "reset"),
        ("crawl", "executions", "--workflow"),
        ("items", "search", "word", "--tag"),
        ("migrate-store", "--to"),
    ],
    ids=" ".join,
)
def test_an_argument_that_is_no_text_is_a_sentence_not_a_trace(catchment: Command, words: tuple[str, ...]) -> None:
    catchment.json("add", "https://example.org/feed", "--no-check")
    result = catchment(*words, "sqlite:///\udcff")
    assert (result.exit_code, result.stdout) == (1, "")
    assert result.stderr.endswith("\\udcff' is not text in UTF-8; write it as such.\n")


def test_keys_are_shown_once_and_revoked(catchment: Command) -> None:
    made = catchment.json("keys", "create", "script", "--role", "service")
    assert made["api_key"].startswith(made["key"]["prefix"])
    assert made["api_key"] not in json.dumps(catchment.json("keys", "list"))
    assert catchment.json("keys", "revoke", str(made["key"]["id"]))["is_active"] is False
    assert catchment("keys", "revoke", "99").exit_code == 1


def test_a_key_needs_a_user_or_a_role(catchment: Command) -> None:
    assert catchment("keys", "create", "nobody's").exit_code == 1


def test_users_are_added_with_a_key_of_their_own(catchment: Command) -> None:
    made = catchment.json("users", "add", "Ada@Example.org", "--name", "Ada", "--admin")
    assert made["user"]["email"] == "ada@example.org"
    assert made["user"]["is_admin"] is True
    assert made["api_key"].startswith("cat_")
    assert set(made) == {"user", "temp_password", "api_key"}
    assert [user["name"] for user in catchment.json("users", "list")] == ["Ada"]
    assert catchment("users", "add", "ada@example.org").exit_code == 1
    assert catchment("users", "add", "nobody").exit_code == 1


def test_the_status_has_the_parts_that_the_api_has(catchment: Command) -> None:
    catchment.json("add", "https://example.org/feed", "--no-check")
    found = catchment.json("status")
    assert found["stats"]["total_sources"] == 1
    assert found["collector"]["running"] is False
    assert "config" not in found["sources"][0]
    assert "example.org" in catchment("status").stdout


class TestDoctor:
    def verdicts(self, catchment: Command, **env: str) -> dict[str, dict[str, str]]:
        result = catchment("doctor", "--json", **env)
        return {one["name"]: one for one in json.loads(result.stdout)}

    def test_a_new_machine_is_well(self, catchment: Command) -> None:
        (catchment.home / "catchment.sqlite3").unlink()
        found = self.verdicts(catchment)
        assert {"python", "clock", "settings", "data folder", "disk", "store", "intervals", "network"} == set(found)
        assert "fail" not in {one["verdict"] for one in found.values()}
        assert found["store"]["verdict"] == "warn"

    def test_a_migrated_store_is_ok(self, catchment: Command) -> None:
        catchment.json("sources", "list")
        assert self.verdicts(catchment)["store"]["verdict"] == "ok"

    @pytest.mark.proves("A-06")
    def test_junk_in_intervals_is_named(self, catchment: Command) -> None:
        found = self.verdicts(catchment, FETCH_INTERVAL_RSS="often", FETCH_INTERVAL_REDDIT="-1")
        assert found["intervals"]["verdict"] == "warn"
        assert "FETCH_INTERVAL_RSS (environment) is 'often'" in found["intervals"]["found"]
        assert "FETCH_INTERVAL_REDDIT" in found["intervals"]["found"]

    def test_a_bad_setting_is_a_failure_with_advice(self, catchment: Command) -> None:
        result = catchment("doctor", COLLECTOR_TICK="soon")
        assert result.exit_code == 1
        assert "COLLECTOR_TICK" in result.stdout

    @pytest.mark.parametrize(
        ("name", "value"), [("CATCHMENT_ALLOW_NETWORKS", "garbage/99"), ("SCRAPER_CRON", "nonsense")]
    )
    def test_a_setting_that_every_other_command_stops_at_is_a_failure(
        self, catchment: Command, name: str, value: str
    ) -> None:
        assert catchment("sources", "list", **{name: value}).exit_code == 2
        result = catchment("doctor", **{name: value})
        assert result.exit_code == 1
        assert name in result.stdout

    def test_a_data_folder_that_cannot_be_one_is_a_failure(self, catchment: Command) -> None:
        (catchment.home / "file").write_text("no folder")
        result = catchment("doctor", "--json", CATCHMENT_HOME=str(catchment.home / "file"))
        assert result.exit_code == 1
        assert [one["name"] for one in json.loads(result.stdout) if one["verdict"] == "fail"] == ["data folder"]

    def test_a_store_that_may_not_be_looked_for_is_not_there(self, catchment: Command) -> None:
        assert self.verdicts(catchment, CATCHMENT_HOME=UNREACHABLE)["store"]["verdict"] == "warn"

    def test_a_damaged_store_is_a_failure(self, catchment: Command) -> None:
        (catchment.home / "catchment.sqlite3").write_text("no database" * 1000)
        assert catchment("doctor").exit_code == 1


def test_the_version_can_be_asked_for(catchment: Command) -> None:
    result = catchment("--version")
    assert (result.exit_code, result.stdout) == (0, f"catchment {__version__}\n")


@pytest.mark.parametrize("closed", ["<&-", ">&-", "2>&-", "<&- >&- 2>&-"])
def test_what_is_closed_is_as_if_nobody_looked_at_it(catchment: Command, closed: str) -> None:
    catchment.json("add", "https://example.org/feed", "--no-check")
    ended = in_a_shell(catchment.home, f"status --json {closed}")
    assert ended.returncode == 0, ended.stderr
    assert ended.stderr == ""
    assert bool(ended.stdout) == (">&-" not in closed.replace("2>&-", ""))


@pytest.mark.parametrize("words", ["status", "status --json", "export", "items export", "--help"])
def test_stdout_that_cannot_be_written_is_a_sentence_not_a_trace(catchment: Command, words: str) -> None:
    catchment.json("add", "https://example.org/feed", "--no-check")
    ended = in_a_shell(catchment.home, f"{words} >/dev/full")
    assert ended.returncode == 1
    assert ended.stderr == "Error: Standard output cannot be written: No space left on device.\n"


@pytest.mark.parametrize("words", ["export", "sources list --json", "sources list"])
def test_a_reader_who_has_seen_enough_is_no_failure(catchment: Command, words: str) -> None:
    catchment.json("add", "https://example.org/feed", "--no-check")
    ended = in_a_shell(catchment.home, f"{words} | true; exit ${{PIPESTATUS[0]}}")
    assert (ended.returncode, ended.stderr) == (0, "")


@pytest.mark.parametrize("encoding", ["latin-1", "gbk"])
def test_what_a_terminal_cannot_show_spoils_nothing_of_the_rest(catchment: Command, encoding: str) -> None:
    catchment.json("add", "https://example.org/feed", "--no-check", "--name", "芯片 🚀 news")
    shell = f'PYTHONIOENCODING={encoding}:strict "{sys.executable}" -m catchment.cli'
    as_json, as_table = (
        in_bash(catchment.home, f"{shell} sources list --json"),
        in_bash(catchment.home, f"{shell} status"),
    )
    assert [one["name"] for one in json.loads(as_json.stdout)] == ["芯片 🚀 news"]
    assert b" news " in as_table.stdout
    assert (as_json.returncode, as_json.stderr) == (as_table.returncode, as_table.stderr) == (0, b"")


def in_a_shell(home: Path, line: str) -> subprocess.CompletedProcess[str]:
    ended = in_bash(home, f'"{sys.executable}" -m catchment.cli {line}')
    return subprocess.CompletedProcess(ended.args, ended.returncode, ended.stdout.decode(), ended.stderr.decode())


def in_bash(home: Path, line: str) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(["bash", "-c", line], env=environment(home), cwd=home, capture_output=True, check=False)


def test_a_program_that_calls_our_commands_has_what_they_print(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "argv", ["catchment", "--version"])
    monkeypatch.setattr(gc, "set_threshold", lambda _: None)
    with redirect_stdout(io.StringIO()) as printed, pytest.raises(SystemExit) as ended:
        run()
    assert (ended.value.code, printed.getvalue()) == (0, f"catchment {__version__}\n")
