"""What Alembic runs: the scripts, inside the transaction of the connection that `strop.storage.migrate` hands over."""

from __future__ import annotations

from alembic import context

# Alembic executes this file itself and fills in `config`; imported like any other module it does nothing.
if hasattr(context, "config"):
    context.configure(connection=context.config.attributes["connection"])
    with context.begin_transaction():
        context.run_migrations()
