"""Passwords, who is active, scopes of keys, and sessions that stand on a user."""

import sqlalchemy as sa
from alembic import op

revision = "0006"
down_revision = "0005"
branch_labels = None
depends_on = None

Id = sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def upgrade() -> None:
    # Plain additions, not a batch: SQLite would rebuild the table, and dropping the old one takes along what refers
    # to it.
    op.add_column("users", sa.Column("password_hash", sa.String(255), nullable=True))
    op.add_column("users", sa.Column("is_active", sa.Boolean(), nullable=False, server_default=sa.true()))
    op.add_column("users", sa.Column("login_version", sa.Integer(), nullable=False, server_default="0"))
    op.add_column("users", sa.Column("google_id", sa.String(255), nullable=True))
    op.create_index("uq_users_google_id", "users", ["google_id"], unique=True)
    op.add_column("api_keys", sa.Column("scope", sa.String(20), nullable=False, server_default="admin"))
    with op.batch_alter_table("sessions") as sessions:
        sessions.add_column(sa.Column("user_id", Id, nullable=True))
        sessions.add_column(sa.Column("login_version", sa.Integer(), nullable=True))
        sessions.create_foreign_key(op.f("fk_sessions_user_id_users"), "users", ["user_id"], ["id"], ondelete="CASCADE")


def downgrade() -> None:
    # The older release knows neither narrow keys nor disabled users: such keys must not widen on the way back.
    op.execute("UPDATE api_keys SET is_active = FALSE WHERE scope <> 'admin'")
    op.execute("UPDATE api_keys SET is_active = FALSE WHERE user_id IN (SELECT id FROM users WHERE NOT is_active)")
    op.execute("DELETE FROM sessions WHERE user_id IS NOT NULL")
    with op.batch_alter_table("sessions") as sessions:
        sessions.drop_constraint(op.f("fk_sessions_user_id_users"), type_="foreignkey")
        sessions.drop_column("login_version")
        sessions.drop_column("user_id")
    op.drop_column("api_keys", "scope")
    op.drop_index("uq_users_google_id", "users")
    for column in ("google_id", "login_version", "is_active", "password_hash"):
        op.drop_column("users", column)
