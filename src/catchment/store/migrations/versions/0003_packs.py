"""Source packs: named lists of sources that people pass on."""

import sqlalchemy as sa
from alembic import op

from catchment.store.types import Json, UtcDateTime

revision = "0003"
down_revision = "0002"
branch_labels = None
depends_on = None

Id = sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def upgrade() -> None:
    op.create_table(
        "source_packs",
        sa.Column("id", Id, nullable=False),
        sa.Column("slug", sa.String(100), nullable=False),
        sa.Column("name", sa.String(200), nullable=False),
        sa.Column("description", sa.Text(), nullable=False),
        sa.Column("sources_json", Json, nullable=False),
        sa.Column("is_public", sa.Boolean(), nullable=False),
        sa.Column("created_by", Id, nullable=True),
        sa.Column("install_count", sa.Integer(), nullable=False),
        sa.Column("created_at", UtcDateTime(), nullable=False),
        sa.ForeignKeyConstraint(
            ["created_by"], ["users.id"], name=op.f("fk_source_packs_created_by_users"), ondelete="SET NULL"
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_source_packs")),
        sa.UniqueConstraint("slug", name=op.f("uq_source_packs_slug")),
    )


def downgrade() -> None:
    op.drop_table("source_packs")
