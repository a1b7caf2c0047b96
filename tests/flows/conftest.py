"""Flows are run by a real Prefect, which lives in an environment of its own: `make test-prefect`."""

from __future__ import annotations

import importlib.util
import os
from collections.abc import Iterator

import pytest

from feed_site import FeedSite
from sitemap_site import SitemapSite

HAS_PREFECT = importlib.util.find_spec("prefect") is not None
#: Prefect's server wants an older FastAPI than the product's own, so that both cannot be in one environment.
collect_ignore = [] if HAS_PREFECT else ["test_flows_under_prefect.py"]

# Before Prefect is imported, which reads them once.
os.environ |= {
    "PREFECT_SERVER_ANALYTICS_ENABLED": "false",
    "DO_NOT_TRACK": "1",
    "PREFECT_LOGGING_TO_API_ENABLED": "false",
}


@pytest.fixture(scope="session")
def prefect_server() -> Iterator[None]:
    """A server of its own, with a database that is thrown away."""
    from prefect.testing.utilities import prefect_test_harness

    with prefect_test_harness(server_startup_timeout=90):
        yield


@pytest.fixture
def pages(site: FeedSite) -> SitemapSite:
    return SitemapSite(site)
