"""Expiry of tokens.

Revision ID: 0008
Revises: 0007
"""

import sqlalchemy as sa
from alembic import op

revision = "0008"
down_revision = "0007"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Existing tokens never expire."""
    op.add_column("tokens", sa.Column("expires_at", sa.BigInteger, comment="milliseconds; null for never"))
