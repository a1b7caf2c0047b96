"""The guide to sitemaps tells the truth: its file is read, its modules are there, and its figures meet the bars."""

from __future__ import annotations

import ast
import importlib.util
import re
from pathlib import Path

import pytest
from bench.sitemap import LEAST_SAVED, MAX_GROWTH_MB

from catchment.manage.sites import SECTIONS, Site, read_sites

GUIDE = (Path(__file__).parent.parent / "docs" / "sitemaps.md").read_text(encoding="utf-8")

pytestmark = pytest.mark.proves("B-21")


def blocks(language):
    return re.findall(rf"^```{language}\n(.*?)^```", GUIDE, re.DOTALL | re.MULTILINE)


def names_of(path):
    """What a module defines, read without importing it."""
    tree = ast.parse(Path(path).read_text(encoding="utf-8"))
    return {node.name for node in tree.body if hasattr(node, "name")}


def test_every_door_has_its_section():
    for heading in ("A feed at once", "A file of sites", "Under Prefect", "The state alone", "What it saves"):
        assert f"\n## {heading}\n" in GUIDE


def test_the_file_of_sites_is_one():
    [text] = blocks("yaml")
    harbour, mill = read_sites(text.encode())
    assert isinstance(harbour, Site)
    assert isinstance(mill, Site)
    assert (harbour.schedule, harbour.max_items, mill.is_enabled) == ("0 */6 * * *", 30, False)


def test_every_key_of_a_file_is_explained():
    for section, keys in SECTIONS.items():
        [row] = re.findall(rf"^\| `{section}` \| (.*) \|$", GUIDE, re.MULTILINE)
        assert set(keys) <= set(re.findall(r"`(\w+)`", row))


def test_everything_that_is_imported_is_there():
    imported = [
        (node.module, alias.name)
        for block in blocks("python")
        for node in ast.walk(ast.parse(f"async def _():\n{re.sub('^', '    ', block, flags=re.MULTILINE)}"))
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    ]
    assert len(imported) == 5
    for module, name in imported:
        assert name in names_of(importlib.util.find_spec(module).origin)


def figures():
    """The rows of the table of measurements: requests, seconds and megabytes by pages listed and kind of run."""
    row = r"^\| (\d+,\d+) \| ([^|]+) \| ([\d,]+) \| ([\d.,]+) \| (\d+) \|$"
    return {
        (pages, kind): tuple(float(cell.replace(",", "")) for cell in cells)
        for pages, kind, *cells in re.findall(row, GUIDE, re.MULTILINE)
    }


def test_full_and_incremental_runs_are_compared_with_figures_that_meet_the_bars():
    measured = figures()
    full, changed = (measured["50,000", kind] for kind in ("full: every page", "incremental, 500 pages changed"))
    for whole, part in zip(full[:2], changed[:2], strict=True):
        assert 100 * (1 - part / whole) >= LEAST_SAVED


@pytest.mark.parametrize(
    "kind", ["incremental, the first run", "incremental, nothing changed", "incremental, 500 pages changed"]
)
def test_the_memory_of_a_run_does_not_grow_with_the_sitemap(kind):
    small, large = (figures()[pages, kind][2] for pages in ("50,000", "500,000"))
    assert large - small <= MAX_GROWTH_MB
