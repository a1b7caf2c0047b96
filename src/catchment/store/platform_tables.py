"""The part of the schema that is about X, notes found by keyword, and the cookies of platforms."""

from __future__ import annotations

from sqlalchemy import (
    BigInteger,
    Boolean,
    CheckConstraint,
    Column,
    Date,
    Float,
    ForeignKey,
    Index,
    Integer,
    String,
    Table,
    Text,
    UniqueConstraint,
    false,
    text,
)

from catchment.store.types import Id, Json, UtcDateTime, metadata

# X. `id` rises in the order in which tweets come to be seen, which the feed's cursor relies on; see `store/tweets.py`.
tweets = Table(
    "tweets",
    metadata,
    Column("id", Id, primary_key=True),
    Column("tweet_id", String(255), nullable=False),
    Column("text", Text, nullable=False),
    Column("created_at", UtcDateTime, nullable=False),
    Column("author_username", String(255), nullable=False),
    # The same in lower case: by this a user is found.
    Column("author", String(255), nullable=False),
    Column("author_display_name", String(255)),
    # Most referenced tweets are not here, so this refers to nothing in particular.
    Column("referenced_tweet_id", String(255)),
    Column("reference_type", String(20)),
    Column("media", Json, nullable=False),
    Column("referenced_tweet_text", Text),
    Column("referenced_tweet_media", Json, nullable=False),
    Column("referenced_tweet_author_username", String(255)),
    Column("urls", Json, nullable=False),
    Column("lang", String(20)),
    Column("hashtags", Json, nullable=False, server_default=text("'[]'")),
    # How often it was liked, shared and so on, when it was stored.
    Column("counts", Json, nullable=False, server_default=text("'{}'")),
    Column("db_created_at", UtcDateTime, nullable=False),
    Column("db_updated_at", UtcDateTime, nullable=False),
    # A number that was used is never used again, or a cursor could pass over a tweet.
    sqlite_autoincrement=True,
)
Index("ix_tweets_tweet_id", tweets.c.tweet_id, unique=True)
Index("ix_tweets_author_created_at", tweets.c.author, tweets.c.created_at.desc())
Index("ix_tweets_created_at", tweets.c.created_at.desc(), tweets.c.id.desc())
Index("ix_tweets_db_created_at", tweets.c.db_created_at)

# First pages of timelines that somebody looked at before adding them: the first collection need not pay again.
x_previews = Table(
    "x_previews",
    metadata,
    Column("timeline", String(500), primary_key=True),
    # JSON as text: strangers' words may hold what no column for JSON does.
    Column("page", Text, nullable=False),
    Column("fetched_at", UtcDateTime, nullable=False),
)

scraper_fetch_stats = Table(
    "scraper_fetch_stats",
    metadata,
    Column("username", String(255), primary_key=True),
    Column("last_fetch_at", UtcDateTime, nullable=False),
    Column("last_fetched_count", Integer, nullable=False),
    Column("last_new_count", Integer, nullable=False),
    Column("total_fetches", Integer, nullable=False),
    Column("avg_new_rate", Float, nullable=False),
    Column("consecutive_empty_fetches", Integer, nullable=False),
    Column("created_at", UtcDateTime, nullable=False),
    Column("updated_at", UtcDateTime, nullable=False),
    CheckConstraint("avg_new_rate BETWEEN 0 AND 1", name="avg_new_rate"),
)

# Pages of the provider that were asked for, by day in UTC.
x_spending = Table(
    "x_spending",
    metadata,
    Column("day", Date, primary_key=True),
    Column("pages", Integer, nullable=False),
)

scraper_follows = Table(
    "scraper_follows",
    metadata,
    Column("id", Id, primary_key=True),
    Column("username", String(15), nullable=False, unique=True),
    Column("added_at", UtcDateTime, nullable=False),
    Column("reason", String(500), nullable=False),
    Column("added_by", String(100), nullable=False),
    Column("is_active", Boolean, nullable=False),
)

# What an administrator says about the scraper's schedule: one row, with the number 1.
scraper_schedule_config = Table(
    "scraper_schedule_config",
    metadata,
    Column("id", Integer, primary_key=True, autoincrement=False),
    Column("interval_seconds", Integer, nullable=False, server_default=text("43200")),
    # Whether somebody set it; else the environment's schedule holds.
    Column("is_interval_set", Boolean, nullable=False, server_default=false()),
    Column("next_run_time", UtcDateTime),
    Column("is_enabled", Boolean, nullable=False),
    Column("updated_at", UtcDateTime, nullable=False),
    Column("updated_by", String(100), nullable=False),
    CheckConstraint("id = 1", name="one_row"),
)

# What was collected of notes, each once on its platform. The views `tbl_candidate`, `tbl_crawl_execution` and
# `tbl_source` show candidates, runs and this in the words of those who crawl by keyword.
notes = Table(
    "notes",
    metadata,
    Column("id", Id, primary_key=True),
    Column("platform", String(10), nullable=False),
    Column("note_id", String(128), nullable=False),
    Column("idempotency_key", String(140), nullable=False),
    Column("source_id", Id, ForeignKey("sources.id", ondelete="SET NULL")),
    Column("url", Text, nullable=False),
    Column("title", Text, nullable=False),
    Column("content", Text, nullable=False),
    Column("note_type", String(20), nullable=False),
    Column("images", Json, nullable=False),
    Column("video_url", Text),
    Column("likes", BigInteger),
    Column("collects", BigInteger),
    Column("comments", BigInteger),
    Column("shares", BigInteger),
    Column("author_id", Text, nullable=False),
    Column("author_name", Text, nullable=False),
    Column("tags", Json, nullable=False),
    Column("comment_list", Json, nullable=False),
    Column("published_at", UtcDateTime),
    Column("extracted_at", UtcDateTime, nullable=False),
    Column("exec_meta", Json, nullable=False),
    UniqueConstraint("platform", "idempotency_key"),
)
Index("ix_notes_source_id", notes.c.source_id)

# Notes in tables outside, by the name of the table. A row without `copied_at` is a note whose copying failed so far.
note_copies = Table(
    "note_copies",
    metadata,
    Column("note_id", Id, ForeignKey("notes.id", ondelete="CASCADE"), primary_key=True, autoincrement=False),
    Column("sink", String(100), primary_key=True),
    Column("record_id", Text),
    Column("copied_at", UtcDateTime),
    Column("attempts", Integer, nullable=False),
    Column("last_error", Text),
    Column("next_try_at", UtcDateTime),
    sqlite_with_rowid=False,
)

# How requests to crawled platforms went, by the minute.
crawl_minutes = Table(
    "crawl_minutes",
    metadata,
    Column("minute", UtcDateTime, primary_key=True),
    Column("platform", String(10), primary_key=True),
    Column("ok", Integer, nullable=False),
    Column("failed", Integer, nullable=False),
)

# Cookies of the platforms, sealed. A lease of one is a run. `store/cookies.py` reads and writes them; the view
# `tbl_cookie` shows the same under other names.
cookies = Table(
    "cookies",
    metadata,
    Column("id", Id, primary_key=True),
    Column("name", String(50), nullable=False, unique=True),
    Column("platform", String(10), nullable=False),
    Column("sealed", Text, nullable=False),
    Column("key_id", String(100), nullable=False),
    Column("status", String(10), nullable=False),
    Column("is_enabled", Boolean, nullable=False),
    Column("priority", Integer, nullable=False),
    Column("daily_limit", Integer, nullable=False),
    # Uses on the day `used_on`, in the zone of COOKIE_DAILY_TZ.
    Column("daily_used", Integer, nullable=False),
    Column("used_on", Date),
    Column("consecutive_errors", Integer, nullable=False),
    Column("total_used", BigInteger, nullable=False),
    Column("total_errors", Integer, nullable=False),
    Column("counted_since", UtcDateTime, nullable=False),
    Column("cooling_since", UtcDateTime),
    Column("cooling_until", UtcDateTime),
    Column("last_used_at", UtcDateTime),
    Column("last_error_at", UtcDateTime),
    Column("description", Text, nullable=False),
    Column("created_at", UtcDateTime, nullable=False),
    Column("updated_at", UtcDateTime, nullable=False),
    CheckConstraint("status IN ('active', 'cooling', 'invalid', 'banned')", name="status"),
    CheckConstraint("(status = 'cooling') = (cooling_until IS NOT NULL)", name="cooling"),
)
