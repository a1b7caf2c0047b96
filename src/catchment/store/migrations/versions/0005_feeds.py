"""Saved feeds, and counts of what changed."""

import sqlalchemy as sa
from alembic import op

from catchment.store.types import Json, UtcDateTime

revision = "0005"
down_revision = "0004"
branch_labels = None
depends_on = None

Id = sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def upgrade() -> None:
    op.create_table(
        "feeds",
        sa.Column("id", Id, nullable=False),
        sa.Column("slug", sa.String(100), nullable=False),
        sa.Column("title", sa.Text(), nullable=False),
        sa.Column("description", sa.Text(), nullable=False),
        sa.Column("link", sa.Text(), nullable=False),
        sa.Column("language", sa.String(35), nullable=False),
        sa.Column("filter", Json, nullable=False),
        sa.Column("is_public", sa.Boolean(), nullable=False),
        sa.Column("token_hash", sa.String(64), nullable=True),
        sa.Column("owner_id", Id, nullable=True),
        sa.Column("version", sa.Integer(), nullable=False),
        sa.Column("created_at", UtcDateTime(), nullable=False),
        sa.Column("updated_at", UtcDateTime(), nullable=False),
        sa.ForeignKeyConstraint(["owner_id"], ["users.id"], name=op.f("fk_feeds_owner_id_users"), ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_feeds")),
        sa.UniqueConstraint("slug", name=op.f("uq_feeds_slug")),
        sqlite_autoincrement=True,
    )
    op.create_index("ix_feeds_owner_id", "feeds", ["owner_id"])
    op.create_table(
        "changes",
        sa.Column("source_id", Id, nullable=False, autoincrement=False),
        sa.Column("cause", sa.String(20), nullable=False),
        sa.Column("times", sa.BigInteger(), nullable=False),
        sa.Column("changed_at", UtcDateTime(), nullable=False),
        sa.PrimaryKeyConstraint("source_id", "cause", name=op.f("pk_changes")),
        sqlite_with_rowid=False,
    )
    op.create_index(
        "ix_raw_items_updated_at",
        "raw_items",
        ["updated_at"],
        sqlite_where=sa.text("updated_at IS NOT NULL"),
        postgresql_where=sa.text("updated_at IS NOT NULL"),
    )


def downgrade() -> None:
    op.drop_index("ix_raw_items_updated_at", "raw_items")
    op.drop_table("changes")
    op.drop_index("ix_feeds_owner_id", "feeds")
    op.drop_table("feeds")
