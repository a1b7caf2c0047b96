"""What people say of an alert: that they look after it, and that they want to hear nothing of it for a time."""

import sqlalchemy as sa
from alembic import op

from catchment.store.types import UtcDateTime

revision = "0021"
down_revision = "0020"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("alerts", sa.Column("acknowledged_at", UtcDateTime()))
    op.add_column("alerts", sa.Column("acknowledged_by", sa.String(200)))
    op.add_column("alerts", sa.Column("muted_until", UtcDateTime()))


def downgrade() -> None:
    for column in ("muted_until", "acknowledged_by", "acknowledged_at"):
        op.drop_column("alerts", column)
