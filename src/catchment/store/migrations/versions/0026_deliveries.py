"""An index by which the newest deliveries to one webhook are found, however many went to others."""

from alembic import op

revision = "0026"
down_revision = "0025"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_index("ix_outbox_webhook_id", "outbox", ["webhook_id", "id"])


def downgrade() -> None:
    op.drop_index("ix_outbox_webhook_id", table_name="outbox")
