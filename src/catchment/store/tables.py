"""The schema, to read. Migrations lead here, and a test says so for both stores."""

from __future__ import annotations

from sqlalchemy import (
    BigInteger,
    Boolean,
    CheckConstraint,
    Column,
    ForeignKey,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    String,
    Table,
    Text,
    UniqueConstraint,
    text,
)

from catchment.store.types import Json, UtcDateTime

metadata = MetaData(
    naming_convention={
        "ix": "ix_%(table_name)s_%(column_0_N_name)s",
        "uq": "uq_%(table_name)s_%(column_0_N_name)s",
        "ck": "ck_%(table_name)s_%(constraint_name)s",
        "fk": "fk_%(table_name)s_%(column_0_name)s_%(referred_table_name)s",
        "pk": "pk_%(table_name)s",
    }
)

#: SQLite numbers rows by itself only where the key is a plain INTEGER.
Id = BigInteger().with_variant(Integer(), "sqlite")

users = Table(
    "users",
    metadata,
    Column("id", Id, primary_key=True),
    Column("email", String(320), nullable=False, unique=True),
    Column("name", String(200), nullable=False),
    Column("slug", String(100), nullable=False, unique=True),
    Column("is_admin", Boolean, nullable=False),
    Column("created_at", UtcDateTime, nullable=False),
)

# A key acts for a user, or for nobody in particular with a role of its own (service, admin).
api_keys = Table(
    "api_keys",
    metadata,
    Column("id", Id, primary_key=True),
    Column("user_id", Id, ForeignKey("users.id", ondelete="CASCADE")),
    Column("role", String(20), nullable=False),
    Column("name", String(100), nullable=False),
    Column("prefix", String(12), nullable=False),
    Column("key_hash", String(64), nullable=False, unique=True),
    Column("is_active", Boolean, nullable=False),
    Column("created_at", UtcDateTime, nullable=False),
    Column("last_used_at", UtcDateTime),
)

# Browser sessions and one-time sign-in links: the link is spent by deleting its row. A session stands on a stored key,
# or on one from the environment; then `environment_proof` ties it to that key's present value without giving it away.
sessions = Table(
    "sessions",
    metadata,
    Column("token_hash", String(64), primary_key=True),
    Column("api_key_id", Id, ForeignKey("api_keys.id", ondelete="CASCADE")),
    Column("environment_proof", String(64)),
    Column("is_sign_in_link", Boolean, nullable=False),
    Column("created_at", UtcDateTime, nullable=False),
    Column("expires_at", UtcDateTime, nullable=False),
)

# `next_check_at` is the truth of the schedule: null means "not by itself" (paused by a person, deleted).
sources = Table(
    "sources",
    metadata,
    Column("id", Id, primary_key=True),
    Column("name", String(500), nullable=False),
    Column("type", String(50), nullable=False),
    Column("config", Json, nullable=False),
    # What makes two sources the same one, hashed; unique in a scope: the owner's id, 0 for none, null once deleted.
    Column("identity", String(64), nullable=False),
    Column("identity_scope", Id),
    Column("tags", Json, nullable=False),
    Column("is_active", Boolean, nullable=False),
    Column("paused_by", String(20)),
    Column("is_public", Boolean, nullable=False),
    Column("is_deleted", Boolean, nullable=False),
    Column("deleted_at", UtcDateTime),
    Column("created_by", Id, ForeignKey("users.id", ondelete="SET NULL")),
    Column("created_at", UtcDateTime, nullable=False),
    Column("updated_at", UtcDateTime, nullable=False),
    Column("last_fetched_at", UtcDateTime),
    Column("last_attempt_at", UtcDateTime),
    Column("fetch_count", Integer, nullable=False),
    Column("fetch_error_count", Integer, nullable=False),
    Column("last_error", Text),
    Column("last_error_at", UtcDateTime),
    Column("next_check_at", UtcDateTime),
    Column("next_check_why", String(20)),
    Column("memory", Json, nullable=False),
    # Counts what people changed, so that a visit can tell whether the source is still as it knew it.
    Column("version", Integer, nullable=False),
    UniqueConstraint("identity", "identity_scope"),
)
Index(
    "ix_sources_due",
    sources.c.next_check_at,
    sqlite_where=sources.c.next_check_at.is_not(None),
    postgresql_where=sources.c.next_check_at.is_not(None),
)
Index("ix_sources_type", sources.c.type)
Index("ix_sources_created_by", sources.c.created_by)

subscriptions = Table(
    "user_subscriptions",
    metadata,
    Column("id", Id, primary_key=True),
    Column("user_id", Id, ForeignKey("users.id", ondelete="CASCADE"), nullable=False),
    Column("source_id", Id, ForeignKey("sources.id", ondelete="CASCADE"), nullable=False),
    Column("created_at", UtcDateTime, nullable=False),
    UniqueConstraint("user_id", "source_id"),
)
Index("ix_user_subscriptions_source_id", subscriptions.c.source_id)

raw_items = Table(
    "raw_items",
    metadata,
    Column("id", Id, primary_key=True),
    Column("source_id", Id, ForeignKey("sources.id", ondelete="CASCADE"), nullable=False),
    Column("dedup_key", String(500), nullable=False),
    Column("fingerprint", LargeBinary(16), nullable=False),
    Column("title", Text, nullable=False),
    Column("url", Text, nullable=False),
    Column("author", Text, nullable=False),
    Column("content", Text, nullable=False),
    Column("published_at", UtcDateTime),
    Column("fetched_at", UtcDateTime, nullable=False),
    Column("updated_at", UtcDateTime),
    Column("revision", Integer, nullable=False),
    Column("metadata", Json, nullable=False),
    UniqueConstraint("source_id", "dedup_key"),
)
Index("ix_raw_items_source_id_fetched_at", raw_items.c.source_id, raw_items.c.fetched_at)
Index("ix_raw_items_fetched_at", raw_items.c.fetched_at)

# What cleaning removed, in 32 bytes an item, so that it does not come back as new.
seen_items = Table(
    "seen_items",
    metadata,
    Column("source_id", Id, ForeignKey("sources.id", ondelete="CASCADE"), primary_key=True),
    Column("key", LargeBinary(16), primary_key=True),
    Column("fingerprint", LargeBinary(16), nullable=False),
    sqlite_with_rowid=False,
)

# A run is work with a lease; its id is the fencing token. One running run per subject, by the partial index.
runs = Table(
    "runs",
    metadata,
    Column("id", Id, primary_key=True),
    Column("kind", String(20), nullable=False),
    Column("subject", String(200), nullable=False),
    Column("owner", String(200), nullable=False),
    Column("status", String(20), nullable=False),
    Column("started_at", UtcDateTime, nullable=False),
    Column("heartbeat_at", UtcDateTime, nullable=False),
    Column("lease_until", UtcDateTime, nullable=False),
    Column("finished_at", UtcDateTime),
    Column("progress", Json, nullable=False),
    # Ids are never reused, or a late finisher could pass for its successor.
    sqlite_autoincrement=True,
)
Index(
    "uq_runs_running",
    runs.c.kind,
    runs.c.subject,
    unique=True,
    sqlite_where=runs.c.status == text("'running'"),
    postgresql_where=runs.c.status == text("'running'"),
)
Index("ix_runs_finished_at", runs.c.finished_at)

fetch_log = Table(
    "fetch_log",
    metadata,
    Column("id", Id, primary_key=True),
    Column("source_id", Id, ForeignKey("sources.id", ondelete="CASCADE"), nullable=False),
    Column("started_at", UtcDateTime, nullable=False),
    Column("finished_at", UtcDateTime, nullable=False),
    Column("ok", Boolean, nullable=False),
    Column("items", Integer, nullable=False),
    Column("inserted", Integer, nullable=False),
    Column("error", Text),
)
Index("ix_fetch_log_finished_at", fetch_log.c.finished_at)

config = Table(
    "config",
    metadata,
    Column("key", String(200), primary_key=True),
    Column("value", Text, nullable=False),
    Column("updated_at", UtcDateTime, nullable=False),
)

# The interval under which each type's `next_check_at` was last computed.
applied_intervals = Table(
    "applied_intervals",
    metadata,
    Column("type", String(50), primary_key=True),
    Column("minutes", Integer, nullable=False),
)

digests = Table(
    "digests",
    metadata,
    Column("id", Id, primary_key=True),
    Column("type", String(20), nullable=False),
    Column("content", Text, nullable=False),
    Column("metadata", Json, nullable=False),
    Column("user_id", Id, ForeignKey("users.id", ondelete="CASCADE")),
    Column("created_at", UtcDateTime, nullable=False),
    CheckConstraint("type IN ('4h', 'daily', 'weekly', 'monthly')", name="type"),
)
Index("ix_digests_created_at", digests.c.created_at)
