"""The outbox and the webhooks it delivers to."""

import sqlalchemy as sa
from alembic import op

from catchment.store.types import Json, UtcDateTime

revision = "0009"
down_revision = "0008"
branch_labels = None
depends_on = None

Id = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
WAITING = sa.text("next_try_at IS NOT NULL")


def upgrade() -> None:
    op.create_table(
        "webhooks",
        sa.Column("id", Id, nullable=False),
        sa.Column("name", sa.String(200), nullable=False),
        sa.Column("url", sa.Text(), nullable=False),
        sa.Column("topics", Json, nullable=False),
        sa.Column("is_active", sa.Boolean(), nullable=False),
        sa.Column("allow_private", sa.Boolean(), nullable=False),
        sa.Column("secret", sa.Text(), nullable=False),
        sa.Column("created_at", UtcDateTime(), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_webhooks")),
        sa.UniqueConstraint("name", name=op.f("uq_webhooks_name")),
    )
    op.create_table(
        "outbox",
        sa.Column("id", Id, nullable=False),
        sa.Column("event_id", sa.String(36), nullable=False),
        sa.Column("topic", sa.String(50), nullable=False),
        sa.Column("webhook_id", Id, nullable=False),
        sa.Column("payload", Json, nullable=False),
        sa.Column("created_at", UtcDateTime(), nullable=False),
        sa.Column("attempts", sa.Integer(), nullable=False),
        sa.Column("next_try_at", UtcDateTime()),
        sa.Column("delivered_at", UtcDateTime()),
        sa.Column("dead_at", UtcDateTime()),
        sa.Column("last_error", sa.Text()),
        sa.ForeignKeyConstraint(
            ["webhook_id"], ["webhooks.id"], name=op.f("fk_outbox_webhook_id_webhooks"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_outbox")),
        sa.UniqueConstraint("webhook_id", "event_id", name=op.f("uq_outbox_webhook_id_event_id")),
        sqlite_autoincrement=True,
    )
    op.create_index("ix_outbox_waiting", "outbox", ["webhook_id", "id"], sqlite_where=WAITING, postgresql_where=WAITING)


def downgrade() -> None:
    op.drop_table("outbox")
    op.drop_table("webhooks")
