"""How many items each source has, kept; and indexes that answer what is counted without a look at the rows."""

import sqlalchemy as sa
from alembic import op

revision = "0022"
down_revision = "0021"
branch_labels = None
depends_on = None

#: By name: the table, the columns before and after, and which rows are in it.
_INDEXES = {
    "ix_raw_items_fetched_at": ("raw_items", ["fetched_at"], ["fetched_at", "source_id"], None),
    "ix_raw_items_updated_at": (
        "raw_items",
        ["updated_at"],
        ["updated_at", "source_id"],
        sa.text("updated_at IS NOT NULL"),
    ),
    "ix_fetch_log_finished_at": ("fetch_log", ["finished_at"], ["finished_at", "source_id", "ok"], None),
}
# What is there now is all that was not cleaned away. Where nothing told of an item so far, `times` is 0.
_COUNT = (
    "INSERT INTO changes (source_id, cause, times, changed_at, item_count) "
    "SELECT source_id, 'collected', 0, max(fetched_at), count(*) FROM raw_items WHERE true GROUP BY source_id "
    "ON CONFLICT (source_id, cause) DO UPDATE SET item_count = excluded.item_count"
)


def upgrade() -> None:
    op.add_column("changes", sa.Column("item_count", sa.BigInteger(), nullable=False, server_default="0"))
    op.get_bind().exec_driver_sql(_COUNT)
    for name, (table, _, columns, condition) in _INDEXES.items():
        _make(name, table, columns, condition)


def downgrade() -> None:
    for name, (table, columns, _, condition) in _INDEXES.items():
        _make(name, table, columns, condition)
    op.drop_column("changes", "item_count")
    op.get_bind().exec_driver_sql("DELETE FROM changes WHERE times = 0")


def _make(name: str, table: str, columns: list[str], condition: sa.TextClause | None) -> None:
    op.drop_index(name, table_name=table)
    op.create_index(name, table, columns, sqlite_where=condition, postgresql_where=condition)
