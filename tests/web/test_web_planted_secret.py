"""A secret that got into five places: the redactor takes it out of four, and the audit finds it in the fifth."""

from __future__ import annotations

import pytest
from fastapi import Response
from loguru import logger
from sqlalchemy import update
from web_site import Site

from catchment.errors import BadAnswer
from catchment.logs import set_up_logs
from catchment.monitor.audit import Kind, audit_store
from catchment.redact import MASK, redact_url
from catchment.store.tables import sources
from planted import LEAKED, MARKER, leaky_cookie, planted_cookie

pytestmark = pytest.mark.proves("E-07", "E-24")


@pytest.fixture
def logs():
    set_up_logs(level="INFO", form="text")
    yield
    logger.remove()


@pytest.mark.usefixtures("logs")
def test_it_leaves_neither_a_log_line_nor_the_text_of_an_exception(capsys):
    error = BadAnswer(f"The platform did not like {planted_cookie()}")
    logger.opt(exception=error).error("a request with {} failed", planted_cookie("second"))
    said = capsys.readouterr().err
    assert "BadAnswer" in said
    assert MASK in said
    assert MARKER not in said


def test_it_is_not_in_a_url_that_is_shown():
    shown = redact_url(f"https://ada:{MARKER}@example.org/note?web_session={MARKER}&xsec_token={MARKER}&page=2")
    assert shown == f"https://{MASK}@example.org/note?web_session={MASK}&xsec_token={MASK}&page=2"


async def test_it_is_in_no_header_of_an_answer(lean_site: Site):
    async def echo() -> Response:
        return Response(headers={"X-Upstream": planted_cookie(), "Set-Cookie": "own=kept", "Location": "/?token=kept"})

    lean_site.app.add_api_route("/echo", echo)
    answer = await lean_site.client.get("/echo", headers={"X-Request-ID": f"web_session:{MARKER}"})
    assert MARKER not in str(answer.headers)
    assert answer.headers["X-Request-ID"] == f"web_session:{MASK}"
    assert (answer.headers["Set-Cookie"], answer.headers["Location"]) == ("own=kept", "/?token=kept")


async def test_it_is_found_in_a_row_of_the_store(site: Site):
    source = await site.add_source(None, "one")
    assert await audit_store(site.system.store) == []
    leak = update(sources).values(last_error=f"refused: {leaky_cookie()}")
    await site.system.store.write(lambda conn: conn.execute(leak))
    [issue] = await audit_store(site.system.store)
    assert (issue.kind, issue.where) == (Kind.COOKIE, f"sources.last_error, row {source.id}")
    assert LEAKED not in str(issue)
