"""The period in which a query is asked, so that answers are counted by period.

Revision ID: 0012
Revises: 0011
"""

import sqlalchemy as sa
from alembic import op

revision = "0012"
down_revision = "0011"
branch_labels = None
depends_on = None

_NAME, _TRUE = "queries_period_is_not_negative", "period_number >= 0"


def upgrade() -> None:
    """Every answer so far belongs to no period.

    A query that is asked in a period has that in its id, which stays unique: so processes of the version before go on
    with this schema.
    """
    if op.get_bind().dialect.name == "sqlite":
        # Column and constraint in one statement, so that SQLite does not rebuild the table.
        op.execute(
            "ALTER TABLE queries ADD COLUMN period_number INTEGER NOT NULL DEFAULT 0 "
            f"CONSTRAINT {_NAME} CHECK ({_TRUE})"
        )
        return
    comment = (
        "the number of the day, week or month, from 1 for the first of 1970, which the id ends with; 0 is no period"
    )
    op.add_column(
        "queries", sa.Column("period_number", sa.Integer, nullable=False, server_default="0", comment=comment)
    )
    op.create_check_constraint(_NAME, "queries", _TRUE)
    op.execute(f"COMMENT ON CONSTRAINT {_NAME} ON queries IS 'periods are numbered from 1'")
