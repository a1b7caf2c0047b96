from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from fastapi.routing import APIRoute

from catchment.domain.crawl_errors import HANDLING
from catchment.domain.execution import MEDIA_CRAWLER
from catchment.publish.files import DEFAULT_URL, WORKFLOW_FILES, write_workflows
from catchment.settings import Settings
from catchment.web.crawler import cookies, notes
from catchment.web.routes import workflow

ROOT = Path(__file__).parent.parent.parent
COMMITTED = sorted((ROOT / "n8n").glob("*.json"))
LOCK, GUARDED = "Take the lock", {"n8n-nodes-base.httpRequest", "n8n-nodes-base.code"}

Shape = dict[str, Any]


def shape_of(name: str) -> Shape:
    shape: Shape = json.loads((ROOT / "n8n" / name).read_text(encoding="utf-8"))
    return shape


def followers(shape: Shape, name: str) -> Iterator[str]:
    for output in shape["connections"].get(name, {"main": []})["main"]:
        yield from (link["node"] for link in output)


def reachable(shape: Shape, start: str) -> set[str]:
    seen: set[str] = set()
    ahead = [start]
    while ahead:
        if (name := ahead.pop()) not in seen:
            seen.add(name)
            ahead += followers(shape, name)
    return seen


@pytest.mark.proves("E-15")
def test_the_files_are_given_out_as_they_are(tmp_path: Path) -> None:
    assert [path.name for path in COMMITTED] == sorted(WORKFLOW_FILES)
    for path in write_workflows(tmp_path):
        assert (ROOT / "n8n" / path.name).read_bytes() == path.read_bytes()


@pytest.mark.proves("E-15")
@pytest.mark.parametrize("path", COMMITTED, ids=lambda path: path.stem)
def test_every_node_has_a_name_of_its_own_and_can_be_come_by(path: Path) -> None:
    shape = shape_of(path.name)
    names = [node["name"] for node in shape["nodes"]]
    assert len(set(names)) == len(names) == len({node["id"] for node in shape["nodes"]})
    assert len({tuple(node["position"]) for node in shape["nodes"]}) == len(names), "none hides another"
    assert {link for name in names for link in followers(shape, name)} <= set(names)
    assert reachable(shape, "By hand") | {"On schedule"} == set(names)
    assert reachable(shape, "On schedule") | {"By hand"} == set(names)


@pytest.mark.proves("E-15")
@pytest.mark.parametrize("path", COMMITTED, ids=lambda path: path.stem)
def test_what_is_looked_up_by_name_is_there(path: Path) -> None:
    names = {node["name"] for node in shape_of(path.name)["nodes"]}
    assert set(re.findall(r"\$\('([^']+)'\)", path.read_text(encoding="utf-8"))) <= names


@pytest.mark.proves("E-15")
def test_whatever_fails_while_the_lock_is_held_releases_it() -> None:
    shape = shape_of("media-crawler.json")
    for node in shape["nodes"]:
        if node["type"] not in GUARDED or node["name"] in {LOCK, "Release"}:
            continue
        assert node["onError"] == "continueErrorOutput", node["name"]
        (after_error,) = shape["connections"][node["name"]]["main"][-1]
        assert after_error["node"] in {"Why it failed", "Stop"}, node["name"]
    assert {"Release as failed", "Stop"} <= reachable(shape, "Why it failed")


@pytest.mark.proves("E-06", "E-15")
@pytest.mark.parametrize("path", COMMITTED, ids=lambda path: path.stem)
def test_every_request_names_its_step_and_brings_no_key_of_its_own(path: Path) -> None:
    calls = [node for node in shape_of(path.name)["nodes"] if node["type"] == "n8n-nodes-base.httpRequest"]
    assert calls
    for node in calls:
        headers = {header["name"]: header["value"] for header in node["parameters"]["headerParameters"]["parameters"]}
        assert headers["X-API-Key"] == "={{ $env.CATCHMENT_API_KEY }}"
        assert re.fullmatch(r"=\{\{ .+ \}\}-[a-z]+", headers["X-Request-ID"]), node["name"]
        assert node["parameters"]["url"].startswith(f'={{{{ $env.CATCHMENT_URL || "{DEFAULT_URL}" }}}}/api/')


@pytest.mark.proves("E-21")
@pytest.mark.parametrize("name", ["What the search came to", "What became of them"])
def test_the_scripts_act_by_the_table_of_errors(name: str) -> None:
    nodes = {node["name"]: node for node in shape_of("media-crawler.json")["nodes"]}
    rows = dict(re.findall(r"^  ([A-Z_]+): (\{.*\}),$", nodes[name]["parameters"]["jsCode"], re.MULTILINE))
    assert {code: json.loads(row) for code, row in rows.items()} == {
        code: {"waits": [wait.total_seconds() for wait in handling.waits], "halts": handling.halts}
        for code, handling in HANDLING.items()
    }


@pytest.mark.proves("E-15")
@pytest.mark.parametrize("path", COMMITTED, ids=lambda path: path.stem)
def test_every_request_is_one_that_the_api_answers(path: Path) -> None:
    answered = {
        (method, route.path)
        for module in (workflow, notes, cookies)
        for route in module.router.routes
        if isinstance(route, APIRoute)
        for method in route.methods
    }
    asked = {
        (node["parameters"]["method"], node["parameters"]["url"].partition("}}")[2].partition("?")[0])
        for node in shape_of(path.name)["nodes"]
        if node["type"] == "n8n-nodes-base.httpRequest"
    }
    assert asked <= answered


@pytest.mark.proves("E-19")
def test_names_and_numbers_are_those_of_the_product() -> None:
    settings = Settings()
    nodes = {node["name"]: node["parameters"] for node in shape_of("media-crawler.json")["nodes"]}
    assert f"http://127.0.0.1:{settings.port}" == DEFAULT_URL
    assert f"workflow_name: '{MEDIA_CRAWLER}'" in nodes[LOCK]["jsonBody"]
    assert f"batch_size: {settings.batch_size} " in nodes["Claim notes"]["jsonBody"]
    (interval,) = (
        node["parameters"]["rule"]["interval"]
        for node in shape_of("lock-recovery.json")["nodes"]
        if node["name"] == "On schedule"
    )
    assert interval == [{"field": "minutes", "minutesInterval": settings.recovery_interval_minutes}]


@pytest.mark.proves("E-15")
def test_another_address_may_be_written_into_the_files(tmp_path: Path) -> None:
    paths = write_workflows(tmp_path, "https://catchment.example/")
    for path in paths:
        assert '\\"https://catchment.example\\" }}/api/' in path.read_text(encoding="utf-8")
