"""How every server of the tests is set up, and the collection and the key that tests send it."""

from typing import Any

from dither_server.settings import Settings

__all__ = ["ADMIN", "ADMIN_TOKEN", "RETRY_KEY", "SECRET", "SPEC", "server_settings"]

ADMIN_TOKEN = "the-admin-token"
SECRET = "secret of the tests"
ADMIN = {"Authorization": f"Bearer {ADMIN_TOKEN}"}
SPEC = {"name": "Test", "family": "normal", "epsilon": 1, "range": [0, 100], "particles": 100}
RETRY_KEY = "the-retry-key-of-the-tests"


def server_settings(database: str, **settings: Any) -> Settings:
    """The settings of a server on the database at that URL."""
    return Settings(**{"database": database, "secret": SECRET, "admin_token": ADMIN_TOKEN, **settings})
