"""What somebody meets who has only just begun: the way in, the store that is meant, names that are misspelt."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from asyncio import to_thread
from functools import partial
from pathlib import Path
from urllib.parse import urlsplit

import aiohttp
import pytest
from command import Command, Process, Start, on_a_terminal
from sqlalchemy.engine import make_url

from catchment.cli.session import program
from catchment.store.migrate import migrate_url
from feed_site import FeedSite

READY = "Catchment is at "


async def address(process: Process) -> str:
    return (await process.says(READY)).removeprefix(READY)


@pytest.fixture
def nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A place in which nothing was made yet."""
    monkeypatch.chdir(tmp_path)
    return tmp_path / "none" / "yet"


async def signs_in(link: str) -> bool:
    async with aiohttp.ClientSession() as browser, browser.get(link, allow_redirects=False) as answer:
        return answer.status == 303


class TestSigningIn:
    @pytest.mark.proves("R-36")
    async def test_a_start_that_fails_does_not_use_up_the_first_key(
        self, start: Start, nothing: Path, site: FeedSite
    ) -> None:
        here = {"CATCHMENT_HOME": str(nothing)}
        failed = await start("up", "--port", str(site.port), "--no-starter", "--no-collect", **here)
        assert await failed.ends() == 2
        assert not await to_thread(nothing.exists), "it made no store either"
        process = await start("up", "--port", "0", "--no-starter", "--no-collect", **here)
        await process.says("Admin key (shown only now): ")

    @pytest.mark.proves("R-36")
    async def test_a_new_link_can_be_had_at_any_time_and_every_start_says_how(
        self, start: Start, catchment: Command
    ) -> None:
        for _ in range(2):
            process = await start("up", "--port", "0", "--no-starter", "--no-collect")
            url = await address(process)
            assert (await process.says("A new link to sign in")).endswith(" signin")
            said = await to_thread(catchment, "signin")
            assert "not running" not in said.stderr
            link = said.stdout.strip()
            assert urlsplit(link).netloc == urlsplit(url).netloc, "where the server listens"
            assert await signs_in(link)
            assert not await signs_in(link), "it is spent"
            process.signal(signal.SIGTERM)
            assert await process.ends() == 0
            assert "The server is not running" in (await to_thread(catchment, "signin")).stderr

    @pytest.mark.proves("R-36")
    @pytest.mark.parametrize("keys", [{}, {"ADMIN_API_KEY": "sesame"}], ids=["first key", "key of the environment"])
    async def test_a_link_works_also_where_no_key_was_ever_made_or_all_are_revoked(
        self, start: Start, catchment: Command, keys: dict[str, str]
    ) -> None:
        process = await start("up", "--port", "0", "--no-starter", "--no-collect", **keys)
        await address(process)
        await process.says("A new link to sign in")
        for key in await to_thread(catchment.json, "keys", "list"):
            await to_thread(catchment.json, "keys", "revoke", str(key["id"]))
        found = await to_thread(catchment.json, "signin")
        assert await signs_in(found["url"])

    @pytest.mark.proves("R-36")
    async def test_a_link_leads_to_a_server_that_runs_where_the_last_one_to_start_ended(
        self, start: Start, catchment: Command
    ) -> None:
        url = await address(await start("up", "--port", "0", "--no-starter", "--no-collect"))
        other = await start("up", "--port", "0", "--no-starter", "--no-collect")
        others_url = await address(other)
        assert (await to_thread(catchment.json, "signin"))["url"].startswith(others_url)
        other.signal(signal.SIGTERM)
        assert await other.ends() == 0
        said = await to_thread(catchment, "signin")
        assert said.stdout.startswith(url)
        assert "not running" not in said.stderr

    @pytest.mark.proves("R-36")
    def test_the_link_is_one_line_however_narrow_the_terminal_is(self, catchment: Command, home: Path) -> None:
        piped = catchment("signin", COLUMNS="40").stdout
        assert piped.count("\n") == 1
        screen = on_a_terminal(home, "signin", COLUMNS="40")
        assert screen.splitlines()[0].startswith("http://127.0.0.1:8767/signin?token=")
        assert len(screen.splitlines()[0]) == len(piped.strip())

    @pytest.mark.proves("R-36")
    def test_the_link_names_the_public_address_where_there_is_one(self, catchment: Command) -> None:
        found = catchment.json("signin", CATCHMENT_PUBLIC_URL="https://feeds.example.org/c")
        assert found["url"].startswith("https://feeds.example.org/c/signin?token=")


READING = [
    ("status",),
    ("sources", "list"),
    ("sources", "show", "1"),
    ("sources", "pause", "1"),
    ("items", "list"),
    ("feeds", "list"),
    ("alerts",),
    ("config", "list"),
    ("keys", "list"),
    ("users", "list"),
    ("hooks", "list"),
    ("jobs", "list"),
    ("packs", "list"),
    ("cookies", "list"),
    ("x", "follows"),
    ("export",),
    ("collect", "--source", "1"),
    ("x", "schedule"),
    ("signin",),
    ("backup",),
    ("doctor",),
    ("audit",),
]


class TestStores:
    @pytest.mark.proves("R-37")
    @pytest.mark.parametrize("words", READING, ids=" ".join)
    def test_a_command_that_reads_makes_no_store(self, nothing: Path, words: tuple[str, ...]) -> None:
        result = Command(nothing)(*words)
        assert not nothing.parent.exists(), "nothing was made"
        assert "pysqlite" not in result.output
        if words[0] in {"doctor", "audit"}:
            assert result.exit_code == 0, "they tell of much besides"
            return
        assert result.exit_code == 1
        assert str(nothing / "catchment.sqlite3") in result.stderr
        assert "`catchment up`" in result.stderr
        assert len(result.stderr.strip().splitlines()) == 1

    @pytest.mark.proves("R-37")
    @pytest.mark.parametrize(
        "words",
        [
            ("add", "https://example.org/feed", "--no-check", "--dry-run"),
            ("add", "https://example.org/feed", "--no-check", "--dry-run", "--config", '{"headers": {"X-Any": "v"}}'),
            ("apply", "-f", "sources.yaml", "--dry-run"),
        ],
        ids=["add", "add with a secret", "apply"],
    )
    def test_what_would_be_done_is_shown_before_there_is_a_store_and_none_is_made(
        self, nothing: Path, words: tuple[str, ...]
    ) -> None:
        Path("sources.yaml").write_text("- https://example.org/feed\n")
        result = Command(nothing)(*words)
        assert (result.exit_code, result.stderr) == (0, "")
        assert "https://example.org/feed" in result.stdout
        assert not nothing.parent.exists(), "nothing was made"

    @pytest.mark.proves("R-37")
    @pytest.mark.parametrize("words", [("collect",), ("x", "schedule", "--interval", "3600")], ids=" ".join)
    def test_a_command_that_writes_makes_the_store(self, nothing: Path, words: tuple[str, ...]) -> None:
        result = Command(nothing)(*words)
        assert result.exit_code == 0, result.output
        assert "a new one is made" in result.stderr
        assert (nothing / "catchment.sqlite3").exists()

    @pytest.mark.proves("R-37")
    @pytest.mark.parametrize(
        "words",
        [
            ("add", "http://10.0.0.1/feed"),
            ("add", "https://example.org/feed", "--no-check", "--config", '{"ulr": 1}'),
            ("import", "missing.opml"),
            ("packs", "install", "nowhere"),
            ("keys", "create", "phone", "--user", "nobody@example.org"),
            ("feeds", "create", "No Slug"),
            ("hooks", "add", "ftp://example.org", "--name", "ops"),
            ("config", "set", "FETCH_INTERVAL_RSS", "often"),
            ("x", "follow", "not a name!", "--reason", "any"),
            ("x", "scrape", "@python"),
            ("x", "scrape"),
            ("cookies", "add", "--platform", "xhs", "--name", "one", "--file", os.devnull),
        ],
        ids=lambda words: " ".join(words[:3]),
    )
    def test_a_command_that_is_refused_makes_no_store(self, nothing: Path, words: tuple[str, ...]) -> None:
        result = Command(nothing)(*words)
        assert (result.exit_code, result.stderr.count("\n")) == (1, 1), result.output
        assert not nothing.parent.exists(), "nothing was made"

    @pytest.mark.proves("R-37")
    async def test_what_is_added_first_is_looked_at_once(self, start: Start, site: FeedSite) -> None:
        added = await start("add", site.feed("a"), CATCHMENT_ALLOW_NETWORKS="127.0.0.1")
        assert await added.ends() == 0
        assert len(site.requests) == 1

    @pytest.mark.proves("R-37")
    def test_a_command_that_reads_makes_no_tables_in_a_database_either(
        self, catchment: Command, postgres_url: str
    ) -> None:
        migrate_url(make_url(postgres_url), "base")
        result = catchment("status", DATABASE_URL=postgres_url)
        assert result.exit_code == 1
        assert "There is no store at postgresql" in result.stderr
        assert "at revision none" in catchment("doctor", DATABASE_URL=postgres_url).stdout

    @pytest.mark.proves("R-37")
    def test_a_new_store_is_named_and_so_is_an_empty_one(self, nothing: Path) -> None:
        catchment = Command(nothing)
        made = catchment("config", "set", "FETCH_INTERVAL_RSS", "60")
        assert made.exit_code == 0, made.output
        assert f"no store at {nothing / 'catchment.sqlite3'} yet: a new one is made" in made.stderr
        for words in (("status",), ("sources", "list"), ("items", "list")):
            assert f"The store {nothing / 'catchment.sqlite3'} has no " in catchment(*words).stderr
        assert "a new one is made" not in catchment("config", "set", "FETCH_INTERVAL_RSS", "50").stderr


class TestExtras:
    @pytest.mark.proves("R-38")
    @pytest.mark.parametrize("missing", ["psycopg", "greenlet"])
    def test_without_its_extra_postgresql_is_one_sentence(
        self, catchment: Command, monkeypatch: pytest.MonkeyPatch, missing: str
    ) -> None:
        monkeypatch.setitem(sys.modules, missing, None)
        for words in (("status",), ("up",), ("doctor",), ("backup",), ("migrate-store", "--to", "postgresql://db/c")):
            result = catchment(*words, DATABASE_URL="postgresql://db.test/c")
            assert result.exit_code in {1, 2}
            assert "pip install 'catchment[postgres]'" in " ".join(result.output.split())
            assert "Traceback" not in result.output
        assert len(catchment("status", DATABASE_URL="postgresql://db.test/c").stderr.splitlines()) == 1

    @pytest.mark.proves("R-38")
    def test_without_its_extra_a_worker_is_one_sentence(
        self, catchment: Command, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        for name in [name for name in sys.modules if name.startswith(("procrastinate", "catchment.workers"))]:
            monkeypatch.delitem(sys.modules, name)
        monkeypatch.setitem(sys.modules, "procrastinate", None)
        result = catchment("worker", DATABASE_URL="postgresql://db.test/c")
        assert result.exit_code == 2
        assert "pip install 'catchment[workers]'" in result.stderr
        assert len(result.stderr.splitlines()) == 1

    @pytest.mark.proves("R-38")
    def test_without_its_extra_a_flow_is_one_sentence(self) -> None:
        command = (sys.executable, "-m", "catchment.flows", "sites.yaml")
        ended = subprocess.run(command, capture_output=True, text=True, check=False)
        assert ended.returncode == 2
        assert "pip install 'catchment[prefect]'" in ended.stderr
        assert len(ended.stderr.splitlines()) == 1


class TestDemo:
    @pytest.mark.proves("R-40")
    @pytest.mark.parametrize(
        ("called", "pasted"),
        [
            ("../env/bin/catchment", "{beside}/env/bin/catchment"),
            ("{beside}/env/bin/catchment", "{beside}/env/bin/catchment"),
            ("bin/catchment", "bin/catchment"),
            ("{here}/bin/catchment", "bin/catchment"),
        ],
    )
    def test_a_command_to_paste_names_the_program_so_that_it_is_found(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, called: str, pasted: str
    ) -> None:
        here = tmp_path / "here"
        here.mkdir()
        monkeypatch.chdir(here)
        places = {"here": here, "beside": tmp_path}
        monkeypatch.setattr(sys, "argv", [called.format(**places)])
        assert program() == pasted.format(**places)

    @pytest.mark.proves("R-40")
    async def test_it_says_nothing_of_itself_where_the_port_that_is_asked_for_is_taken(
        self, start: Start, site: FeedSite
    ) -> None:
        process = await start("demo", "--sites", "2", "--port", str(site.port))
        assert await process.ends() == 2
        assert "The data is in" not in "".join(process.said)

    @pytest.mark.docs
    @pytest.mark.proves("R-40")
    async def test_it_takes_a_free_port_is_quiet_and_prints_commands_that_work_when_pasted(
        self, start: Start, site: FeedSite, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        taken = {"CATCHMENT_PORT": str(site.port), "CATCHMENT_HOME": "", "CATCHMENT_ALLOW_NETWORKS": ""}
        process = await start("demo", "--sites", "2", **taken)
        folder = (await process.says("The data is in ")).removeprefix("The data is in ")
        commands = [await process.says(f"CATCHMENT_HOME={folder}") for _ in range(3)]
        assert urlsplit(await address(process)).port != 8767
        commands.append((await process.says("A new link to sign in")).partition("time: ")[2])
        plain = {name: value for name, value in os.environ.items() if not name.startswith("CATCHMENT_")}
        for command in commands:
            pasted = partial(
                subprocess.run, command, shell=True, cwd=tmp_path, env=plain, capture_output=True, text=True
            )
            ended = await to_thread(pasted)
            assert ended.returncode == 0, ended.stderr
            said = ended.stdout
        assert await signs_in(said.strip())
        process.signal(signal.SIGINT)
        assert await process.ends() == 0
        assert "INFO" not in "".join(process.said)


class TestMisspelling:
    @pytest.mark.proves("R-38")
    def test_a_misspelt_variable_is_named_with_the_likely_one_wherever_it_stands(
        self, catchment: Command, home: Path
    ) -> None:
        (home / ".env").write_text("CATCHMENT_KEEP_DAY=7\n")
        said = catchment("config", "list", CATCHMENT_PROT="8000", COLLECTOR_CONCURENCY="9").stderr
        assert "CATCHMENT_PROT is no setting and is ignored; did you mean CATCHMENT_PORT?" in said
        assert "did you mean CATCHMENT_KEEP_DAYS?" in said
        assert "did you mean COLLECTOR_CONCURRENCY?" in said
        found = {one["name"]: one for one in catchment.json("doctor", CATCHMENT_PROT="8000")}
        assert found["settings"]["verdict"] == "warn"
        assert "CATCHMENT_PORT" in found["settings"]["found"]

    @pytest.mark.proves("R-38")
    def test_variables_of_others_and_those_that_are_right_are_left_alone(self, catchment: Command) -> None:
        said = catchment(
            "config",
            "list",
            COLLECTOR_ZIPKIN_HOST_PORT=":9411",
            CATCHMENT_SECRET_KEY_FILE=__file__,
            CATCHMENT_API_ENV="CATCHMENT_OF_MINE",
            CATCHMENT_OF_MINE="x",
            FETCH_INTERVAL_RSS="60",
            FETCH_INTERVAL_TWITTER_BOOKMARKS="60",
        )
        assert said.exit_code == 0
        assert "no setting" not in said.stderr
        assert "no type" not in said.stderr

    @pytest.mark.proves("R-38")
    def test_an_interval_of_a_type_that_does_not_exist_is_named(self, catchment: Command) -> None:
        assert "FETCH_INTERVAL_RSSS is for no type of source; did you mean FETCH_INTERVAL_RSS?" in (
            catchment("config", "list", FETCH_INTERVAL_RSSS="60").stderr
        )

    @pytest.mark.proves("R-38")
    def test_the_audit_passes_on_a_fresh_store(self, catchment: Command) -> None:
        result = catchment("audit")
        assert result.exit_code == 0, result.output
