"""The four tables of the crawler's document, by its names and with its fields."""

from __future__ import annotations

import pytest
from sqlalchemy import inspect

#: Section 二 of the document, word for word.
FIELDS = {
    "tbl_cookie": (
        "cookie_name, platform, cookie_encrypted, status, priority, daily_used, daily_limit, consecutive_errors, "
        "cooling_until, created_at, updated_at"
    ),
    "tbl_candidate": (
        "note_id, platform, note_url, status, processing_lock, locked_at, retry_count, source_keyword, exec_meta"
    ),
    "tbl_crawl_execution": (
        "workflow_name, execution_id, status, started_at, heartbeat_at, completed_at, items_processed, items_failed"
    ),
    "tbl_source": "idempotency_key, processing_lock, locked_at, retry_count, last_error_code, exec_meta",
}


@pytest.mark.proves("E-18")
@pytest.mark.parametrize("table", FIELDS)
async def test_a_table_of_the_document_has_all_its_fields(store, table):
    columns = await store.read(lambda conn: {column["name"] for column in inspect(conn).get_columns(table)})
    assert set(FIELDS[table].split(", ")) <= columns
