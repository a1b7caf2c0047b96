"""Whether the scraper's interval was set by somebody, more of what tweets say, and pages of X that were previewed."""

import sqlalchemy as sa
from alembic import op

from catchment.store.types import Json, UtcDateTime

revision = "0014"
down_revision = "0013"
branch_labels = None
depends_on = None

OF_TWEETS = ("lang", "hashtags", "counts")


def upgrade() -> None:
    op.add_column(
        "scraper_schedule_config", sa.Column("is_interval_set", sa.Boolean(), nullable=False, server_default=sa.false())
    )
    # Until now an interval held as soon as there was a row: that goes on until it is taken back.
    op.execute(sa.text("UPDATE scraper_schedule_config SET is_interval_set = true"))
    op.add_column("tweets", sa.Column("lang", sa.String(20)))
    op.add_column("tweets", sa.Column("hashtags", Json, nullable=False, server_default=sa.text("'[]'")))
    op.add_column("tweets", sa.Column("counts", Json, nullable=False, server_default=sa.text("'{}'")))
    op.create_table(
        "x_previews",
        sa.Column("timeline", sa.String(500), nullable=False),
        sa.Column("page", sa.Text(), nullable=False),
        sa.Column("fetched_at", UtcDateTime(), nullable=False),
        sa.PrimaryKeyConstraint("timeline", name=op.f("pk_x_previews")),
    )


def downgrade() -> None:
    op.drop_table("x_previews")
    for name in reversed(OF_TWEETS):
        op.drop_column("tweets", name)
    op.drop_column("scraper_schedule_config", "is_interval_set")
