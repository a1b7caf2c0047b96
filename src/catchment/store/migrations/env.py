"""Alembic's entry: runs on the connection it is handed."""

from alembic import context

from catchment.store.tables import metadata

context.configure(connection=context.config.attributes["connection"], target_metadata=metadata, render_as_batch=True)
context.run_migrations()
