"""The server of Dither: collections, tickets, answers and posteriors over HTTP."""

from dither_client.extras import require_extra

require_extra("server", "fastapi", "sqlalchemy", "alembic", "uvicorn", "itsdangerous")
