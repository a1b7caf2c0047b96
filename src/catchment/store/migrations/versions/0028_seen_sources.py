"""The sources that everybody sees, and those that are excused, are found without a look at all the others."""

import sqlalchemy as sa
from alembic import op

revision = "0028"
down_revision = "0027"
branch_labels = None
depends_on = None

_OFFLINE = sa.text("next_check_why = 'offline'")


def upgrade() -> None:
    op.create_index(
        "ix_sources_public",
        "sources",
        ["is_public"],
        # As the queries say it: SQLite knows a condition again by its words.
        sqlite_where=sa.text("is_public IS 1"),
        postgresql_where=sa.text("is_public IS true"),
    )
    op.create_index("ix_sources_offline", "sources", ["host"], sqlite_where=_OFFLINE, postgresql_where=_OFFLINE)


def downgrade() -> None:
    for name in ("ix_sources_offline", "ix_sources_public"):
        op.drop_index(name, table_name="sources")
