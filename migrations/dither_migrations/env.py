"""Run by Alembic: migrates over the connection that `upgrade_database` holds, in the transaction that it began."""

from alembic import context

given = context.config.attributes
context.configure(
    connection=given["connection"], transactional_ddl=True, on_version_apply=given.get("on_version_apply")
)
context.run_migrations()
