"""What was removed of late is found without a look at all the sources that are there."""

import sqlalchemy as sa
from alembic import op

revision = "0030"
down_revision = "0029"
branch_labels = None
depends_on = None

_REMOVED = sa.text("deleted_at IS NOT NULL")


def upgrade() -> None:
    op.create_index(
        "ix_sources_deleted_at", "sources", ["deleted_at"], sqlite_where=_REMOVED, postgresql_where=_REMOVED
    )


def downgrade() -> None:
    op.drop_index("ix_sources_deleted_at", table_name="sources")
