"""The web application: routes, errors and surroundings, over a System."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from fastapi import FastAPI
from fastapi.staticfiles import StaticFiles

from catchment import __version__
from catchment.bootstrap import System
from catchment.monitor.status import View
from catchment.web.crawler import cookies as crawler_cookies
from catchment.web.crawler import notes as crawler_notes
from catchment.web.dashboard import read_board
from catchment.web.errors import ErrorHandlingRoute, InvalidProblem, install_error_handlers
from catchment.web.greader import routes as greader
from catchment.web.live import LOOK_SECONDS, Live
from catchment.web.metrics import Metrics
from catchment.web.middleware import BodyCap, HeadAsGet, RequestContext, SubPath
from catchment.web.pages import Watch, read_watched
from catchment.web.routes import (
    account,
    admin,
    admin_scrape,
    admin_webhooks,
    agents,
    alert_pages,
    collector,
    dashboard,
    docs,
    events,
    exports,
    feed,
    feed_pages,
    feeds,
    health,
    history,
    item_pages,
    items,
    me,
    packs,
    platform_pages,
    raw_items,
    signing,
    source_pages,
    sources,
    system_pages,
    tweets,
    webhook_pages,
    workflow,
)

_ROUTERS = (
    # Before `sources`, which would take `/api/sources/removed` for a source by that number.
    history.router,
    sources.router,
    raw_items.router,
    # Before `items`, which would take "export" for an item by that number.
    exports.router,
    items.router,
    packs.subscriptions_router,
    packs.router,
    collector.router,
    collector.alerts_router,
    admin.config_router,
    feed.digests_router,
    feed.router,
    feed.pages_router,
    feeds.router,
    feed_pages.router,
    feeds.published_router,
    events.router,
    health.router,
    dashboard.router,
    source_pages.router,
    alert_pages.router,
    webhook_pages.router,
    platform_pages.router,
    item_pages.router,
    item_pages.pictures_router,
    signing.router,
    account.router,
    system_pages.router,
    me.login_router,
    me.router,
    admin.users_router,
    admin.router,
    admin.jobs_router,
    admin_scrape.router,
    admin_webhooks.router,
    tweets.router,
    tweets.follows_router,
    crawler_notes.router,
    crawler_cookies.router,
    workflow.router,
    greader.router,
    agents.router,
    docs.router,
)


class DescribedApp(FastAPI):
    """Tells of a request that does not fit as it is told here; FastAPI has a form of its own for it."""

    def openapi(self) -> dict[str, Any]:
        if self.openapi_schema:
            return self.openapi_schema
        described = super().openapi()
        apart = {route.path_format for route in self.routes if isinstance(route, ErrorHandlingRoute)}
        for path, calls in described["paths"].items():
            for call in calls.values():
                _correct(call["responses"], tells_apart=path in apart)
        for name in ("HTTPValidationError", "ValidationError"):
            described["components"]["schemas"].pop(name, None)
        return described


def _correct(answers: dict[str, Any], *, tells_apart: bool) -> None:
    invalid = answers.get("422", {}).get("content", {}).get("application/json", {})
    if not invalid.get("schema", {}).get("$ref", "").endswith("/HTTPValidationError"):
        return
    if tells_apart:
        # Those routes answer with 400, in a form of their own.
        del answers["422"]
    else:
        invalid["schema"] = {"$ref": f"#/components/schemas/{InvalidProblem.__name__}"}


def create_app(system: System, *, look_seconds: float = LOOK_SECONDS) -> FastAPI:
    """`look_seconds` is how often the store is looked at for news while a dashboard is open."""
    app = DescribedApp(
        title="Catchment",
        version=__version__,
        description="Everything you follow, collected on time, exactly once, and given back anywhere.",
        # Their pages load scripts from elsewhere; ours (`routes/docs.py`) works offline.
        docs_url=None,
        redoc_url=None,
    )

    async def read(view: View | Watch) -> str:
        if isinstance(view, Watch):
            return await read_watched(app, view)
        viewer = await system.viewer(view)
        return (await read_board(system, viewer, await viewer.snapshot())).model_dump_json()

    app.state.system = system
    app.state.metrics = Metrics()
    app.state.live = Live(system, read, look_seconds=look_seconds)
    install_error_handlers(app)
    for router in _ROUTERS:
        # They are whole as they are: including a router would work every one of them out anew.
        app.router.routes.extend(router.routes)
    app.mount("/docs/ui", docs.interface_files(), name="docs")
    app.mount("/static", StaticFiles(directory=Path(__file__).parent / "static"), name="static")
    app.add_middleware(BodyCap)
    app.add_middleware(HeadAsGet)
    app.add_middleware(RequestContext, metrics=app.state.metrics)
    settings = system.settings
    app.add_middleware(SubPath, public_url=settings.public_url, trusts_proxies=bool(settings.trusted_proxies))
    return app
