CREATE TABLE public.alembic_version (
    version_num character varying(32) NOT NULL
);
CREATE TABLE public.alerts (
    id bigint NOT NULL,
    rule character varying(50) NOT NULL,
    subject character varying(200) NOT NULL,
    severity character varying(2) NOT NULL,
    message text NOT NULL,
    since timestamp with time zone NOT NULL,
    fired_at timestamp with time zone,
    told_at timestamp with time zone,
    event_id character varying(36),
    resolved_at timestamp with time zone
);
CREATE SEQUENCE public.alerts_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1;
ALTER SEQUENCE public.alerts_id_seq OWNED BY public.alerts.id;
CREATE TABLE public.api_keys (
    id bigint NOT NULL,
    user_id bigint,
    role character varying(20) NOT NULL,
    name character varying(100) NOT NULL,
    prefix character varying(12) NOT NULL,
    key_hash character varying(64) NOT NULL,
    is_active boolean NOT NULL,
    created_at timestamp with time zone NOT NULL,
    last_used_at timestamp with time zone,
    scope character varying(20) DEFAULT 'admin'::character varying NOT NULL
);
CREATE SEQUENCE public.api_keys_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1;
ALTER SEQUENCE public.api_keys_id_seq OWNED BY public.api_keys.id;
CREATE TABLE public.applied_intervals (
    type character varying(50) NOT NULL,
    minutes integer NOT NULL
);
CREATE TABLE public.candidates (
    id bigint NOT NULL,
    source_id bigint NOT NULL,
    key bytea NOT NULL,
    native_id text NOT NULL,
    url text NOT NULL,
    state smallint NOT NULL,
    is_doubted boolean NOT NULL,
    lastmod timestamp with time zone,
    facts jsonb,
    listing_id bigint,
    first_seen timestamp with time zone NOT NULL,
    last_seen timestamp with time zone NOT NULL,
    deleted_at timestamp with time zone,
    collected_at timestamp with time zone,
    fingerprint bytea,
    attempts smallint NOT NULL,
    last_error text,
    claimed_by bigint,
    platform character varying(10),
    claimed_at timestamp with time zone,
    last_error_code character varying(30),
    etag text,
    last_modified text,
    CONSTRAINT ck_candidates_state CHECK ((state = ANY (ARRAY[0, 1, 2])))
);
CREATE SEQUENCE public.candidates_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1;
ALTER SEQUENCE public.candidates_id_seq OWNED BY public.candidates.id;
CREATE TABLE public.changes (
    source_id bigint NOT NULL,
    cause character varying(20) NOT NULL,
    times bigint NOT NULL,
    changed_at timestamp with time zone NOT NULL
);
CREATE TABLE public.config (
    key character varying(200) NOT NULL,
    value text NOT NULL,
    updated_at timestamp with time zone NOT NULL
);
CREATE TABLE public.cookies (
    id bigint NOT NULL,
    name character varying(50) NOT NULL,
    platform character varying(10) NOT NULL,
    sealed text NOT NULL,
    key_id character varying(100) NOT NULL,
    status character varying(10) NOT NULL,
    is_enabled boolean NOT NULL,
    priority integer NOT NULL,
    daily_limit integer NOT NULL,
    daily_used integer NOT NULL,
    used_on date,
    consecutive_errors integer NOT NULL,
    total_used bigint NOT NULL,
    total_errors integer NOT NULL,
    counted_since timestamp with time zone NOT NULL,
    cooling_since timestamp with time zone,
    cooling_until timestamp with time zone,
    last_used_at timestamp with time zone,
    last_error_at timestamp with time zone,
    description text NOT NULL,
    created_at timestamp with time zone NOT NULL,
    updated_at timestamp with time zone NOT NULL,
    CONSTRAINT ck_cookies_cooling CHECK ((((status)::text = 'cooling'::text) = (cooling_until IS NOT NULL))),
    CONSTRAINT ck_cookies_status CHECK (((status)::text = ANY ((ARRAY['active'::character varying, 'cooling'::character varying, 'invalid'::character varying, 'banned'::character varying])::text[])))
);
CREATE SEQUENCE public.cookies_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1;
ALTER SEQUENCE public.cookies_id_seq OWNED BY public.cookies.id;
CREATE TABLE public.crawl_minutes (
    minute timestamp with time zone NOT NULL,
    platform character varying(10) NOT NULL,
    ok integer NOT NULL,
    failed integer NOT NULL
);
CREATE TABLE public.digests (
    id bigint NOT NULL,
    type character varying(20) NOT NULL,
    content text NOT NULL,
    metadata jsonb NOT NULL,
    user_id bigint,
    created_at timestamp with time zone NOT NULL,
    CONSTRAINT ck_digests_type CHECK (((type)::text = ANY ((ARRAY['4h'::character varying, 'daily'::character varying, 'weekly'::character varying, 'monthly'::character varying])::text[])))
);
CREATE SEQUENCE public.digests_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1;
ALTER SEQUENCE public.digests_id_seq OWNED BY public.digests.id;
CREATE TABLE public.expeditions (
    source_id bigint NOT NULL,
    identity character varying(64) NOT NULL,
    site_name character varying(500) NOT NULL,
    address text NOT NULL,
    round_began_at timestamp with time zone NOT NULL,
    listed_at timestamp with time zone,
    baseline_at timestamp with time zone,
    doubted_since timestamp with time zone,
    last_run_at timestamp with time zone,
    last_cleanup_at timestamp with time zone,
    created_at timestamp with time zone NOT NULL,
    updated_at timestamp with time zone NOT NULL,
    rechecked_to bigint DEFAULT '0'::bigint NOT NULL
);
CREATE TABLE public.feeds (
    id bigint NOT NULL,
    slug character varying(100) NOT NULL,
    title text NOT NULL,
    description text NOT NULL,
    link text NOT NULL,
    language character varying(35) NOT NULL,
    filter jsonb NOT NULL,
    is_public boolean NOT NULL,
    token_hash character varying(64),
    owner_id bigint,
    version integer NOT NULL,
    created_at timestamp with time zone NOT NULL,
    updated_at timestamp with time zone NOT NULL
);
CREATE SEQUENCE public.feeds_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1;
ALTER SEQUENCE public.feeds_id_seq OWNED BY public.feeds.id;
CREATE TABLE public.fetch_log (
    id bigint NOT NULL,
    source_id bigint NOT NULL,
    started_at timestamp with time zone NOT NULL,
    finished_at timestamp with time zone NOT NULL,
    ok boolean NOT NULL,
    items integer NOT NULL,
    inserted integer NOT NULL,
    error text
);
CREATE SEQUENCE public.fetch_log_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1;
ALTER SEQUENCE public.fetch_log_id_seq OWNED BY public.fetch_log.id;
CREATE TABLE public.hosts (
    host character varying(255) NOT NULL,
    owner character varying(200),
    owner_until timestamp with time zone,
    held_until timestamp with time zone,
    booked_until timestamp with time zone,
    starts jsonb DEFAULT '[]'::jsonb NOT NULL,
    crawl_delay double precision
);
CREATE TABLE public.incidents (
    id bigint NOT NULL,
    kind character varying(30) NOT NULL,
    amount integer NOT NULL,
    message text NOT NULL,
    at timestamp with time zone NOT NULL
);
CREATE SEQUENCE public.incidents_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1;
ALTER SEQUENCE public.incidents_id_seq OWNED BY public.incidents.id;
CREATE TABLE public.jobs (
    name character varying(50) NOT NULL,
    due_at timestamp with time zone,
    is_paused boolean NOT NULL,
    last_started_at timestamp with time zone,
    last_finished_at timestamp with time zone,
    last_ok boolean,
    last_message text NOT NULL,
    runs integer NOT NULL
);
CREATE TABLE public.listings (
    id bigint NOT NULL,
    source_id bigint NOT NULL,
    key bytea NOT NULL,
    url text NOT NULL,
    lastmod timestamp with time zone,
    etag text,
    last_modified text,
    read_at timestamp with time zone,
    seen_at timestamp with time zone NOT NULL
);
CREATE SEQUENCE public.listings_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1;
ALTER SEQUENCE public.listings_id_seq OWNED BY public.listings.id;
CREATE TABLE public.note_copies (
    note_id bigint NOT NULL,
    sink character varying(100) NOT NULL,
    record_id text,
    copied_at timestamp with time zone,
    attempts integer NOT NULL,
    last_error text,
    next_try_at timestamp with time zone
);
CREATE TABLE public.notes (
    id bigint NOT NULL,
    platform character varying(10) NOT NULL,
    note_id character varying(128) NOT NULL,
    idempotency_key character varying(140) NOT NULL,
    source_id bigint,
    url text NOT NULL,
    title text NOT NULL,
    content text NOT NULL,
    note_type character varying(20) NOT NULL,
    images jsonb NOT NULL,
    video_url text,
    likes bigint,
    collects bigint,
    comments bigint,
    shares bigint,
    author_id text NOT NULL,
    author_name text NOT NULL,
    tags jsonb NOT NULL,
    comment_list jsonb NOT NULL,
    published_at timestamp with time zone,
    extracted_at timestamp with time zone NOT NULL,
    exec_meta jsonb NOT NULL
);
CREATE SEQUENCE public.notes_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1;
ALTER SEQUENCE public.notes_id_seq OWNED BY public.notes.id;
CREATE TABLE public.outbox (
    id bigint NOT NULL,
    event_id character varying(36) NOT NULL,
    topic character varying(50) NOT NULL,
    webhook_id bigint NOT NULL,
    payload jsonb NOT NULL,
    created_at timestamp with time zone NOT NULL,
    attempts integer NOT NULL,
    next_try_at timestamp with time zone,
    delivered_at timestamp with time zone,
    dead_at timestamp with time zone,
    last_error text
);
CREATE SEQUENCE public.outbox_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1;
ALTER SEQUENCE public.outbox_id_seq OWNED BY public.outbox.id;
CREATE TABLE public.raw_items (
    id bigint NOT NULL,
    source_id bigint NOT NULL,
    dedup_key character varying(500) NOT NULL,
    fingerprint bytea NOT NULL,
    title text NOT NULL,
    url text NOT NULL,
    author text NOT NULL,
    content text NOT NULL,
    published_at timestamp with time zone,
    fetched_at timestamp with time zone NOT NULL,
    updated_at timestamp with time zone,
    revision integer NOT NULL,
    metadata jsonb NOT NULL
);
CREATE SEQUENCE public.raw_items_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1;
ALTER SEQUENCE public.raw_items_id_seq OWNED BY public.raw_items.id;
CREATE TABLE public.runs (
    id bigint NOT NULL,
    kind character varying(20) NOT NULL,
    subject character varying(200) NOT NULL,
    owner character varying(200) NOT NULL,
    status character varying(20) NOT NULL,
    started_at timestamp with time zone NOT NULL,
    heartbeat_at timestamp with time zone NOT NULL,
    lease_until timestamp with time zone NOT NULL,
    finished_at timestamp with time zone,
    progress jsonb NOT NULL
);
CREATE SEQUENCE public.runs_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1;
ALTER SEQUENCE public.runs_id_seq OWNED BY public.runs.id;
CREATE TABLE public.scraper_fetch_stats (
    username character varying(255) NOT NULL,
    last_fetch_at timestamp with time zone NOT NULL,
    last_fetched_count integer NOT NULL,
    last_new_count integer NOT NULL,
    total_fetches integer NOT NULL,
    avg_new_rate double precision NOT NULL,
    consecutive_empty_fetches integer NOT NULL,
    created_at timestamp with time zone NOT NULL,
    updated_at timestamp with time zone NOT NULL,
    CONSTRAINT ck_scraper_fetch_stats_avg_new_rate CHECK (((avg_new_rate >= (0)::double precision) AND (avg_new_rate <= (1)::double precision)))
);
CREATE TABLE public.scraper_follows (
    id bigint NOT NULL,
    username character varying(15) NOT NULL,
    added_at timestamp with time zone NOT NULL,
    reason character varying(500) NOT NULL,
    added_by character varying(100) NOT NULL,
    is_active boolean NOT NULL
);
CREATE SEQUENCE public.scraper_follows_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1;
ALTER SEQUENCE public.scraper_follows_id_seq OWNED BY public.scraper_follows.id;
CREATE TABLE public.scraper_schedule_config (
    id integer NOT NULL,
    interval_seconds integer DEFAULT 43200 NOT NULL,
    next_run_time timestamp with time zone,
    is_enabled boolean NOT NULL,
    updated_at timestamp with time zone NOT NULL,
    updated_by character varying(100) NOT NULL,
    is_interval_set boolean DEFAULT false NOT NULL,
    CONSTRAINT ck_scraper_schedule_config_one_row CHECK ((id = 1))
);
CREATE TABLE public.seen_items (
    source_id bigint NOT NULL,
    key bytea NOT NULL,
    fingerprint bytea NOT NULL
);
CREATE TABLE public.sessions (
    token_hash character varying(64) NOT NULL,
    api_key_id bigint,
    environment_proof character varying(64),
    is_sign_in_link boolean NOT NULL,
    created_at timestamp with time zone NOT NULL,
    expires_at timestamp with time zone NOT NULL,
    user_id bigint,
    login_version integer
);
CREATE VIEW public.site_states AS
 SELECT site_name,
    address AS sitemap_url,
    last_run_at AS last_run,
    last_cleanup_at AS last_cleanup,
    created_at,
    updated_at,
    source_id
   FROM public.expeditions;
CREATE TABLE public.source_packs (
    id bigint NOT NULL,
    slug character varying(100) NOT NULL,
    name character varying(200) NOT NULL,
    description text NOT NULL,
    sources_json jsonb NOT NULL,
    is_public boolean NOT NULL,
    created_by bigint,
    install_count integer NOT NULL,
    created_at timestamp with time zone NOT NULL
);
CREATE SEQUENCE public.source_packs_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1;
ALTER SEQUENCE public.source_packs_id_seq OWNED BY public.source_packs.id;
CREATE TABLE public.sources (
    id bigint NOT NULL,
    name character varying(500) NOT NULL,
    type character varying(50) NOT NULL,
    config jsonb NOT NULL,
    identity character varying(64) NOT NULL,
    identity_scope bigint,
    tags jsonb NOT NULL,
    is_active boolean NOT NULL,
    paused_by character varying(20),
    is_public boolean NOT NULL,
    is_deleted boolean NOT NULL,
    deleted_at timestamp with time zone,
    created_by bigint,
    created_at timestamp with time zone NOT NULL,
    updated_at timestamp with time zone NOT NULL,
    last_fetched_at timestamp with time zone,
    last_attempt_at timestamp with time zone,
    fetch_count integer NOT NULL,
    fetch_error_count integer NOT NULL,
    last_error text,
    last_error_at timestamp with time zone,
    next_check_at timestamp with time zone,
    next_check_why character varying(20),
    memory jsonb NOT NULL,
    version integer NOT NULL,
    rhythm jsonb DEFAULT '{}'::jsonb NOT NULL,
    quiet_at timestamp with time zone,
    gap_at timestamp with time zone,
    moved jsonb,
    keep_days integer,
    host character varying(255)
);
CREATE SEQUENCE public.sources_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1;
ALTER SEQUENCE public.sources_id_seq OWNED BY public.sources.id;
CREATE VIEW public.tbl_candidate AS
 SELECT candidates.id,
    candidates.native_id AS note_id,
    candidates.platform,
    candidates.url AS note_url,
        CASE
            WHEN (candidates.state = 1) THEN 'collected'::text
            WHEN (candidates.state = 2) THEN 'failed'::text
            WHEN (holder.id IS NOT NULL) THEN 'processing'::text
            ELSE 'pending'::text
        END AS status,
    holder.owner AS processing_lock,
        CASE
            WHEN (holder.id IS NOT NULL) THEN candidates.claimed_at
            ELSE NULL::timestamp with time zone
        END AS locked_at,
    candidates.attempts AS retry_count,
    (candidates.facts ->> 'source_keyword'::text) AS source_keyword,
    (candidates.facts -> 'exec_meta'::text) AS exec_meta,
    (candidates.facts ->> 'title'::text) AS title,
    (candidates.facts ->> 'author_id'::text) AS author_id,
    (candidates.facts ->> 'author_name'::text) AS author_name,
    ((candidates.facts ->> 'liked_count'::text))::bigint AS liked_count,
    ((candidates.facts ->> 'collected_count'::text))::bigint AS collected_count,
    ((candidates.facts ->> 'comment_count'::text))::bigint AS comment_count,
    candidates.last_error_code,
    candidates.last_error AS last_error_message,
    candidates.first_seen AS discovered_at,
    candidates.first_seen AS created_at,
    COALESCE(candidates.collected_at, candidates.claimed_at, candidates.last_seen) AS updated_at
   FROM (public.candidates
     LEFT JOIN public.runs holder ON (((holder.id = candidates.claimed_by) AND ((holder.status)::text = 'running'::text) AND (candidates.claimed_at IS NOT NULL) AND (candidates.state = 0))))
  WHERE (candidates.platform IS NOT NULL);
CREATE VIEW public.tbl_cookie AS
 SELECT name AS cookie_name,
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
   FROM public.cookies;
CREATE VIEW public.tbl_crawl_execution AS
 SELECT id,
    subject AS workflow_name,
    owner AS execution_id,
    status,
    started_at,
    heartbeat_at,
    finished_at AS completed_at,
    COALESCE((((progress ->> 'items_processed'::text))::integer)::bigint, ( SELECT count(*) AS count
           FROM public.candidates
          WHERE ((candidates.platform IS NOT NULL) AND (candidates.claimed_by = runs.id) AND (candidates.state = 1)))) AS items_processed,
    COALESCE((((progress ->> 'items_failed'::text))::integer)::bigint, ( SELECT count(*) AS count
           FROM public.candidates
          WHERE ((candidates.platform IS NOT NULL) AND (candidates.claimed_by = runs.id) AND (candidates.state <> 1) AND (candidates.claimed_at IS NULL)))) AS items_failed,
        CASE
            WHEN ((status)::text = 'timeout'::text) THEN '执行超时自动回收'::text
            ELSE (progress ->> 'error_summary'::text)
        END AS error_summary
   FROM public.runs
  WHERE ((kind)::text = 'workflow'::text);
CREATE VIEW public.tbl_source AS
 SELECT notes.id,
    notes.platform,
    notes.note_id,
    notes.idempotency_key,
    notes.source_id AS topic_id,
    notes.url AS note_url,
    notes.title,
    notes.content,
    notes.note_type,
    notes.images,
    notes.video_url,
    notes.likes,
    notes.collects,
    notes.comments,
    notes.shares,
    notes.author_id,
    notes.author_name,
    notes.tags,
    'collected'::text AS status,
    notes.extracted_at,
    notes.exec_meta,
    found.processing_lock,
    found.locked_at,
    COALESCE((found.retry_count)::integer, 0) AS retry_count,
    found.last_error_code,
    found.last_error_message
   FROM (public.notes
     LEFT JOIN public.tbl_candidate found ON ((((found.platform)::text = (notes.platform)::text) AND (found.note_id = (notes.note_id)::text))));
CREATE TABLE public.tweets (
    id bigint NOT NULL,
    tweet_id character varying(255) NOT NULL,
    text text NOT NULL,
    created_at timestamp with time zone NOT NULL,
    author_username character varying(255) NOT NULL,
    author character varying(255) NOT NULL,
    author_display_name character varying(255),
    referenced_tweet_id character varying(255),
    reference_type character varying(20),
    media jsonb NOT NULL,
    referenced_tweet_text text,
    referenced_tweet_media jsonb NOT NULL,
    referenced_tweet_author_username character varying(255),
    urls jsonb NOT NULL,
    db_created_at timestamp with time zone NOT NULL,
    db_updated_at timestamp with time zone NOT NULL,
    lang character varying(20),
    hashtags jsonb DEFAULT '[]'::jsonb NOT NULL,
    counts jsonb DEFAULT '{}'::jsonb NOT NULL
);
CREATE SEQUENCE public.tweets_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1;
ALTER SEQUENCE public.tweets_id_seq OWNED BY public.tweets.id;
CREATE VIEW public.url_states AS
 SELECT e.site_name,
    c.url,
    c.state,
    c.lastmod,
    c.first_seen,
        CASE
            WHEN (c.last_seen >= l.read_at) THEN l.seen_at
            ELSE c.last_seen
        END AS last_seen,
    c.deleted_at,
    c.attempts,
    c.last_error,
    c.source_id
   FROM ((public.candidates c
     JOIN public.expeditions e ON ((e.source_id = c.source_id)))
     LEFT JOIN public.listings l ON ((l.id = c.listing_id)));
CREATE TABLE public.user_subscriptions (
    id bigint NOT NULL,
    user_id bigint NOT NULL,
    source_id bigint NOT NULL,
    created_at timestamp with time zone NOT NULL
);
CREATE SEQUENCE public.user_subscriptions_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1;
ALTER SEQUENCE public.user_subscriptions_id_seq OWNED BY public.user_subscriptions.id;
CREATE TABLE public.users (
    id bigint NOT NULL,
    email character varying(320) NOT NULL,
    name character varying(200) NOT NULL,
    slug character varying(100) NOT NULL,
    is_admin boolean NOT NULL,
    created_at timestamp with time zone NOT NULL,
    password_hash character varying(255),
    is_active boolean DEFAULT true NOT NULL,
    login_version integer DEFAULT 0 NOT NULL,
    google_id character varying(255),
    digests_public boolean DEFAULT false NOT NULL
);
CREATE SEQUENCE public.users_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1;
ALTER SEQUENCE public.users_id_seq OWNED BY public.users.id;
CREATE TABLE public.webhooks (
    id bigint NOT NULL,
    name character varying(200) NOT NULL,
    url text NOT NULL,
    topics jsonb NOT NULL,
    is_active boolean NOT NULL,
    allow_private boolean NOT NULL,
    secret text NOT NULL,
    created_at timestamp with time zone NOT NULL,
    format character varying(10) DEFAULT 'json'::character varying NOT NULL
);
CREATE SEQUENCE public.webhooks_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1;
ALTER SEQUENCE public.webhooks_id_seq OWNED BY public.webhooks.id;
CREATE TABLE public.x_previews (
    timeline character varying(500) NOT NULL,
    page text NOT NULL,
    fetched_at timestamp with time zone NOT NULL
);
CREATE TABLE public.x_spending (
    day date NOT NULL,
    pages integer NOT NULL
);
ALTER TABLE ONLY public.alerts ALTER COLUMN id SET DEFAULT nextval('public.alerts_id_seq'::regclass);
ALTER TABLE ONLY public.api_keys ALTER COLUMN id SET DEFAULT nextval('public.api_keys_id_seq'::regclass);
ALTER TABLE ONLY public.candidates ALTER COLUMN id SET DEFAULT nextval('public.candidates_id_seq'::regclass);
ALTER TABLE ONLY public.cookies ALTER COLUMN id SET DEFAULT nextval('public.cookies_id_seq'::regclass);
ALTER TABLE ONLY public.digests ALTER COLUMN id SET DEFAULT nextval('public.digests_id_seq'::regclass);
ALTER TABLE ONLY public.feeds ALTER COLUMN id SET DEFAULT nextval('public.feeds_id_seq'::regclass);
ALTER TABLE ONLY public.fetch_log ALTER COLUMN id SET DEFAULT nextval('public.fetch_log_id_seq'::regclass);
ALTER TABLE ONLY public.incidents ALTER COLUMN id SET DEFAULT nextval('public.incidents_id_seq'::regclass);
ALTER TABLE ONLY public.listings ALTER COLUMN id SET DEFAULT nextval('public.listings_id_seq'::regclass);
ALTER TABLE ONLY public.notes ALTER COLUMN id SET DEFAULT nextval('public.notes_id_seq'::regclass);
ALTER TABLE ONLY public.outbox ALTER COLUMN id SET DEFAULT nextval('public.outbox_id_seq'::regclass);
ALTER TABLE ONLY public.raw_items ALTER COLUMN id SET DEFAULT nextval('public.raw_items_id_seq'::regclass);
ALTER TABLE ONLY public.runs ALTER COLUMN id SET DEFAULT nextval('public.runs_id_seq'::regclass);
ALTER TABLE ONLY public.scraper_follows ALTER COLUMN id SET DEFAULT nextval('public.scraper_follows_id_seq'::regclass);
ALTER TABLE ONLY public.source_packs ALTER COLUMN id SET DEFAULT nextval('public.source_packs_id_seq'::regclass);
ALTER TABLE ONLY public.sources ALTER COLUMN id SET DEFAULT nextval('public.sources_id_seq'::regclass);
ALTER TABLE ONLY public.tweets ALTER COLUMN id SET DEFAULT nextval('public.tweets_id_seq'::regclass);
ALTER TABLE ONLY public.user_subscriptions ALTER COLUMN id SET DEFAULT nextval('public.user_subscriptions_id_seq'::regclass);
ALTER TABLE ONLY public.users ALTER COLUMN id SET DEFAULT nextval('public.users_id_seq'::regclass);
ALTER TABLE ONLY public.webhooks ALTER COLUMN id SET DEFAULT nextval('public.webhooks_id_seq'::regclass);
INSERT INTO public.alembic_version VALUES ('0017');
INSERT INTO public.alerts VALUES (1, '1 rule ü漢🙂', '1 subject ü漢🙂', '1 ', '1 message ü漢🙂', '2026-03-01 12:30:15.123456+00', '2026-03-01 12:30:15.123456+00', '2026-03-01 12:30:15.123456+00', '1 event_id ü漢🙂', '2026-03-01 12:30:15.123456+00');
INSERT INTO public.alerts VALUES (2, '2 rule ü漢🙂', '2 subject ü漢🙂', '2 ', '2 message ü漢🙂', '2026-03-02 12:30:15.123456+00', NULL, NULL, NULL, NULL);
INSERT INTO public.api_keys VALUES (1, 1, '1 role ü漢🙂', '1 name ü漢🙂', '1 prefix ü漢🙂', '1 key_hash ü漢🙂', true, '2026-03-01 12:30:15.123456+00', '2026-03-01 12:30:15.123456+00', '1 scope ü漢🙂');
INSERT INTO public.api_keys VALUES (2, 2, '2 role ü漢🙂', '2 name ü漢🙂', '2 prefix ü漢🙂', '2 key_hash ü漢🙂', false, '2026-03-02 12:30:15.123456+00', NULL, '2 scope ü漢🙂');
INSERT INTO public.applied_intervals VALUES ('1 type ü漢🙂', 1);
INSERT INTO public.applied_intervals VALUES ('2 type ü漢🙂', 2);
INSERT INTO public.candidates VALUES (1, 1, '\x01010101010101010101010101010101', '1 native_id ü漢🙂', '1 url ü漢🙂', 1, true, '2026-03-01 12:30:15.123456+00', '{"list": [1, null, "ü"], "none": null, "number": 1}', 1, '2026-03-01 12:30:15.123456+00', '2026-03-01 12:30:15.123456+00', '2026-03-01 12:30:15.123456+00', '2026-03-01 12:30:15.123456+00', '\x01010101010101010101010101010101', 1, '1 last_error ü漢🙂', 1, '1 platform', '2026-03-01 12:30:15.123456+00', '1 last_error_code ü漢🙂', '1 etag ü漢🙂', '1 last_modified ü漢🙂');
INSERT INTO public.candidates VALUES (2, 2, '\x02020202020202020202020202020202', '2 native_id ü漢🙂', '2 url ü漢🙂', 2, false, NULL, 'null', NULL, '2026-03-02 12:30:15.123456+00', '2026-03-02 12:30:15.123456+00', NULL, NULL, NULL, 2, NULL, NULL, NULL, NULL, NULL, NULL, NULL);
INSERT INTO public.changes VALUES (1, '1 cause ü漢🙂', 1, '2026-03-01 12:30:15.123456+00');
INSERT INTO public.changes VALUES (2, '2 cause ü漢🙂', 2, '2026-03-02 12:30:15.123456+00');
INSERT INTO public.config VALUES ('1 key ü漢🙂', '1 value ü漢🙂', '2026-03-01 12:30:15.123456+00');
INSERT INTO public.config VALUES ('2 key ü漢🙂', '2 value ü漢🙂', '2026-03-02 12:30:15.123456+00');
INSERT INTO public.cookies VALUES (1, '1 name ü漢🙂', '1 platform', '1 sealed ü漢🙂', '1 key_id ü漢🙂', 'active', true, 1, 1, 1, '2026-03-01', 1, 1, 1, '2026-03-01 12:30:15.123456+00', '2026-03-01 12:30:15.123456+00', NULL, '2026-03-01 12:30:15.123456+00', '2026-03-01 12:30:15.123456+00', '1 description ü漢🙂', '2026-03-01 12:30:15.123456+00', '2026-03-01 12:30:15.123456+00');
INSERT INTO public.cookies VALUES (2, '2 name ü漢🙂', '2 platform', '2 sealed ü漢🙂', '2 key_id ü漢🙂', 'banned', false, 2, 2, 2, NULL, 2, 2, 2, '2026-03-02 12:30:15.123456+00', NULL, NULL, NULL, NULL, '2 description ü漢🙂', '2026-03-02 12:30:15.123456+00', '2026-03-02 12:30:15.123456+00');
INSERT INTO public.crawl_minutes VALUES ('2026-03-01 12:30:15.123456+00', '1 platform', 1, 1);
INSERT INTO public.crawl_minutes VALUES ('2026-03-02 12:30:15.123456+00', '2 platform', 2, 2);
INSERT INTO public.digests VALUES (1, '4h', '1 content ü漢🙂', '{"list": [1, null, "ü"], "none": null, "number": 1}', 1, '2026-03-01 12:30:15.123456+00');
INSERT INTO public.digests VALUES (2, 'daily', '2 content ü漢🙂', '{"list": [1, null, "ü"], "none": null, "number": 2}', 2, '2026-03-02 12:30:15.123456+00');
INSERT INTO public.expeditions VALUES (1, '1 identity ü漢🙂', '1 site_name ü漢🙂', '1 address ü漢🙂', '2026-03-01 12:30:15.123456+00', '2026-03-01 12:30:15.123456+00', '2026-03-01 12:30:15.123456+00', '2026-03-01 12:30:15.123456+00', '2026-03-01 12:30:15.123456+00', '2026-03-01 12:30:15.123456+00', '2026-03-01 12:30:15.123456+00', '2026-03-01 12:30:15.123456+00', 1);
INSERT INTO public.expeditions VALUES (2, '2 identity ü漢🙂', '2 site_name ü漢🙂', '2 address ü漢🙂', '2026-03-02 12:30:15.123456+00', NULL, NULL, NULL, NULL, NULL, '2026-03-02 12:30:15.123456+00', '2026-03-02 12:30:15.123456+00', 2);
INSERT INTO public.feeds VALUES (1, '1 slug ü漢🙂', '1 title ü漢🙂', '1 description ü漢🙂', '1 link ü漢🙂', '1 language ü漢🙂', '{"list": [1, null, "ü"], "none": null, "number": 1}', true, '1 token_hash ü漢🙂', 1, 1, '2026-03-01 12:30:15.123456+00', '2026-03-01 12:30:15.123456+00');
INSERT INTO public.feeds VALUES (2, '2 slug ü漢🙂', '2 title ü漢🙂', '2 description ü漢🙂', '2 link ü漢🙂', '2 language ü漢🙂', '{"list": [1, null, "ü"], "none": null, "number": 2}', false, NULL, 2, 2, '2026-03-02 12:30:15.123456+00', '2026-03-02 12:30:15.123456+00');
INSERT INTO public.fetch_log VALUES (1, 1, '2026-03-01 12:30:15.123456+00', '2026-03-01 12:30:15.123456+00', true, 1, 1, '1 error ü漢🙂');
INSERT INTO public.fetch_log VALUES (2, 2, '2026-03-02 12:30:15.123456+00', '2026-03-02 12:30:15.123456+00', false, 2, 2, NULL);
INSERT INTO public.hosts VALUES ('1 host ü漢🙂', '1 owner ü漢🙂', '2026-03-01 12:30:15.123456+00', '2026-03-01 12:30:15.123456+00', '2026-03-01 12:30:15.123456+00', '{"list": [1, null, "ü"], "none": null, "number": 1}', 0.25);
INSERT INTO public.hosts VALUES ('2 host ü漢🙂', NULL, NULL, NULL, NULL, '{"list": [1, null, "ü"], "none": null, "number": 2}', NULL);
INSERT INTO public.incidents VALUES (1, '1 kind ü漢🙂', 1, '1 message ü漢🙂', '2026-03-01 12:30:15.123456+00');
INSERT INTO public.incidents VALUES (2, '2 kind ü漢🙂', 2, '2 message ü漢🙂', '2026-03-02 12:30:15.123456+00');
INSERT INTO public.jobs VALUES ('1 name ü漢🙂', '2026-03-01 12:30:15.123456+00', true, '2026-03-01 12:30:15.123456+00', '2026-03-01 12:30:15.123456+00', true, '1 last_message ü漢🙂', 1);
INSERT INTO public.jobs VALUES ('2 name ü漢🙂', NULL, false, NULL, NULL, NULL, '2 last_message ü漢🙂', 2);
INSERT INTO public.listings VALUES (1, 1, '\x01010101010101010101010101010101', '1 url ü漢🙂', '2026-03-01 12:30:15.123456+00', '1 etag ü漢🙂', '1 last_modified ü漢🙂', '2026-03-01 12:30:15.123456+00', '2026-03-01 12:30:15.123456+00');
INSERT INTO public.listings VALUES (2, 2, '\x02020202020202020202020202020202', '2 url ü漢🙂', NULL, NULL, NULL, NULL, '2026-03-02 12:30:15.123456+00');
INSERT INTO public.note_copies VALUES (1, '1 sink ü漢🙂', '1 record_id ü漢🙂', '2026-03-01 12:30:15.123456+00', 1, '1 last_error ü漢🙂', '2026-03-01 12:30:15.123456+00');
INSERT INTO public.note_copies VALUES (2, '2 sink ü漢🙂', NULL, NULL, 2, NULL, NULL);
INSERT INTO public.notes VALUES (1, '1 platform', '1 note_id ü漢🙂', '1 idempotency_key ü漢🙂', 1, '1 url ü漢🙂', '1 title ü漢🙂', '1 content ü漢🙂', '1 note_type ü漢🙂', '{"list": [1, null, "ü"], "none": null, "number": 1}', '1 video_url ü漢🙂', 1, 1, 1, 1, '1 author_id ü漢🙂', '1 author_name ü漢🙂', '{"list": [1, null, "ü"], "none": null, "number": 1}', '{"list": [1, null, "ü"], "none": null, "number": 1}', '2026-03-01 12:30:15.123456+00', '2026-03-01 12:30:15.123456+00', '{"list": [1, null, "ü"], "none": null, "number": 1}');
INSERT INTO public.notes VALUES (2, '2 platform', '2 note_id ü漢🙂', '2 idempotency_key ü漢🙂', 2, '2 url ü漢🙂', '2 title ü漢🙂', '2 content ü漢🙂', '2 note_type ü漢🙂', '{"list": [1, null, "ü"], "none": null, "number": 2}', NULL, NULL, NULL, NULL, NULL, '2 author_id ü漢🙂', '2 author_name ü漢🙂', '{"list": [1, null, "ü"], "none": null, "number": 2}', '{"list": [1, null, "ü"], "none": null, "number": 2}', NULL, '2026-03-02 12:30:15.123456+00', '{"list": [1, null, "ü"], "none": null, "number": 2}');
INSERT INTO public.outbox VALUES (1, '1 event_id ü漢🙂', '1 topic ü漢🙂', 1, '{"list": [1, null, "ü"], "none": null, "number": 1}', '2026-03-01 12:30:15.123456+00', 1, '2026-03-01 12:30:15.123456+00', '2026-03-01 12:30:15.123456+00', '2026-03-01 12:30:15.123456+00', '1 last_error ü漢🙂');
INSERT INTO public.outbox VALUES (2, '2 event_id ü漢🙂', '2 topic ü漢🙂', 2, '{"list": [1, null, "ü"], "none": null, "number": 2}', '2026-03-02 12:30:15.123456+00', 2, NULL, NULL, NULL, NULL);
INSERT INTO public.raw_items VALUES (1, 1, '1 dedup_key ü漢🙂', '\x01010101010101010101010101010101', '1 title ü漢🙂', '1 url ü漢🙂', '1 author ü漢🙂', '1 content ü漢🙂', '2026-03-01 12:30:15.123456+00', '2026-03-01 12:30:15.123456+00', '2026-03-01 12:30:15.123456+00', 1, '{"list": [1, null, "ü"], "none": null, "number": 1}');
INSERT INTO public.raw_items VALUES (2, 2, '2 dedup_key ü漢🙂', '\x02020202020202020202020202020202', '2 title ü漢🙂', '2 url ü漢🙂', '2 author ü漢🙂', '2 content ü漢🙂', NULL, '2026-03-02 12:30:15.123456+00', NULL, 2, '{"list": [1, null, "ü"], "none": null, "number": 2}');
INSERT INTO public.runs VALUES (1, '1 kind ü漢🙂', '1 subject ü漢🙂', '1 owner ü漢🙂', '1 status ü漢🙂', '2026-03-01 12:30:15.123456+00', '2026-03-01 12:30:15.123456+00', '2026-03-01 12:30:15.123456+00', '2026-03-01 12:30:15.123456+00', '{"list": [1, null, "ü"], "none": null, "number": 1}');
INSERT INTO public.runs VALUES (2, '2 kind ü漢🙂', '2 subject ü漢🙂', '2 owner ü漢🙂', '2 status ü漢🙂', '2026-03-02 12:30:15.123456+00', '2026-03-02 12:30:15.123456+00', '2026-03-02 12:30:15.123456+00', NULL, '{"list": [1, null, "ü"], "none": null, "number": 2}');
INSERT INTO public.scraper_fetch_stats VALUES ('1 username ü漢🙂', '2026-03-01 12:30:15.123456+00', 1, 1, 1, 0.25, 1, '2026-03-01 12:30:15.123456+00', '2026-03-01 12:30:15.123456+00');
INSERT INTO public.scraper_fetch_stats VALUES ('2 username ü漢🙂', '2026-03-02 12:30:15.123456+00', 2, 2, 2, 1, 2, '2026-03-02 12:30:15.123456+00', '2026-03-02 12:30:15.123456+00');
INSERT INTO public.scraper_follows VALUES (1, '1 username ü漢🙂', '2026-03-01 12:30:15.123456+00', '1 reason ü漢🙂', '1 added_by ü漢🙂', true);
INSERT INTO public.scraper_follows VALUES (2, '2 username ü漢🙂', '2026-03-02 12:30:15.123456+00', '2 reason ü漢🙂', '2 added_by ü漢🙂', false);
INSERT INTO public.scraper_schedule_config VALUES (1, 1, '2026-03-01 12:30:15.123456+00', true, '2026-03-01 12:30:15.123456+00', '1 updated_by ü漢🙂', true);
INSERT INTO public.seen_items VALUES (1, '\x01010101010101010101010101010101', '\x01010101010101010101010101010101');
INSERT INTO public.seen_items VALUES (2, '\x02020202020202020202020202020202', '\x02020202020202020202020202020202');
INSERT INTO public.sessions VALUES ('1 token_hash ü漢🙂', 1, '1 environment_proof ü漢🙂', true, '2026-03-01 12:30:15.123456+00', '2026-03-01 12:30:15.123456+00', 1, 1);
INSERT INTO public.sessions VALUES ('2 token_hash ü漢🙂', 2, NULL, false, '2026-03-02 12:30:15.123456+00', '2026-03-02 12:30:15.123456+00', 2, NULL);
INSERT INTO public.source_packs VALUES (1, '1 slug ü漢🙂', '1 name ü漢🙂', '1 description ü漢🙂', '{"list": [1, null, "ü"], "none": null, "number": 1}', true, 1, 1, '2026-03-01 12:30:15.123456+00');
INSERT INTO public.source_packs VALUES (2, '2 slug ü漢🙂', '2 name ü漢🙂', '2 description ü漢🙂', '{"list": [1, null, "ü"], "none": null, "number": 2}', false, 2, 2, '2026-03-02 12:30:15.123456+00');
INSERT INTO public.sources VALUES (1, '1 name ü漢🙂', '1 type ü漢🙂', '{"list": [1, null, "ü"], "none": null, "number": 1}', '1 identity ü漢🙂', 1, '{"list": [1, null, "ü"], "none": null, "number": 1}', true, '1 paused_by ü漢🙂', true, true, '2026-03-01 12:30:15.123456+00', 1, '2026-03-01 12:30:15.123456+00', '2026-03-01 12:30:15.123456+00', '2026-03-01 12:30:15.123456+00', '2026-03-01 12:30:15.123456+00', 1, 1, '1 last_error ü漢🙂', '2026-03-01 12:30:15.123456+00', '2026-03-01 12:30:15.123456+00', '1 next_check_why ü漢🙂', '{"list": [1, null, "ü"], "none": null, "number": 1}', 1, '{"list": [1, null, "ü"], "none": null, "number": 1}', '2026-03-01 12:30:15.123456+00', '2026-03-01 12:30:15.123456+00', '{"list": [1, null, "ü"], "none": null, "number": 1}', 1, '1 host ü漢🙂');
INSERT INTO public.sources VALUES (2, '2 name ü漢🙂', '2 type ü漢🙂', '{"list": [1, null, "ü"], "none": null, "number": 2}', '2 identity ü漢🙂', NULL, '{"list": [1, null, "ü"], "none": null, "number": 2}', false, NULL, false, false, NULL, 2, '2026-03-02 12:30:15.123456+00', '2026-03-02 12:30:15.123456+00', NULL, NULL, 2, 2, NULL, NULL, NULL, NULL, '{"list": [1, null, "ü"], "none": null, "number": 2}', 2, '{"list": [1, null, "ü"], "none": null, "number": 2}', NULL, NULL, 'null', NULL, NULL);
INSERT INTO public.tweets VALUES (1, '1 tweet_id ü漢🙂', '1 text ü漢🙂', '2026-03-01 12:30:15.123456+00', '1 author_username ü漢🙂', '1 author ü漢🙂', '1 author_display_name ü漢🙂', '1 referenced_tweet_id ü漢🙂', '1 reference_type ü漢🙂', '{"list": [1, null, "ü"], "none": null, "number": 1}', '1 referenced_tweet_text ü漢🙂', '{"list": [1, null, "ü"], "none": null, "number": 1}', '1 referenced_tweet_author_username ü漢🙂', '{"list": [1, null, "ü"], "none": null, "number": 1}', '2026-03-01 12:30:15.123456+00', '2026-03-01 12:30:15.123456+00', '1 lang ü漢🙂', '{"list": [1, null, "ü"], "none": null, "number": 1}', '{"list": [1, null, "ü"], "none": null, "number": 1}');
INSERT INTO public.tweets VALUES (2, '2 tweet_id ü漢🙂', '2 text ü漢🙂', '2026-03-02 12:30:15.123456+00', '2 author_username ü漢🙂', '2 author ü漢🙂', NULL, NULL, NULL, '{"list": [1, null, "ü"], "none": null, "number": 2}', NULL, '{"list": [1, null, "ü"], "none": null, "number": 2}', NULL, '{"list": [1, null, "ü"], "none": null, "number": 2}', '2026-03-02 12:30:15.123456+00', '2026-03-02 12:30:15.123456+00', NULL, '{"list": [1, null, "ü"], "none": null, "number": 2}', '{"list": [1, null, "ü"], "none": null, "number": 2}');
INSERT INTO public.user_subscriptions VALUES (1, 1, 1, '2026-03-01 12:30:15.123456+00');
INSERT INTO public.user_subscriptions VALUES (2, 2, 2, '2026-03-02 12:30:15.123456+00');
INSERT INTO public.users VALUES (1, '1 email ü漢🙂', '1 name ü漢🙂', '1 slug ü漢🙂', true, '2026-03-01 12:30:15.123456+00', '1 password_hash ü漢🙂', true, 1, '1 google_id ü漢🙂', true);
INSERT INTO public.users VALUES (2, '2 email ü漢🙂', '2 name ü漢🙂', '2 slug ü漢🙂', false, '2026-03-02 12:30:15.123456+00', NULL, false, 2, NULL, false);
INSERT INTO public.webhooks VALUES (1, '1 name ü漢🙂', '1 url ü漢🙂', '{"list": [1, null, "ü"], "none": null, "number": 1}', true, true, '1 secret ü漢🙂', '2026-03-01 12:30:15.123456+00', '1 format ü');
INSERT INTO public.webhooks VALUES (2, '2 name ü漢🙂', '2 url ü漢🙂', '{"list": [1, null, "ü"], "none": null, "number": 2}', false, false, '2 secret ü漢🙂', '2026-03-02 12:30:15.123456+00', '2 format ü');
INSERT INTO public.x_previews VALUES ('1 timeline ü漢🙂', '1 page ü漢🙂', '2026-03-01 12:30:15.123456+00');
INSERT INTO public.x_previews VALUES ('2 timeline ü漢🙂', '2 page ü漢🙂', '2026-03-02 12:30:15.123456+00');
INSERT INTO public.x_spending VALUES ('2026-03-01', 1);
INSERT INTO public.x_spending VALUES ('2026-03-02', 2);
SELECT pg_catalog.setval('public.alerts_id_seq', 1, false);
SELECT pg_catalog.setval('public.api_keys_id_seq', 1, false);
SELECT pg_catalog.setval('public.candidates_id_seq', 1, false);
SELECT pg_catalog.setval('public.cookies_id_seq', 1, false);
SELECT pg_catalog.setval('public.digests_id_seq', 1, false);
SELECT pg_catalog.setval('public.feeds_id_seq', 1, false);
SELECT pg_catalog.setval('public.fetch_log_id_seq', 1, false);
SELECT pg_catalog.setval('public.incidents_id_seq', 1, false);
SELECT pg_catalog.setval('public.listings_id_seq', 1, false);
SELECT pg_catalog.setval('public.notes_id_seq', 1, false);
SELECT pg_catalog.setval('public.outbox_id_seq', 1, false);
SELECT pg_catalog.setval('public.raw_items_id_seq', 1, false);
SELECT pg_catalog.setval('public.runs_id_seq', 1, false);
SELECT pg_catalog.setval('public.scraper_follows_id_seq', 1, false);
SELECT pg_catalog.setval('public.source_packs_id_seq', 1, false);
SELECT pg_catalog.setval('public.sources_id_seq', 1, false);
SELECT pg_catalog.setval('public.tweets_id_seq', 1, false);
SELECT pg_catalog.setval('public.user_subscriptions_id_seq', 1, false);
SELECT pg_catalog.setval('public.users_id_seq', 1, false);
SELECT pg_catalog.setval('public.webhooks_id_seq', 1, false);
ALTER TABLE ONLY public.alembic_version
    ADD CONSTRAINT alembic_version_pkc PRIMARY KEY (version_num);
ALTER TABLE ONLY public.alerts
    ADD CONSTRAINT pk_alerts PRIMARY KEY (id);
ALTER TABLE ONLY public.api_keys
    ADD CONSTRAINT pk_api_keys PRIMARY KEY (id);
ALTER TABLE ONLY public.applied_intervals
    ADD CONSTRAINT pk_applied_intervals PRIMARY KEY (type);
ALTER TABLE ONLY public.candidates
    ADD CONSTRAINT pk_candidates PRIMARY KEY (id);
ALTER TABLE ONLY public.changes
    ADD CONSTRAINT pk_changes PRIMARY KEY (source_id, cause);
ALTER TABLE ONLY public.config
    ADD CONSTRAINT pk_config PRIMARY KEY (key);
ALTER TABLE ONLY public.cookies
    ADD CONSTRAINT pk_cookies PRIMARY KEY (id);
ALTER TABLE ONLY public.crawl_minutes
    ADD CONSTRAINT pk_crawl_minutes PRIMARY KEY (minute, platform);
ALTER TABLE ONLY public.digests
    ADD CONSTRAINT pk_digests PRIMARY KEY (id);
ALTER TABLE ONLY public.expeditions
    ADD CONSTRAINT pk_expeditions PRIMARY KEY (source_id);
ALTER TABLE ONLY public.feeds
    ADD CONSTRAINT pk_feeds PRIMARY KEY (id);
ALTER TABLE ONLY public.fetch_log
    ADD CONSTRAINT pk_fetch_log PRIMARY KEY (id);
ALTER TABLE ONLY public.hosts
    ADD CONSTRAINT pk_hosts PRIMARY KEY (host);
ALTER TABLE ONLY public.incidents
    ADD CONSTRAINT pk_incidents PRIMARY KEY (id);
ALTER TABLE ONLY public.jobs
    ADD CONSTRAINT pk_jobs PRIMARY KEY (name);
ALTER TABLE ONLY public.listings
    ADD CONSTRAINT pk_listings PRIMARY KEY (id);
ALTER TABLE ONLY public.note_copies
    ADD CONSTRAINT pk_note_copies PRIMARY KEY (note_id, sink);
ALTER TABLE ONLY public.notes
    ADD CONSTRAINT pk_notes PRIMARY KEY (id);
ALTER TABLE ONLY public.outbox
    ADD CONSTRAINT pk_outbox PRIMARY KEY (id);
ALTER TABLE ONLY public.raw_items
    ADD CONSTRAINT pk_raw_items PRIMARY KEY (id);
ALTER TABLE ONLY public.runs
    ADD CONSTRAINT pk_runs PRIMARY KEY (id);
ALTER TABLE ONLY public.scraper_fetch_stats
    ADD CONSTRAINT pk_scraper_fetch_stats PRIMARY KEY (username);
ALTER TABLE ONLY public.scraper_follows
    ADD CONSTRAINT pk_scraper_follows PRIMARY KEY (id);
ALTER TABLE ONLY public.scraper_schedule_config
    ADD CONSTRAINT pk_scraper_schedule_config PRIMARY KEY (id);
ALTER TABLE ONLY public.seen_items
    ADD CONSTRAINT pk_seen_items PRIMARY KEY (source_id, key);
ALTER TABLE ONLY public.sessions
    ADD CONSTRAINT pk_sessions PRIMARY KEY (token_hash);
ALTER TABLE ONLY public.source_packs
    ADD CONSTRAINT pk_source_packs PRIMARY KEY (id);
ALTER TABLE ONLY public.sources
    ADD CONSTRAINT pk_sources PRIMARY KEY (id);
ALTER TABLE ONLY public.tweets
    ADD CONSTRAINT pk_tweets PRIMARY KEY (id);
ALTER TABLE ONLY public.user_subscriptions
    ADD CONSTRAINT pk_user_subscriptions PRIMARY KEY (id);
ALTER TABLE ONLY public.users
    ADD CONSTRAINT pk_users PRIMARY KEY (id);
ALTER TABLE ONLY public.webhooks
    ADD CONSTRAINT pk_webhooks PRIMARY KEY (id);
ALTER TABLE ONLY public.x_previews
    ADD CONSTRAINT pk_x_previews PRIMARY KEY (timeline);
ALTER TABLE ONLY public.x_spending
    ADD CONSTRAINT pk_x_spending PRIMARY KEY (day);
ALTER TABLE ONLY public.alerts
    ADD CONSTRAINT uq_alerts_rule_subject UNIQUE (rule, subject);
ALTER TABLE ONLY public.api_keys
    ADD CONSTRAINT uq_api_keys_key_hash UNIQUE (key_hash);
ALTER TABLE ONLY public.candidates
    ADD CONSTRAINT uq_candidates_source_id_key UNIQUE (source_id, key);
ALTER TABLE ONLY public.cookies
    ADD CONSTRAINT uq_cookies_name UNIQUE (name);
ALTER TABLE ONLY public.feeds
    ADD CONSTRAINT uq_feeds_slug UNIQUE (slug);
ALTER TABLE ONLY public.listings
    ADD CONSTRAINT uq_listings_source_id_key UNIQUE (source_id, key);
ALTER TABLE ONLY public.notes
    ADD CONSTRAINT uq_notes_platform_idempotency_key UNIQUE (platform, idempotency_key);
ALTER TABLE ONLY public.outbox
    ADD CONSTRAINT uq_outbox_webhook_id_event_id UNIQUE (webhook_id, event_id);
ALTER TABLE ONLY public.raw_items
    ADD CONSTRAINT uq_raw_items_source_id_dedup_key UNIQUE (source_id, dedup_key);
ALTER TABLE ONLY public.scraper_follows
    ADD CONSTRAINT uq_scraper_follows_username UNIQUE (username);
ALTER TABLE ONLY public.source_packs
    ADD CONSTRAINT uq_source_packs_slug UNIQUE (slug);
ALTER TABLE ONLY public.sources
    ADD CONSTRAINT uq_sources_identity_identity_scope UNIQUE (identity, identity_scope);
ALTER TABLE ONLY public.user_subscriptions
    ADD CONSTRAINT uq_user_subscriptions_user_id_source_id UNIQUE (user_id, source_id);
ALTER TABLE ONLY public.users
    ADD CONSTRAINT uq_users_email UNIQUE (email);
ALTER TABLE ONLY public.users
    ADD CONSTRAINT uq_users_slug UNIQUE (slug);
ALTER TABLE ONLY public.webhooks
    ADD CONSTRAINT uq_webhooks_name UNIQUE (name);
CREATE INDEX ix_candidates_notes_claimed_by ON public.candidates USING btree (claimed_by) WHERE (platform IS NOT NULL);
CREATE INDEX ix_candidates_notes_state ON public.candidates USING btree (state, first_seen, id) WHERE (platform IS NOT NULL);
CREATE INDEX ix_candidates_source_id_last_seen ON public.candidates USING btree (source_id, last_seen);
CREATE INDEX ix_candidates_source_id_state_id ON public.candidates USING btree (source_id, state, id);
CREATE INDEX ix_digests_created_at ON public.digests USING btree (created_at);
CREATE INDEX ix_expeditions_site_name ON public.expeditions USING btree (site_name);
CREATE INDEX ix_feeds_owner_id ON public.feeds USING btree (owner_id);
CREATE INDEX ix_fetch_log_finished_at ON public.fetch_log USING btree (finished_at);
CREATE INDEX ix_incidents_at ON public.incidents USING btree (at);
CREATE INDEX ix_notes_source_id ON public.notes USING btree (source_id);
CREATE INDEX ix_outbox_dead ON public.outbox USING btree (webhook_id, dead_at) WHERE (dead_at IS NOT NULL);
CREATE INDEX ix_outbox_waiting ON public.outbox USING btree (webhook_id, id) WHERE (next_try_at IS NOT NULL);
CREATE INDEX ix_raw_items_fetched_at ON public.raw_items USING btree (fetched_at);
CREATE INDEX ix_raw_items_source_id_fetched_at ON public.raw_items USING btree (source_id, fetched_at);
CREATE INDEX ix_raw_items_updated_at ON public.raw_items USING btree (updated_at) WHERE (updated_at IS NOT NULL);
CREATE INDEX ix_runs_finished_at ON public.runs USING btree (finished_at);
CREATE INDEX ix_sources_created_by ON public.sources USING btree (created_by);
CREATE INDEX ix_sources_due ON public.sources USING btree (next_check_at) WHERE (next_check_at IS NOT NULL);
CREATE INDEX ix_sources_host ON public.sources USING btree (host) WHERE (host IS NOT NULL);
CREATE INDEX ix_sources_keep_days ON public.sources USING btree (keep_days) WHERE (keep_days IS NOT NULL);
CREATE INDEX ix_sources_type ON public.sources USING btree (type);
CREATE INDEX ix_tweets_author_created_at ON public.tweets USING btree (author, created_at DESC);
CREATE INDEX ix_tweets_created_at ON public.tweets USING btree (created_at DESC, id DESC);
CREATE INDEX ix_tweets_db_created_at ON public.tweets USING btree (db_created_at);
CREATE UNIQUE INDEX ix_tweets_tweet_id ON public.tweets USING btree (tweet_id);
CREATE INDEX ix_user_subscriptions_source_id ON public.user_subscriptions USING btree (source_id);
CREATE UNIQUE INDEX uq_candidates_platform_native_id ON public.candidates USING btree (platform, native_id) WHERE (platform IS NOT NULL);
CREATE UNIQUE INDEX uq_runs_execution_id ON public.runs USING btree (owner) WHERE ((kind)::text = 'workflow'::text);
CREATE UNIQUE INDEX uq_runs_running ON public.runs USING btree (kind, subject) WHERE ((status)::text = 'running'::text);
CREATE UNIQUE INDEX uq_users_google_id ON public.users USING btree (google_id);
ALTER TABLE ONLY public.api_keys
    ADD CONSTRAINT fk_api_keys_user_id_users FOREIGN KEY (user_id) REFERENCES public.users(id) ON DELETE CASCADE;
ALTER TABLE ONLY public.candidates
    ADD CONSTRAINT fk_candidates_source_id_sources FOREIGN KEY (source_id) REFERENCES public.sources(id) ON DELETE CASCADE;
ALTER TABLE ONLY public.digests
    ADD CONSTRAINT fk_digests_user_id_users FOREIGN KEY (user_id) REFERENCES public.users(id) ON DELETE CASCADE;
ALTER TABLE ONLY public.expeditions
    ADD CONSTRAINT fk_expeditions_source_id_sources FOREIGN KEY (source_id) REFERENCES public.sources(id) ON DELETE CASCADE;
ALTER TABLE ONLY public.feeds
    ADD CONSTRAINT fk_feeds_owner_id_users FOREIGN KEY (owner_id) REFERENCES public.users(id) ON DELETE CASCADE;
ALTER TABLE ONLY public.fetch_log
    ADD CONSTRAINT fk_fetch_log_source_id_sources FOREIGN KEY (source_id) REFERENCES public.sources(id) ON DELETE CASCADE;
ALTER TABLE ONLY public.listings
    ADD CONSTRAINT fk_listings_source_id_sources FOREIGN KEY (source_id) REFERENCES public.sources(id) ON DELETE CASCADE;
ALTER TABLE ONLY public.note_copies
    ADD CONSTRAINT fk_note_copies_note_id_notes FOREIGN KEY (note_id) REFERENCES public.notes(id) ON DELETE CASCADE;
ALTER TABLE ONLY public.notes
    ADD CONSTRAINT fk_notes_source_id_sources FOREIGN KEY (source_id) REFERENCES public.sources(id) ON DELETE SET NULL;
ALTER TABLE ONLY public.outbox
    ADD CONSTRAINT fk_outbox_webhook_id_webhooks FOREIGN KEY (webhook_id) REFERENCES public.webhooks(id) ON DELETE CASCADE;
ALTER TABLE ONLY public.raw_items
    ADD CONSTRAINT fk_raw_items_source_id_sources FOREIGN KEY (source_id) REFERENCES public.sources(id) ON DELETE CASCADE;
ALTER TABLE ONLY public.seen_items
    ADD CONSTRAINT fk_seen_items_source_id_sources FOREIGN KEY (source_id) REFERENCES public.sources(id) ON DELETE CASCADE;
ALTER TABLE ONLY public.sessions
    ADD CONSTRAINT fk_sessions_api_key_id_api_keys FOREIGN KEY (api_key_id) REFERENCES public.api_keys(id) ON DELETE CASCADE;
ALTER TABLE ONLY public.sessions
    ADD CONSTRAINT fk_sessions_user_id_users FOREIGN KEY (user_id) REFERENCES public.users(id) ON DELETE CASCADE;
ALTER TABLE ONLY public.source_packs
    ADD CONSTRAINT fk_source_packs_created_by_users FOREIGN KEY (created_by) REFERENCES public.users(id) ON DELETE SET NULL;
ALTER TABLE ONLY public.sources
    ADD CONSTRAINT fk_sources_created_by_users FOREIGN KEY (created_by) REFERENCES public.users(id) ON DELETE SET NULL;
ALTER TABLE ONLY public.user_subscriptions
    ADD CONSTRAINT fk_user_subscriptions_source_id_sources FOREIGN KEY (source_id) REFERENCES public.sources(id) ON DELETE CASCADE;
ALTER TABLE ONLY public.user_subscriptions
    ADD CONSTRAINT fk_user_subscriptions_user_id_users FOREIGN KEY (user_id) REFERENCES public.users(id) ON DELETE CASCADE;
