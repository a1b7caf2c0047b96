"""What reader apps keep for each user: read and starred items, labels, and how they arrange their subscriptions."""

import sqlalchemy as sa
from alembic import op

from catchment.store.types import Json, UtcDateTime

revision = "0019"
down_revision = "0018"
branch_labels = None
depends_on = None

Id = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
BEGINNING = sa.text("'1970-01-01T00:00:00.000000+00:00'")
IS_STARRED = sa.text("is_starred")


def upgrade() -> None:
    op.add_column("user_subscriptions", sa.Column("title", sa.String(500)))
    op.add_column("user_subscriptions", sa.Column("folders", Json))
    op.add_column(
        "user_subscriptions", sa.Column("read_before", UtcDateTime(), server_default=BEGINNING, nullable=False)
    )
    op.create_table(
        "item_states",
        sa.Column("user_id", Id, autoincrement=False, nullable=False),
        sa.Column("item_id", Id, autoincrement=False, nullable=False),
        sa.Column("source_id", Id, nullable=False),
        sa.Column("fetched_at", UtcDateTime(), nullable=False),
        sa.Column("is_read", sa.Boolean()),
        sa.Column("is_starred", sa.Boolean(), nullable=False),
        *_keys("item_states", "user_id", "item_id"),
        sqlite_with_rowid=False,
    )
    op.create_index("ix_item_states_item_id", "item_states", ["item_id"])
    op.create_index(
        "ix_item_states_starred",
        "item_states",
        ["user_id", "fetched_at"],
        sqlite_where=IS_STARRED,
        postgresql_where=IS_STARRED,
    )
    op.create_table(
        "item_labels",
        sa.Column("user_id", Id, autoincrement=False, nullable=False),
        sa.Column("label", sa.String(100), nullable=False),
        sa.Column("item_id", Id, autoincrement=False, nullable=False),
        *_keys("item_labels", "user_id", "label", "item_id"),
        sqlite_with_rowid=False,
    )
    op.create_index("ix_item_labels_item_id", "item_labels", ["item_id"])


def downgrade() -> None:
    op.drop_table("item_labels")
    op.drop_table("item_states")
    for column in ("read_before", "folders", "title"):
        op.drop_column("user_subscriptions", column)


def _keys(table: str, *columns: str) -> tuple[sa.Constraint, ...]:
    return (
        sa.PrimaryKeyConstraint(*columns, name=op.f(f"pk_{table}")),
        sa.ForeignKeyConstraint(["user_id"], ["users.id"], name=op.f(f"fk_{table}_user_id_users"), ondelete="CASCADE"),
        sa.ForeignKeyConstraint(
            ["item_id"], ["raw_items.id"], name=op.f(f"fk_{table}_item_id_raw_items"), ondelete="CASCADE"
        ),
    )
