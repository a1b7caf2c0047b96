from __future__ import annotations

import pytest
from command import Command

pytestmark = pytest.mark.proves("D-08")


def test_users_of_x_are_followed_listed_and_given_up(catchment: Command) -> None:
    assert catchment.json("x", "follow", "@OpenAI", "--reason", "news")["username"] == "openai"
    [one] = catchment.json("x", "follows")
    assert (one["username"], one["reason"], one["added_by"], one["is_active"]) == ("openai", "news", "operator", True)
    assert "openai" in catchment("x", "follows").stdout
    assert catchment.json("x", "unfollow", "openai")["is_active"] is False
    assert catchment.json("x", "follows") == []
    assert [one["is_active"] for one in catchment.json("x", "follows", "--all")] == [False]


@pytest.mark.proves("R-27")
def test_an_interval_of_the_scraper_is_set_and_taken_back_by_command(catchment: Command) -> None:
    cron = "30 */2 * * *"
    assert catchment.json("x", "schedule", SCRAPER_CRON=cron)["cron"] == cron
    changed = catchment.json("x", "schedule", "--interval", "3600", SCRAPER_CRON=cron)
    assert (changed["interval_seconds"], changed["cron"], changed["updated_by"]) == (3600, None, "operator")
    taken_back = catchment.json("x", "schedule", "--take-back", SCRAPER_CRON=cron)
    assert (taken_back["cron"], taken_back["next_run_time"][14:19]) == (cron, "30:00")
    assert cron in catchment("x", "schedule", SCRAPER_CRON=cron).stdout


@pytest.mark.proves("R-27")
@pytest.mark.parametrize("words", [("--interval", "299"), ("--interval", "600", "--take-back")])
def test_an_interval_that_cannot_be_is_wrong_usage(catchment: Command, words: tuple[str, ...]) -> None:
    assert catchment("x", "schedule", *words).exit_code == 2


@pytest.mark.parametrize(
    ("words", "part"),
    [
        (("follow", "not a name"), "is not a user of X"),
        (("follow", "ada"), "is followed already"),
        (("unfollow", "bob"), "bob is not followed"),
    ],
)
def test_what_cannot_be_done_is_told_in_one_sentence(catchment: Command, words: tuple[str, ...], part: str) -> None:
    assert catchment("x", "follow", "ada").exit_code == 0
    result = catchment("x", *words)
    assert result.exit_code == 1
    assert part in result.stderr
    assert result.stderr.count("\n") == 1
