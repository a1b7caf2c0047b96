"""X: tweets, what scraping brought, what it cost, and who is followed."""

import sqlalchemy as sa
from alembic import op

from catchment.store.types import Json, UtcDateTime

revision = "0007"
down_revision = "0006"
branch_labels = None
depends_on = None

Id = sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def upgrade() -> None:
    _create_tweets()
    op.create_table(
        "scraper_fetch_stats",
        sa.Column("username", sa.String(255), nullable=False),
        sa.Column("last_fetch_at", UtcDateTime(), nullable=False),
        sa.Column("last_fetched_count", sa.Integer(), nullable=False),
        sa.Column("last_new_count", sa.Integer(), nullable=False),
        sa.Column("total_fetches", sa.Integer(), nullable=False),
        sa.Column("avg_new_rate", sa.Float(), nullable=False),
        sa.Column("consecutive_empty_fetches", sa.Integer(), nullable=False),
        sa.Column("created_at", UtcDateTime(), nullable=False),
        sa.Column("updated_at", UtcDateTime(), nullable=False),
        sa.CheckConstraint("avg_new_rate BETWEEN 0 AND 1", name=op.f("ck_scraper_fetch_stats_avg_new_rate")),
        sa.PrimaryKeyConstraint("username", name=op.f("pk_scraper_fetch_stats")),
    )
    op.create_table(
        "x_spending",
        sa.Column("day", sa.Date(), nullable=False),
        sa.Column("pages", sa.Integer(), nullable=False),
        sa.PrimaryKeyConstraint("day", name=op.f("pk_x_spending")),
    )
    op.create_table(
        "scraper_follows",
        sa.Column("id", Id, nullable=False),
        sa.Column("username", sa.String(15), nullable=False),
        sa.Column("added_at", UtcDateTime(), nullable=False),
        sa.Column("reason", sa.String(500), nullable=False),
        sa.Column("added_by", sa.String(100), nullable=False),
        sa.Column("is_active", sa.Boolean(), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_scraper_follows")),
        sa.UniqueConstraint("username", name=op.f("uq_scraper_follows_username")),
    )


def _create_tweets() -> None:
    op.create_table(
        "tweets",
        sa.Column("id", Id, nullable=False),
        sa.Column("tweet_id", sa.String(255), nullable=False),
        sa.Column("text", sa.Text(), nullable=False),
        sa.Column("created_at", UtcDateTime(), nullable=False),
        sa.Column("author_username", sa.String(255), nullable=False),
        sa.Column("author", sa.String(255), nullable=False),
        sa.Column("author_display_name", sa.String(255), nullable=True),
        sa.Column("referenced_tweet_id", sa.String(255), nullable=True),
        sa.Column("reference_type", sa.String(20), nullable=True),
        sa.Column("media", Json, nullable=False),
        sa.Column("referenced_tweet_text", sa.Text(), nullable=True),
        sa.Column("referenced_tweet_media", Json, nullable=False),
        sa.Column("referenced_tweet_author_username", sa.String(255), nullable=True),
        sa.Column("urls", Json, nullable=False),
        sa.Column("db_created_at", UtcDateTime(), nullable=False),
        sa.Column("db_updated_at", UtcDateTime(), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_tweets")),
        sqlite_autoincrement=True,
    )
    op.create_index("ix_tweets_tweet_id", "tweets", ["tweet_id"], unique=True)
    op.create_index("ix_tweets_author_created_at", "tweets", ["author", sa.text("created_at DESC")], unique=False)
    op.create_index("ix_tweets_created_at", "tweets", [sa.text("created_at DESC"), sa.text("id DESC")], unique=False)
    op.create_index("ix_tweets_db_created_at", "tweets", ["db_created_at"], unique=False)


def downgrade() -> None:
    for table in ("scraper_follows", "x_spending", "scraper_fetch_stats", "tweets"):
        op.drop_table(table)
