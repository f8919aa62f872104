"""Fresh databases, as for the server's tests."""

from tests.server.conftest import database_url, nothing_expires, postgres_url, reopen, sqlite_url

__all__ = ["database_url", "nothing_expires", "postgres_url", "reopen", "sqlite_url"]
