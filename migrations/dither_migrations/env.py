"""Run by Alembic: migrates over the connection that `upgrade_database` holds, in the transaction that it began."""

from alembic import context

context.configure(connection=context.config.attributes["connection"], transactional_ddl=True)
context.run_migrations()
