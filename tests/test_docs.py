"""The documents tell the truth: what they name exists, and what exists is named."""

from __future__ import annotations

import importlib.util
import re
import shlex
import subprocess
import sys
import tomllib
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest
import typer

import catchment
from catchment.cli.main import app
from catchment.domain.source import SourceStatus, Why
from catchment.errors import ParseError
from catchment.settings import INTERVAL_PREFIX, Settings, load_settings, specs
from catchment.sources.base import Parts
from catchment.sources.registry import Registry
from catchment.web.app import _ROUTERS

_TYPES = Registry(parts=Parts(settings=Settings()))
MINUTES_BY_TYPE = {name: _TYPES.default_minutes(name) for name in _TYPES}

ROOT = Path(__file__).parent.parent
READMES = [ROOT / "README.md", ROOT / "README.zh.md"]
#: Requirements are left out where commands are checked: they name what is still to be built.
GUIDES = [
    *READMES,
    *sorted((ROOT / "docs" / "guides").glob("*.md")),
    *sorted((ROOT / "docs" / "reference").glob("*.md")),
    ROOT / "docs" / "deploy.md",
    ROOT / "docs" / "tutorial.md",
    ROOT / "docs" / "plugins.md",
    ROOT / "docs" / "exchange.md",
    ROOT / "docs" / "sitemaps.md",
    ROOT / "docs" / "feeds.md",
    ROOT / "docs" / "x.md",
    ROOT / "docs" / "feishu.md",
    ROOT / "docs" / "n8n.md",
    ROOT / "docs" / "crawler.md",
    ROOT / "docs" / "crawler-api.md",
    ROOT / "docs" / "architecture.md",
    ROOT / "docs" / "agents.md",
    ROOT / "docs" / "api.md",
    *sorted((ROOT / "docs" / "runbooks").glob("*.md")),
]
PAGES = [*READMES, ROOT / "CHANGELOG.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]

FENCE = re.compile(r"^```(\w*)\n(.*?)^```", re.DOTALL | re.MULTILINE)
SPAN = re.compile(r"`([^`\n]+)`")
LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")
COMMAND = re.compile(r"(?:.*[\s/=])?catchment[ \t]+(.+)")


def text_of(path: Path) -> str:
    return path.read_text(encoding="utf-8")


def code_lines(text: str) -> Iterator[str]:
    """Lines of shell blocks, and what stands between backquotes elsewhere."""
    for language, block in FENCE.findall(text):
        if language in {"sh", "ini"}:
            yield from block.splitlines()
    yield from SPAN.findall(FENCE.sub("", text))


def load_script(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(name, ROOT / "scripts" / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


coverage_map = load_script("coverage_map")


# Settings


def settings_in_example() -> dict[str, str]:
    return dict(re.findall(r"^#?([A-Z][A-Z_0-9]*)=(.*)$", text_of(ROOT / ".env.example"), re.MULTILINE))


def shown_default(field: str, default: object) -> str:
    if field == "home":
        return ""
    if isinstance(default, bool):
        return str(default).lower()
    return f"{default:g}" if isinstance(default, float) else str(default)


@pytest.mark.proves("F-09")
def test_the_example_lists_every_setting_with_its_help_and_default():
    example, listed = text_of(ROOT / ".env.example"), settings_in_example()
    for field, spec, default in specs():
        assert f"# {spec.help}\n#{spec.names[0]}=" in example
        for name in spec.names:
            assert listed[name] == shown_default(field, default), name
    for source_type, minutes in MINUTES_BY_TYPE.items():
        assert listed[f"{INTERVAL_PREFIX}{source_type.upper()}"] == str(minutes)


@pytest.mark.proves("F-09")
def test_the_example_lists_nothing_that_is_no_setting():
    known = {name for _, spec, _ in specs() for name in spec.names}
    known |= {f"{name}_FILE" for _, spec, _ in specs() if spec.secret for name in spec.names}
    known |= {f"{INTERVAL_PREFIX}{source_type.upper()}" for source_type in MINUTES_BY_TYPE}
    assert set(settings_in_example()) <= known


@pytest.mark.proves("A-16", "F-09")
def test_the_example_with_every_setting_taken_in_is_the_same_as_no_settings(tmp_path):
    taken_in = tmp_path / ".env"
    taken_in.write_text(re.sub(r"^#(?=[A-Z_0-9]+=)", "", text_of(ROOT / ".env.example"), flags=re.MULTILINE))
    with_file, without = load_settings({}, dotenv=taken_in), load_settings({}, dotenv=tmp_path / "none")
    assert with_file.intervals_from_file == {name: str(minutes) for name, minutes in MINUTES_BY_TYPE.items()}
    for field, _, _ in specs():
        assert getattr(with_file, field) == getattr(without, field)


@pytest.mark.proves("F-09")
def test_secrets_and_data_stay_out_of_the_repository():
    ignored = text_of(ROOT / ".gitignore").splitlines()
    assert {".env", "data/", "*.sqlite3*"} <= set(ignored)


@pytest.mark.proves("H-07")
def test_the_table_of_settings_has_every_one():
    reference = text_of(ROOT / "docs" / "reference" / "settings.md")
    for field, spec, default in specs():
        names = ", ".join(f"`{name}`" for name in spec.names) + ("*" if spec.secret else "")
        shown = "the platform's user data folder" if field == "home" else shown_default(field, default) or "(none)"
        assert f"| {names} | {shown} | {spec.help} |\n" in reference


@pytest.fixture(scope="module")
def reference() -> dict[str, str]:
    pages: dict[str, str] = load_script("reference").pages()
    return pages


@pytest.mark.proves("H-07")
@pytest.mark.parametrize("page", ["settings.md", "commands.md", "api.md", "types.md", "alerts.md"])
def test_the_reference_is_as_the_code_is(page, reference):
    assert text_of(ROOT / "docs" / "reference" / page) == reference[page], "run `make reference`"


def test_the_guides_explain_every_status_interval_and_reason():
    schedules = text_of(ROOT / "docs" / "guides" / "schedules.md")
    for word in [*SourceStatus, *Why]:
        assert f"| `{word}` | " in schedules
    for source_type, minutes in MINUTES_BY_TYPE.items():
        assert f"| `{source_type}` | {minutes} |" in schedules


# Commands


COMMANDS = typer.main.get_command(app)


def options_of(command: typer.core.TyperCommand | typer.core.TyperGroup) -> set[str]:
    named = {option for parameter in command.params for option in [*parameter.opts, *parameter.secondary_opts]}
    return named | {"--help"}


def fault_of_command(line: str) -> str | None:
    """Why a command as written would be refused, or None."""
    command = COMMANDS
    words = shlex.split(line, comments=True)
    while words and hasattr(command, "get_command"):
        found = command.get_command(None, words[0])
        if found is None:
            return f"there is no command {words[0]!r}"
        command = found
        del words[0]
    if "--" in words:  # what follows is no option
        del words[words.index("--") :]
    unknown = {word.partition("=")[0] for word in words if word.startswith("-")} - options_of(command)
    return f"there is no option {', '.join(sorted(unknown))}" if unknown else None


@pytest.mark.parametrize("page", GUIDES, ids=lambda page: page.name)
def test_every_command_in_the_documents_exists(page):
    faults = {}
    for line in code_lines(text_of(page)):
        if match := COMMAND.fullmatch(line):
            faults[line] = fault_of_command(match[1])
    assert {line: fault for line, fault in faults.items() if fault} == {}


def test_a_command_that_does_not_exist_would_be_noticed():
    assert fault_of_command("sources set 5 --interval 30") is None
    assert fault_of_command("sources sett 5") == "there is no command 'sett'"
    assert fault_of_command("collect --sauce 5") == "there is no option --sauce"


@pytest.mark.parametrize("page", GUIDES, ids=lambda page: page.name)
def test_every_make_target_in_the_documents_exists(page):
    targets = set(re.findall(r"^([a-z0-9-]+):.*## ", text_of(ROOT / "Makefile"), re.MULTILINE))
    named = {match[1] for line in code_lines(text_of(page)) if (match := re.match(r"make ([a-z0-9-]+)", line))}
    assert named <= targets


def test_both_readmes_show_the_same_commands():
    def shape(page: Path) -> list[list[str]]:
        blocks = (block for language, block in FENCE.findall(text_of(page)) if language == "sh")
        lines = (shlex.split(line, comments=True) for block in blocks for line in block.splitlines())
        return [[word for word in line if word.isascii()][:3] for line in lines]

    english, chinese = map(shape, READMES)
    assert english == chinese
    assert ["make", "up"] in english
    assert ["make", "test"] in english


def test_every_address_of_the_api_in_its_table_exists():
    def shape(address: str) -> str:
        return re.sub(r"\{\w+\}", "{}", address)

    served = {shape(route.path) for router in _ROUTERS for route in router.routes} | {"/openapi.json"}
    _, _, table = text_of(ROOT / "docs" / "api.md").partition("## Who may ask for what\n")
    spans = SPAN.findall(table.partition("\n## ")[0])
    named = {shape(match[0]) for span in spans if (match := re.search(r"(?<![\w.])/[\w/{}.-]+", span))}
    assert len(named) > 10
    assert named <= served


# Requirements


def test_requirements_are_numbered_once_each_and_say_something():
    lines = [line for line in text_of(ROOT / "docs" / "requirements.md").splitlines() if line.startswith("- ")]
    found = coverage_map.read_requirements("\n".join(lines))
    assert len(found) == len(lines)
    assert [number for number, count in Counter(one.number for one in found).items() if count > 1] == []


def test_requirements_stand_in_the_section_of_their_letter():
    for one in coverage_map.read_requirements(text_of(ROOT / "docs" / "requirements.md")):
        assert one.section[0] == one.number[0]


def test_every_number_that_a_test_proves_is_a_requirement():
    assert coverage_map.map_coverage(ROOT).unknown() == []


def test_proofs_are_found_on_tests_classes_modules_and_parameters():
    source = """
import pytest
pytestmark = [pytest.mark.proves("A-01")]

@pytest.mark.proves("A-02", "A-03")
async def test_one(): ...

@pytest.mark.proves("A-04")
class TestMany:
    pytestmark = pytest.mark.proves("A-05")

    @pytest.mark.parametrize("x", [1, pytest.param(2, marks=pytest.mark.proves("A-06"))])
    def test_two(self, x): ...

def helper(): ...
"""
    found = {(proof.where, proof.number) for proof in coverage_map.proofs_of_tests(source, "t.py")}
    one = {("t.py::test_one", f"A-0{digit}") for digit in (1, 2, 3)}
    two = {("t.py::TestMany::test_two", f"A-0{digit}") for digit in (1, 4, 5, 6)}
    assert found == one | two


def test_a_measurement_proves_what_its_comment_says():
    source = '"""Mentions A-01."""\n# proves: A-28, D-11\n# A-02\n'
    assert [proof.number for proof in coverage_map.proofs_of_measurement(source, "b.py")] == ["A-28", "D-11"]


def test_a_number_that_nobody_asked_for_fails_the_map(tmp_path, monkeypatch, capsys):
    for folder in ("docs", "tests", "bench"):
        (tmp_path / folder).mkdir()
    (tmp_path / "docs" / "requirements.md").write_text("## A. Things\n\n- A-01 It works.\n- A-02 It lasts.\n")
    test = tmp_path / "tests" / "test_it.py"
    test.write_text('import pytest\n@pytest.mark.proves("A-01")\ndef test_it(): ...\n')
    monkeypatch.setattr(coverage_map, "ROOT", tmp_path)
    assert coverage_map.main([]) == 0
    assert "1 of 2 requirements are proven. Nothing proves yet:\n  A-02\n" in capsys.readouterr().out
    test.write_text(test.read_text().replace("A-01", "A-91"))
    assert coverage_map.main(["--json"]) == 1
    assert "tests/test_it.py::test_it proves A-91" in capsys.readouterr().err


# Pages


def anchors_of(path: Path) -> set[str]:
    headings = re.findall(r"^#+ (.+)$", text_of(path), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_between_documents_lead_somewhere(page):
    for link in LINK.findall(FENCE.sub("", text_of(page))):
        if link.startswith("https://"):
            continue
        file, _, anchor = link.partition("#")
        target = (page.parent / file).resolve() if file else page
        assert target.exists(), f"{page.name}: {link}"
        assert not anchor or anchor in anchors_of(target), f"{page.name}: {link}"


def test_the_changelog_begins_with_the_version_that_this_is():
    versions = re.findall(r"^## \[([^\]]+)\]", text_of(ROOT / "CHANGELOG.md"), re.MULTILINE)
    assert versions[0] == catchment.__version__


def test_decisions_are_numbered_without_gaps_and_have_their_three_parts():
    pages = sorted((ROOT / "docs" / "decisions").glob("*.md"))
    assert [int(page.name[:4]) for page in pages] == list(range(1, len(pages) + 1))
    for page in pages:
        assert text_of(page).startswith(f"# {page.name[:4]} ")
        for part in ("Context", "Decision", "Consequences"):
            assert f"**{part}.**" in text_of(page)


def test_every_dependency_has_its_reason():
    project = tomllib.loads(text_of(ROOT / "pyproject.toml"))["project"]
    extras = project["optional-dependencies"]
    wanted = [*project["dependencies"], *extras["postgres"], *extras["xhs"], *extras["workers"][1:]]
    wanted += [*extras["mcp"], *extras["notify"], *extras["parquet"]]
    reasons = text_of(ROOT / "docs" / "decisions" / "0010-dependencies.md")
    rows = re.findall(r"^\| ([\w, -]+?)(?: \(extra.*?\))? \| ", reasons, re.MULTILINE)
    named = {name for row in rows for name in row.split(", ")} - {"library"}
    assert named == {re.split(r"[\[<>=~; ]", requirement)[0] for requirement in wanted}


def test_no_committed_file_names_a_package_registry():
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT,
        capture_output=True,
        check=False,
    )
    if listed.returncode:
        pytest.skip("not in a working copy of git")
    hosts = [
        ".".join(parts) for parts in (("pypi", "org"), ("pythonhosted", "org"), ("npmjs", "org"), ("npmjs", "com"))
    ]
    files = [ROOT / name.decode() for name in listed.stdout.split(b"\0") if name]
    naming = [str(path) for path in files if path.is_file() for host in hosts if host.encode() in path.read_bytes()]
    assert naming == []


# The example of a plug-in


def plugin_example() -> str:
    [example] = [
        block for language, block in FENCE.findall(text_of(ROOT / "docs" / "plugins.md")) if language == "python"
    ]
    return example


def test_the_example_of_a_source_type_works_as_it_stands():
    names: dict[str, object] = {"__name__": "releases"}
    exec(compile(plugin_example(), "docs/plugins.md", "exec"), names)
    fetcher = names["ReleasesFetcher"]()
    assert "releases" in Registry([fetcher])
    assert fetcher.identity({"url": "https://example.org/releases"}) == "https://example.org/releases"
    body = b'[{"id": 7, "page": "https://example.org/7", "name": "Seven", "notes": "<b>new</b><script>1</script>"}]'
    [item] = names["read_releases"](body, url="https://example.org/releases")
    assert (item.key, item.title, item.content) == ("7", "Seven", "<b>new</b>")
    with pytest.raises(ParseError):
        names["read_releases"](b'{"error": "none"}', url="")


def test_the_example_of_a_source_type_is_short():
    assert len(plugin_example().splitlines()) < 40


@pytest.mark.proves("R-32")
async def test_every_job_is_in_the_table_of_jobs(open_test_system, tmp_path):
    table = text_of(ROOT / "docs" / "guides" / "jobs.md")
    feishu = {"feishu_app_id": "a", "feishu_app_secret": "b", "feishu_app_token": "c", "feishu_table_id": "d"}
    async with open_test_system(home=tmp_path, backup_hours=24, **feishu) as system:
        await system.jobs.prepare()
        missing = [job.name for job in await system.jobs.list() if f"| `{job.name}` |" not in table]
    assert missing == []
