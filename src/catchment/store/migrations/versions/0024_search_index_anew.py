"""The index of the search begins anew: its tokens bear the block of their item, or, on the way down, do not."""

from alembic import op

revision = "0024"
down_revision = "0023"
branch_labels = None
depends_on = None

_EMPTY = {
    "sqlite": ("INSERT INTO search_index (search_index) VALUES ('delete-all')", "DELETE FROM search_queue"),
    "postgresql": ("TRUNCATE search_index, search_queue",),
}


def upgrade() -> None:
    conn = op.get_bind()
    for statement in (*_EMPTY[conn.dialect.name], "INSERT INTO search_queue (item_id) SELECT id FROM raw_items"):
        conn.exec_driver_sql(statement)


downgrade = upgrade
