"""Hashes of the retry keys with which answers are sent.

Revision ID: 0009
Revises: 0008
"""

import sqlalchemy as sa
from alembic import op

revision = "0009"
down_revision = "0008"
branch_labels = None
depends_on = None

_NAME, _TRUE = "answers_retry_hash_has_16_bytes", "length(retry_hash) = 16"


def upgrade() -> None:
    """Existing answers were sent without a key and are treated as before."""
    if op.get_bind().dialect.name == "sqlite":
        # Column and constraint in one statement, so that SQLite does not rebuild a large table.
        op.execute(f"ALTER TABLE answers ADD COLUMN retry_hash BLOB CONSTRAINT {_NAME} CHECK ({_TRUE})")
        return
    comment = "of the ticket and the key that the answer came with, which is not stored; null if it came without one"
    op.add_column("answers", sa.Column("retry_hash", sa.LargeBinary, comment=comment))
    op.create_check_constraint(_NAME, "answers", _TRUE)
    op.execute(f"COMMENT ON CONSTRAINT {_NAME} ON answers IS 'half of a SHA-256: nobody finds another key for it'")
