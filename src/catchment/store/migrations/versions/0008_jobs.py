"""Jobs, and the scraper's schedule."""

import sqlalchemy as sa
from alembic import op

from catchment.store.types import UtcDateTime

revision = "0008"
down_revision = "0007"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "jobs",
        sa.Column("name", sa.String(50), nullable=False),
        sa.Column("due_at", UtcDateTime()),
        sa.Column("is_paused", sa.Boolean(), nullable=False),
        sa.Column("last_started_at", UtcDateTime()),
        sa.Column("last_finished_at", UtcDateTime()),
        sa.Column("last_ok", sa.Boolean()),
        sa.Column("last_message", sa.Text(), nullable=False),
        sa.Column("runs", sa.Integer(), nullable=False),
        sa.PrimaryKeyConstraint("name", name=op.f("pk_jobs")),
    )
    op.create_table(
        "scraper_schedule_config",
        sa.Column("id", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("interval_seconds", sa.Integer(), server_default=sa.text("43200"), nullable=False),
        sa.Column("next_run_time", UtcDateTime()),
        sa.Column("is_enabled", sa.Boolean(), nullable=False),
        sa.Column("updated_at", UtcDateTime(), nullable=False),
        sa.Column("updated_by", sa.String(100), nullable=False),
        sa.CheckConstraint("id = 1", name=op.f("ck_scraper_schedule_config_one_row")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_scraper_schedule_config")),
    )


def downgrade() -> None:
    op.drop_table("scraper_schedule_config")
    op.drop_table("jobs")
