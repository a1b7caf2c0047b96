from __future__ import annotations

import json

import pytest
from command import Command, on_a_terminal

pytestmark = pytest.mark.proves("A-33")

WANTED = """
- {name: A, url: https://a.example/feed, tags: [x]}
- {name: B, url: https://b.example/feed, interval: 30}
"""


@pytest.fixture(autouse=True)
def wanted(catchment: Command) -> None:
    (catchment.home / "sources.yaml").write_text(WANTED)


def names(catchment: Command) -> list[str]:
    return [one["name"] for one in catchment.json("sources", "list")]


def test_the_plan_comes_first_and_a_second_time_there_is_nothing_to_do(catchment: Command) -> None:
    looked = catchment("apply", "-f", "sources.yaml", "--dry-run")
    assert looked.exit_code == 0
    assert "Plan: 2 to add." in looked.stdout
    assert names(catchment) == []
    assert "Done." in catchment("apply", "-f", "sources.yaml", "--yes").stdout
    assert names(catchment) == ["A", "B"]
    again = catchment("apply", "-f", "sources.yaml")
    assert (again.exit_code, again.stdout) == (0, "Plan: 2 unchanged.\nNothing to do.\n")


def test_changes_are_shown_as_old_and_new(catchment: Command) -> None:
    catchment("apply", "-f", "sources.yaml", "--yes")
    (catchment.home / "sources.yaml").write_text(WANTED.replace("30", "60").replace("[x]", "[y]"))
    shown = catchment("apply", "-f", "sources.yaml", "--dry-run").stdout
    assert "tags: x → y" in shown
    assert "config.fetch_interval_minutes: 30 → 60" in shown


def test_where_nobody_can_be_asked_nothing_is_done(catchment: Command) -> None:
    for words, stdin in ((("sources.yaml",), None), (("-",), WANTED)):
        result = catchment("apply", "-f", *words, stdin=stdin)
        assert result.exit_code == 2
        assert "--yes" in result.stderr
    assert catchment("apply", "-f", "sources.yaml", "--json").exit_code == 2
    assert names(catchment) == []
    assert catchment("apply", "-f", "-", "--yes", stdin=WANTED).exit_code == 0
    assert names(catchment) == ["A", "B"]


@pytest.mark.parametrize(("typed", "expected"), [("y\n", ["A", "B"]), ("n\n", [])])
def test_a_person_is_asked(catchment: Command, typed: str, expected: list[str]) -> None:
    screen = on_a_terminal(catchment.home, "apply", "-f", "sources.yaml", typed=typed)
    assert "Do it?" in screen
    assert names(catchment) == expected


def test_prune_removes_what_the_file_does_not_name(catchment: Command) -> None:
    catchment("apply", "-f", "sources.yaml", "--yes")
    (catchment.home / "sources.yaml").write_text("- https://a.example/feed")
    answer = catchment.json("apply", "-f", "sources.yaml", "--yes", "--prune")
    # The file gives no tags, so there are none.
    assert [step["action"] for step in answer["plan"]] == ["change", "remove"]
    assert names(catchment) == ["A"]


def test_a_bad_line_is_named_and_then_nothing_is_done(catchment: Command) -> None:
    (catchment.home / "sources.yaml").write_text(WANTED + "- {url: http://10.0.0.1/}\n")
    result = catchment("apply", "-f", "sources.yaml", "--yes", "--json")
    assert result.exit_code == 1
    assert [one["line"] for one in json.loads(result.stdout)["bad_lines"]] == [4]
    assert "4" in catchment("apply", "-f", "sources.yaml", "--yes").stdout
    assert names(catchment) == []


def test_what_is_exported_as_yaml_is_applied_as_it_is(catchment: Command) -> None:
    catchment("apply", "-f", "sources.yaml", "--yes")
    catchment("export", "--format", "yaml", "--output", "all.yaml")
    assert "Nothing to do." in catchment("apply", "-f", "all.yaml", "--prune").stdout
    elsewhere = Command(catchment.home / "elsewhere")
    assert elsewhere("apply", "-f", "all.yaml", "--yes").exit_code == 0
    assert names(elsewhere) == ["A", "B"]


def test_packs_are_made_shown_shared_installed_and_removed(catchment: Command) -> None:
    catchment("apply", "-f", "sources.yaml", "--yes")
    made = catchment.json("packs", "create", "Morning reading", "--tag", "x", "--description", "With tea")
    assert (made["slug"], [one["name"] for one in made["sources"]]) == ("morning-reading", ["A"])
    assert catchment.json("packs", "list")[0]["slug"] == "morning-reading"
    assert "https://a.example/feed" in catchment("packs", "show", "morning-reading").stdout
    assert "0 added, 1 skipped." in catchment("packs", "install", "morning-reading").stdout
    elsewhere = Command(catchment.home / "elsewhere")
    for file in ("shared.yaml", "shared.json"):
        assert catchment("packs", "export", "morning-reading", "--output", file).exit_code == 0
        assert elsewhere("packs", "install", file).exit_code == 0
    assert names(elsewhere) == ["A"]
    assert elsewhere.json("packs", "create", "Theirs", "--file", "shared.json")["slug"] == "theirs"
    assert catchment.json("packs", "remove", "morning-reading")["removed"] is True
    assert catchment("packs", "show", "morning-reading").exit_code == 1
    assert catchment("packs", "install", "morning-reading").exit_code == 1


@pytest.mark.proves("R-23")
def test_a_secret_in_an_address_is_shown_by_no_plan_and_no_bad_line(catchment: Command) -> None:
    file = catchment.home / "sources.yaml"
    for more in ("", ", nonsense: 1", ", config: {url: 'https://other.example/'}"):
        file.write_text(f"- {{name: A, url: 'https://a.example/feed?token=t0ken-0f-a'{more}}}\n")
        for words in ((), ("--json",)):
            shown = catchment("apply", "-f", "sources.yaml", "--dry-run", *words).output
            assert "https://a.example/feed?token=" in shown
            assert "t0ken-0f-a" not in shown
    file.write_text(
        '<opml><body><outline text="A" xmlUrl="https://a.example/?token=t0ken-0f-a&amp;x=&no;"/></body></opml>'
    )
    assert "t0ken-0f-a" not in catchment("apply", "-f", "sources.yaml", "--dry-run").output
    file.write_text("- {name: A, url: 'https://a.example/feed?token=t0ken-0f-a'}\n")
    assert "t0ken-0f-a" not in catchment("apply", "-f", "sources.yaml", "--yes").output
    assert "1 unchanged" in catchment("apply", "-f", "sources.yaml").output
