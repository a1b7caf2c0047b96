BEGIN TRANSACTION;
CREATE TABLE alembic_version (
	version_num VARCHAR(32) NOT NULL, 
	CONSTRAINT alembic_version_pkc PRIMARY KEY (version_num)
);
INSERT INTO "alembic_version" VALUES('0017');
CREATE TABLE alerts (
	id INTEGER NOT NULL, 
	rule VARCHAR(50) NOT NULL, 
	subject VARCHAR(200) NOT NULL, 
	severity VARCHAR(2) NOT NULL, 
	message TEXT NOT NULL, 
	since VARCHAR(32) NOT NULL, 
	fired_at VARCHAR(32), 
	told_at VARCHAR(32), 
	event_id VARCHAR(36), 
	resolved_at VARCHAR(32), 
	CONSTRAINT pk_alerts PRIMARY KEY (id), 
	CONSTRAINT uq_alerts_rule_subject UNIQUE (rule, subject)
);
INSERT INTO "alerts" VALUES(1,'1 rule ü漢🙂','1 subject ü漢🙂','1 ','1 message ü漢🙂','2026-03-01T12:30:15.123456+00:00','2026-03-01T12:30:15.123456+00:00','2026-03-01T12:30:15.123456+00:00','1 event_id ü漢🙂','2026-03-01T12:30:15.123456+00:00');
INSERT INTO "alerts" VALUES(2,'2 rule ü漢🙂','2 subject ü漢🙂','2 ','2 message ü漢🙂','2026-03-02T12:30:15.123456+00:00',NULL,NULL,NULL,NULL);
CREATE TABLE api_keys (
	id INTEGER NOT NULL, 
	user_id INTEGER, 
	role VARCHAR(20) NOT NULL, 
	name VARCHAR(100) NOT NULL, 
	prefix VARCHAR(12) NOT NULL, 
	key_hash VARCHAR(64) NOT NULL, 
	is_active BOOLEAN NOT NULL, 
	created_at VARCHAR(32) NOT NULL, 
	last_used_at VARCHAR(32), scope VARCHAR(20) DEFAULT 'admin' NOT NULL, 
	CONSTRAINT pk_api_keys PRIMARY KEY (id), 
	CONSTRAINT fk_api_keys_user_id_users FOREIGN KEY(user_id) REFERENCES users (id) ON DELETE CASCADE, 
	CONSTRAINT uq_api_keys_key_hash UNIQUE (key_hash)
);
INSERT INTO "api_keys" VALUES(1,1,'1 role ü漢🙂','1 name ü漢🙂','1 prefix ü漢🙂','1 key_hash ü漢🙂',1,'2026-03-01T12:30:15.123456+00:00','2026-03-01T12:30:15.123456+00:00','1 scope ü漢🙂');
INSERT INTO "api_keys" VALUES(2,2,'2 role ü漢🙂','2 name ü漢🙂','2 prefix ü漢🙂','2 key_hash ü漢🙂',0,'2026-03-02T12:30:15.123456+00:00',NULL,'2 scope ü漢🙂');
CREATE TABLE applied_intervals (
	type VARCHAR(50) NOT NULL, 
	minutes INTEGER NOT NULL, 
	CONSTRAINT pk_applied_intervals PRIMARY KEY (type)
);
INSERT INTO "applied_intervals" VALUES('1 type ü漢🙂',1);
INSERT INTO "applied_intervals" VALUES('2 type ü漢🙂',2);
CREATE TABLE candidates (
	id INTEGER NOT NULL, 
	source_id INTEGER NOT NULL, 
	"key" BLOB NOT NULL, 
	native_id TEXT NOT NULL, 
	url TEXT NOT NULL, 
	state SMALLINT NOT NULL, 
	is_doubted BOOLEAN NOT NULL, 
	lastmod VARCHAR(32), 
	facts JSON, 
	listing_id INTEGER, 
	first_seen VARCHAR(32) NOT NULL, 
	last_seen VARCHAR(32) NOT NULL, 
	deleted_at VARCHAR(32), 
	collected_at VARCHAR(32), 
	fingerprint BLOB, 
	attempts SMALLINT NOT NULL, 
	last_error TEXT, 
	claimed_by INTEGER, platform VARCHAR(10), claimed_at VARCHAR(32), last_error_code VARCHAR(30), etag TEXT, last_modified TEXT, 
	CONSTRAINT pk_candidates PRIMARY KEY (id), 
	CONSTRAINT fk_candidates_source_id_sources FOREIGN KEY(source_id) REFERENCES sources (id) ON DELETE CASCADE, 
	CONSTRAINT ck_candidates_state CHECK (state IN (0, 1, 2)), 
	CONSTRAINT uq_candidates_source_id_key UNIQUE (source_id, "key")
);
INSERT INTO "candidates" VALUES(1,1,X'01010101010101010101010101010101','1 native_id ü漢🙂','1 url ü漢🙂',1,1,'2026-03-01T12:30:15.123456+00:00','{"number":1,"list":[1,null,"ü"],"none":null}',1,'2026-03-01T12:30:15.123456+00:00','2026-03-01T12:30:15.123456+00:00','2026-03-01T12:30:15.123456+00:00','2026-03-01T12:30:15.123456+00:00',X'01010101010101010101010101010101',1,'1 last_error ü漢🙂',1,'1 platform','2026-03-01T12:30:15.123456+00:00','1 last_error_code ü漢🙂','1 etag ü漢🙂','1 last_modified ü漢🙂');
INSERT INTO "candidates" VALUES(2,2,X'02020202020202020202020202020202','2 native_id ü漢🙂','2 url ü漢🙂',2,0,NULL,'null',NULL,'2026-03-02T12:30:15.123456+00:00','2026-03-02T12:30:15.123456+00:00',NULL,NULL,NULL,2,NULL,NULL,NULL,NULL,NULL,NULL,NULL);
CREATE TABLE changes (
	source_id INTEGER NOT NULL, 
	cause VARCHAR(20) NOT NULL, 
	times BIGINT NOT NULL, 
	changed_at VARCHAR(32) NOT NULL, 
	CONSTRAINT pk_changes PRIMARY KEY (source_id, cause)
)
 WITHOUT ROWID

;
INSERT INTO "changes" VALUES(1,'1 cause ü漢🙂',1,'2026-03-01T12:30:15.123456+00:00');
INSERT INTO "changes" VALUES(2,'2 cause ü漢🙂',2,'2026-03-02T12:30:15.123456+00:00');
CREATE TABLE config (
	"key" VARCHAR(200) NOT NULL, 
	value TEXT NOT NULL, 
	updated_at VARCHAR(32) NOT NULL, 
	CONSTRAINT pk_config PRIMARY KEY ("key")
);
INSERT INTO "config" VALUES('1 key ü漢🙂','1 value ü漢🙂','2026-03-01T12:30:15.123456+00:00');
INSERT INTO "config" VALUES('2 key ü漢🙂','2 value ü漢🙂','2026-03-02T12:30:15.123456+00:00');
CREATE TABLE cookies (
	id INTEGER NOT NULL, 
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
	counted_since VARCHAR(32) NOT NULL, 
	cooling_since VARCHAR(32), 
	cooling_until VARCHAR(32), 
	last_used_at VARCHAR(32), 
	last_error_at VARCHAR(32), 
	description TEXT NOT NULL, 
	created_at VARCHAR(32) NOT NULL, 
	updated_at VARCHAR(32) NOT NULL, 
	CONSTRAINT pk_cookies PRIMARY KEY (id), 
	CONSTRAINT ck_cookies_status CHECK (status IN ('active', 'cooling', 'invalid', 'banned')), 
	CONSTRAINT ck_cookies_cooling CHECK ((status = 'cooling') = (cooling_until IS NOT NULL)), 
	CONSTRAINT uq_cookies_name UNIQUE (name)
);
INSERT INTO "cookies" VALUES(1,'1 name ü漢🙂','1 platform','1 sealed ü漢🙂','1 key_id ü漢🙂','active',1,1,1,1,'2026-03-01',1,1,1,'2026-03-01T12:30:15.123456+00:00','2026-03-01T12:30:15.123456+00:00',NULL,'2026-03-01T12:30:15.123456+00:00','2026-03-01T12:30:15.123456+00:00','1 description ü漢🙂','2026-03-01T12:30:15.123456+00:00','2026-03-01T12:30:15.123456+00:00');
INSERT INTO "cookies" VALUES(2,'2 name ü漢🙂','2 platform','2 sealed ü漢🙂','2 key_id ü漢🙂','banned',0,2,2,2,NULL,2,2,2,'2026-03-02T12:30:15.123456+00:00',NULL,NULL,NULL,NULL,'2 description ü漢🙂','2026-03-02T12:30:15.123456+00:00','2026-03-02T12:30:15.123456+00:00');
CREATE TABLE crawl_minutes (
	minute VARCHAR(32) NOT NULL, 
	platform VARCHAR(10) NOT NULL, 
	ok INTEGER NOT NULL, 
	failed INTEGER NOT NULL, 
	CONSTRAINT pk_crawl_minutes PRIMARY KEY (minute, platform)
);
INSERT INTO "crawl_minutes" VALUES('2026-03-01T12:30:15.123456+00:00','1 platform',1,1);
INSERT INTO "crawl_minutes" VALUES('2026-03-02T12:30:15.123456+00:00','2 platform',2,2);
CREATE TABLE digests (
	id INTEGER NOT NULL, 
	type VARCHAR(20) NOT NULL, 
	content TEXT NOT NULL, 
	metadata JSON NOT NULL, 
	user_id INTEGER, 
	created_at VARCHAR(32) NOT NULL, 
	CONSTRAINT pk_digests PRIMARY KEY (id), 
	CONSTRAINT ck_digests_type CHECK (type IN ('4h', 'daily', 'weekly', 'monthly')), 
	CONSTRAINT fk_digests_user_id_users FOREIGN KEY(user_id) REFERENCES users (id) ON DELETE CASCADE
);
INSERT INTO "digests" VALUES(1,'4h','1 content ü漢🙂','{"number":1,"list":[1,null,"ü"],"none":null}',1,'2026-03-01T12:30:15.123456+00:00');
INSERT INTO "digests" VALUES(2,'daily','2 content ü漢🙂','{"number":2,"list":[1,null,"ü"],"none":null}',2,'2026-03-02T12:30:15.123456+00:00');
CREATE TABLE expeditions (
	source_id INTEGER NOT NULL, 
	identity VARCHAR(64) NOT NULL, 
	site_name VARCHAR(500) NOT NULL, 
	address TEXT NOT NULL, 
	round_began_at VARCHAR(32) NOT NULL, 
	listed_at VARCHAR(32), 
	baseline_at VARCHAR(32), 
	doubted_since VARCHAR(32), 
	last_run_at VARCHAR(32), 
	last_cleanup_at VARCHAR(32), 
	created_at VARCHAR(32) NOT NULL, 
	updated_at VARCHAR(32) NOT NULL, rechecked_to INTEGER DEFAULT '0' NOT NULL, 
	CONSTRAINT pk_expeditions PRIMARY KEY (source_id), 
	CONSTRAINT fk_expeditions_source_id_sources FOREIGN KEY(source_id) REFERENCES sources (id) ON DELETE CASCADE
);
INSERT INTO "expeditions" VALUES(1,'1 identity ü漢🙂','1 site_name ü漢🙂','1 address ü漢🙂','2026-03-01T12:30:15.123456+00:00','2026-03-01T12:30:15.123456+00:00','2026-03-01T12:30:15.123456+00:00','2026-03-01T12:30:15.123456+00:00','2026-03-01T12:30:15.123456+00:00','2026-03-01T12:30:15.123456+00:00','2026-03-01T12:30:15.123456+00:00','2026-03-01T12:30:15.123456+00:00',1);
INSERT INTO "expeditions" VALUES(2,'2 identity ü漢🙂','2 site_name ü漢🙂','2 address ü漢🙂','2026-03-02T12:30:15.123456+00:00',NULL,NULL,NULL,NULL,NULL,'2026-03-02T12:30:15.123456+00:00','2026-03-02T12:30:15.123456+00:00',2);
CREATE TABLE feeds (
	id INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT, 
	slug VARCHAR(100) NOT NULL, 
	title TEXT NOT NULL, 
	description TEXT NOT NULL, 
	link TEXT NOT NULL, 
	language VARCHAR(35) NOT NULL, 
	filter JSON NOT NULL, 
	is_public BOOLEAN NOT NULL, 
	token_hash VARCHAR(64), 
	owner_id INTEGER, 
	version INTEGER NOT NULL, 
	created_at VARCHAR(32) NOT NULL, 
	updated_at VARCHAR(32) NOT NULL, 
	CONSTRAINT fk_feeds_owner_id_users FOREIGN KEY(owner_id) REFERENCES users (id) ON DELETE CASCADE, 
	CONSTRAINT uq_feeds_slug UNIQUE (slug)
);
INSERT INTO "feeds" VALUES(1,'1 slug ü漢🙂','1 title ü漢🙂','1 description ü漢🙂','1 link ü漢🙂','1 language ü漢🙂','{"number":1,"list":[1,null,"ü"],"none":null}',1,'1 token_hash ü漢🙂',1,1,'2026-03-01T12:30:15.123456+00:00','2026-03-01T12:30:15.123456+00:00');
INSERT INTO "feeds" VALUES(2,'2 slug ü漢🙂','2 title ü漢🙂','2 description ü漢🙂','2 link ü漢🙂','2 language ü漢🙂','{"number":2,"list":[1,null,"ü"],"none":null}',0,NULL,2,2,'2026-03-02T12:30:15.123456+00:00','2026-03-02T12:30:15.123456+00:00');
CREATE TABLE fetch_log (
	id INTEGER NOT NULL, 
	source_id INTEGER NOT NULL, 
	started_at VARCHAR(32) NOT NULL, 
	finished_at VARCHAR(32) NOT NULL, 
	ok BOOLEAN NOT NULL, 
	items INTEGER NOT NULL, 
	inserted INTEGER NOT NULL, 
	error TEXT, 
	CONSTRAINT pk_fetch_log PRIMARY KEY (id), 
	CONSTRAINT fk_fetch_log_source_id_sources FOREIGN KEY(source_id) REFERENCES sources (id) ON DELETE CASCADE
);
INSERT INTO "fetch_log" VALUES(1,1,'2026-03-01T12:30:15.123456+00:00','2026-03-01T12:30:15.123456+00:00',1,1,1,'1 error ü漢🙂');
INSERT INTO "fetch_log" VALUES(2,2,'2026-03-02T12:30:15.123456+00:00','2026-03-02T12:30:15.123456+00:00',0,2,2,NULL);
CREATE TABLE hosts (
	host VARCHAR(255) NOT NULL, 
	owner VARCHAR(200), 
	owner_until VARCHAR(32), 
	held_until VARCHAR(32), 
	booked_until VARCHAR(32), 
	starts JSON DEFAULT '[]' NOT NULL, 
	crawl_delay FLOAT, 
	CONSTRAINT pk_hosts PRIMARY KEY (host)
)
 WITHOUT ROWID

;
INSERT INTO "hosts" VALUES('1 host ü漢🙂','1 owner ü漢🙂','2026-03-01T12:30:15.123456+00:00','2026-03-01T12:30:15.123456+00:00','2026-03-01T12:30:15.123456+00:00','{"number":1,"list":[1,null,"ü"],"none":null}',0.25);
INSERT INTO "hosts" VALUES('2 host ü漢🙂',NULL,NULL,NULL,NULL,'{"number":2,"list":[1,null,"ü"],"none":null}',NULL);
CREATE TABLE incidents (
	id INTEGER NOT NULL, 
	kind VARCHAR(30) NOT NULL, 
	amount INTEGER NOT NULL, 
	message TEXT NOT NULL, 
	at VARCHAR(32) NOT NULL, 
	CONSTRAINT pk_incidents PRIMARY KEY (id)
);
INSERT INTO "incidents" VALUES(1,'1 kind ü漢🙂',1,'1 message ü漢🙂','2026-03-01T12:30:15.123456+00:00');
INSERT INTO "incidents" VALUES(2,'2 kind ü漢🙂',2,'2 message ü漢🙂','2026-03-02T12:30:15.123456+00:00');
CREATE TABLE jobs (
	name VARCHAR(50) NOT NULL, 
	due_at VARCHAR(32), 
	is_paused BOOLEAN NOT NULL, 
	last_started_at VARCHAR(32), 
	last_finished_at VARCHAR(32), 
	last_ok BOOLEAN, 
	last_message TEXT NOT NULL, 
	runs INTEGER NOT NULL, 
	CONSTRAINT pk_jobs PRIMARY KEY (name)
);
INSERT INTO "jobs" VALUES('1 name ü漢🙂','2026-03-01T12:30:15.123456+00:00',1,'2026-03-01T12:30:15.123456+00:00','2026-03-01T12:30:15.123456+00:00',1,'1 last_message ü漢🙂',1);
INSERT INTO "jobs" VALUES('2 name ü漢🙂',NULL,0,NULL,NULL,NULL,'2 last_message ü漢🙂',2);
CREATE TABLE listings (
	id INTEGER NOT NULL, 
	source_id INTEGER NOT NULL, 
	"key" BLOB NOT NULL, 
	url TEXT NOT NULL, 
	lastmod VARCHAR(32), 
	etag TEXT, 
	last_modified TEXT, 
	read_at VARCHAR(32), 
	seen_at VARCHAR(32) NOT NULL, 
	CONSTRAINT pk_listings PRIMARY KEY (id), 
	CONSTRAINT fk_listings_source_id_sources FOREIGN KEY(source_id) REFERENCES sources (id) ON DELETE CASCADE, 
	CONSTRAINT uq_listings_source_id_key UNIQUE (source_id, "key")
);
INSERT INTO "listings" VALUES(1,1,X'01010101010101010101010101010101','1 url ü漢🙂','2026-03-01T12:30:15.123456+00:00','1 etag ü漢🙂','1 last_modified ü漢🙂','2026-03-01T12:30:15.123456+00:00','2026-03-01T12:30:15.123456+00:00');
INSERT INTO "listings" VALUES(2,2,X'02020202020202020202020202020202','2 url ü漢🙂',NULL,NULL,NULL,NULL,'2026-03-02T12:30:15.123456+00:00');
CREATE TABLE note_copies (
	note_id INTEGER NOT NULL, 
	sink VARCHAR(100) NOT NULL, 
	record_id TEXT, 
	copied_at VARCHAR(32), 
	attempts INTEGER NOT NULL, 
	last_error TEXT, 
	next_try_at VARCHAR(32), 
	CONSTRAINT pk_note_copies PRIMARY KEY (note_id, sink), 
	CONSTRAINT fk_note_copies_note_id_notes FOREIGN KEY(note_id) REFERENCES notes (id) ON DELETE CASCADE
)
 WITHOUT ROWID

;
INSERT INTO "note_copies" VALUES(1,'1 sink ü漢🙂','1 record_id ü漢🙂','2026-03-01T12:30:15.123456+00:00',1,'1 last_error ü漢🙂','2026-03-01T12:30:15.123456+00:00');
INSERT INTO "note_copies" VALUES(2,'2 sink ü漢🙂',NULL,NULL,2,NULL,NULL);
CREATE TABLE notes (
	id INTEGER NOT NULL, 
	platform VARCHAR(10) NOT NULL, 
	note_id VARCHAR(128) NOT NULL, 
	idempotency_key VARCHAR(140) NOT NULL, 
	source_id INTEGER, 
	url TEXT NOT NULL, 
	title TEXT NOT NULL, 
	content TEXT NOT NULL, 
	note_type VARCHAR(20) NOT NULL, 
	images JSON NOT NULL, 
	video_url TEXT, 
	likes BIGINT, 
	collects BIGINT, 
	comments BIGINT, 
	shares BIGINT, 
	author_id TEXT NOT NULL, 
	author_name TEXT NOT NULL, 
	tags JSON NOT NULL, 
	comment_list JSON NOT NULL, 
	published_at VARCHAR(32), 
	extracted_at VARCHAR(32) NOT NULL, 
	exec_meta JSON NOT NULL, 
	CONSTRAINT pk_notes PRIMARY KEY (id), 
	CONSTRAINT fk_notes_source_id_sources FOREIGN KEY(source_id) REFERENCES sources (id) ON DELETE SET NULL, 
	CONSTRAINT uq_notes_platform_idempotency_key UNIQUE (platform, idempotency_key)
);
INSERT INTO "notes" VALUES(1,'1 platform','1 note_id ü漢🙂','1 idempotency_key ü漢🙂',1,'1 url ü漢🙂','1 title ü漢🙂','1 content ü漢🙂','1 note_type ü漢🙂','{"number":1,"list":[1,null,"ü"],"none":null}','1 video_url ü漢🙂',1,1,1,1,'1 author_id ü漢🙂','1 author_name ü漢🙂','{"number":1,"list":[1,null,"ü"],"none":null}','{"number":1,"list":[1,null,"ü"],"none":null}','2026-03-01T12:30:15.123456+00:00','2026-03-01T12:30:15.123456+00:00','{"number":1,"list":[1,null,"ü"],"none":null}');
INSERT INTO "notes" VALUES(2,'2 platform','2 note_id ü漢🙂','2 idempotency_key ü漢🙂',2,'2 url ü漢🙂','2 title ü漢🙂','2 content ü漢🙂','2 note_type ü漢🙂','{"number":2,"list":[1,null,"ü"],"none":null}',NULL,NULL,NULL,NULL,NULL,'2 author_id ü漢🙂','2 author_name ü漢🙂','{"number":2,"list":[1,null,"ü"],"none":null}','{"number":2,"list":[1,null,"ü"],"none":null}',NULL,'2026-03-02T12:30:15.123456+00:00','{"number":2,"list":[1,null,"ü"],"none":null}');
CREATE TABLE outbox (
	id INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT, 
	event_id VARCHAR(36) NOT NULL, 
	topic VARCHAR(50) NOT NULL, 
	webhook_id INTEGER NOT NULL, 
	payload JSON NOT NULL, 
	created_at VARCHAR(32) NOT NULL, 
	attempts INTEGER NOT NULL, 
	next_try_at VARCHAR(32), 
	delivered_at VARCHAR(32), 
	dead_at VARCHAR(32), 
	last_error TEXT, 
	CONSTRAINT fk_outbox_webhook_id_webhooks FOREIGN KEY(webhook_id) REFERENCES webhooks (id) ON DELETE CASCADE, 
	CONSTRAINT uq_outbox_webhook_id_event_id UNIQUE (webhook_id, event_id)
);
INSERT INTO "outbox" VALUES(1,'1 event_id ü漢🙂','1 topic ü漢🙂',1,'{"number":1,"list":[1,null,"ü"],"none":null}','2026-03-01T12:30:15.123456+00:00',1,'2026-03-01T12:30:15.123456+00:00','2026-03-01T12:30:15.123456+00:00','2026-03-01T12:30:15.123456+00:00','1 last_error ü漢🙂');
INSERT INTO "outbox" VALUES(2,'2 event_id ü漢🙂','2 topic ü漢🙂',2,'{"number":2,"list":[1,null,"ü"],"none":null}','2026-03-02T12:30:15.123456+00:00',2,NULL,NULL,NULL,NULL);
CREATE TABLE raw_items (
	id INTEGER NOT NULL, 
	source_id INTEGER NOT NULL, 
	dedup_key VARCHAR(500) NOT NULL, 
	fingerprint BLOB NOT NULL, 
	title TEXT NOT NULL, 
	url TEXT NOT NULL, 
	author TEXT NOT NULL, 
	content TEXT NOT NULL, 
	published_at VARCHAR(32), 
	fetched_at VARCHAR(32) NOT NULL, 
	updated_at VARCHAR(32), 
	revision INTEGER NOT NULL, 
	metadata JSON NOT NULL, 
	CONSTRAINT pk_raw_items PRIMARY KEY (id), 
	CONSTRAINT fk_raw_items_source_id_sources FOREIGN KEY(source_id) REFERENCES sources (id) ON DELETE CASCADE, 
	CONSTRAINT uq_raw_items_source_id_dedup_key UNIQUE (source_id, dedup_key)
);
INSERT INTO "raw_items" VALUES(1,1,'1 dedup_key ü漢🙂',X'01010101010101010101010101010101','1 title ü漢🙂','1 url ü漢🙂','1 author ü漢🙂','1 content ü漢🙂','2026-03-01T12:30:15.123456+00:00','2026-03-01T12:30:15.123456+00:00','2026-03-01T12:30:15.123456+00:00',1,'{"number":1,"list":[1,null,"ü"],"none":null}');
INSERT INTO "raw_items" VALUES(2,2,'2 dedup_key ü漢🙂',X'02020202020202020202020202020202','2 title ü漢🙂','2 url ü漢🙂','2 author ü漢🙂','2 content ü漢🙂',NULL,'2026-03-02T12:30:15.123456+00:00',NULL,2,'{"number":2,"list":[1,null,"ü"],"none":null}');
CREATE TABLE runs (
	id INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT, 
	kind VARCHAR(20) NOT NULL, 
	subject VARCHAR(200) NOT NULL, 
	owner VARCHAR(200) NOT NULL, 
	status VARCHAR(20) NOT NULL, 
	started_at VARCHAR(32) NOT NULL, 
	heartbeat_at VARCHAR(32) NOT NULL, 
	lease_until VARCHAR(32) NOT NULL, 
	finished_at VARCHAR(32), 
	progress JSON NOT NULL
);
INSERT INTO "runs" VALUES(1,'1 kind ü漢🙂','1 subject ü漢🙂','1 owner ü漢🙂','1 status ü漢🙂','2026-03-01T12:30:15.123456+00:00','2026-03-01T12:30:15.123456+00:00','2026-03-01T12:30:15.123456+00:00','2026-03-01T12:30:15.123456+00:00','{"number":1,"list":[1,null,"ü"],"none":null}');
INSERT INTO "runs" VALUES(2,'2 kind ü漢🙂','2 subject ü漢🙂','2 owner ü漢🙂','2 status ü漢🙂','2026-03-02T12:30:15.123456+00:00','2026-03-02T12:30:15.123456+00:00','2026-03-02T12:30:15.123456+00:00',NULL,'{"number":2,"list":[1,null,"ü"],"none":null}');
CREATE TABLE scraper_fetch_stats (
	username VARCHAR(255) NOT NULL, 
	last_fetch_at VARCHAR(32) NOT NULL, 
	last_fetched_count INTEGER NOT NULL, 
	last_new_count INTEGER NOT NULL, 
	total_fetches INTEGER NOT NULL, 
	avg_new_rate FLOAT NOT NULL, 
	consecutive_empty_fetches INTEGER NOT NULL, 
	created_at VARCHAR(32) NOT NULL, 
	updated_at VARCHAR(32) NOT NULL, 
	CONSTRAINT pk_scraper_fetch_stats PRIMARY KEY (username), 
	CONSTRAINT ck_scraper_fetch_stats_avg_new_rate CHECK (avg_new_rate BETWEEN 0 AND 1)
);
INSERT INTO "scraper_fetch_stats" VALUES('1 username ü漢🙂','2026-03-01T12:30:15.123456+00:00',1,1,1,0.25,1,'2026-03-01T12:30:15.123456+00:00','2026-03-01T12:30:15.123456+00:00');
INSERT INTO "scraper_fetch_stats" VALUES('2 username ü漢🙂','2026-03-02T12:30:15.123456+00:00',2,2,2,1.0,2,'2026-03-02T12:30:15.123456+00:00','2026-03-02T12:30:15.123456+00:00');
CREATE TABLE scraper_follows (
	id INTEGER NOT NULL, 
	username VARCHAR(15) NOT NULL, 
	added_at VARCHAR(32) NOT NULL, 
	reason VARCHAR(500) NOT NULL, 
	added_by VARCHAR(100) NOT NULL, 
	is_active BOOLEAN NOT NULL, 
	CONSTRAINT pk_scraper_follows PRIMARY KEY (id), 
	CONSTRAINT uq_scraper_follows_username UNIQUE (username)
);
INSERT INTO "scraper_follows" VALUES(1,'1 username ü漢🙂','2026-03-01T12:30:15.123456+00:00','1 reason ü漢🙂','1 added_by ü漢🙂',1);
INSERT INTO "scraper_follows" VALUES(2,'2 username ü漢🙂','2026-03-02T12:30:15.123456+00:00','2 reason ü漢🙂','2 added_by ü漢🙂',0);
CREATE TABLE scraper_schedule_config (
	id INTEGER NOT NULL, 
	interval_seconds INTEGER DEFAULT 43200 NOT NULL, 
	next_run_time VARCHAR(32), 
	is_enabled BOOLEAN NOT NULL, 
	updated_at VARCHAR(32) NOT NULL, 
	updated_by VARCHAR(100) NOT NULL, is_interval_set BOOLEAN DEFAULT 0 NOT NULL, 
	CONSTRAINT pk_scraper_schedule_config PRIMARY KEY (id), 
	CONSTRAINT ck_scraper_schedule_config_one_row CHECK (id = 1)
);
INSERT INTO "scraper_schedule_config" VALUES(1,1,'2026-03-01T12:30:15.123456+00:00',1,'2026-03-01T12:30:15.123456+00:00','1 updated_by ü漢🙂',1);
CREATE TABLE seen_items (
	source_id INTEGER NOT NULL, 
	"key" BLOB NOT NULL, 
	fingerprint BLOB NOT NULL, 
	CONSTRAINT pk_seen_items PRIMARY KEY (source_id, "key"), 
	CONSTRAINT fk_seen_items_source_id_sources FOREIGN KEY(source_id) REFERENCES sources (id) ON DELETE CASCADE
)
 WITHOUT ROWID

;
INSERT INTO "seen_items" VALUES(1,X'01010101010101010101010101010101',X'01010101010101010101010101010101');
INSERT INTO "seen_items" VALUES(2,X'02020202020202020202020202020202',X'02020202020202020202020202020202');
CREATE TABLE "sessions" (
	token_hash VARCHAR(64) NOT NULL, 
	api_key_id INTEGER, 
	environment_proof VARCHAR(64), 
	is_sign_in_link BOOLEAN NOT NULL, 
	created_at VARCHAR(32) NOT NULL, 
	expires_at VARCHAR(32) NOT NULL, 
	user_id INTEGER, 
	login_version INTEGER, 
	CONSTRAINT pk_sessions PRIMARY KEY (token_hash), 
	CONSTRAINT fk_sessions_api_key_id_api_keys FOREIGN KEY(api_key_id) REFERENCES api_keys (id) ON DELETE CASCADE, 
	CONSTRAINT fk_sessions_user_id_users FOREIGN KEY(user_id) REFERENCES users (id) ON DELETE CASCADE
);
INSERT INTO "sessions" VALUES('1 token_hash ü漢🙂',1,'1 environment_proof ü漢🙂',1,'2026-03-01T12:30:15.123456+00:00','2026-03-01T12:30:15.123456+00:00',1,1);
INSERT INTO "sessions" VALUES('2 token_hash ü漢🙂',2,NULL,0,'2026-03-02T12:30:15.123456+00:00','2026-03-02T12:30:15.123456+00:00',2,NULL);
CREATE TABLE source_packs (
	id INTEGER NOT NULL, 
	slug VARCHAR(100) NOT NULL, 
	name VARCHAR(200) NOT NULL, 
	description TEXT NOT NULL, 
	sources_json JSON NOT NULL, 
	is_public BOOLEAN NOT NULL, 
	created_by INTEGER, 
	install_count INTEGER NOT NULL, 
	created_at VARCHAR(32) NOT NULL, 
	CONSTRAINT pk_source_packs PRIMARY KEY (id), 
	CONSTRAINT fk_source_packs_created_by_users FOREIGN KEY(created_by) REFERENCES users (id) ON DELETE SET NULL, 
	CONSTRAINT uq_source_packs_slug UNIQUE (slug)
);
INSERT INTO "source_packs" VALUES(1,'1 slug ü漢🙂','1 name ü漢🙂','1 description ü漢🙂','{"number":1,"list":[1,null,"ü"],"none":null}',1,1,1,'2026-03-01T12:30:15.123456+00:00');
INSERT INTO "source_packs" VALUES(2,'2 slug ü漢🙂','2 name ü漢🙂','2 description ü漢🙂','{"number":2,"list":[1,null,"ü"],"none":null}',0,2,2,'2026-03-02T12:30:15.123456+00:00');
CREATE TABLE sources (
	id INTEGER NOT NULL, 
	name VARCHAR(500) NOT NULL, 
	type VARCHAR(50) NOT NULL, 
	config JSON NOT NULL, 
	identity VARCHAR(64) NOT NULL, 
	identity_scope INTEGER, 
	tags JSON NOT NULL, 
	is_active BOOLEAN NOT NULL, 
	paused_by VARCHAR(20), 
	is_public BOOLEAN NOT NULL, 
	is_deleted BOOLEAN NOT NULL, 
	deleted_at VARCHAR(32), 
	created_by INTEGER, 
	created_at VARCHAR(32) NOT NULL, 
	updated_at VARCHAR(32) NOT NULL, 
	last_fetched_at VARCHAR(32), 
	last_attempt_at VARCHAR(32), 
	fetch_count INTEGER NOT NULL, 
	fetch_error_count INTEGER NOT NULL, 
	last_error TEXT, 
	last_error_at VARCHAR(32), 
	next_check_at VARCHAR(32), 
	next_check_why VARCHAR(20), 
	memory JSON NOT NULL, 
	version INTEGER NOT NULL, rhythm JSON DEFAULT '{}' NOT NULL, quiet_at VARCHAR(32), gap_at VARCHAR(32), moved JSON, keep_days INTEGER, host VARCHAR(255), 
	CONSTRAINT pk_sources PRIMARY KEY (id), 
	CONSTRAINT fk_sources_created_by_users FOREIGN KEY(created_by) REFERENCES users (id) ON DELETE SET NULL, 
	CONSTRAINT uq_sources_identity_identity_scope UNIQUE (identity, identity_scope)
);
INSERT INTO "sources" VALUES(1,'1 name ü漢🙂','1 type ü漢🙂','{"number":1,"list":[1,null,"ü"],"none":null}','1 identity ü漢🙂',1,'{"number":1,"list":[1,null,"ü"],"none":null}',1,'1 paused_by ü漢🙂',1,1,'2026-03-01T12:30:15.123456+00:00',1,'2026-03-01T12:30:15.123456+00:00','2026-03-01T12:30:15.123456+00:00','2026-03-01T12:30:15.123456+00:00','2026-03-01T12:30:15.123456+00:00',1,1,'1 last_error ü漢🙂','2026-03-01T12:30:15.123456+00:00','2026-03-01T12:30:15.123456+00:00','1 next_check_why ü漢🙂','{"number":1,"list":[1,null,"ü"],"none":null}',1,'{"number":1,"list":[1,null,"ü"],"none":null}','2026-03-01T12:30:15.123456+00:00','2026-03-01T12:30:15.123456+00:00','{"number":1,"list":[1,null,"ü"],"none":null}',1,'1 host ü漢🙂');
INSERT INTO "sources" VALUES(2,'2 name ü漢🙂','2 type ü漢🙂','{"number":2,"list":[1,null,"ü"],"none":null}','2 identity ü漢🙂',NULL,'{"number":2,"list":[1,null,"ü"],"none":null}',0,NULL,0,0,NULL,2,'2026-03-02T12:30:15.123456+00:00','2026-03-02T12:30:15.123456+00:00',NULL,NULL,2,2,NULL,NULL,NULL,NULL,'{"number":2,"list":[1,null,"ü"],"none":null}',2,'{"number":2,"list":[1,null,"ü"],"none":null}',NULL,NULL,'null',NULL,NULL);
CREATE TABLE tweets (
	id INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT, 
	tweet_id VARCHAR(255) NOT NULL, 
	text TEXT NOT NULL, 
	created_at VARCHAR(32) NOT NULL, 
	author_username VARCHAR(255) NOT NULL, 
	author VARCHAR(255) NOT NULL, 
	author_display_name VARCHAR(255), 
	referenced_tweet_id VARCHAR(255), 
	reference_type VARCHAR(20), 
	media JSON NOT NULL, 
	referenced_tweet_text TEXT, 
	referenced_tweet_media JSON NOT NULL, 
	referenced_tweet_author_username VARCHAR(255), 
	urls JSON NOT NULL, 
	db_created_at VARCHAR(32) NOT NULL, 
	db_updated_at VARCHAR(32) NOT NULL
, lang VARCHAR(20), hashtags JSON DEFAULT '[]' NOT NULL, counts JSON DEFAULT '{}' NOT NULL);
INSERT INTO "tweets" VALUES(1,'1 tweet_id ü漢🙂','1 text ü漢🙂','2026-03-01T12:30:15.123456+00:00','1 author_username ü漢🙂','1 author ü漢🙂','1 author_display_name ü漢🙂','1 referenced_tweet_id ü漢🙂','1 reference_type ü漢🙂','{"number":1,"list":[1,null,"ü"],"none":null}','1 referenced_tweet_text ü漢🙂','{"number":1,"list":[1,null,"ü"],"none":null}','1 referenced_tweet_author_username ü漢🙂','{"number":1,"list":[1,null,"ü"],"none":null}','2026-03-01T12:30:15.123456+00:00','2026-03-01T12:30:15.123456+00:00','1 lang ü漢🙂','{"number":1,"list":[1,null,"ü"],"none":null}','{"number":1,"list":[1,null,"ü"],"none":null}');
INSERT INTO "tweets" VALUES(2,'2 tweet_id ü漢🙂','2 text ü漢🙂','2026-03-02T12:30:15.123456+00:00','2 author_username ü漢🙂','2 author ü漢🙂',NULL,NULL,NULL,'{"number":2,"list":[1,null,"ü"],"none":null}',NULL,'{"number":2,"list":[1,null,"ü"],"none":null}',NULL,'{"number":2,"list":[1,null,"ü"],"none":null}','2026-03-02T12:30:15.123456+00:00','2026-03-02T12:30:15.123456+00:00',NULL,'{"number":2,"list":[1,null,"ü"],"none":null}','{"number":2,"list":[1,null,"ü"],"none":null}');
CREATE TABLE user_subscriptions (
	id INTEGER NOT NULL, 
	user_id INTEGER NOT NULL, 
	source_id INTEGER NOT NULL, 
	created_at VARCHAR(32) NOT NULL, 
	CONSTRAINT pk_user_subscriptions PRIMARY KEY (id), 
	CONSTRAINT fk_user_subscriptions_source_id_sources FOREIGN KEY(source_id) REFERENCES sources (id) ON DELETE CASCADE, 
	CONSTRAINT fk_user_subscriptions_user_id_users FOREIGN KEY(user_id) REFERENCES users (id) ON DELETE CASCADE, 
	CONSTRAINT uq_user_subscriptions_user_id_source_id UNIQUE (user_id, source_id)
);
INSERT INTO "user_subscriptions" VALUES(1,1,1,'2026-03-01T12:30:15.123456+00:00');
INSERT INTO "user_subscriptions" VALUES(2,2,2,'2026-03-02T12:30:15.123456+00:00');
CREATE TABLE users (
	id INTEGER NOT NULL, 
	email VARCHAR(320) NOT NULL, 
	name VARCHAR(200) NOT NULL, 
	slug VARCHAR(100) NOT NULL, 
	is_admin BOOLEAN NOT NULL, 
	created_at VARCHAR(32) NOT NULL, password_hash VARCHAR(255), is_active BOOLEAN DEFAULT 1 NOT NULL, login_version INTEGER DEFAULT '0' NOT NULL, google_id VARCHAR(255), digests_public BOOLEAN DEFAULT 0 NOT NULL, 
	CONSTRAINT pk_users PRIMARY KEY (id), 
	CONSTRAINT uq_users_email UNIQUE (email), 
	CONSTRAINT uq_users_slug UNIQUE (slug)
);
INSERT INTO "users" VALUES(1,'1 email ü漢🙂','1 name ü漢🙂','1 slug ü漢🙂',1,'2026-03-01T12:30:15.123456+00:00','1 password_hash ü漢🙂',1,1,'1 google_id ü漢🙂',1);
INSERT INTO "users" VALUES(2,'2 email ü漢🙂','2 name ü漢🙂','2 slug ü漢🙂',0,'2026-03-02T12:30:15.123456+00:00',NULL,0,2,NULL,0);
CREATE TABLE webhooks (
	id INTEGER NOT NULL, 
	name VARCHAR(200) NOT NULL, 
	url TEXT NOT NULL, 
	topics JSON NOT NULL, 
	is_active BOOLEAN NOT NULL, 
	allow_private BOOLEAN NOT NULL, 
	secret TEXT NOT NULL, 
	created_at VARCHAR(32) NOT NULL, format VARCHAR(10) DEFAULT 'json' NOT NULL, 
	CONSTRAINT pk_webhooks PRIMARY KEY (id), 
	CONSTRAINT uq_webhooks_name UNIQUE (name)
);
INSERT INTO "webhooks" VALUES(1,'1 name ü漢🙂','1 url ü漢🙂','{"number":1,"list":[1,null,"ü"],"none":null}',1,1,'1 secret ü漢🙂','2026-03-01T12:30:15.123456+00:00','1 format ü');
INSERT INTO "webhooks" VALUES(2,'2 name ü漢🙂','2 url ü漢🙂','{"number":2,"list":[1,null,"ü"],"none":null}',0,0,'2 secret ü漢🙂','2026-03-02T12:30:15.123456+00:00','2 format ü');
CREATE TABLE x_previews (
	timeline VARCHAR(500) NOT NULL, 
	page TEXT NOT NULL, 
	fetched_at VARCHAR(32) NOT NULL, 
	CONSTRAINT pk_x_previews PRIMARY KEY (timeline)
);
INSERT INTO "x_previews" VALUES('1 timeline ü漢🙂','1 page ü漢🙂','2026-03-01T12:30:15.123456+00:00');
INSERT INTO "x_previews" VALUES('2 timeline ü漢🙂','2 page ü漢🙂','2026-03-02T12:30:15.123456+00:00');
CREATE TABLE x_spending (
	day DATE NOT NULL, 
	pages INTEGER NOT NULL, 
	CONSTRAINT pk_x_spending PRIMARY KEY (day)
);
INSERT INTO "x_spending" VALUES('2026-03-01',1);
INSERT INTO "x_spending" VALUES('2026-03-02',2);
CREATE INDEX ix_runs_finished_at ON runs (finished_at);
CREATE UNIQUE INDEX uq_runs_running ON runs (kind, subject) WHERE status = 'running';
CREATE INDEX ix_digests_created_at ON digests (created_at);
CREATE INDEX ix_sources_created_by ON sources (created_by);
CREATE INDEX ix_sources_due ON sources (next_check_at) WHERE next_check_at IS NOT NULL;
CREATE INDEX ix_sources_type ON sources (type);
CREATE INDEX ix_fetch_log_finished_at ON fetch_log (finished_at);
CREATE INDEX ix_raw_items_fetched_at ON raw_items (fetched_at);
CREATE INDEX ix_raw_items_source_id_fetched_at ON raw_items (source_id, fetched_at);
CREATE INDEX ix_user_subscriptions_source_id ON user_subscriptions (source_id);
CREATE INDEX ix_sources_keep_days ON sources (keep_days) WHERE keep_days IS NOT NULL;
CREATE INDEX ix_expeditions_site_name ON expeditions (site_name);
CREATE INDEX ix_candidates_source_id_state_id ON candidates (source_id, state, id);
CREATE INDEX ix_candidates_source_id_last_seen ON candidates (source_id, last_seen);
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
CREATE INDEX ix_feeds_owner_id ON feeds (owner_id);
CREATE INDEX ix_raw_items_updated_at ON raw_items (updated_at) WHERE updated_at IS NOT NULL;
CREATE UNIQUE INDEX uq_users_google_id ON users (google_id);
CREATE UNIQUE INDEX ix_tweets_tweet_id ON tweets (tweet_id);
CREATE INDEX ix_tweets_author_created_at ON tweets (author, created_at DESC);
CREATE INDEX ix_tweets_created_at ON tweets (created_at DESC, id DESC);
CREATE INDEX ix_tweets_db_created_at ON tweets (db_created_at);
CREATE INDEX ix_outbox_waiting ON outbox (webhook_id, id) WHERE next_try_at IS NOT NULL;
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
CREATE UNIQUE INDEX uq_candidates_platform_native_id ON candidates (platform, native_id) WHERE platform IS NOT NULL;
CREATE INDEX ix_candidates_notes_state ON candidates (state, first_seen, id) WHERE platform IS NOT NULL;
CREATE INDEX ix_candidates_notes_claimed_by ON candidates (claimed_by) WHERE platform IS NOT NULL;
CREATE UNIQUE INDEX uq_runs_execution_id ON runs (owner) WHERE kind = 'workflow';
CREATE INDEX ix_notes_source_id ON notes (source_id);
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
CREATE INDEX ix_incidents_at ON incidents (at);
CREATE INDEX ix_outbox_dead ON outbox (webhook_id, dead_at) WHERE dead_at IS NOT NULL;
CREATE INDEX ix_sources_host ON sources (host) WHERE host IS NOT NULL;
DELETE FROM "sqlite_sequence";
INSERT INTO "sqlite_sequence" VALUES('runs',2);
INSERT INTO "sqlite_sequence" VALUES('tweets',2);
INSERT INTO "sqlite_sequence" VALUES('feeds',2);
INSERT INTO "sqlite_sequence" VALUES('outbox',2);
COMMIT;
