"""Visits that failed by no fault of their source are told apart. What was logged before stays as it is."""

import sqlalchemy as sa
from alembic import op

revision = "0027"
down_revision = "0026"
branch_labels = None
depends_on = None


def upgrade() -> None:
    # Neither store touches a row for a column that is empty or the same in all of them.
    op.add_column("fetch_log", sa.Column("excuse", sa.String(20)))
    op.add_column("visit_hours", sa.Column("excused", sa.Integer(), nullable=False, server_default=sa.text("0")))


def downgrade() -> None:
    op.drop_column("visit_hours", "excused")
    op.drop_column("fetch_log", "excuse")
