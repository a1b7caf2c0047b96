"""The feed that a webhook is told the new items of; empty for all of them."""

import sqlalchemy as sa
from alembic import op

revision = "0023"
down_revision = "0022"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("webhooks", sa.Column("feed", sa.String(100), nullable=False, server_default=""))


def downgrade() -> None:
    op.drop_column("webhooks", "feed")
