"""A row for each turn of an alert: when it comes back, the time before stays to be seen."""

import sqlalchemy as sa
from alembic import op

revision = "0029"
down_revision = "0028"
branch_labels = None
depends_on = None

_OPEN = sa.text("resolved_at IS NULL")


def upgrade() -> None:
    with op.batch_alter_table("alerts") as table:
        table.drop_constraint("uq_alerts_rule_subject", type_="unique")
        table.create_unique_constraint("uq_alerts_rule_subject_since", ["rule", "subject", "since"])
    op.create_index(
        "ix_alerts_open",
        "alerts",
        ["rule", "subject"],
        unique=True,
        sqlite_where=_OPEN,
        postgresql_where=_OPEN,
    )


def downgrade() -> None:
    # There is room for one of them only.
    op.execute("DELETE FROM alerts WHERE id NOT IN (SELECT max(id) FROM alerts GROUP BY rule, subject)")
    op.drop_index("ix_alerts_open", table_name="alerts")
    with op.batch_alter_table("alerts") as table:
        table.drop_constraint("uq_alerts_rule_subject_since", type_="unique")
        table.create_unique_constraint("uq_alerts_rule_subject", ["rule", "subject"])
