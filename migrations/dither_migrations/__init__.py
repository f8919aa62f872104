"""The database schema as Alembic migrations, which an installed server runs by itself."""

from dither_client.extras import require_extra

require_extra("server", "alembic", "sqlalchemy")

from dither_migrations.upgrade import Migration, SchemaRefused, newest_revision, upgrade_database  # noqa: E402  # needs what is required above

__all__ = ["Migration", "SchemaRefused", "newest_revision", "upgrade_database"]
