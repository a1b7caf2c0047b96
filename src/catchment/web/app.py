"""The web application: routes, errors and surroundings, over a System."""

from __future__ import annotations

from pathlib import Path

from fastapi import FastAPI
from fastapi.staticfiles import StaticFiles

from catchment import __version__
from catchment.bootstrap import System
from catchment.monitor.status import View
from catchment.web.crawler import cookies as crawler_cookies
from catchment.web.crawler import reading
from catchment.web.dashboard import read_board
from catchment.web.errors import install_error_handlers
from catchment.web.live import LOOK_SECONDS, Live
from catchment.web.metrics import Metrics
from catchment.web.middleware import BodyCap, HeadAsGet, RequestContext
from catchment.web.routes import (
    account,
    admin_jobs,
    admin_schedule,
    admin_scrape,
    admin_users,
    admin_webhooks,
    alerts,
    collector,
    config,
    dashboard,
    digests,
    events,
    exchange,
    feed,
    feeds,
    follows,
    health,
    login,
    me,
    packs,
    published,
    raw_items,
    resolve,
    signing,
    sources,
    subscriptions,
    tweets,
    workflow,
)

_ROUTERS = (
    # Before `sources`, which would take `/api/sources/export` for the export of a source by that number.
    exchange,
    sources,
    resolve,
    raw_items,
    subscriptions,
    packs,
    collector,
    alerts,
    config,
    digests,
    feed,
    feeds,
    published,
    events,
    health,
    dashboard,
    signing,
    account,
    login,
    me,
    admin_users,
    admin_schedule,
    admin_jobs,
    admin_scrape,
    admin_webhooks,
    tweets,
    follows,
    reading,
    crawler_cookies,
    workflow,
)


def create_app(system: System, *, look_seconds: float = LOOK_SECONDS) -> FastAPI:
    """`look_seconds` is how often the store is looked at for news while a dashboard is open."""
    app = FastAPI(
        title="Catchment",
        version=__version__,
        description="Everything you follow, collected on time, exactly once, and given back anywhere.",
        # Their pages load scripts from elsewhere; ours work offline.
        docs_url=None,
        redoc_url=None,
    )

    async def read(view: View) -> str:
        return (await read_board(system, view)).model_dump_json()

    app.state.system = system
    app.state.metrics = Metrics()
    app.state.live = Live(system, read, look_seconds=look_seconds)
    install_error_handlers(app)
    for module in _ROUTERS:
        # They are whole as they are: including a router would work every one of them out anew.
        app.router.routes.extend(module.router.routes)
    app.mount("/static", StaticFiles(directory=Path(__file__).parent / "static"), name="static")
    app.add_middleware(BodyCap)
    app.add_middleware(HeadAsGet)
    app.add_middleware(RequestContext, metrics=app.state.metrics)
    return app
