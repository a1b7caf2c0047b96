"""The host of each source, and what is known of those that several share."""

from urllib.parse import urlsplit

import sqlalchemy as sa
from alembic import op

from catchment.store.types import Json, UtcDateTime

revision = "0016"
down_revision = "0015"
branch_labels = None
depends_on = None

ROWS_AT_ONCE = 1000
#: Of types that have no address of their own.
SERVICES = {
    "hackernews": "hacker-news.firebaseio.com",
    "reddit": "www.reddit.com",
    "github_trending": "github.com",
}
HAS_HOST = sa.text("host IS NOT NULL")


def upgrade() -> None:
    op.add_column("sources", sa.Column("host", sa.String(255)))
    op.create_index("ix_sources_host", "sources", ["host"], sqlite_where=HAS_HOST, postgresql_where=HAS_HOST)
    op.create_table(
        "hosts",
        sa.Column("host", sa.String(255), nullable=False),
        sa.Column("owner", sa.String(200)),
        sa.Column("owner_until", UtcDateTime()),
        sa.Column("held_until", UtcDateTime()),
        sa.Column("booked_until", UtcDateTime()),
        sa.Column("starts", Json, nullable=False, server_default=sa.text("'[]'")),
        sa.Column("crawl_delay", sa.Float()),
        sa.PrimaryKeyConstraint("host", name=op.f("pk_hosts")),
        sqlite_with_rowid=False,
    )
    _name_hosts(op.get_bind())
    op.execute(
        "INSERT INTO hosts (host) SELECT host FROM sources WHERE host IS NOT NULL GROUP BY host HAVING count(*) > 1"
    )


def downgrade() -> None:
    op.drop_table("hosts")
    op.drop_index("ix_sources_host", "sources")
    op.drop_column("sources", "host")


def _name_hosts(conn: sa.Connection) -> None:
    sources = sa.table("sources", sa.column("id"), sa.column("type"), sa.column("config", Json), sa.column("host"))
    page = sa.select(sources.c.id, sources.c.type, sources.c.config).order_by(sources.c.id).limit(ROWS_AT_ONCE)
    change = sa.update(sources).where(sources.c.id == sa.bindparam("b_id")).values(host=sa.bindparam("b_host"))
    last_id = 0
    while rows := conn.execute(page.where(sources.c.id > last_id)).all():
        last_id = rows[-1].id
        hosts = ((row.id, SERVICES.get(row.type) or _host_of(row.config)) for row in rows)
        if named := [{"b_id": id_, "b_host": host} for id_, host in hosts if host]:
            conn.execute(change, named)


def _host_of(config: object) -> str | None:
    given = (config.get(key) for key in ("url", "endpoint")) if isinstance(config, dict) else ()
    address = next((one for one in given if isinstance(one, str)), "")
    try:
        host = urlsplit(address).hostname or ""
        return host.encode("idna").decode() or None
    except (ValueError, UnicodeError):
        return None
