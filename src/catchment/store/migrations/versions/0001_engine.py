"""The engine: users and keys, sources, items and what was seen, runs, fetch log, config, digests."""

import sqlalchemy as sa
from alembic import op

from catchment.store.types import Json, UtcDateTime

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None

Id = sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def upgrade() -> None:
    op.create_table(
        "applied_intervals",
        sa.Column("type", sa.String(50), nullable=False),
        sa.Column("minutes", sa.Integer(), nullable=False),
        sa.PrimaryKeyConstraint("type", name=op.f("pk_applied_intervals")),
    )
    op.create_table(
        "config",
        sa.Column("key", sa.String(200), nullable=False),
        sa.Column("value", sa.Text(), nullable=False),
        sa.Column("updated_at", UtcDateTime(), nullable=False),
        sa.PrimaryKeyConstraint("key", name=op.f("pk_config")),
    )
    op.create_table(
        "runs",
        sa.Column("id", Id, nullable=False),
        sa.Column("kind", sa.String(20), nullable=False),
        sa.Column("subject", sa.String(200), nullable=False),
        sa.Column("owner", sa.String(200), nullable=False),
        sa.Column("status", sa.String(20), nullable=False),
        sa.Column("started_at", UtcDateTime(), nullable=False),
        sa.Column("heartbeat_at", UtcDateTime(), nullable=False),
        sa.Column("lease_until", UtcDateTime(), nullable=False),
        sa.Column("finished_at", UtcDateTime(), nullable=True),
        sa.Column("progress", Json, nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_runs")),
        sqlite_autoincrement=True,
    )
    op.create_index("ix_runs_finished_at", "runs", ["finished_at"], unique=False)
    op.create_index(
        "uq_runs_running",
        "runs",
        ["kind", "subject"],
        unique=True,
        sqlite_where=sa.text("status = 'running'"),
        postgresql_where=sa.text("status = 'running'"),
    )
    op.create_table(
        "users",
        sa.Column("id", Id, nullable=False),
        sa.Column("email", sa.String(320), nullable=False),
        sa.Column("name", sa.String(200), nullable=False),
        sa.Column("slug", sa.String(100), nullable=False),
        sa.Column("is_admin", sa.Boolean(), nullable=False),
        sa.Column("created_at", UtcDateTime(), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_users")),
        sa.UniqueConstraint("email", name=op.f("uq_users_email")),
        sa.UniqueConstraint("slug", name=op.f("uq_users_slug")),
    )
    op.create_table(
        "api_keys",
        sa.Column("id", Id, nullable=False),
        sa.Column("user_id", Id, nullable=True),
        sa.Column("role", sa.String(20), nullable=False),
        sa.Column("name", sa.String(100), nullable=False),
        sa.Column("prefix", sa.String(12), nullable=False),
        sa.Column("key_hash", sa.String(64), nullable=False),
        sa.Column("is_active", sa.Boolean(), nullable=False),
        sa.Column("created_at", UtcDateTime(), nullable=False),
        sa.Column("last_used_at", UtcDateTime(), nullable=True),
        sa.ForeignKeyConstraint(["user_id"], ["users.id"], name=op.f("fk_api_keys_user_id_users"), ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_api_keys")),
        sa.UniqueConstraint("key_hash", name=op.f("uq_api_keys_key_hash")),
    )
    op.create_table(
        "digests",
        sa.Column("id", Id, nullable=False),
        sa.Column("type", sa.String(20), nullable=False),
        sa.Column("content", sa.Text(), nullable=False),
        sa.Column("metadata", Json, nullable=False),
        sa.Column("user_id", Id, nullable=True),
        sa.Column("created_at", UtcDateTime(), nullable=False),
        sa.CheckConstraint("type IN ('4h', 'daily', 'weekly', 'monthly')", name=op.f("ck_digests_type")),
        sa.ForeignKeyConstraint(["user_id"], ["users.id"], name=op.f("fk_digests_user_id_users"), ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_digests")),
    )
    op.create_index("ix_digests_created_at", "digests", ["created_at"], unique=False)
    op.create_table(
        "sources",
        sa.Column("id", Id, nullable=False),
        sa.Column("name", sa.String(500), nullable=False),
        sa.Column("type", sa.String(50), nullable=False),
        sa.Column("config", Json, nullable=False),
        sa.Column("identity", sa.String(64), nullable=False),
        sa.Column("identity_scope", Id, nullable=True),
        sa.Column("tags", Json, nullable=False),
        sa.Column("is_active", sa.Boolean(), nullable=False),
        sa.Column("paused_by", sa.String(20), nullable=True),
        sa.Column("is_public", sa.Boolean(), nullable=False),
        sa.Column("is_deleted", sa.Boolean(), nullable=False),
        sa.Column("deleted_at", UtcDateTime(), nullable=True),
        sa.Column("created_by", Id, nullable=True),
        sa.Column("created_at", UtcDateTime(), nullable=False),
        sa.Column("updated_at", UtcDateTime(), nullable=False),
        sa.Column("last_fetched_at", UtcDateTime(), nullable=True),
        sa.Column("last_attempt_at", UtcDateTime(), nullable=True),
        sa.Column("fetch_count", sa.Integer(), nullable=False),
        sa.Column("fetch_error_count", sa.Integer(), nullable=False),
        sa.Column("last_error", sa.Text(), nullable=True),
        sa.Column("last_error_at", UtcDateTime(), nullable=True),
        sa.Column("next_check_at", UtcDateTime(), nullable=True),
        sa.Column("next_check_why", sa.String(20), nullable=True),
        sa.Column("memory", Json, nullable=False),
        sa.Column("version", sa.Integer(), nullable=False),
        sa.ForeignKeyConstraint(
            ["created_by"], ["users.id"], name=op.f("fk_sources_created_by_users"), ondelete="SET NULL"
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_sources")),
        sa.UniqueConstraint("identity", "identity_scope", name=op.f("uq_sources_identity_identity_scope")),
    )
    op.create_index("ix_sources_created_by", "sources", ["created_by"], unique=False)
    op.create_index(
        "ix_sources_due",
        "sources",
        ["next_check_at"],
        unique=False,
        sqlite_where=sa.text("next_check_at IS NOT NULL"),
        postgresql_where=sa.text("next_check_at IS NOT NULL"),
    )
    op.create_index("ix_sources_type", "sources", ["type"], unique=False)
    op.create_table(
        "fetch_log",
        sa.Column("id", Id, nullable=False),
        sa.Column("source_id", Id, nullable=False),
        sa.Column("started_at", UtcDateTime(), nullable=False),
        sa.Column("finished_at", UtcDateTime(), nullable=False),
        sa.Column("ok", sa.Boolean(), nullable=False),
        sa.Column("items", sa.Integer(), nullable=False),
        sa.Column("inserted", sa.Integer(), nullable=False),
        sa.Column("error", sa.Text(), nullable=True),
        sa.ForeignKeyConstraint(
            ["source_id"], ["sources.id"], name=op.f("fk_fetch_log_source_id_sources"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_fetch_log")),
    )
    op.create_index("ix_fetch_log_finished_at", "fetch_log", ["finished_at"], unique=False)
    op.create_table(
        "raw_items",
        sa.Column("id", Id, nullable=False),
        sa.Column("source_id", Id, nullable=False),
        sa.Column("dedup_key", sa.String(500), nullable=False),
        sa.Column("fingerprint", sa.LargeBinary(16), nullable=False),
        sa.Column("title", sa.Text(), nullable=False),
        sa.Column("url", sa.Text(), nullable=False),
        sa.Column("author", sa.Text(), nullable=False),
        sa.Column("content", sa.Text(), nullable=False),
        sa.Column("published_at", UtcDateTime(), nullable=True),
        sa.Column("fetched_at", UtcDateTime(), nullable=False),
        sa.Column("updated_at", UtcDateTime(), nullable=True),
        sa.Column("revision", sa.Integer(), nullable=False),
        sa.Column("metadata", Json, nullable=False),
        sa.ForeignKeyConstraint(
            ["source_id"], ["sources.id"], name=op.f("fk_raw_items_source_id_sources"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_raw_items")),
        sa.UniqueConstraint("source_id", "dedup_key", name=op.f("uq_raw_items_source_id_dedup_key")),
    )
    op.create_index("ix_raw_items_fetched_at", "raw_items", ["fetched_at"], unique=False)
    op.create_index("ix_raw_items_source_id_fetched_at", "raw_items", ["source_id", "fetched_at"], unique=False)
    op.create_table(
        "seen_items",
        sa.Column("source_id", Id, nullable=False),
        sa.Column("key", sa.LargeBinary(16), nullable=False),
        sa.Column("fingerprint", sa.LargeBinary(16), nullable=False),
        sa.ForeignKeyConstraint(
            ["source_id"], ["sources.id"], name=op.f("fk_seen_items_source_id_sources"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("source_id", "key", name=op.f("pk_seen_items")),
        sqlite_with_rowid=False,
    )
    op.create_table(
        "sessions",
        sa.Column("token_hash", sa.String(64), nullable=False),
        sa.Column("api_key_id", Id, nullable=True),
        sa.Column("environment_proof", sa.String(64), nullable=True),
        sa.Column("is_sign_in_link", sa.Boolean(), nullable=False),
        sa.Column("created_at", UtcDateTime(), nullable=False),
        sa.Column("expires_at", UtcDateTime(), nullable=False),
        sa.ForeignKeyConstraint(
            ["api_key_id"], ["api_keys.id"], name=op.f("fk_sessions_api_key_id_api_keys"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("token_hash", name=op.f("pk_sessions")),
    )
    op.create_table(
        "user_subscriptions",
        sa.Column("id", Id, nullable=False),
        sa.Column("user_id", Id, nullable=False),
        sa.Column("source_id", Id, nullable=False),
        sa.Column("created_at", UtcDateTime(), nullable=False),
        sa.ForeignKeyConstraint(
            ["source_id"], ["sources.id"], name=op.f("fk_user_subscriptions_source_id_sources"), ondelete="CASCADE"
        ),
        sa.ForeignKeyConstraint(
            ["user_id"], ["users.id"], name=op.f("fk_user_subscriptions_user_id_users"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_user_subscriptions")),
        sa.UniqueConstraint("user_id", "source_id", name=op.f("uq_user_subscriptions_user_id_source_id")),
    )
    op.create_index("ix_user_subscriptions_source_id", "user_subscriptions", ["source_id"], unique=False)


def downgrade() -> None:
    op.drop_index("ix_user_subscriptions_source_id", table_name="user_subscriptions")
    op.drop_table("user_subscriptions")
    op.drop_table("sessions")
    op.drop_table("seen_items")
    op.drop_index("ix_raw_items_source_id_fetched_at", table_name="raw_items")
    op.drop_index("ix_raw_items_fetched_at", table_name="raw_items")
    op.drop_table("raw_items")
    op.drop_index("ix_fetch_log_finished_at", table_name="fetch_log")
    op.drop_table("fetch_log")
    op.drop_index("ix_sources_type", table_name="sources")
    op.drop_index(
        "ix_sources_due",
        table_name="sources",
        sqlite_where=sa.text("next_check_at IS NOT NULL"),
        postgresql_where=sa.text("next_check_at IS NOT NULL"),
    )
    op.drop_index("ix_sources_created_by", table_name="sources")
    op.drop_table("sources")
    op.drop_index("ix_digests_created_at", table_name="digests")
    op.drop_table("digests")
    op.drop_table("api_keys")
    op.drop_table("users")
    op.drop_index(
        "uq_runs_running",
        table_name="runs",
        sqlite_where=sa.text("status = 'running'"),
        postgresql_where=sa.text("status = 'running'"),
    )
    op.drop_index("ix_runs_finished_at", table_name="runs")
    op.drop_table("runs")
    op.drop_table("config")
    op.drop_table("applied_intervals")
