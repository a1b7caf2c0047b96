"""Exports over HTTP."""

from __future__ import annotations

import csv
import io
import json
import sys

import pytest
from web_site import Site

from catchment.manage import exports
from stores import on_sqlite_alone

pytestmark = on_sqlite_alone


@pytest.mark.proves("H-05")
async def test_each_caller_exports_what_the_list_shows_them(site: Site):
    hers = await site.add_source(site.alice, "hers")
    public = await site.add_source(site.alice, "public", public=True)
    await site.add_items(hers, "hers 1", "=cmd")
    await site.add_items(public, "of all")
    assert (await site.get("/api/items/export?format=jsonl")).status_code == 401
    for who in ("alice", "bob", "service", "admin"):
        answer = await site.get("/api/items/export?format=jsonl", who)
        listed = {item["id"] for item in (await site.get("/api/raw-items", who)).json()}
        assert {json.loads(line)["id"] for line in answer.text.splitlines()} == listed
    answer = await site.get("/api/items/export", "alice")
    assert answer.headers["content-type"] == "text/csv; charset=utf-8"
    assert answer.headers["content-disposition"] == 'attachment; filename="catchment-items.csv"'
    titles = {row["title"] for row in csv.DictReader(io.StringIO(answer.text))}
    assert titles == {"hers 1", "'=cmd", "of all"}


@pytest.mark.proves("H-05")
@pytest.mark.parametrize("what", ["items", "notes", "comments", "tweets"])
@pytest.mark.parametrize("form", ["csv", "jsonl", "parquet"])
async def test_everything_is_exported_in_every_format(lean_site: Site, what: str, form: str):
    answer = await lean_site.get(f"/api/items/export?what={what}&format={form}", "alice")
    assert answer.status_code == 200
    assert answer.content.startswith({"csv": b"", "jsonl": b"", "parquet": b"PAR1"}[form])


@pytest.mark.proves("H-05")
async def test_an_export_is_sent_while_it_is_read(lean_site: Site, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(exports, "PAGE_ROWS", 1)
    source = await lean_site.add_source(lean_site.alice, "hers")
    await lean_site.add_items(source, "a", "b", "c")
    headers = {"X-API-Key": lean_site.keys["alice"]}
    async with lean_site.client.stream("GET", "/api/items/export?format=jsonl", headers=headers) as answer:
        assert "content-length" not in answer.headers
        assert len(await answer.aread()) > 3
    head = await lean_site.ask("HEAD", "/api/items/export", "alice")
    assert (head.status_code, head.content, head.headers["content-type"]) == (200, b"", "text/csv; charset=utf-8")


@pytest.mark.proves("H-05")
@pytest.mark.parametrize(
    "query", ["format=xls", "what=users", "what=tweets&source_id=1", "since=2026-02-01&until=2026-01-01"]
)
async def test_what_cannot_be_exported_is_said_before_anything_is_sent(lean_site: Site, query: str):
    assert (await lean_site.get(f"/api/items/export?{query}", "alice")).status_code == 422


@pytest.mark.proves("H-05", "H-08")
async def test_a_missing_extra_is_named(lean_site: Site, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    answer = await lean_site.get("/api/items/export?format=parquet", "alice")
    assert (answer.status_code, "catchment[parquet]" in answer.json()["error"]) == (501, True)
