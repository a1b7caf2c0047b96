"""What the logs say, and what they must not."""

from __future__ import annotations

import json

import pytest
from loguru import logger

from catchment.logs import set_up_logs


@pytest.fixture
def restored():
    yield
    logger.remove()


@pytest.mark.proves("E-24")
@pytest.mark.parametrize("form", ["text", "json"])
@pytest.mark.usefixtures("restored")
def test_secrets_are_struck_out_of_messages_and_tracebacks(capsys, form):
    set_up_logs(level="INFO", form=form)
    secret = "tell-nobody"
    error = ValueError(f"Authorization: Bearer {secret}")
    logger.opt(exception=error).error("cookie web_session={} was refused", secret)
    said = capsys.readouterr().err
    assert "***REDACTED***" in said
    assert secret not in said


@pytest.mark.proves("E-24")
@pytest.mark.usefixtures("restored")
def test_secrets_are_struck_out_of_the_context_of_a_line(capsys):
    set_up_logs(level="INFO", form="json")
    logger.bind(note="web_session=tell-nobody", cookie="tell-nobody").info("a line")
    line = json.loads(capsys.readouterr().err)
    assert (line["note"], line["cookie"]) == ("web_session=***REDACTED***", "***REDACTED***")


@pytest.mark.proves("D-19")
@pytest.mark.usefixtures("restored")
def test_a_json_line_is_one_object_with_time_level_message_and_context(capsys):
    set_up_logs(level="INFO", form="json")
    logger.bind(request_id="req-1").info("a line")
    logger.debug("not this one")
    line = json.loads(capsys.readouterr().err)
    assert (line["level"], line["message"], line["request_id"]) == ("INFO", "a line", "req-1")
    assert line["time"]


@pytest.mark.proves("D-19")
@pytest.mark.usefixtures("restored")
def test_a_json_line_carries_its_event_and_numbers_as_numbers(capsys):
    set_up_logs(level="INFO", form="json")
    logger.bind(event="visit.failed", source_id=7, type="rss").info("source 7 (A): visit failed: gone")
    line = json.loads(capsys.readouterr().err)
    assert (line["event"], line["source_id"], line["type"]) == ("visit.failed", 7, "rss")


@pytest.mark.proves("D-19")
@pytest.mark.usefixtures("restored")
def test_what_strangers_say_can_neither_begin_a_line_nor_steer_a_terminal(capsys):
    set_up_logs(level="INFO", form="text")
    logger.info("POST {} 404", "/x\n2026-03-01 ERROR forged\r\x00\x1b[2J\x7f\x85\x9b\u2028\u2029\tend é")
    [line] = capsys.readouterr().err.splitlines()
    said = r"POST /x\n2026-03-01 ERROR forged\r\x00\x1b[2J\x7f\x85\x9b\u2028\u2029" + "\tend é 404"
    assert line.endswith(said)


@pytest.mark.proves("D-19")
@pytest.mark.usefixtures("restored")
def test_a_traceback_has_its_lines_below_a_message_that_has_one(capsys):
    set_up_logs(level="INFO", form="text")
    logger.opt(exception=ValueError("above\nbelow")).error("two\nlines")
    first, *rest = capsys.readouterr().err.splitlines()
    assert first.endswith(r"two\nlines")
    assert rest == ["ValueError: above", "below"]


@pytest.mark.proves("E-24")
@pytest.mark.usefixtures("restored")
def test_a_secret_at_the_beginning_of_a_line_is_struck_out_of_a_message_of_several(capsys):
    set_up_logs(level="INFO", form="text")
    logger.info("asked with\na1=tell-nobody\nSUB=tell-nobody")
    assert "tell-nobody" not in capsys.readouterr().err


@pytest.mark.proves("E-06")
@pytest.mark.usefixtures("restored")
def test_a_line_of_text_ends_with_the_id_of_its_request(capsys):
    set_up_logs(level="INFO", form="text")
    with logger.contextualize(request_id="req-1"):
        logger.info("within")
    logger.info("without")
    within, without = capsys.readouterr().err.splitlines()
    assert within.endswith("within [req-1]")
    assert without.endswith("without")
