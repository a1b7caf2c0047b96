"""Notes found by keyword: candidates that are unique on their platform, what was collected of them, and four views."""

import sqlalchemy as sa
from alembic import op

from catchment.store.types import Json, UtcDateTime

revision = "0011"
down_revision = "0010"
branch_labels = None
depends_on = None

Id = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
IS_NOTE = sa.text("platform IS NOT NULL")
IS_WORKFLOW = sa.text("kind = 'workflow'")

#: The words of those who crawl by keyword; `processing` is what a run that goes on has claimed.
TBL_CANDIDATE = """
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
WHERE candidates.platform IS NOT NULL
"""
TBL_CRAWL_EXECUTION = """
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
FROM runs WHERE kind = 'workflow'
"""
TBL_SOURCE = """
CREATE VIEW tbl_source AS
SELECT notes.id, notes.platform, notes.note_id, notes.idempotency_key, notes.source_id AS topic_id,
    notes.url AS note_url, notes.title, notes.content, notes.note_type, notes.images, notes.video_url,
    notes.likes, notes.collects, notes.comments, notes.shares, notes.author_id, notes.author_name, notes.tags,
    'collected' AS status, notes.extracted_at, notes.exec_meta, found.processing_lock, found.locked_at,
    COALESCE(found.retry_count, 0) AS retry_count, found.last_error_code, found.last_error_message
FROM notes
LEFT JOIN tbl_candidate AS found ON found.platform = notes.platform AND found.note_id = notes.note_id
"""


def upgrade() -> None:
    op.add_column("candidates", sa.Column("platform", sa.String(10)))
    op.add_column("candidates", sa.Column("claimed_at", UtcDateTime()))
    op.add_column("candidates", sa.Column("last_error_code", sa.String(30)))
    _index("uq_candidates_platform_native_id", "candidates", ["platform", "native_id"], IS_NOTE, unique=True)
    _index("ix_candidates_notes_state", "candidates", ["state", "first_seen", "id"], IS_NOTE)
    _index("ix_candidates_notes_claimed_by", "candidates", ["claimed_by"], IS_NOTE)
    _index("uq_runs_execution_id", "runs", ["owner"], IS_WORKFLOW, unique=True)
    _create_notes()
    for view in (TBL_CANDIDATE, TBL_CRAWL_EXECUTION, TBL_SOURCE):
        op.execute(view)


def downgrade() -> None:
    for view in ("tbl_source", "tbl_crawl_execution", "tbl_candidate"):
        op.execute(f"DROP VIEW {view}")
    # An older release knows nothing of such runs.
    op.execute("DELETE FROM runs WHERE kind = 'workflow'")
    op.drop_table("notes")
    op.drop_index("uq_runs_execution_id", "runs")
    for index in (
        "ix_candidates_notes_claimed_by",
        "ix_candidates_notes_state",
        "uq_candidates_platform_native_id",
    ):
        op.drop_index(index, "candidates")
    # What is left of a note without its platform would pass for a page.
    op.execute("DELETE FROM candidates WHERE platform IS NOT NULL")
    for column in ("last_error_code", "claimed_at", "platform"):
        op.drop_column("candidates", column)


def _index(name: str, table: str, columns: list[str], where: sa.TextClause, *, unique: bool = False) -> None:
    op.create_index(name, table, columns, unique=unique, sqlite_where=where, postgresql_where=where)


def _create_notes() -> None:
    op.create_table(
        "notes",
        sa.Column("id", Id, nullable=False),
        sa.Column("platform", sa.String(10), nullable=False),
        sa.Column("note_id", sa.String(128), nullable=False),
        sa.Column("idempotency_key", sa.String(140), nullable=False),
        sa.Column("source_id", Id),
        sa.Column("url", sa.Text(), nullable=False),
        sa.Column("title", sa.Text(), nullable=False),
        sa.Column("content", sa.Text(), nullable=False),
        sa.Column("note_type", sa.String(20), nullable=False),
        sa.Column("images", Json, nullable=False),
        sa.Column("video_url", sa.Text()),
        sa.Column("likes", sa.BigInteger()),
        sa.Column("collects", sa.BigInteger()),
        sa.Column("comments", sa.BigInteger()),
        sa.Column("shares", sa.BigInteger()),
        sa.Column("author_id", sa.Text(), nullable=False),
        sa.Column("author_name", sa.Text(), nullable=False),
        sa.Column("tags", Json, nullable=False),
        sa.Column("comment_list", Json, nullable=False),
        sa.Column("published_at", UtcDateTime()),
        sa.Column("extracted_at", UtcDateTime(), nullable=False),
        sa.Column("exec_meta", Json, nullable=False),
        sa.ForeignKeyConstraint(
            ["source_id"], ["sources.id"], name=op.f("fk_notes_source_id_sources"), ondelete="SET NULL"
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_notes")),
        sa.UniqueConstraint("platform", "idempotency_key", name=op.f("uq_notes_platform_idempotency_key")),
    )
    op.create_index("ix_notes_source_id", "notes", ["source_id"])
