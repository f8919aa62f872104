"""Counts of members that institutions share.

Revision ID: 0007
Revises: 0006
"""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.schema import SetConstraintComment

revision = "0007"
down_revision = "0006"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Create the table, which is empty: no institution has shared anything yet."""
    table = op.create_table(
        "member_counts",
        sa.Column("collection", sa.Integer, nullable=False),
        sa.Column("institution", sa.Text, nullable=False, comment="the id of its token, which may be revoked by now"),
        sa.Column("size", sa.Integer, nullable=False, comment="its number of members, which is public"),
        sa.Column("counts", sa.Text, nullable=False, comment="a JSON list: one noisy count for each cut"),
        sa.Column("received_at", sa.BigInteger, nullable=False),
        sa.PrimaryKeyConstraint(
            "collection", "institution", name="member_counts_one_institution_counts_once", comment="whatever it sends"
        ),
        sa.ForeignKeyConstraint(
            ["collection"], ["collections.number"], name="member_counts_have_a_collection", comment="none is an orphan"
        ),
        sa.CheckConstraint("size > 0", name="member_counts_size_is_positive", comment="nobody has no members"),
    )
    if op.get_bind().dialect.supports_constraint_comments:
        for constraint in table.constraints:
            op.execute(SetConstraintComment(constraint))
