"""The schema that migrations begin with, from the SQL beside this file. Stores from before are at this revision too."""

import re
from pathlib import Path
from string import Template

from alembic import op

revision = "0017"
down_revision = None
branch_labels = None
depends_on = None

_SQL = Path(__file__).with_suffix(".sql").read_text(encoding="utf-8")
#: SQLite numbers rows by itself only where the key is a plain INTEGER; moments there are text, see `UtcDateTime`.
_WORDS = {
    "sqlite": {
        "serial": "INTEGER",
        "rising": " AUTOINCREMENT",
        "id": "INTEGER",
        "moment": "VARCHAR(32)",
        "json": "JSON",
        "bytes": "BLOB",
        "by_key": " WITHOUT ROWID",
    },
    "postgresql": {
        "serial": "BIGSERIAL",
        "rising": "",
        "id": "BIGINT",
        "moment": "TIMESTAMP WITH TIME ZONE",
        "json": "JSONB",
        "bytes": "BYTEA",
        "by_key": "",
    },
}


def upgrade() -> None:
    conn = op.get_bind()
    for statement in Template(_SQL).substitute(_WORDS[conn.dialect.name]).split(";\n"):
        if statement.strip():
            conn.exec_driver_sql(statement)


def downgrade() -> None:
    for kind, name in reversed(re.findall(r"^CREATE (TABLE|VIEW) (\w+)", _SQL, re.MULTILINE)):
        op.execute(f"DROP {kind} {name}")
