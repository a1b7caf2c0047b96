"""Full-text search, earlier versions of items, and the trail of who changed what."""

import sqlalchemy as sa
from alembic import op

from catchment.store.types import UtcDateTime

revision = "0020"
down_revision = "0019"
branch_labels = None
depends_on = None

_ID = sa.BigInteger().with_variant(sa.Integer(), "sqlite")

_UP = {
    "sqlite": (
        (
            "CREATE TABLE search_queue ("
            "item_id INTEGER PRIMARY KEY, source_id INTEGER, title TEXT, author TEXT, content TEXT)"
        ),
        (
            "CREATE VIRTUAL TABLE search_index USING fts5("
            "words, content = '', columnsize = 0, tokenize = \"ascii tokenchars '_'\")"
        ),
        (
            "CREATE TRIGGER search_item_added AFTER INSERT ON raw_items BEGIN "
            "INSERT OR IGNORE INTO search_queue (item_id) VALUES (new.id); END"
        ),
        (
            "CREATE TRIGGER search_item_changed AFTER UPDATE OF title, author, content ON raw_items BEGIN "
            "INSERT OR IGNORE INTO search_queue VALUES (old.id, old.source_id, old.title, old.author, old.content); END"
        ),
        (
            "CREATE TRIGGER search_item_removed AFTER DELETE ON raw_items BEGIN "
            "INSERT OR IGNORE INTO search_queue VALUES (old.id, old.source_id, old.title, old.author, old.content); END"
        ),
        "INSERT INTO search_queue (item_id) SELECT id FROM raw_items",
    ),
    "postgresql": (
        "CREATE TABLE search_queue (seq BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY, item_id BIGINT NOT NULL)",
        "CREATE TABLE search_index (item_id BIGINT PRIMARY KEY, words TSVECTOR NOT NULL)",
        "CREATE INDEX search_index_words ON search_index USING gin (words) WITH (fastupdate = off)",
        (
            "CREATE FUNCTION search_enqueue() RETURNS trigger LANGUAGE plpgsql AS "
            "$$ BEGIN INSERT INTO search_queue (item_id) SELECT id FROM touched; RETURN NULL; END $$"
        ),
        (
            "CREATE TRIGGER search_item_added AFTER INSERT ON raw_items REFERENCING NEW TABLE AS touched "
            "FOR EACH STATEMENT EXECUTE FUNCTION search_enqueue()"
        ),
        (
            "CREATE TRIGGER search_item_changed AFTER UPDATE ON raw_items REFERENCING NEW TABLE AS touched "
            "FOR EACH STATEMENT EXECUTE FUNCTION search_enqueue()"
        ),
        (
            "CREATE TRIGGER search_item_removed AFTER DELETE ON raw_items REFERENCING OLD TABLE AS touched "
            "FOR EACH STATEMENT EXECUTE FUNCTION search_enqueue()"
        ),
        "INSERT INTO search_queue (item_id) SELECT id FROM raw_items",
    ),
}
_TRIGGERS = ("search_item_added", "search_item_changed", "search_item_removed")


def upgrade() -> None:
    conn = op.get_bind()
    op.create_table(
        "item_versions",
        sa.Column(
            "item_id", _ID, sa.ForeignKey("raw_items.id", ondelete="CASCADE"), primary_key=True, autoincrement=False
        ),
        sa.Column("revision", sa.Integer(), primary_key=True, autoincrement=False),
        sa.Column("title", sa.Text(), nullable=False),
        sa.Column("content", sa.Text(), nullable=False),
        sa.Column("seen_at", UtcDateTime, nullable=False),
        sqlite_with_rowid=False,
    )
    op.create_table(
        "audit_trail",
        sa.Column("id", _ID, primary_key=True),
        sa.Column("at", UtcDateTime, nullable=False),
        sa.Column("actor_id", _ID),
        sa.Column("actor", sa.String(200), nullable=False),
        sa.Column("action", sa.String(50), nullable=False),
        sa.Column("object", sa.String(200), nullable=False),
        sa.Column("summary", sa.Text(), nullable=False),
        sqlite_autoincrement=True,
    )
    op.create_index("ix_audit_trail_at", "audit_trail", ["at"])
    for statement in _UP[conn.dialect.name]:
        conn.exec_driver_sql(statement)


def downgrade() -> None:
    conn = op.get_bind()
    is_sqlite = conn.dialect.name == "sqlite"
    for trigger in _TRIGGERS:
        conn.exec_driver_sql(f"DROP TRIGGER {trigger}" + ("" if is_sqlite else " ON raw_items"))
    if not is_sqlite:
        conn.exec_driver_sql("DROP FUNCTION search_enqueue()")
    conn.exec_driver_sql("DROP TABLE search_index")
    conn.exec_driver_sql("DROP TABLE search_queue")
    op.drop_table("audit_trail")
    op.drop_table("item_versions")
