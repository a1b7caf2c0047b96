"""The rhythm of sources, where they moved to, and how long their items are kept."""

import sqlalchemy as sa
from alembic import op

from catchment.store.types import Json, UtcDateTime

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None

NEW = ("rhythm", "quiet_at", "gap_at", "moved", "keep_days")


def upgrade() -> None:
    op.add_column("sources", sa.Column("rhythm", Json, nullable=False, server_default=sa.text("'{}'")))
    op.add_column("sources", sa.Column("quiet_at", UtcDateTime()))
    op.add_column("sources", sa.Column("gap_at", UtcDateTime()))
    op.add_column("sources", sa.Column("moved", Json))
    op.add_column("sources", sa.Column("keep_days", sa.Integer()))
    op.create_index(
        "ix_sources_keep_days",
        "sources",
        ["keep_days"],
        sqlite_where=sa.text("keep_days IS NOT NULL"),
        postgresql_where=sa.text("keep_days IS NOT NULL"),
    )


def downgrade() -> None:
    op.drop_index("ix_sources_keep_days", "sources")
    # One by one, in place: making the table anew would take everything along that refers to it.
    for name in reversed(NEW):
        op.drop_column("sources", name)
