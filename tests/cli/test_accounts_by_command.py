"""Users and keys from the command line."""

from __future__ import annotations

import json

import pytest
from command import Command


@pytest.mark.proves("D-12")
def test_a_user_is_disabled_enabled_and_given_a_new_password(catchment: Command) -> None:
    made = catchment.json("users", "add", "ada@example.org")
    again = catchment.json("users", "reset-password", "ada@example.org")
    assert again["temp_password"] not in {made["temp_password"], ""}
    assert catchment.json("users", "disable", "ada@example.org")["is_active"] is False
    assert catchment.json("users", "enable", str(made["user"]["id"]))["is_active"] is True
    everything = json.dumps([catchment.json("users", "list"), catchment.json("keys", "list")])
    for secret in (made["temp_password"], made["api_key"], again["temp_password"], "argon2"):
        assert secret not in everything


@pytest.mark.proves("D-12")
def test_a_key_is_made_for_a_user_in_a_scope_and_listed_with_it(catchment: Command) -> None:
    catchment.json("users", "add", "ada@example.org")
    made = catchment.json("keys", "create", "reader", "--user", "ada@example.org", "--scope", "read")
    assert (made["key"]["scope"], made["key"]["role"]) == ("read", "user")
    assert [key["name"] for key in catchment.json("keys", "list", "--user", "1")] == ["first key", "reader"]
    catchment.json("keys", "create", "script", "--role", "service")
    assert len(catchment.json("keys", "list")) == 3


def test_what_is_shown_once_is_shown_to_people_too(catchment: Command) -> None:
    said = catchment("users", "add", "ada@example.org").stdout
    assert "Key (shown only now): cat_" in said
    assert "Password to begin with (shown only now): " in said
    assert "Disabled user 1: ada <ada@example.org>" in catchment("users", "disable", "1").stdout
    assert "Password to begin with" in catchment("users", "reset-password", "1").stdout
    assert "first key" in catchment("keys", "list").stdout
    made = catchment("keys", "create", "reader", "--user", "1").stdout
    assert "Made key 2 (reader)." in made
    assert "Key (shown only now): cat_" in made
    assert "Revoked key 2 (reader)." in catchment("keys", "revoke", "2").stdout


@pytest.mark.parametrize("who", ["nobody@example.org", "nobody", "7", "9" * 30, ""])
def test_somebody_who_is_not_there_is_exit_code_1_and_a_sentence(catchment: Command, who: str) -> None:
    for words in (("users", "disable", who), ("users", "reset-password", who), ("keys", "list", "--user", who)):
        result = catchment(*words)
        assert result.exit_code == 1, words
        assert result.stderr.startswith("Error: There is no user")


@pytest.mark.proves("H-01")
def test_somebody_follows_what_is_public_and_is_told_what_is_not(catchment: Command) -> None:
    catchment("users", "add", "ada@example.org")
    for name, words in {"a": ["--public"], "b": ["--public"], "c": []}.items():
        catchment("add", f"https://{name}.example/feed", "--no-check", *words)
    assert catchment.json("users", "subscribe", "ada@example.org", "2") == {"added": 1}
    assert catchment("users", "subscribe", "ada@example.org").stdout == "ada@example.org follows 1 more source(s).\n"
    refused = catchment("users", "subscribe", "ada@example.org", "3")
    assert (refused.exit_code, "sources set 3 --public" in refused.stderr) == (1, True), refused.stderr
