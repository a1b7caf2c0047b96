"""Pages that no lastmod tells about are asked for again: what each was known by, and how far that is."""

import sqlalchemy as sa
from alembic import op

revision = "0015"
down_revision = "0014"
branch_labels = None
depends_on = None

Id = sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def upgrade() -> None:
    op.add_column("candidates", sa.Column("etag", sa.Text()))
    op.add_column("candidates", sa.Column("last_modified", sa.Text()))
    op.add_column("expeditions", sa.Column("rechecked_to", Id, nullable=False, server_default="0"))


def downgrade() -> None:
    op.drop_column("expeditions", "rechecked_to")
    op.drop_column("candidates", "last_modified")
    op.drop_column("candidates", "etag")
