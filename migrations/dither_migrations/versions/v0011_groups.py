"""The group of the respondents that a query is asked of, so that answers are counted by group.

Revision ID: 0011
Revises: 0010
"""

import sqlalchemy as sa
from alembic import op

revision = "0011"
down_revision = "0010"
branch_labels = None
depends_on = None

_NAME, _TRUE = "queries_group_is_not_negative", "group_number >= 0"


def upgrade() -> None:
    """Every answer so far belongs to no group.

    A query that is asked of a group has that in its id, which stays unique: so processes of the version before go on
    with this schema.
    """
    if op.get_bind().dialect.name == "sqlite":
        # Column and constraint in one statement, so that SQLite does not rebuild the table.
        op.execute(
            "ALTER TABLE queries ADD COLUMN group_number SMALLINT NOT NULL DEFAULT 0 "
            f"CONSTRAINT {_NAME} CHECK ({_TRUE})"
        )
        return
    comment = "the place of the label in the collection's groups, from 1, which the id ends with; 0 is no group"
    op.add_column(
        "queries", sa.Column("group_number", sa.SmallInteger, nullable=False, server_default="0", comment=comment)
    )
    op.create_check_constraint(_NAME, "queries", _TRUE)
    op.execute(f"COMMENT ON CONSTRAINT {_NAME} ON queries IS 'groups are numbered from 1'")
