"""The captures of what real sites sent."""

from __future__ import annotations

from pathlib import Path

import pytest

from captures import captured


@pytest.fixture(scope="session")
def real_feeds() -> Path:
    return captured("feeds")


@pytest.fixture(scope="session")
def real_sitemaps() -> Path:
    return captured("sitemaps")


@pytest.fixture(scope="session")
def real_articles() -> Path:
    return captured("articles")
