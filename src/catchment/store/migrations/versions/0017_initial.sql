-- The schema that migrations begin with, written once for both stores: 0017_initial.py has the words that differ.
-- It stays as it is: later changes are migrations of their own, and `store/tables.py` shows what all of them lead to.

CREATE TABLE alerts (
    id $serial NOT NULL CONSTRAINT pk_alerts PRIMARY KEY,
    rule VARCHAR(50) NOT NULL,
    subject VARCHAR(200) NOT NULL,
    severity VARCHAR(2) NOT NULL,
    message TEXT NOT NULL,
    since $moment NOT NULL,
    fired_at $moment,
    told_at $moment,
    event_id VARCHAR(36),
    resolved_at $moment,
    CONSTRAINT uq_alerts_rule_subject UNIQUE (rule, subject)
);

CREATE TABLE applied_intervals (
    type VARCHAR(50) NOT NULL CONSTRAINT pk_applied_intervals PRIMARY KEY,
    minutes INTEGER NOT NULL
);

CREATE TABLE changes (
    source_id $id NOT NULL,
    cause VARCHAR(20) NOT NULL,
    times BIGINT NOT NULL,
    changed_at $moment NOT NULL,
    CONSTRAINT pk_changes PRIMARY KEY (source_id, cause)
)$by_key;

CREATE TABLE config (
    key VARCHAR(200) NOT NULL CONSTRAINT pk_config PRIMARY KEY,
    value TEXT NOT NULL,
    updated_at $moment NOT NULL
);

CREATE TABLE cookies (
    id $serial NOT NULL CONSTRAINT pk_cookies PRIMARY KEY,
    name VARCHAR(50) NOT NULL,
    platform VARCHAR(10) NOT NULL,
    sealed TEXT NOT NULL,
    key_id VARCHAR(100) NOT NULL,
    status VARCHAR(10) NOT NULL,
    is_enabled BOOLEAN NOT NULL,
    priority INTEGER NOT NULL,
    daily_limit INTEGER NOT NULL,
    daily_used INTEGER NOT NULL,
    used_on DATE,
    consecutive_errors INTEGER NOT NULL,
    total_used BIGINT NOT NULL,
    total_errors INTEGER NOT NULL,
    counted_since $moment NOT NULL,
    cooling_since $moment,
    cooling_until $moment,
    last_used_at $moment,
    last_error_at $moment,
    description TEXT NOT NULL,
    created_at $moment NOT NULL,
    updated_at $moment NOT NULL,
    CONSTRAINT ck_cookies_status CHECK (status IN ('active', 'cooling', 'invalid', 'banned')),
    CONSTRAINT ck_cookies_cooling CHECK ((status = 'cooling') = (cooling_until IS NOT NULL)),
    CONSTRAINT uq_cookies_name UNIQUE (name)
);

CREATE TABLE crawl_minutes (
    minute $moment NOT NULL,
    platform VARCHAR(10) NOT NULL,
    ok INTEGER NOT NULL,
    failed INTEGER NOT NULL,
    CONSTRAINT pk_crawl_minutes PRIMARY KEY (minute, platform)
);

CREATE TABLE hosts (
    host VARCHAR(255) NOT NULL CONSTRAINT pk_hosts PRIMARY KEY,
    owner VARCHAR(200),
    owner_until $moment,
    held_until $moment,
    booked_until $moment,
    starts $json DEFAULT '[]' NOT NULL,
    crawl_delay FLOAT
)$by_key;

CREATE TABLE incidents (
    id $serial NOT NULL CONSTRAINT pk_incidents PRIMARY KEY,
    kind VARCHAR(30) NOT NULL,
    amount INTEGER NOT NULL,
    message TEXT NOT NULL,
    at $moment NOT NULL
);

CREATE INDEX ix_incidents_at ON incidents (at);

CREATE TABLE jobs (
    name VARCHAR(50) NOT NULL CONSTRAINT pk_jobs PRIMARY KEY,
    due_at $moment,
    is_paused BOOLEAN NOT NULL,
    last_started_at $moment,
    last_finished_at $moment,
    last_ok BOOLEAN,
    last_message TEXT NOT NULL,
    runs INTEGER NOT NULL
);

CREATE TABLE runs (
    id $serial NOT NULL CONSTRAINT pk_runs PRIMARY KEY$rising,
    kind VARCHAR(20) NOT NULL,
    subject VARCHAR(200) NOT NULL,
    owner VARCHAR(200) NOT NULL,
    status VARCHAR(20) NOT NULL,
    started_at $moment NOT NULL,
    heartbeat_at $moment NOT NULL,
    lease_until $moment NOT NULL,
    finished_at $moment,
    progress $json NOT NULL
);

CREATE INDEX ix_runs_finished_at ON runs (finished_at);
CREATE UNIQUE INDEX uq_runs_execution_id ON runs (owner) WHERE kind = 'workflow';
CREATE UNIQUE INDEX uq_runs_running ON runs (kind, subject) WHERE status = 'running';

CREATE TABLE scraper_fetch_stats (
    username VARCHAR(255) NOT NULL CONSTRAINT pk_scraper_fetch_stats PRIMARY KEY,
    last_fetch_at $moment NOT NULL,
    last_fetched_count INTEGER NOT NULL,
    last_new_count INTEGER NOT NULL,
    total_fetches INTEGER NOT NULL,
    avg_new_rate FLOAT NOT NULL,
    consecutive_empty_fetches INTEGER NOT NULL,
    created_at $moment NOT NULL,
    updated_at $moment NOT NULL,
    CONSTRAINT ck_scraper_fetch_stats_avg_new_rate CHECK (avg_new_rate BETWEEN 0 AND 1)
);

CREATE TABLE scraper_follows (
    id $serial NOT NULL CONSTRAINT pk_scraper_follows PRIMARY KEY,
    username VARCHAR(15) NOT NULL,
    added_at $moment NOT NULL,
    reason VARCHAR(500) NOT NULL,
    added_by VARCHAR(100) NOT NULL,
    is_active BOOLEAN NOT NULL,
    CONSTRAINT uq_scraper_follows_username UNIQUE (username)
);

CREATE TABLE scraper_schedule_config (
    id INTEGER NOT NULL CONSTRAINT pk_scraper_schedule_config PRIMARY KEY,
    interval_seconds INTEGER DEFAULT 43200 NOT NULL,
    is_interval_set BOOLEAN DEFAULT false NOT NULL,
    next_run_time $moment,
    is_enabled BOOLEAN NOT NULL,
    updated_at $moment NOT NULL,
    updated_by VARCHAR(100) NOT NULL,
    CONSTRAINT ck_scraper_schedule_config_one_row CHECK (id = 1)
);

CREATE TABLE tweets (
    id $serial NOT NULL CONSTRAINT pk_tweets PRIMARY KEY$rising,
    tweet_id VARCHAR(255) NOT NULL,
    text TEXT NOT NULL,
    created_at $moment NOT NULL,
    author_username VARCHAR(255) NOT NULL,
    author VARCHAR(255) NOT NULL,
    author_display_name VARCHAR(255),
    referenced_tweet_id VARCHAR(255),
    reference_type VARCHAR(20),
    media $json NOT NULL,
    referenced_tweet_text TEXT,
    referenced_tweet_media $json NOT NULL,
    referenced_tweet_author_username VARCHAR(255),
    urls $json NOT NULL,
    lang VARCHAR(20),
    hashtags $json DEFAULT '[]' NOT NULL,
    counts $json DEFAULT '{}' NOT NULL,
    db_created_at $moment NOT NULL,
    db_updated_at $moment NOT NULL
);

CREATE INDEX ix_tweets_author_created_at ON tweets (author, created_at DESC);
CREATE INDEX ix_tweets_created_at ON tweets (created_at DESC, id DESC);
CREATE INDEX ix_tweets_db_created_at ON tweets (db_created_at);
CREATE UNIQUE INDEX ix_tweets_tweet_id ON tweets (tweet_id);

CREATE TABLE users (
    id $serial NOT NULL CONSTRAINT pk_users PRIMARY KEY,
    email VARCHAR(320) NOT NULL,
    name VARCHAR(200) NOT NULL,
    slug VARCHAR(100) NOT NULL,
    is_admin BOOLEAN NOT NULL,
    created_at $moment NOT NULL,
    password_hash VARCHAR(255),
    is_active BOOLEAN DEFAULT true NOT NULL,
    login_version INTEGER DEFAULT '0' NOT NULL,
    google_id VARCHAR(255),
    digests_public BOOLEAN DEFAULT false NOT NULL,
    CONSTRAINT uq_users_email UNIQUE (email),
    CONSTRAINT uq_users_slug UNIQUE (slug)
);

CREATE UNIQUE INDEX uq_users_google_id ON users (google_id);

CREATE TABLE webhooks (
    id $serial NOT NULL CONSTRAINT pk_webhooks PRIMARY KEY,
    name VARCHAR(200) NOT NULL,
    url TEXT NOT NULL,
    topics $json NOT NULL,
    is_active BOOLEAN NOT NULL,
    allow_private BOOLEAN NOT NULL,
    secret TEXT NOT NULL,
    created_at $moment NOT NULL,
    format VARCHAR(10) DEFAULT 'json' NOT NULL,
    CONSTRAINT uq_webhooks_name UNIQUE (name)
);

CREATE TABLE x_previews (
    timeline VARCHAR(500) NOT NULL CONSTRAINT pk_x_previews PRIMARY KEY,
    page TEXT NOT NULL,
    fetched_at $moment NOT NULL
);

CREATE TABLE x_spending (
    day DATE NOT NULL CONSTRAINT pk_x_spending PRIMARY KEY,
    pages INTEGER NOT NULL
);

CREATE TABLE api_keys (
    id $serial NOT NULL CONSTRAINT pk_api_keys PRIMARY KEY,
    user_id $id,
    role VARCHAR(20) NOT NULL,
    name VARCHAR(100) NOT NULL,
    prefix VARCHAR(12) NOT NULL,
    key_hash VARCHAR(64) NOT NULL,
    is_active BOOLEAN NOT NULL,
    created_at $moment NOT NULL,
    last_used_at $moment,
    scope VARCHAR(20) DEFAULT 'admin' NOT NULL,
    CONSTRAINT fk_api_keys_user_id_users FOREIGN KEY (user_id) REFERENCES users (id) ON DELETE CASCADE,
    CONSTRAINT uq_api_keys_key_hash UNIQUE (key_hash)
);

CREATE TABLE digests (
    id $serial NOT NULL CONSTRAINT pk_digests PRIMARY KEY,
    type VARCHAR(20) NOT NULL,
    content TEXT NOT NULL,
    metadata $json NOT NULL,
    user_id $id,
    created_at $moment NOT NULL,
    CONSTRAINT ck_digests_type CHECK (type IN ('4h', 'daily', 'weekly', 'monthly')),
    CONSTRAINT fk_digests_user_id_users FOREIGN KEY (user_id) REFERENCES users (id) ON DELETE CASCADE
);

CREATE INDEX ix_digests_created_at ON digests (created_at);

CREATE TABLE feeds (
    id $serial NOT NULL CONSTRAINT pk_feeds PRIMARY KEY$rising,
    slug VARCHAR(100) NOT NULL,
    title TEXT NOT NULL,
    description TEXT NOT NULL,
    link TEXT NOT NULL,
    language VARCHAR(35) NOT NULL,
    filter $json NOT NULL,
    is_public BOOLEAN NOT NULL,
    token_hash VARCHAR(64),
    owner_id $id,
    version INTEGER NOT NULL,
    created_at $moment NOT NULL,
    updated_at $moment NOT NULL,
    CONSTRAINT uq_feeds_slug UNIQUE (slug),
    CONSTRAINT fk_feeds_owner_id_users FOREIGN KEY (owner_id) REFERENCES users (id) ON DELETE CASCADE
);

CREATE INDEX ix_feeds_owner_id ON feeds (owner_id);

CREATE TABLE outbox (
    id $serial NOT NULL CONSTRAINT pk_outbox PRIMARY KEY$rising,
    event_id VARCHAR(36) NOT NULL,
    topic VARCHAR(50) NOT NULL,
    webhook_id $id NOT NULL,
    payload $json NOT NULL,
    created_at $moment NOT NULL,
    attempts INTEGER NOT NULL,
    next_try_at $moment,
    delivered_at $moment,
    dead_at $moment,
    last_error TEXT,
    CONSTRAINT uq_outbox_webhook_id_event_id UNIQUE (webhook_id, event_id),
    CONSTRAINT fk_outbox_webhook_id_webhooks FOREIGN KEY (webhook_id) REFERENCES webhooks (id) ON DELETE CASCADE
);

CREATE INDEX ix_outbox_dead ON outbox (webhook_id, dead_at) WHERE dead_at IS NOT NULL;
CREATE INDEX ix_outbox_waiting ON outbox (webhook_id, id) WHERE next_try_at IS NOT NULL;

CREATE TABLE source_packs (
    id $serial NOT NULL CONSTRAINT pk_source_packs PRIMARY KEY,
    slug VARCHAR(100) NOT NULL,
    name VARCHAR(200) NOT NULL,
    description TEXT NOT NULL,
    sources_json $json NOT NULL,
    is_public BOOLEAN NOT NULL,
    created_by $id,
    install_count INTEGER NOT NULL,
    created_at $moment NOT NULL,
    CONSTRAINT uq_source_packs_slug UNIQUE (slug),
    CONSTRAINT fk_source_packs_created_by_users FOREIGN KEY (created_by) REFERENCES users (id) ON DELETE SET NULL
);

CREATE TABLE sources (
    id $serial NOT NULL CONSTRAINT pk_sources PRIMARY KEY,
    name VARCHAR(500) NOT NULL,
    type VARCHAR(50) NOT NULL,
    config $json NOT NULL,
    identity VARCHAR(64) NOT NULL,
    identity_scope $id,
    tags $json NOT NULL,
    is_active BOOLEAN NOT NULL,
    paused_by VARCHAR(20),
    is_public BOOLEAN NOT NULL,
    is_deleted BOOLEAN NOT NULL,
    deleted_at $moment,
    created_by $id,
    created_at $moment NOT NULL,
    updated_at $moment NOT NULL,
    last_fetched_at $moment,
    last_attempt_at $moment,
    fetch_count INTEGER NOT NULL,
    fetch_error_count INTEGER NOT NULL,
    last_error TEXT,
    last_error_at $moment,
    next_check_at $moment,
    next_check_why VARCHAR(20),
    memory $json NOT NULL,
    rhythm $json DEFAULT '{}' NOT NULL,
    quiet_at $moment,
    gap_at $moment,
    moved $json,
    keep_days INTEGER,
    version INTEGER NOT NULL,
    host VARCHAR(255),
    CONSTRAINT uq_sources_identity_identity_scope UNIQUE (identity, identity_scope),
    CONSTRAINT fk_sources_created_by_users FOREIGN KEY (created_by) REFERENCES users (id) ON DELETE SET NULL
);

CREATE INDEX ix_sources_created_by ON sources (created_by);
CREATE INDEX ix_sources_due ON sources (next_check_at) WHERE next_check_at IS NOT NULL;
CREATE INDEX ix_sources_host ON sources (host) WHERE host IS NOT NULL;
CREATE INDEX ix_sources_keep_days ON sources (keep_days) WHERE keep_days IS NOT NULL;
CREATE INDEX ix_sources_type ON sources (type);

CREATE TABLE candidates (
    id $serial NOT NULL CONSTRAINT pk_candidates PRIMARY KEY,
    source_id $id NOT NULL,
    key $bytes NOT NULL,
    native_id TEXT NOT NULL,
    url TEXT NOT NULL,
    state SMALLINT NOT NULL,
    is_doubted BOOLEAN NOT NULL,
    lastmod $moment,
    facts $json,
    listing_id $id,
    first_seen $moment NOT NULL,
    last_seen $moment NOT NULL,
    deleted_at $moment,
    collected_at $moment,
    fingerprint $bytes,
    attempts SMALLINT NOT NULL,
    last_error TEXT,
    claimed_by $id,
    claimed_at $moment,
    platform VARCHAR(10),
    last_error_code VARCHAR(30),
    etag TEXT,
    last_modified TEXT,
    CONSTRAINT uq_candidates_source_id_key UNIQUE (source_id, key),
    CONSTRAINT ck_candidates_state CHECK (state IN (0, 1, 2)),
    CONSTRAINT fk_candidates_source_id_sources FOREIGN KEY (source_id) REFERENCES sources (id) ON DELETE CASCADE
);

CREATE INDEX ix_candidates_notes_claimed_by ON candidates (claimed_by) WHERE platform IS NOT NULL;
CREATE INDEX ix_candidates_notes_state ON candidates (state, first_seen, id) WHERE platform IS NOT NULL;
CREATE INDEX ix_candidates_source_id_last_seen ON candidates (source_id, last_seen);
CREATE INDEX ix_candidates_source_id_state_id ON candidates (source_id, state, id);
CREATE UNIQUE INDEX uq_candidates_platform_native_id ON candidates (platform, native_id) WHERE platform IS NOT NULL;

CREATE TABLE expeditions (
    source_id $id NOT NULL CONSTRAINT pk_expeditions PRIMARY KEY,
    identity VARCHAR(64) NOT NULL,
    site_name VARCHAR(500) NOT NULL,
    address TEXT NOT NULL,
    round_began_at $moment NOT NULL,
    listed_at $moment,
    baseline_at $moment,
    doubted_since $moment,
    last_run_at $moment,
    last_cleanup_at $moment,
    created_at $moment NOT NULL,
    updated_at $moment NOT NULL,
    rechecked_to $id DEFAULT '0' NOT NULL,
    CONSTRAINT fk_expeditions_source_id_sources FOREIGN KEY (source_id) REFERENCES sources (id) ON DELETE CASCADE
);

CREATE INDEX ix_expeditions_site_name ON expeditions (site_name);

CREATE TABLE fetch_log (
    id $serial NOT NULL CONSTRAINT pk_fetch_log PRIMARY KEY,
    source_id $id NOT NULL,
    started_at $moment NOT NULL,
    finished_at $moment NOT NULL,
    ok BOOLEAN NOT NULL,
    items INTEGER NOT NULL,
    inserted INTEGER NOT NULL,
    error TEXT,
    CONSTRAINT fk_fetch_log_source_id_sources FOREIGN KEY (source_id) REFERENCES sources (id) ON DELETE CASCADE
);

CREATE INDEX ix_fetch_log_finished_at ON fetch_log (finished_at);

CREATE TABLE listings (
    id $serial NOT NULL CONSTRAINT pk_listings PRIMARY KEY,
    source_id $id NOT NULL,
    key $bytes NOT NULL,
    url TEXT NOT NULL,
    lastmod $moment,
    etag TEXT,
    last_modified TEXT,
    read_at $moment,
    seen_at $moment NOT NULL,
    CONSTRAINT uq_listings_source_id_key UNIQUE (source_id, key),
    CONSTRAINT fk_listings_source_id_sources FOREIGN KEY (source_id) REFERENCES sources (id) ON DELETE CASCADE
);

CREATE TABLE notes (
    id $serial NOT NULL CONSTRAINT pk_notes PRIMARY KEY,
    platform VARCHAR(10) NOT NULL,
    note_id VARCHAR(128) NOT NULL,
    idempotency_key VARCHAR(140) NOT NULL,
    source_id $id,
    url TEXT NOT NULL,
    title TEXT NOT NULL,
    content TEXT NOT NULL,
    note_type VARCHAR(20) NOT NULL,
    images $json NOT NULL,
    video_url TEXT,
    likes BIGINT,
    collects BIGINT,
    comments BIGINT,
    shares BIGINT,
    author_id TEXT NOT NULL,
    author_name TEXT NOT NULL,
    tags $json NOT NULL,
    comment_list $json NOT NULL,
    published_at $moment,
    extracted_at $moment NOT NULL,
    exec_meta $json NOT NULL,
    CONSTRAINT uq_notes_platform_idempotency_key UNIQUE (platform, idempotency_key),
    CONSTRAINT fk_notes_source_id_sources FOREIGN KEY (source_id) REFERENCES sources (id) ON DELETE SET NULL
);

CREATE INDEX ix_notes_source_id ON notes (source_id);

CREATE TABLE raw_items (
    id $serial NOT NULL CONSTRAINT pk_raw_items PRIMARY KEY,
    source_id $id NOT NULL,
    dedup_key VARCHAR(500) NOT NULL,
    fingerprint $bytes NOT NULL,
    title TEXT NOT NULL,
    url TEXT NOT NULL,
    author TEXT NOT NULL,
    content TEXT NOT NULL,
    published_at $moment,
    fetched_at $moment NOT NULL,
    updated_at $moment,
    revision INTEGER NOT NULL,
    metadata $json NOT NULL,
    CONSTRAINT uq_raw_items_source_id_dedup_key UNIQUE (source_id, dedup_key),
    CONSTRAINT fk_raw_items_source_id_sources FOREIGN KEY (source_id) REFERENCES sources (id) ON DELETE CASCADE
);

CREATE INDEX ix_raw_items_fetched_at ON raw_items (fetched_at);
CREATE INDEX ix_raw_items_source_id_fetched_at ON raw_items (source_id, fetched_at);
CREATE INDEX ix_raw_items_updated_at ON raw_items (updated_at) WHERE updated_at IS NOT NULL;

CREATE TABLE seen_items (
    source_id $id NOT NULL,
    key $bytes NOT NULL,
    fingerprint $bytes NOT NULL,
    CONSTRAINT pk_seen_items PRIMARY KEY (source_id, key),
    CONSTRAINT fk_seen_items_source_id_sources FOREIGN KEY (source_id) REFERENCES sources (id) ON DELETE CASCADE
)$by_key;

CREATE TABLE sessions (
    token_hash VARCHAR(64) NOT NULL CONSTRAINT pk_sessions PRIMARY KEY,
    api_key_id $id,
    environment_proof VARCHAR(64),
    is_sign_in_link BOOLEAN NOT NULL,
    created_at $moment NOT NULL,
    expires_at $moment NOT NULL,
    user_id $id,
    login_version INTEGER,
    CONSTRAINT fk_sessions_api_key_id_api_keys FOREIGN KEY (api_key_id) REFERENCES api_keys (id) ON DELETE CASCADE,
    CONSTRAINT fk_sessions_user_id_users FOREIGN KEY (user_id) REFERENCES users (id) ON DELETE CASCADE
);

CREATE TABLE user_subscriptions (
    id $serial NOT NULL CONSTRAINT pk_user_subscriptions PRIMARY KEY,
    user_id $id NOT NULL,
    source_id $id NOT NULL,
    created_at $moment NOT NULL,
    CONSTRAINT uq_user_subscriptions_user_id_source_id UNIQUE (user_id, source_id),
    CONSTRAINT fk_user_subscriptions_user_id_users FOREIGN KEY (user_id) REFERENCES users (id) ON DELETE CASCADE,
    CONSTRAINT fk_user_subscriptions_source_id_sources FOREIGN KEY (source_id) REFERENCES sources (id) ON DELETE CASCADE
);

CREATE INDEX ix_user_subscriptions_source_id ON user_subscriptions (source_id);

CREATE TABLE note_copies (
    note_id $id NOT NULL,
    sink VARCHAR(100) NOT NULL,
    record_id TEXT,
    copied_at $moment,
    attempts INTEGER NOT NULL,
    last_error TEXT,
    next_try_at $moment,
    CONSTRAINT pk_note_copies PRIMARY KEY (note_id, sink),
    CONSTRAINT fk_note_copies_note_id_notes FOREIGN KEY (note_id) REFERENCES notes (id) ON DELETE CASCADE
)$by_key;

CREATE VIEW site_states AS
SELECT site_name, address AS sitemap_url, last_run_at AS last_run, last_cleanup_at AS last_cleanup,
       created_at, updated_at, source_id
FROM expeditions;

CREATE VIEW url_states AS
SELECT e.site_name, c.url, c.state, c.lastmod, c.first_seen,
       CASE WHEN c.last_seen >= l.read_at THEN l.seen_at ELSE c.last_seen END AS last_seen,
       c.deleted_at, c.attempts, c.last_error, c.source_id
FROM candidates c
JOIN expeditions e ON e.source_id = c.source_id
LEFT JOIN listings l ON l.id = c.listing_id;

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
FROM cookies;

CREATE VIEW tbl_candidate AS
SELECT candidates.id, candidates.native_id AS note_id, candidates.platform, candidates.url AS note_url,
    CASE
        WHEN candidates.state = 1 THEN 'collected'
        WHEN candidates.state = 2 THEN 'failed'
        WHEN holder.id IS NOT NULL THEN 'processing'
        ELSE 'pending'
    END AS status,
    holder.owner AS processing_lock,
    CASE WHEN holder.id IS NOT NULL THEN candidates.claimed_at END AS locked_at,
    candidates.attempts AS retry_count,
    candidates.facts ->> 'source_keyword' AS source_keyword,
    candidates.facts -> 'exec_meta' AS exec_meta,
    candidates.facts ->> 'title' AS title,
    candidates.facts ->> 'author_id' AS author_id,
    candidates.facts ->> 'author_name' AS author_name,
    CAST(candidates.facts ->> 'liked_count' AS BIGINT) AS liked_count,
    CAST(candidates.facts ->> 'collected_count' AS BIGINT) AS collected_count,
    CAST(candidates.facts ->> 'comment_count' AS BIGINT) AS comment_count,
    candidates.last_error_code,
    candidates.last_error AS last_error_message,
    candidates.first_seen AS discovered_at,
    candidates.first_seen AS created_at,
    COALESCE(candidates.collected_at, candidates.claimed_at, candidates.last_seen) AS updated_at
FROM candidates
LEFT JOIN runs AS holder ON holder.id = candidates.claimed_by AND holder.status = 'running'
    AND candidates.claimed_at IS NOT NULL AND candidates.state = 0
WHERE candidates.platform IS NOT NULL;

CREATE VIEW tbl_crawl_execution AS
SELECT id, subject AS workflow_name, owner AS execution_id, status, started_at, heartbeat_at,
    finished_at AS completed_at,
    COALESCE(
        CAST(progress ->> 'items_processed' AS INTEGER),
        (SELECT count(*) FROM candidates WHERE platform IS NOT NULL AND claimed_by = runs.id AND state = 1)
    ) AS items_processed,
    COALESCE(
        CAST(progress ->> 'items_failed' AS INTEGER),
        (SELECT count(*) FROM candidates WHERE platform IS NOT NULL AND claimed_by = runs.id
            AND state <> 1 AND claimed_at IS NULL)
    ) AS items_failed,
    CASE WHEN status = 'timeout' THEN '执行超时自动回收' ELSE progress ->> 'error_summary' END AS error_summary
FROM runs WHERE kind = 'workflow';

CREATE VIEW tbl_source AS
SELECT notes.id, notes.platform, notes.note_id, notes.idempotency_key, notes.source_id AS topic_id,
    notes.url AS note_url, notes.title, notes.content, notes.note_type, notes.images, notes.video_url,
    notes.likes, notes.collects, notes.comments, notes.shares, notes.author_id, notes.author_name, notes.tags,
    'collected' AS status, notes.extracted_at, notes.exec_meta, found.processing_lock, found.locked_at,
    COALESCE(found.retry_count, 0) AS retry_count, found.last_error_code, found.last_error_message
FROM notes
LEFT JOIN tbl_candidate AS found ON found.platform = notes.platform AND found.note_id = notes.note_id;
