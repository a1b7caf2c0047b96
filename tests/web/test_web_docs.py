"""`/docs`: the API to read and to try, offline."""

from __future__ import annotations

from typing import Any
from urllib.parse import urlsplit

import pytest
from browser import CHROMIUM
from playwright.async_api import Route, async_playwright
from web_site import Site

from catchment.web.middleware import _HEADERS


@pytest.mark.proves("H-03")
async def test_the_page_is_as_open_as_the_description_and_under_the_same_policy(lean_site: Site):
    for path in (
        "/openapi.json",
        "/docs",
        "/docs/ui/swagger-ui-bundle.js",
        "/docs/ui/swagger-ui.css",
        "/static/docs.js",
        "/static/docs.css",
    ):
        answer = await lean_site.get(path)
        assert answer.status_code == 200, path
        assert answer.headers["content-security-policy"] == _HEADERS["Content-Security-Policy"]
    page = (await lean_site.get("/docs")).text
    assert "<script>" not in page
    assert "://" not in page


@pytest.mark.proves("H-03")
async def test_what_may_go_wrong_is_described_for_every_call_with_a_key(lean_site: Site):
    described = (await lean_site.get("/openapi.json")).json()
    for path, methods in described["paths"].items():
        for method, operation in methods.items():
            failing = {code for code in operation["responses"] if code.startswith("4")}
            assert not path.startswith("/api/") or "401" in failing or not operation.get("security"), (method, path)
            for code in failing:
                assert operation["responses"][code]["description"], (method, path, code)


@pytest.mark.proves("H-03")
async def test_every_call_of_the_api_tells_its_errors(lean_site: Site):
    described = (await lean_site.get("/openapi.json")).json()
    for path, calls in described["paths"].items():
        for method, call in calls.items() if path.startswith("/api/") else ():
            told, what = set(call["responses"]), f"{method.upper()} {path}"
            assert {code for code in told if code[0] in "45"}, what
            assert "{" not in path or "404" in told, what
            assert not (call.get("parameters") or call.get("requestBody")) or told & {"400", "422"}, what


def shows(schema: dict[str, Any], models: dict[str, Any]) -> bool:
    """Whether somebody who looks at it sees what to write: an example of it or of a part, a usual value or a choice."""
    if schema.keys() & {"example", "examples", "default", "enum", "const"}:
        return True
    model = models[schema["$ref"].rpartition("/")[2]] if "$ref" in schema else {}
    parts = [part for word in ("anyOf", "allOf", "oneOf") for part in schema.get(word, ())]
    parts += [*schema.get("properties", {}).values(), schema.get("items"), model]
    return any(shows(part, models) for part in parts if part)


@pytest.mark.proves("H-03")
async def test_bodies_and_errors_have_examples(lean_site: Site):
    described = (await lean_site.get("/openapi.json")).json()
    models = described["components"]["schemas"]
    for path, calls in described["paths"].items():
        for method, call in calls.items() if path.startswith("/api/") else ():
            for content in call.get("requestBody", {}).get("content", {}).values():
                assert "example" in content or shows(content["schema"], models), f"{method.upper()} {path}"
    for model, field in (("PastedIn", "url"), ("SourceIn", "type"), ("SourceIn", "config"), ("FeedIn", "slug")):
        assert models[model]["properties"][field]["examples"], (model, field)
    assert models["Problem"]["properties"]["error"]["examples"]


def exemplified(schema: dict[str, Any], models: dict[str, Any]) -> bool:
    """Whether an answer, or a part of it, has an example."""
    if schema.keys() & {"example", "examples"}:
        return True
    # Of a model that holds itself, the second is no other than the first.
    name = schema.get("$ref", "").rpartition("/")[2]
    others = {key: model for key, model in models.items() if key != name}
    parts = [part for word in ("anyOf", "allOf", "oneOf") for part in schema.get(word, ())]
    parts += [*schema.get("properties", {}).values(), schema.get("items"), models.get(name)]
    return any(exemplified(part, others) for part in parts if part)


@pytest.mark.proves("H-03")
async def test_every_answer_but_pages_and_pictures_has_an_example(lean_site: Site):
    described = (await lean_site.get("/openapi.json")).json()
    models = described["components"]["schemas"]
    bare = [
        f"{method.upper()} {path} {status} {media}"
        for path, calls in described["paths"].items()
        for method, call in calls.items()
        for status, answer in call["responses"].items()
        for media, content in answer.get("content", {}).items()
        if media not in {"text/html", "image/*"}
        and "example" not in content
        and not exemplified(content.get("schema", {}), models)
    ]
    assert bare == []
    assert "HTTPValidationError" not in models, "no request is refused in that form"


@pytest.mark.browser
@pytest.mark.proves("H-03")
async def test_a_browser_without_a_network_tries_a_call(lean_site: Site, served_url: str):
    if CHROMIUM is None:
        pytest.skip("no Chromium on this machine")
    source = await lean_site.add_source(lean_site.alice, "quay", public=True)
    elsewhere, complaints = [], []

    async def only_here(route: Route) -> None:
        if urlsplit(route.request.url).hostname == "127.0.0.1":
            await route.continue_()
        else:
            elsewhere.append(route.request.url)
            await route.abort()

    async with async_playwright() as playwright:
        browser = await playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        page = await browser.new_page(base_url=served_url)
        page.on("console", lambda message: complaints.append(message.text) if message.type == "error" else None)
        page.on("pageerror", lambda error: complaints.append(str(error)))
        await page.route("**/*", only_here)
        await page.goto("/docs")
        await page.locator("#operations-tag-sources").click(timeout=90_000)
        call = page.locator("#operations-sources-list_sources_api_sources_get")
        await call.locator(".opblock-summary-control").click()
        await call.locator(".try-out__btn").click()
        await call.locator(".execute").click()
        answer = call.locator(".live-responses-table .response .microlight, .live-responses-table .response pre").first
        await answer.wait_for()
        assert f'"name": "{source.name}"' in await answer.inner_text()
        await browser.close()
    assert (elsewhere, complaints) == ([], [])
