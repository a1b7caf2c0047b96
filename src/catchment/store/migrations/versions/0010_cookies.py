"""Cookies of the platforms, and the view that shows them under the names of the crawler's document."""

import sqlalchemy as sa
from alembic import op

from catchment.store.types import UtcDateTime

revision = "0010"
down_revision = "0009"
branch_labels = None
depends_on = None

Id = sa.BigInteger().with_variant(sa.Integer(), "sqlite")

VIEW = """
CREATE VIEW tbl_cookie AS SELECT
    name AS cookie_name,
    platform,
    sealed AS cookie_encrypted,
    key_id AS encryption_key_id,
    status,
    priority,
    daily_used,
    daily_limit,
    consecutive_errors,
    cooling_until,
    total_used,
    total_errors,
    last_used_at,
    last_error_at,
    description,
    created_at,
    updated_at
FROM cookies
"""


def upgrade() -> None:
    op.create_table(
        "cookies",
        sa.Column("id", Id, nullable=False),
        sa.Column("name", sa.String(50), nullable=False),
        sa.Column("platform", sa.String(10), nullable=False),
        sa.Column("sealed", sa.Text(), nullable=False),
        sa.Column("key_id", sa.String(100), nullable=False),
        sa.Column("status", sa.String(10), nullable=False),
        sa.Column("is_enabled", sa.Boolean(), nullable=False),
        sa.Column("priority", sa.Integer(), nullable=False),
        sa.Column("daily_limit", sa.Integer(), nullable=False),
        sa.Column("daily_used", sa.Integer(), nullable=False),
        sa.Column("used_on", sa.Date()),
        sa.Column("consecutive_errors", sa.Integer(), nullable=False),
        sa.Column("total_used", sa.BigInteger(), nullable=False),
        sa.Column("total_errors", sa.Integer(), nullable=False),
        sa.Column("counted_since", UtcDateTime(), nullable=False),
        sa.Column("cooling_since", UtcDateTime()),
        sa.Column("cooling_until", UtcDateTime()),
        sa.Column("last_used_at", UtcDateTime()),
        sa.Column("last_error_at", UtcDateTime()),
        sa.Column("description", sa.Text(), nullable=False),
        sa.Column("created_at", UtcDateTime(), nullable=False),
        sa.Column("updated_at", UtcDateTime(), nullable=False),
        sa.CheckConstraint("status IN ('active', 'cooling', 'invalid', 'banned')", name=op.f("ck_cookies_status")),
        sa.CheckConstraint("(status = 'cooling') = (cooling_until IS NOT NULL)", name=op.f("ck_cookies_cooling")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_cookies")),
        sa.UniqueConstraint("name", name=op.f("uq_cookies_name")),
    )
    op.execute(VIEW)


def downgrade() -> None:
    # An older release knows nothing of such runs.
    op.execute("DELETE FROM runs WHERE kind = 'cookie'")
    op.execute("DROP VIEW tbl_cookie")
    op.drop_table("cookies")
