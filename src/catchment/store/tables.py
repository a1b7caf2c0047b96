"""The schema, to read; that of X and the platforms is in `platform_tables`. Migrations lead here, a test says."""

from __future__ import annotations

from sqlalchemy import (
    BigInteger,
    Boolean,
    CheckConstraint,
    Column,
    Float,
    ForeignKey,
    Index,
    Integer,
    LargeBinary,
    SmallInteger,
    String,
    Table,
    Text,
    UniqueConstraint,
    false,
    text,
    true,
)

from catchment.store import platform_tables  # noqa: F401 (so that the metadata knows all)
from catchment.store.types import Id, Json, UtcDateTime, where
from catchment.store.types import metadata as metadata  # noqa: PLC0414 (whole once this is loaded)

users = Table(
    "users",
    metadata,
    Column("id", Id, primary_key=True),
    Column("email", String(320), nullable=False, unique=True),
    Column("name", String(200), nullable=False),
    Column("slug", String(100), nullable=False, unique=True),
    Column("is_admin", Boolean, nullable=False),
    Column("created_at", UtcDateTime, nullable=False),
    # Null for somebody who comes in by key alone.
    Column("password_hash", String(255)),
    Column("is_active", Boolean, nullable=False, server_default=true()),
    # Tokens and sessions carry it; they are void once it has risen.
    Column("login_version", Integer, nullable=False, server_default="0"),
    Column("google_id", String(255)),
    Column("digests_public", Boolean, nullable=False, server_default=false()),
)
Index("uq_users_google_id", users.c.google_id, unique=True)

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
    Column("scope", String(20), nullable=False, server_default="admin"),
)

# Browser sessions and one-time sign-in links: the link is spent by deleting its row. A session stands on a stored key;
# on a user, at the version that the password had; or on a key from the environment: then `environment_proof` ties it
# to that key's present value without giving it away.
sessions = Table(
    "sessions",
    metadata,
    Column("token_hash", String(64), primary_key=True),
    Column("api_key_id", Id, ForeignKey("api_keys.id", ondelete="CASCADE")),
    Column("environment_proof", String(64)),
    Column("is_sign_in_link", Boolean, nullable=False),
    Column("created_at", UtcDateTime, nullable=False),
    Column("expires_at", UtcDateTime, nullable=False),
    Column("user_id", Id, ForeignKey("users.id", ondelete="CASCADE")),
    Column("login_version", Integer),
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
    Column("rhythm", Json, nullable=False, server_default=text("'{}'")),
    # When it counts as quiet unless it brings something new, and since when items are being missed.
    Column("quiet_at", UtcDateTime),
    Column("gap_at", UtcDateTime),
    # The new address that it gave, and how often in a row.
    Column("moved", Json),
    # For how long its items are kept, where that is not the usual time.
    Column("keep_days", Integer),
    # Counts what people changed, so that a visit can tell whether the source is still as it knew it.
    Column("version", Integer, nullable=False),
    # Whose patience its visits use up: what several sources share has a row in `hosts`.
    Column("host", String(255)),
    UniqueConstraint("identity", "identity_scope"),
)
Index("ix_sources_due", sources.c.next_check_at, **where(sources.c.next_check_at.is_not(None)))
Index("ix_sources_keep_days", sources.c.keep_days, **where(sources.c.keep_days.is_not(None)))
Index("ix_sources_type", sources.c.type)
Index("ix_sources_host", sources.c.host, **where(sources.c.host.is_not(None)))
Index("ix_sources_created_by", sources.c.created_by)
Index("ix_sources_public", sources.c.is_public, **where(sources.c.is_public.is_(true())))
Index("ix_sources_deleted_at", sources.c.deleted_at, **where(sources.c.deleted_at.is_not(None)))
Index("ix_sources_offline", sources.c.host, **where(sources.c.next_check_why == text("'offline'")))

# The hosts that several sources share, so that all processes together are as polite as one. One process at a time looks
# after a host and keeps its pace; when it has nothing more to ask there, it leaves behind what the next must know.
hosts = Table(
    "hosts",
    metadata,
    Column("host", String(255), primary_key=True),
    Column("owner", String(200)),
    Column("owner_until", UtcDateTime),
    # Until when it asked to be left alone, and until when its turns are given away.
    Column("held_until", UtcDateTime),
    Column("booked_until", UtcDateTime),
    # When the requests of the last minute started, in seconds since 1970; what its robots.txt asks for.
    Column("starts", Json, nullable=False, server_default=text("'[]'")),
    Column("crawl_delay", Float),
    sqlite_with_rowid=False,
)

# What somebody calls a source and the folders they keep it in are theirs alone; null stands for the source's own name
# and tags. What was fetched up to `read_before` is read, unless `item_states` says otherwise.
subscriptions = Table(
    "user_subscriptions",
    metadata,
    Column("id", Id, primary_key=True),
    Column("user_id", Id, ForeignKey("users.id", ondelete="CASCADE"), nullable=False),
    Column("source_id", Id, ForeignKey("sources.id", ondelete="CASCADE"), nullable=False),
    Column("created_at", UtcDateTime, nullable=False),
    Column("title", String(500)),
    Column("folders", Json),
    Column("read_before", UtcDateTime, nullable=False, server_default=text("'1970-01-01T00:00:00.000000+00:00'")),
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
# With the last change, so that feeds tell what never changed without a look at the items.
Index("ix_raw_items_source_id_fetched_at", raw_items.c.source_id, raw_items.c.fetched_at, raw_items.c.updated_at)
# With the source, so that whoever may see some sources only is served without a look at the items of others.
Index("ix_raw_items_fetched_at", raw_items.c.fetched_at, raw_items.c.source_id)
# Few items are ever updated: feeds find those that were here, and the others by when they were fetched.
Index(
    "ix_raw_items_updated_at",
    raw_items.c.updated_at,
    raw_items.c.source_id,
    **where(raw_items.c.updated_at.is_not(None)),
)
Index(
    "ix_raw_items_source_id_updated_at",
    raw_items.c.source_id,
    raw_items.c.updated_at,
    **where(raw_items.c.updated_at.is_not(None)),
)

# What items said before they were edited: the last few versions, cut where a person would stop reading.
item_versions = Table(
    "item_versions",
    metadata,
    Column("item_id", Id, ForeignKey("raw_items.id", ondelete="CASCADE"), primary_key=True, autoincrement=False),
    Column("revision", Integer, primary_key=True, autoincrement=False),
    Column("title", Text, nullable=False),
    Column("content", Text, nullable=False),
    Column("seen_at", UtcDateTime, nullable=False),
    sqlite_with_rowid=False,
)

# Triggers on `raw_items` write down in `search_queue` what `search_index` has to take in or give up. Both can be made
# anew from the items at any time and differ by store, so they are not here; `store/search.py` reads and writes them. A
# migration that makes `raw_items` anew has to make the triggers anew, too.

# What a user did with single items, in reader apps. It goes with the item, and what `read_before` of a subscription
# says as well needs no row here. Source and moment are those of the item, so that counting takes no look at it.
item_states = Table(
    "item_states",
    metadata,
    Column("user_id", Id, ForeignKey("users.id", ondelete="CASCADE"), primary_key=True, autoincrement=False),
    Column("item_id", Id, ForeignKey("raw_items.id", ondelete="CASCADE"), primary_key=True, autoincrement=False),
    Column("source_id", Id, nullable=False),
    Column("fetched_at", UtcDateTime, nullable=False),
    # Null is as `read_before` says.
    Column("is_read", Boolean),
    Column("is_starred", Boolean, nullable=False),
    sqlite_with_rowid=False,
)
Index("ix_item_states_item_id", item_states.c.item_id)
Index("ix_item_states_starred", item_states.c.user_id, item_states.c.fetched_at, **where(item_states.c.is_starred))
Index("ix_item_states_is_read", item_states.c.user_id, item_states.c.is_read, item_states.c.fetched_at)
Index(
    "ix_item_states_source_id",
    item_states.c.user_id,
    item_states.c.source_id,
    item_states.c.is_read,
    item_states.c.fetched_at,
)

item_labels = Table(
    "item_labels",
    metadata,
    Column("user_id", Id, ForeignKey("users.id", ondelete="CASCADE"), primary_key=True, autoincrement=False),
    Column("label", String(100), primary_key=True),
    Column("item_id", Id, ForeignKey("raw_items.id", ondelete="CASCADE"), primary_key=True, autoincrement=False),
    sqlite_with_rowid=False,
)
Index("ix_item_labels_item_id", item_labels.c.item_id)

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
Index("uq_runs_running", runs.c.kind, runs.c.subject, unique=True, **where(runs.c.status == text("'running'")))
Index("ix_runs_finished_at", runs.c.finished_at)
# The owner of a workflow's run is the execution itself.
Index("uq_runs_execution_id", runs.c.owner, unique=True, **where(text("kind = 'workflow'")))

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
    # Of a visit that failed by no fault of its source: what it is called instead.
    Column("excuse", String(20)),
)
# All that counting takes, but for the excuses of what failed.
Index("ix_fetch_log_finished_at", fetch_log.c.finished_at, fetch_log.c.source_id, fetch_log.c.ok)
Index("ix_fetch_log_source_id_finished_at", fetch_log.c.source_id, fetch_log.c.finished_at)

# What the hours of the last day brought, counted once each is over: by whose sources they are (0 for nobody's) and
# whether everybody sees these, as it was then. An hour that was counted has a row of nobody's, be it of nothing.
visit_hours = Table(
    "visit_hours",
    metadata,
    Column("hour", UtcDateTime, primary_key=True),
    Column("owner_id", Id, primary_key=True, autoincrement=False),
    Column("is_public", Boolean, primary_key=True),
    Column("visits", Integer, nullable=False),
    Column("failed", Integer, nullable=False),
    Column("items", Integer, nullable=False),
    Column("excused", Integer, nullable=False, server_default=text("0")),
    sqlite_with_rowid=False,
)

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

# How far the exploration of a source is: a round lists all its candidates and then collects those that are pending.
# The view `site_states` shows it in the words of those who follow sitemaps.
crawls = Table(
    "expeditions",
    metadata,
    Column("source_id", Id, ForeignKey("sources.id", ondelete="CASCADE"), primary_key=True),
    Column("identity", String(64), nullable=False),
    Column("site_name", String(500), nullable=False),
    Column("address", Text, nullable=False),
    Column("round_began_at", UtcDateTime, nullable=False),
    Column("listed_at", UtcDateTime),
    Column("baseline_at", UtcDateTime),
    Column("doubted_since", UtcDateTime),
    Column("last_run_at", UtcDateTime),
    Column("last_cleanup_at", UtcDateTime),
    Column("created_at", UtcDateTime, nullable=False),
    Column("updated_at", UtcDateTime, nullable=False),
    # The candidate up to which those without a lastmod were asked for again.
    Column("rechecked_to", Id, nullable=False, server_default="0"),
)
Index("ix_expeditions_site_name", crawls.c.site_name)

# The documents that list candidates, with what is needed to ask for them only if they changed. One that is the same as
# when it was read vouches for all that it listed then, so that their rows need not be touched.
listings = Table(
    "listings",
    metadata,
    Column("id", Id, primary_key=True),
    Column("source_id", Id, ForeignKey("sources.id", ondelete="CASCADE"), nullable=False),
    Column("key", LargeBinary(16), nullable=False),
    Column("url", Text, nullable=False),
    Column("lastmod", UtcDateTime),
    Column("etag", Text),
    Column("last_modified", Text),
    Column("read_at", UtcDateTime),
    Column("seen_at", UtcDateTime, nullable=False),
    UniqueConstraint("source_id", "key"),
)

# Something discovered whose detail is still to be fetched. State: 0 pending, 1 processed, 2 failed. Pending and claimed
# by a run that still holds its lease is being worked on. The view `url_states` shows them with their effective
# `last_seen`; `listing_id` has no foreign key, as a listing may go before what it listed.
candidates = Table(
    "candidates",
    metadata,
    Column("id", Id, primary_key=True),
    Column("source_id", Id, ForeignKey("sources.id", ondelete="CASCADE"), nullable=False),
    Column("key", LargeBinary(16), nullable=False),
    Column("native_id", Text, nullable=False),
    Column("url", Text, nullable=False),
    Column("state", SmallInteger, nullable=False),
    Column("is_doubted", Boolean, nullable=False),
    Column("lastmod", UtcDateTime),
    Column("facts", Json),
    Column("listing_id", Id),
    Column("first_seen", UtcDateTime, nullable=False),
    Column("last_seen", UtcDateTime, nullable=False),
    Column("deleted_at", UtcDateTime),
    Column("collected_at", UtcDateTime),
    Column("fingerprint", LargeBinary(16)),
    Column("attempts", SmallInteger, nullable=False),
    Column("last_error", Text),
    Column("claimed_by", Id),
    # None once it was tried, also while the run that claimed it goes on: then nobody holds it.
    Column("claimed_at", UtcDateTime),
    # Where a note is from; there it is unique, whoever finds it. Pages of sites have none.
    Column("platform", String(10)),
    Column("last_error_code", String(30)),
    # What its detail was known by, to ask for it only if it changed.
    Column("etag", Text),
    Column("last_modified", Text),
    UniqueConstraint("source_id", "key"),
    CheckConstraint("state IN (0, 1, 2)", name="state"),
)
_IS_NOTE = text("platform IS NOT NULL")
Index("uq_candidates_platform_native_id", candidates.c.platform, candidates.c.native_id, unique=True, **where(_IS_NOTE))
Index("ix_candidates_notes_state", candidates.c.state, candidates.c.first_seen, candidates.c.id, **where(_IS_NOTE))
Index("ix_candidates_notes_claimed_by", candidates.c.claimed_by, **where(_IS_NOTE))
Index("ix_candidates_source_id_state_id", candidates.c.source_id, candidates.c.state, candidates.c.id)
Index("ix_candidates_source_id_last_seen", candidates.c.source_id, candidates.c.last_seen)

# Saved views that are published. An owner who goes takes their feeds along: one without an owner shows everything.
feeds = Table(
    "feeds",
    metadata,
    Column("id", Id, primary_key=True),
    Column("slug", String(100), nullable=False, unique=True),
    Column("title", Text, nullable=False),
    Column("description", Text, nullable=False),
    Column("link", Text, nullable=False),
    Column("language", String(35), nullable=False),
    Column("filter", Json, nullable=False),
    Column("is_public", Boolean, nullable=False),
    Column("token_hash", String(64)),
    Column("owner_id", Id, ForeignKey("users.id", ondelete="CASCADE")),
    Column("version", Integer, nullable=False),
    Column("created_at", UtcDateTime, nullable=False),
    Column("updated_at", UtcDateTime, nullable=False),
    # Ids are never reused, or what was said of a feed that is gone would be said of its successor.
    sqlite_autoincrement=True,
)
Index("ix_feeds_owner_id", feeds.c.owner_id)

# How often the items of a source changed, by cause; source 0 is the catalogue itself. `store/changes.py` counts.
changes = Table(
    "changes",
    metadata,
    Column("source_id", Id, primary_key=True, autoincrement=False),
    Column("cause", String(20), primary_key=True),
    Column("times", BigInteger, nullable=False),
    Column("changed_at", UtcDateTime, nullable=False),
    # How many items came by it; below zero where they went.
    Column("item_count", BigInteger, nullable=False, server_default="0"),
    sqlite_with_rowid=False,
)

# What the system does by itself: when each job is due, for all processes together.
jobs = Table(
    "jobs",
    metadata,
    Column("name", String(50), primary_key=True),
    Column("due_at", UtcDateTime),
    Column("is_paused", Boolean, nullable=False),
    Column("last_started_at", UtcDateTime),
    Column("last_finished_at", UtcDateTime),
    Column("last_ok", Boolean),
    Column("last_message", Text, nullable=False),
    Column("runs", Integer, nullable=False),
)

webhooks = Table(
    "webhooks",
    metadata,
    Column("id", Id, primary_key=True),
    Column("name", String(200), nullable=False),
    Column("url", Text, nullable=False),
    Column("topics", Json, nullable=False),
    Column("is_active", Boolean, nullable=False),
    Column("allow_private", Boolean, nullable=False),
    Column("secret", Text, nullable=False),
    Column("created_at", UtcDateTime, nullable=False),
    Column("format", String(10), nullable=False, server_default=text("'json'")),
    # By its short name, and not bound to it: a feed may go, and one of the same name takes its place.
    Column("feed", String(100), nullable=False, server_default=text("''")),
    UniqueConstraint("name"),
)

# Events on their way to webhooks, written in the transaction of what they tell of.
outbox = Table(
    "outbox",
    metadata,
    Column("id", Id, primary_key=True),
    Column("event_id", String(36), nullable=False),
    Column("topic", String(50), nullable=False),
    Column("webhook_id", Id, ForeignKey("webhooks.id", ondelete="CASCADE"), nullable=False),
    Column("payload", Json, nullable=False),
    Column("created_at", UtcDateTime, nullable=False),
    Column("attempts", Integer, nullable=False),
    Column("next_try_at", UtcDateTime),
    Column("delivered_at", UtcDateTime),
    Column("dead_at", UtcDateTime),
    Column("last_error", Text),
    UniqueConstraint("webhook_id", "event_id"),
    # Ids tell the order in which events happened, so none is used twice.
    sqlite_autoincrement=True,
)
Index("ix_outbox_webhook_id", outbox.c.webhook_id, outbox.c.id)
Index("ix_outbox_waiting", outbox.c.webhook_id, outbox.c.id, **where(outbox.c.next_try_at.is_not(None)))
Index("ix_outbox_dead", outbox.c.webhook_id, outbox.c.dead_at, **where(outbox.c.dead_at.is_not(None)))

# Named lists of sources that people pass on: entries such as a file has them, without secrets.
source_packs = Table(
    "source_packs",
    metadata,
    Column("id", Id, primary_key=True),
    Column("slug", String(100), nullable=False, unique=True),
    Column("name", String(200), nullable=False),
    Column("description", Text, nullable=False),
    Column("sources_json", Json, nullable=False),
    Column("is_public", Boolean, nullable=False),
    Column("created_by", Id, ForeignKey("users.id", ondelete="SET NULL")),
    Column("install_count", Integer, nullable=False),
    Column("created_at", UtcDateTime, nullable=False),
)

# Alerts: a row for each turn of a rule and what it is about, as it is now or was when it ended. `event_id` is the event
# in the outbox that last told of it, in this turn or an earlier one.
alerts = Table(
    "alerts",
    metadata,
    Column("id", Id, primary_key=True),
    Column("rule", String(50), nullable=False),
    Column("subject", String(200), nullable=False),
    Column("severity", String(2), nullable=False),
    Column("message", Text, nullable=False),
    Column("since", UtcDateTime, nullable=False),
    Column("fired_at", UtcDateTime),
    Column("told_at", UtcDateTime),
    Column("event_id", String(36)),
    Column("resolved_at", UtcDateTime),
    Column("acknowledged_at", UtcDateTime),
    Column("acknowledged_by", String(200)),
    Column("muted_until", UtcDateTime),
    UniqueConstraint("rule", "subject", "since"),
)
Index(
    "ix_alerts_open",
    alerts.c.rule,
    alerts.c.subject,
    unique=True,
    **where(alerts.c.resolved_at.is_(None)),
)

# What happened at a moment and leaves no state behind that a rule could look at.
incidents = Table(
    "incidents",
    metadata,
    Column("id", Id, primary_key=True),
    Column("kind", String(30), nullable=False),
    Column("amount", Integer, nullable=False),
    Column("message", Text, nullable=False),
    Column("at", UtcDateTime, nullable=False),
)
Index("ix_incidents_at", incidents.c.at)

# Who changed what, for people to read: no secrets, and nothing else stands on it.
audit_trail = Table(
    "audit_trail",
    metadata,
    Column("id", Id, primary_key=True),
    Column("at", UtcDateTime, nullable=False),
    # Who it was, as they were called then: the trail outlives its people.
    Column("actor_id", Id),
    Column("actor", String(200), nullable=False),
    Column("action", String(50), nullable=False),
    Column("object", String(200), nullable=False),
    Column("summary", Text, nullable=False),
    sqlite_autoincrement=True,
)
Index("ix_audit_trail_at", audit_trail.c.at)
