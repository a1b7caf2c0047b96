from __future__ import annotations

import contextlib
import os
import pty
import subprocess
import sys
import termios
import time

import pytest
from command import Command, environment

from cookie_factory import MASTER_KEY
from planted import MARKER, cookie_file, planted_cookie

VALUE = planted_cookie()
KEY = {"COOKIE_MASTER_KEY": MASTER_KEY}


def added(catchment: Command, name: str = "account_01", *words: str) -> None:
    result = catchment("cookies", "add", "--name", name, "--platform", "xhs", *words, stdin=VALUE, **KEY)
    assert result.exit_code == 0, result.output
    assert MARKER not in result.output


@pytest.mark.proves("E-07")
def test_a_cookie_is_read_from_stdin_or_a_file_and_never_shown(catchment: Command) -> None:
    added(catchment, "account_01", "--priority", "5")
    file = cookie_file(catchment.home, VALUE)
    added(catchment, "account_02", "--file", str(file))
    listed = catchment.json("cookies", "list", **KEY)
    assert [one["cookie_name"] for one in listed] == ["account_01", "account_02"]
    assert (listed[0]["priority"], listed[0]["daily_limit"], listed[0]["status"]) == (5, 100, "active")
    table = catchment("cookies", "list", **KEY)
    assert "account_02" in table.stdout
    assert not [text for text in (str(listed), table.output) if MARKER in text or "v2:" in text]


@pytest.mark.proves("E-07")
def test_the_value_is_no_argument(catchment: Command) -> None:
    result = catchment("cookies", "add", VALUE, "--name", "account_01", "--platform", "xhs", **KEY)
    assert result.exit_code == 2
    assert catchment.json("cookies", "list", **KEY) == []


@pytest.mark.proves("E-07")
def test_at_a_terminal_the_value_is_asked_for_and_not_echoed(catchment: Command) -> None:
    ours, theirs = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, "-m", "catchment.cli", "cookies", "add", "--name", "account_01", "--platform", "xhs"],
        cwd=catchment.home,
        env=environment(catchment.home, **KEY),
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
        start_new_session=True,
    )
    os.close(theirs)
    while termios.tcgetattr(ours)[3] & termios.ECHO:
        assert process.poll() is None, "it asked nothing"
        time.sleep(0.01)
    os.write(ours, f"{VALUE}\n".encode())
    screen = b""
    # The other end of a terminal that is gone is an error on Linux.
    with contextlib.suppress(OSError):
        while seen := os.read(ours, 1000):
            screen += seen
    os.close(ours)
    assert process.wait(40) == 0
    assert b"account_01 (xhs): active" in screen
    assert MARKER.encode() not in screen


def test_a_cookie_is_disabled_enabled_changed_reset_and_removed(catchment: Command) -> None:
    added(catchment)
    assert catchment.json("cookies", "disable", "account_01", **KEY)["is_enabled"] is False
    assert catchment.json("cookies", "enable", "account_01", **KEY)["is_enabled"] is True
    changed = catchment.json("cookies", "set", "account_01", "--daily-limit", "7", "--description", "Ada's", **KEY)
    assert (changed["daily_limit"], changed["description"]) == (7, "Ada's")
    assert "active" in catchment("cookies", "reset", "account_01", **KEY).stdout
    assert catchment("cookies", "remove", "account_01", **KEY).exit_code == 0
    assert catchment.json("cookies", "list", **KEY) == []


@pytest.mark.proves("E-07")
def test_keys_are_rotated_by_command_and_cookies_of_lost_keys_are_named(catchment: Command) -> None:
    added(catchment)
    new = {"COOKIE_MASTER_KEY": "another passphrase that is long enough as well", "COOKIE_KEY_ID": "key_v2"}
    lost = catchment("cookies", "rotate", **new)
    assert lost.exit_code == 1
    assert "account_01" in lost.stderr
    found = catchment.json("cookies", "rotate", **new, COOKIE_KEY_KEY_V1=MASTER_KEY)
    assert (found["total"], found["resealed"], found["unreadable"]) == (1, 1, [])
    assert catchment.json("cookies", "list", **new)[0]["encryption_key_id"] == "key_v2"
    assert catchment("cookies", "rotate", **new).exit_code == 0


def test_the_forecast_is_a_sentence_for_each_platform(catchment: Command) -> None:
    added(catchment)
    assert "the pool of xhs lasts for today" in catchment("cookies", "forecast", **KEY).stdout
    [one] = catchment.json("cookies", "forecast", **KEY)
    assert (one["platform"], one["available"], one["remaining_today"]) == ("xhs", 1, 100)


@pytest.mark.parametrize(
    ("words", "part"),
    [
        (("reset", "nobody"), "There is no cookie 'nobody'"),
        (("remove", "nobody"), "There is no cookie 'nobody'"),
        (("add", "--name", "a", "--platform", "xhs", "--file", "nowhere.txt"), "nowhere.txt cannot be read"),
    ],
)
def test_what_cannot_be_done_is_told_in_one_sentence(catchment: Command, words: tuple[str, ...], part: str) -> None:
    result = catchment("cookies", *words, **KEY)
    assert result.exit_code == 1
    assert part in result.stderr
    assert result.stderr.count("\n") == 1


@pytest.mark.proves("E-07")
def test_without_a_master_key_adding_is_refused_with_what_to_set(catchment: Command) -> None:
    result = catchment("cookies", "add", "--name", "a", "--platform", "xhs", stdin=VALUE)
    assert result.exit_code == 2
    assert "COOKIE_MASTER_KEY" in result.stderr
    assert MARKER not in result.output
    assert catchment("cookies", "set", "a").exit_code == 2
