"""Alerts, what they look at, and the form in which webhooks take them."""

import sqlalchemy as sa
from alembic import op

from catchment.store.types import UtcDateTime

revision = "0012"
down_revision = "0011"
branch_labels = None
depends_on = None

Id = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
DEAD = sa.text("dead_at IS NOT NULL")


def upgrade() -> None:
    op.create_table(
        "alerts",
        sa.Column("id", Id, nullable=False),
        sa.Column("rule", sa.String(50), nullable=False),
        sa.Column("subject", sa.String(200), nullable=False),
        sa.Column("severity", sa.String(2), nullable=False),
        sa.Column("message", sa.Text(), nullable=False),
        sa.Column("since", UtcDateTime(), nullable=False),
        sa.Column("fired_at", UtcDateTime()),
        sa.Column("told_at", UtcDateTime()),
        sa.Column("event_id", sa.String(36)),
        sa.Column("resolved_at", UtcDateTime()),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_alerts")),
        sa.UniqueConstraint("rule", "subject", name=op.f("uq_alerts_rule_subject")),
    )
    op.create_table(
        "incidents",
        sa.Column("id", Id, nullable=False),
        sa.Column("kind", sa.String(30), nullable=False),
        sa.Column("amount", sa.Integer(), nullable=False),
        sa.Column("message", sa.Text(), nullable=False),
        sa.Column("at", UtcDateTime(), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_incidents")),
    )
    op.create_index("ix_incidents_at", "incidents", ["at"])
    op.create_table(
        "crawl_minutes",
        sa.Column("minute", UtcDateTime(), nullable=False),
        sa.Column("platform", sa.String(10), nullable=False),
        sa.Column("ok", sa.Integer(), nullable=False),
        sa.Column("failed", sa.Integer(), nullable=False),
        sa.PrimaryKeyConstraint("minute", "platform", name=op.f("pk_crawl_minutes")),
    )
    op.add_column("webhooks", sa.Column("format", sa.String(10), server_default=sa.text("'json'"), nullable=False))
    op.create_index("ix_outbox_dead", "outbox", ["webhook_id", "dead_at"], sqlite_where=DEAD, postgresql_where=DEAD)


def downgrade() -> None:
    op.drop_index("ix_outbox_dead", "outbox")
    op.drop_column("webhooks", "format")
    op.drop_table("crawl_minutes")
    op.drop_table("incidents")
    op.drop_table("alerts")
