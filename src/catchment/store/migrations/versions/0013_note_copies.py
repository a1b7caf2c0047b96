"""What became of copying notes to tables outside."""

import sqlalchemy as sa
from alembic import op

from catchment.store.types import UtcDateTime

revision = "0013"
down_revision = "0012"
branch_labels = None
depends_on = None

Id = sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def upgrade() -> None:
    op.create_table(
        "note_copies",
        sa.Column("note_id", Id, autoincrement=False, nullable=False),
        sa.Column("sink", sa.String(100), nullable=False),
        sa.Column("record_id", sa.Text()),
        sa.Column("copied_at", UtcDateTime()),
        sa.Column("attempts", sa.Integer(), nullable=False),
        sa.Column("last_error", sa.Text()),
        sa.Column("next_try_at", UtcDateTime()),
        sa.ForeignKeyConstraint(
            ["note_id"], ["notes.id"], name=op.f("fk_note_copies_note_id_notes"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("note_id", "sink", name=op.f("pk_note_copies")),
        sqlite_with_rowid=False,
    )


def downgrade() -> None:
    op.drop_table("note_copies")
