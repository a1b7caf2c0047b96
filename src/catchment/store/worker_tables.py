"""The tables by which workers share their jobs. They are Procrastinate's, and hold nothing that ours do not know."""

from __future__ import annotations

from sqlalchemy import Connection, inspect, text

#: As for migrations: any number will do, as long as every process asks for the same one.
ADVISORY_LOCK = 7_767_002
JOBS = "procrastinate_jobs"


def ensure_worker_tables(conn: Connection, schema: str) -> bool:
    """Run the schema where it is not there yet; says whether it was. Processes that start together take turns."""
    conn.execute(text("SELECT pg_advisory_xact_lock(:key)"), {"key": ADVISORY_LOCK})
    if inspect(conn).has_table(JOBS):
        return False
    conn.exec_driver_sql(schema.replace("%", "%%"))
    return True
