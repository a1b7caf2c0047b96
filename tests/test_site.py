"""The documents as a site: every page in its place, every link alive, nothing from elsewhere, both languages found."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from test_docs import ROOT, load_script

pytestmark = pytest.mark.proves("H-07")

site = pytest.importorskip("mkdocs") and load_script("site")


def build(folder: Path, *, config: Path = ROOT / "mkdocs.yml") -> subprocess.CompletedProcess[str]:
    words = [sys.executable, "-m", "mkdocs", "build", "--strict", "-f", str(config), "-d", str(folder)]
    environment = {**os.environ, "NO_MKDOCS_2_WARNING": "1"}
    return subprocess.run(words, cwd=ROOT, env=environment, capture_output=True, text=True, check=False, timeout=100)


def places(entries: object) -> list[str]:
    match entries:
        case str():
            return [entries]
        case dict():
            return [place for below in entries.values() for place in places(below)]
        case _:
            return [place for below in entries for place in places(below)]


def test_every_document_is_in_the_navigation_once():
    named = places(site.navigation())
    written = {path.relative_to(ROOT / "docs").as_posix() for path in (ROOT / "docs").rglob("*.md")}
    assert sorted(named) == sorted(written | {"index.md", "zh.md", "changelog.md", "decisions/index.md"})


def test_a_new_page_becomes_a_guide_without_further_ado(tmp_path, monkeypatch):
    monkeypatch.setattr(site, "DOCS", tmp_path)
    for name in ("tutorial.md", "somebody-wrote-this.md"):
        (tmp_path / name).write_text("# A page\n")
    guides = next(entry["Guides"] for entry in site.navigation() if isinstance(entry, dict) and "Guides" in entry)
    assert "somebody-wrote-this.md" in guides


@pytest.mark.parametrize(
    ("link", "folder", "expected"),
    [
        ("https://example.org", "", "https://example.org"),
        ("#here", "guides", "#here"),
        ("../README.md", "", "index.md"),
        ("../../CHANGELOG.md", "guides", "../changelog.md"),
        ("../../.env.example", "guides", ""),
        ("../deploy", "", ""),
        ("decisions/", "", "decisions/index.md"),
        ("../x.md#keys", "guides", "../x.md#keys"),
        ("nowhere.md", "", "nowhere.md"),
    ],
)
def test_links_lead_to_where_things_are_in_the_site(link, folder, expected):
    assert site.address_in_site(link, folder) == expected


@pytest.mark.docs
def test_the_site_is_made_without_a_dead_link_and_loads_nothing_from_elsewhere(tmp_path):
    made = build(tmp_path / "site")
    assert made.returncode == 0, made.stderr
    pages = list((tmp_path / "site").rglob("*.html"))
    assert len(pages) > 60
    for page in pages:
        text = page.read_text(encoding="utf-8")
        loaded = re.findall(r'<(?:script|img|iframe)\b[^>]*\bsrc="?([^"\s>]+)', text)
        loaded += re.findall(r'<link rel="?(?:stylesheet|icon|preconnect|preload)"?[^>]*\bhref="?([^"\s>]+)', text)
        assert [one for one in loaded if re.match(r"(?:https?:)?//", one)] == [], page.name
        assert 'class="mermaid"' not in text, "what draws it would come from elsewhere"
    index = json.loads((tmp_path / "site" / "search" / "search_index.json").read_text(encoding="utf-8"))
    assert index["config"]["lang"] == ["en", "zh"]
    words = {word for entry in index["docs"] for word in re.split(r"[\s\u200b]+", entry["title"] + " " + entry["text"])}
    assert {"Backup", "小", "采集"} & words >= {"Backup", "采集"}, "Chinese text is told apart into words"


@pytest.mark.docs
def test_a_dead_link_stops_the_site(tmp_path):
    docs = tmp_path / "docs"
    docs.mkdir()
    (docs / "index.md").write_text("# Here\n\n[there](there.md)\n")
    (tmp_path / "mkdocs.yml").write_text(
        "".join(
            line
            for line in (ROOT / "mkdocs.yml").read_text(encoding="utf-8").splitlines(keepends=True)
            if not line.startswith("hooks:")
        )
    )
    made = build(tmp_path / "site", config=tmp_path / "mkdocs.yml")
    assert made.returncode == 1
    assert "there.md" in made.stderr
