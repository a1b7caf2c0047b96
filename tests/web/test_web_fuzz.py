"""Every route is fed what its schema allows and what it does not; whatever comes, it is never our fault."""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections.abc import Collection, Iterator

import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis.errors import Unsatisfiable
from hypothesis.strategies import SearchStrategy
from schemathesis import Case, CheckContext, GenerationMode, Response
from schemathesis.checks import (
    content_type_conformance,
    not_a_server_error,
    response_schema_conformance,
    status_code_conformance,
)
from web_site import ADMIN_KEY, JWT_KEY

from catchment.bootstrap import open_system
from catchment.domain.crawl_errors import Code
from catchment.settings import Settings
from catchment.web.app import create_app
from catchment.web.server import serve_app

pytestmark = pytest.mark.fuzz

#: No platform is there: whatever is sent to one, it does not get out of the house.
NOWHERE = "http://127.0.0.1:9"
#: Per operation.
EXAMPLES = 8
#: So that no test takes a minute, and several processes have some of it each.
PARTS = 4
#: A stream, which is not asked for.
ENDLESS = "/api/events"


def not_our_fault(ctx: CheckContext, response: Response, case: Case) -> bool | None:
    """No answer tells of a failure of ours; that a platform failed is told by a code of the crawler's table."""
    if response.status_code in {500, 502, 503, 504} and _code(response) in {*Code, "NOT_CONFIGURED"}:
        return None
    return not_a_server_error(ctx, response, case)


def _code(response: Response) -> str | None:
    body = response.json()
    error = body.get("error") if isinstance(body, dict) else None
    return error.get("code") if isinstance(error, dict) else None


CHECKS = [not_our_fault, status_code_conformance, content_type_conformance, response_schema_conformance]


@contextlib.contextmanager
def served(database_url: str) -> Iterator[str]:
    """A server in a thread of its own: the fuzzer is not asynchronous."""
    ready, stop = threading.Event(), threading.Event()
    urls: list[str] = []

    async def run() -> None:
        settings = Settings(
            database_url=database_url,
            admin_api_key=ADMIN_KEY,
            jwt_secret_key=JWT_KEY,
            cookie_master_key="a passphrase that is long enough for anybody",
            crawl_spacing_seconds=0.0,
            xhs_base_url=NOWHERE,
            xhs_site_url=NOWHERE,
            weibo_base_url=NOWHERE,
            douyin_base_url=NOWHERE,
        )
        async with open_system(settings) as system:
            told = asyncio.Event()

            def on_ready(url: str) -> None:
                urls.append(url)
                ready.set()

            async def wait() -> None:
                await asyncio.to_thread(stop.wait)
                told.set()

            await system.accounts.add_user("somebody@example.org", name="somebody")
            waiting = asyncio.create_task(wait())
            await serve_app(create_app(system), host="127.0.0.1", port=0, stop=told, on_ready=on_ready)
            await waiting

    thread = threading.Thread(target=lambda: asyncio.run(run()))
    thread.start()
    try:
        assert ready.wait(60)
        yield urls[0]
    finally:
        stop.set()
        thread.join(60)


@pytest.fixture
def on_sqlite(sqlite_url: str) -> Iterator[str]:
    with served(sqlite_url) as url:
        yield url


@pytest.fixture
def on_postgres(postgres_url: str) -> Iterator[str]:
    with served(postgres_url) as url:
        yield url


@pytest.mark.proves("F-07")
@pytest.mark.parametrize("mode", list(GenerationMode))
@pytest.mark.parametrize("part", range(PARTS))
def test_no_request_that_the_schema_can_think_of_breaks_the_server_on_either_store(
    on_sqlite: str, on_postgres: str, mode: GenerationMode, part: int
):
    schema = schemathesis.openapi.from_url(f"{on_sqlite}/openapi.json").exclude(path=ENDLESS)
    operations = [result.ok() for result in schema.get_all_operations()]
    assert len(operations) >= 30
    for operation in operations[part::PARTS]:
        _feed(operation.as_strategy(generation_mode=mode), (on_sqlite, on_postgres))


def _feed(cases: SearchStrategy[Case], servers: Collection[str]) -> None:
    """To think of a request takes far longer than to answer it, so that each server gets the same ones."""

    @settings(
        max_examples=EXAMPLES,
        deadline=None,
        derandomize=True,
        database=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(cases)
    def ask(case: Case) -> None:
        answers = [
            case.call_and_validate(base_url=server, headers={"X-API-Key": ADMIN_KEY}, checks=CHECKS)
            for server in servers
        ]
        assert len({answer.status_code for answer in answers}) == 1

    with contextlib.suppress(Unsatisfiable):  # a route without parameters cannot be called wrongly
        ask()
