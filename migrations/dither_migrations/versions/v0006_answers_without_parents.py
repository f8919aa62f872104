"""Answers without foreign keys: the counts stored with them have the same ones.

PostgreSQL looks up and locks the parent of every row. That took two thirds of the time of an answer, and every replica
wrote the same few rows. Counts name the same collections and queries in the same transaction, and there are few of
them.

Revision ID: 0006
Revises: 0005
"""

import sqlalchemy as sa
from alembic import op

revision = "0006"
down_revision = "0005"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Drop the foreign keys. SQLite cannot drop a constraint: there the table is rebuilt."""
    before = sa.Table(
        "answers",
        sa.MetaData(),
        sa.Column("collection", sa.Integer, nullable=False),
        sa.Column("ticket", sa.LargeBinary(20), nullable=False),
        sa.Column("query", sa.Integer, nullable=False),
        sa.Column("answer", sa.SmallInteger, nullable=False),
        sa.Column("received_at", sa.BigInteger, nullable=False),
        sa.PrimaryKeyConstraint("collection", "ticket", name="answers_one_ticket_counts_once"),
        sa.ForeignKeyConstraint(["collection"], ["collections.number"], name="answers_have_a_collection"),
        sa.ForeignKeyConstraint(["query"], ["queries.number"], name="answers_have_a_query"),
        sa.CheckConstraint("length(ticket) = 20", name="answers_ticket_has_20_bytes"),
        sa.CheckConstraint("answer >= 0", name="answers_answer_is_not_negative"),
    )
    with op.batch_alter_table("answers", copy_from=before, table_kwargs={"sqlite_with_rowid": False}) as answers:
        answers.drop_constraint("answers_have_a_collection", type_="foreignkey")
        answers.drop_constraint("answers_have_a_query", type_="foreignkey")
