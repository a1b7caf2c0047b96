"""Candidates, the documents that list them, and how far exploring is; with views in the words of sitemaps."""

import sqlalchemy as sa
from alembic import op

from catchment.store.types import Json, UtcDateTime

revision = "0004"
down_revision = "0003"
branch_labels = None
depends_on = None

Id = sa.BigInteger().with_variant(sa.Integer(), "sqlite")

# The views lean on no other tables than these, so that those can still be altered on SQLite.
SITE_STATES = """
CREATE VIEW site_states AS
SELECT site_name, address AS sitemap_url, last_run_at AS last_run, last_cleanup_at AS last_cleanup,
       created_at, updated_at, source_id
FROM expeditions
"""
URL_STATES = """
CREATE VIEW url_states AS
SELECT e.site_name, c.url, c.state, c.lastmod, c.first_seen,
       CASE WHEN c.last_seen >= l.read_at THEN l.seen_at ELSE c.last_seen END AS last_seen,
       c.deleted_at, c.attempts, c.last_error, c.source_id
FROM candidates c
JOIN expeditions e ON e.source_id = c.source_id
LEFT JOIN listings l ON l.id = c.listing_id
"""


def upgrade() -> None:
    _create_expeditions()
    _create_listings()
    _create_candidates()
    op.execute(SITE_STATES)
    op.execute(URL_STATES)


def downgrade() -> None:
    op.execute("DROP VIEW url_states")
    op.execute("DROP VIEW site_states")
    op.drop_index("ix_candidates_source_id_last_seen", table_name="candidates")
    op.drop_index("ix_candidates_source_id_state_id", table_name="candidates")
    op.drop_table("candidates")
    op.drop_table("listings")
    op.drop_index("ix_expeditions_site_name", table_name="expeditions")
    op.drop_table("expeditions")


def _of_source(table: str) -> sa.ForeignKeyConstraint:
    name = op.f(f"fk_{table}_source_id_sources")
    return sa.ForeignKeyConstraint(["source_id"], ["sources.id"], name=name, ondelete="CASCADE")


def _create_expeditions() -> None:
    op.create_table(
        "expeditions",
        sa.Column("source_id", Id, nullable=False),
        sa.Column("identity", sa.String(64), nullable=False),
        sa.Column("site_name", sa.String(500), nullable=False),
        sa.Column("address", sa.Text(), nullable=False),
        sa.Column("round_began_at", UtcDateTime(), nullable=False),
        sa.Column("listed_at", UtcDateTime(), nullable=True),
        sa.Column("baseline_at", UtcDateTime(), nullable=True),
        sa.Column("doubted_since", UtcDateTime(), nullable=True),
        sa.Column("last_run_at", UtcDateTime(), nullable=True),
        sa.Column("last_cleanup_at", UtcDateTime(), nullable=True),
        sa.Column("created_at", UtcDateTime(), nullable=False),
        sa.Column("updated_at", UtcDateTime(), nullable=False),
        _of_source("expeditions"),
        sa.PrimaryKeyConstraint("source_id", name=op.f("pk_expeditions")),
    )
    op.create_index("ix_expeditions_site_name", "expeditions", ["site_name"], unique=False)


def _create_listings() -> None:
    op.create_table(
        "listings",
        sa.Column("id", Id, nullable=False),
        sa.Column("source_id", Id, nullable=False),
        sa.Column("key", sa.LargeBinary(16), nullable=False),
        sa.Column("url", sa.Text(), nullable=False),
        sa.Column("lastmod", UtcDateTime(), nullable=True),
        sa.Column("etag", sa.Text(), nullable=True),
        sa.Column("last_modified", sa.Text(), nullable=True),
        sa.Column("read_at", UtcDateTime(), nullable=True),
        sa.Column("seen_at", UtcDateTime(), nullable=False),
        _of_source("listings"),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_listings")),
        sa.UniqueConstraint("source_id", "key", name=op.f("uq_listings_source_id_key")),
    )


def _create_candidates() -> None:
    op.create_table(
        "candidates",
        sa.Column("id", Id, nullable=False),
        sa.Column("source_id", Id, nullable=False),
        sa.Column("key", sa.LargeBinary(16), nullable=False),
        sa.Column("native_id", sa.Text(), nullable=False),
        sa.Column("url", sa.Text(), nullable=False),
        sa.Column("state", sa.SmallInteger(), nullable=False),
        sa.Column("is_doubted", sa.Boolean(), nullable=False),
        sa.Column("lastmod", UtcDateTime(), nullable=True),
        sa.Column("facts", Json, nullable=True),
        sa.Column("listing_id", Id, nullable=True),
        sa.Column("first_seen", UtcDateTime(), nullable=False),
        sa.Column("last_seen", UtcDateTime(), nullable=False),
        sa.Column("deleted_at", UtcDateTime(), nullable=True),
        sa.Column("collected_at", UtcDateTime(), nullable=True),
        sa.Column("fingerprint", sa.LargeBinary(16), nullable=True),
        sa.Column("attempts", sa.SmallInteger(), nullable=False),
        sa.Column("last_error", sa.Text(), nullable=True),
        sa.Column("claimed_by", Id, nullable=True),
        _of_source("candidates"),
        sa.CheckConstraint("state IN (0, 1, 2)", name=op.f("ck_candidates_state")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_candidates")),
        sa.UniqueConstraint("source_id", "key", name=op.f("uq_candidates_source_id_key")),
    )
    op.create_index("ix_candidates_source_id_state_id", "candidates", ["source_id", "state", "id"], unique=False)
    op.create_index("ix_candidates_source_id_last_seen", "candidates", ["source_id", "last_seen"], unique=False)
