"""What the hours of the last day brought, kept; and indexes by which lists of some sources and of states are found."""

import sqlalchemy as sa
from alembic import op

from catchment.store.types import UtcDateTime

revision = "0025"
down_revision = "0024"
branch_labels = None
depends_on = None

Id = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
_OF_SOURCE = "ix_raw_items_source_id_fetched_at"
_UPDATED = sa.text("updated_at IS NOT NULL")
_OF_STATES = {
    "ix_item_states_is_read": ["user_id", "is_read", "fetched_at"],
    "ix_item_states_source_id": ["user_id", "source_id", "is_read", "fetched_at"],
}


def upgrade() -> None:
    op.create_table(
        "visit_hours",
        sa.Column("hour", UtcDateTime(), nullable=False),
        sa.Column("owner_id", Id, autoincrement=False, nullable=False),
        sa.Column("is_public", sa.Boolean(), nullable=False),
        *(sa.Column(name, sa.Integer(), nullable=False) for name in ("visits", "failed", "items")),
        sa.PrimaryKeyConstraint("hour", "owner_id", "is_public", name=op.f("pk_visit_hours")),
        sqlite_with_rowid=False,
    )
    op.drop_index(_OF_SOURCE, table_name="raw_items")
    op.create_index(_OF_SOURCE, "raw_items", ["source_id", "fetched_at", "updated_at"])
    op.create_index(
        "ix_raw_items_source_id_updated_at",
        "raw_items",
        ["source_id", "updated_at"],
        sqlite_where=_UPDATED,
        postgresql_where=_UPDATED,
    )
    for name, columns in _OF_STATES.items():
        op.create_index(name, "item_states", columns)


def downgrade() -> None:
    for name in _OF_STATES:
        op.drop_index(name, table_name="item_states")
    op.drop_index("ix_raw_items_source_id_updated_at", table_name="raw_items")
    op.drop_index(_OF_SOURCE, table_name="raw_items")
    op.create_index(_OF_SOURCE, "raw_items", ["source_id", "fetched_at"])
    op.drop_table("visit_hours")
