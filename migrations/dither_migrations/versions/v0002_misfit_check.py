"""The purpose of queries, so that check answers are counted separately; the looks of the goodness-of-fit check.

Revision ID: 0002
Revises: 0001
"""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.schema import SetConstraintComment

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Mark all existing queries as asked for learning."""
    _purpose()
    _misfit_looks()


def _purpose() -> None:
    before = sa.Table(
        "queries",
        sa.MetaData(),
        sa.Column("number", sa.Integer, sa.Identity(), nullable=False),
        sa.Column("id", sa.Text, nullable=False),
        sa.Column("query", sa.Text, nullable=False),
        sa.PrimaryKeyConstraint("number", name="queries_number_is_the_key"),
        sa.UniqueConstraint("id", name="queries_id_is_unique"),
    )
    # SQLite cannot drop a constraint: there the table is rebuilt, keeping rows and numbers.
    with op.batch_alter_table("queries", copy_from=before) as queries:
        queries.add_column(
            sa.Column("purpose", sa.Text, nullable=False, server_default="training", comment="training, or check")
        )
        queries.drop_constraint("queries_id_is_unique", type_="unique")
        queries.create_unique_constraint("queries_id_and_purpose_are_unique", ["id", "purpose"])
        queries.create_check_constraint("queries_purpose_is_known", "purpose IN ('training', 'check')")
    comments = {
        "queries_id_and_purpose_are_unique": "one question has one row for each purpose",
        "queries_purpose_is_known": "check answers are never learnt",
    }
    if op.get_bind().dialect.supports_constraint_comments:
        for name, comment in comments.items():
            op.execute(f"COMMENT ON CONSTRAINT {name} ON queries IS '{comment}'")


def _misfit_looks() -> None:
    table = op.create_table(
        "misfit_looks",
        sa.Column("collection", sa.Integer, nullable=False),
        sa.Column("look", sa.BigInteger, nullable=False, comment="the number of check answers at which it was due"),
        sa.Column("check_answers", sa.BigInteger, nullable=False, comment="how many there were when it was made"),
        sa.Column("answers", sa.BigInteger, nullable=False, comment="how many others had been learnt"),
        sa.Column("p_value", sa.Float, nullable=False),
        sa.Column("at", sa.BigInteger, nullable=False),
        sa.PrimaryKeyConstraint(
            "collection",
            "look",
            name="misfit_looks_each_is_made_once",
            comment="looking again would raise the false-alarm rate",
        ),
        sa.ForeignKeyConstraint(
            ["collection"], ["collections.number"], name="misfit_looks_have_a_collection", comment="none is an orphan"
        ),
    )
    if op.get_bind().dialect.supports_constraint_comments:
        for constraint in table.constraints:
            op.execute(SetConstraintComment(constraint))
