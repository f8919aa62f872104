"""Tickets and answers by question, period and gateway; refused answers by cause; collections that discard answers.

Revision ID: 0005
Revises: 0004
"""

from typing import Any

import sqlalchemy as sa
from alembic import op
from sqlalchemy.schema import SetConstraintComment

revision = "0005"
down_revision = "0004"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Existing collections keep their answers; earlier tickets and refusals are not known."""
    op.add_column(
        "collections",
        sa.Column(
            "keep_answers",
            sa.Boolean,
            nullable=False,
            server_default=sa.true(),
            comment="if not, its tickets are in spent_tickets and nothing is in answers",
        ),
    )
    _spent_tickets()
    _gateways()
    _tallies()
    _refusals()


def _create(name: str, *elements: Any, **options: Any) -> None:
    table = op.create_table(name, *elements, **options)
    if op.get_bind().dialect.supports_constraint_comments:
        for constraint in table.constraints:
            op.execute(SetConstraintComment(constraint))


def _of_a_collection(table: str) -> sa.ForeignKeyConstraint:
    return sa.ForeignKeyConstraint(
        ["collection"], ["collections.number"], name=f"{table}_have_a_collection", comment="none is an orphan"
    )


def _spent_tickets() -> None:
    _create(
        "spent_tickets",
        sa.Column("collection", sa.Integer, nullable=False),
        sa.Column("ticket", sa.LargeBinary(20), nullable=False, comment="as in answers, whose place this takes"),
        sa.PrimaryKeyConstraint(
            "collection", "ticket", name="spent_tickets_one_ticket_counts_once", comment="whatever answers it brings"
        ),
        sa.CheckConstraint(
            "length(ticket) = 20", name="spent_tickets_ticket_has_20_bytes", comment="time of issue and nonce"
        ),
        sqlite_with_rowid=False,
    )


def _gateways() -> None:
    _create(
        "gateways",
        sa.Column("number", sa.Integer, sa.Identity(), nullable=False, comment="short, inside tickets"),
        sa.Column("token", sa.Text, nullable=False, comment="the id of a token, which may be revoked by now"),
        sa.Column("name", sa.Text, nullable=False, comment="the name that the token had"),
        sa.PrimaryKeyConstraint("number", name="gateways_number_is_the_key", comment="a ticket names one gateway"),
        sa.UniqueConstraint("token", name="gateways_token_is_unique", comment="a token has one number"),
    )


def _tallies() -> None:
    _create(
        "tallies",
        sa.Column("collection", sa.Integer, nullable=False),
        sa.Column("query", sa.Integer, nullable=False),
        sa.Column("gateway", sa.Integer, nullable=False, comment="0 where a ticket came through none"),
        sa.Column("period", sa.BigInteger, nullable=False, comment="of the tickets' issue: ten minutes since 1970"),
        sa.Column("slot", sa.SmallInteger, nullable=False, comment="of the process that counted"),
        sa.Column("tickets", sa.BigInteger, nullable=False),
        sa.Column("answers", sa.BigInteger, nullable=False),
        sa.Column("prompt", sa.BigInteger, nullable=False, comment="answers that came within an hour"),
        sa.PrimaryKeyConstraint(
            "collection",
            "query",
            "gateway",
            "period",
            "slot",
            name="tallies_one_row_for_each_period_and_slot",
            comment="no process waits for another's rows",
        ),
        _of_a_collection("tallies"),
        sa.ForeignKeyConstraint(
            ["query"], ["queries.number"], name="tallies_have_a_query", comment="it can be looked up"
        ),
        sqlite_with_rowid=False,
    )


def _refusals() -> None:
    _create(
        "refusals",
        sa.Column("collection", sa.Integer, nullable=False),
        sa.Column("cause", sa.Text, nullable=False, comment="the name of a problem"),
        sa.Column("slot", sa.SmallInteger, nullable=False, comment="of the process that counted"),
        sa.Column("count", sa.BigInteger, nullable=False),
        sa.PrimaryKeyConstraint(
            "collection",
            "cause",
            "slot",
            name="refusals_one_row_for_each_cause_and_slot",
            comment="no process waits for another's rows",
        ),
        _of_a_collection("refusals"),
        sqlite_with_rowid=False,
    )
