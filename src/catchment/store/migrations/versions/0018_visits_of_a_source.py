"""The visits of one source, found without reading those of all."""

from alembic import op

revision = "0018"
down_revision = "0017"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_index("ix_fetch_log_source_id_finished_at", "fetch_log", ["source_id", "finished_at"])


def downgrade() -> None:
    op.drop_index("ix_fetch_log_source_id_finished_at", "fetch_log")
