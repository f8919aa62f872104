"""Collections, queries, answers, counts, snapshots, history and tokens.

Revision ID: 0001
Revises:
"""

from typing import Any

import sqlalchemy as sa
from alembic import op
from sqlalchemy.schema import SetConstraintComment

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Create the first schema; times are integer milliseconds since 1970-01-01 UTC."""
    _collections()
    _queries()
    _answers()
    _counts()
    _snapshots()
    _history()
    _tokens()


def _create(name: str, *elements: Any, **options: Any) -> None:
    """Create a table, with comments on its constraints where the database supports them."""
    table = op.create_table(name, *elements, **options)
    if op.get_bind().dialect.supports_constraint_comments:
        for constraint in table.constraints:
            op.execute(SetConstraintComment(constraint))


def _collections() -> None:
    _create(
        "collections",
        sa.Column("number", sa.Integer, sa.Identity(), nullable=False, comment="short, inside tickets"),
        sa.Column("id", sa.Text, nullable=False, comment="random, in addresses"),
        sa.Column("specification", sa.Text, nullable=False, comment="the JSON that created the collection"),
        sa.Column("state", sa.Text, nullable=False),
        sa.Column("created_at", sa.BigInteger, nullable=False),
        sa.Column("closes_at", sa.BigInteger, comment="answers that arrive later are refused"),
        sa.Column("max_answers", sa.BigInteger, comment="answers beyond these are refused"),
        sa.PrimaryKeyConstraint(
            "number", name="collections_number_is_the_key", comment="a ticket names one collection"
        ),
        sa.UniqueConstraint("id", name="collections_id_is_unique", comment="an address names one collection"),
        sa.CheckConstraint(
            "state IN ('open', 'paused', 'closed')",
            name="collections_state_is_known",
            comment="the writer decides by these",
        ),
        sa.CheckConstraint(
            "max_answers > 0", name="collections_max_answers_is_positive", comment="NULL means any number"
        ),
    )


def _queries() -> None:
    _create(
        "queries",
        sa.Column("number", sa.Integer, sa.Identity(), nullable=False, comment="short, in answers and counts"),
        sa.Column("id", sa.Text, nullable=False, comment="hash of the canonical JSON"),
        sa.Column("query", sa.Text, nullable=False, comment="the JSON of the wire format"),
        sa.PrimaryKeyConstraint("number", name="queries_number_is_the_key", comment="a count names one question"),
        sa.UniqueConstraint("id", name="queries_id_is_unique", comment="one question has one row"),
    )


def _answers() -> None:
    _create(
        "answers",
        sa.Column("collection", sa.Integer, nullable=False),
        sa.Column("ticket", sa.LargeBinary(20), nullable=False, comment="its time of issue, then its nonce"),
        sa.Column("query", sa.Integer, nullable=False),
        sa.Column("answer", sa.SmallInteger, nullable=False, comment="after the respondent's own noise"),
        sa.Column("received_at", sa.BigInteger, nullable=False),
        sa.PrimaryKeyConstraint(
            "collection",
            "ticket",
            name="answers_one_ticket_counts_once",
            comment="a ticket is signed for one collection, so this refuses every second use of it",
        ),
        sa.ForeignKeyConstraint(
            ["collection"], ["collections.number"], name="answers_have_a_collection", comment="none is an orphan"
        ),
        sa.ForeignKeyConstraint(
            ["query"], ["queries.number"], name="answers_have_a_query", comment="an answer means nothing without it"
        ),
        sa.CheckConstraint("length(ticket) = 20", name="answers_ticket_has_20_bytes", comment="4 and 16"),
        sa.CheckConstraint("answer >= 0", name="answers_answer_is_not_negative", comment="answers count from 0"),
        sqlite_with_rowid=False,
    )


def _counts() -> None:
    _create(
        "counts",
        sa.Column("collection", sa.Integer, nullable=False),
        sa.Column("query", sa.Integer, nullable=False),
        sa.Column("answer", sa.SmallInteger, nullable=False),
        sa.Column("slot", sa.SmallInteger, nullable=False, comment="of the process that counts; add up over slots"),
        sa.Column("count", sa.BigInteger, nullable=False),
        sa.PrimaryKeyConstraint(
            "collection",
            "query",
            "answer",
            "slot",
            name="counts_one_row_for_each_answer_and_slot",
            comment="processes with slots of their own never wait for each other's rows",
        ),
        sa.ForeignKeyConstraint(
            ["collection"], ["collections.number"], name="counts_have_a_collection", comment="none is an orphan"
        ),
        sa.ForeignKeyConstraint(
            ["query"], ["queries.number"], name="counts_have_a_query", comment="a count means nothing without it"
        ),
        sa.CheckConstraint("count > 0", name="counts_count_is_positive", comment="a row is made by the first answer"),
        sqlite_with_rowid=False,
    )


def _snapshots() -> None:
    _create(
        "snapshots",
        sa.Column("collection", sa.Integer, nullable=False),
        sa.Column("answers", sa.BigInteger, nullable=False, comment="how many it has learnt"),
        sa.Column("stored_at", sa.BigInteger, nullable=False),
        sa.Column("content", sa.LargeBinary, nullable=False, comment="particles, applied counts, generator state"),
        sa.PrimaryKeyConstraint(
            "collection", name="snapshots_one_for_each_collection", comment="a new one replaces the old"
        ),
        sa.ForeignKeyConstraint(
            ["collection"], ["collections.number"], name="snapshots_have_a_collection", comment="none is an orphan"
        ),
    )


def _history() -> None:
    _create(
        "history",
        sa.Column("collection", sa.Integer, nullable=False),
        sa.Column("answers", sa.BigInteger, nullable=False, comment="how many had been learnt"),
        sa.Column("at", sa.BigInteger, nullable=False),
        sa.Column("ess", sa.Float, nullable=False, comment="effective sample size of the particles"),
        sa.Column("posterior", sa.Text, nullable=False, comment="summaries as JSON"),
        sa.Column("query", sa.Text, nullable=False, comment="a question asked then, as JSON"),
        sa.PrimaryKeyConstraint(
            "collection",
            "answers",
            name="history_one_row_for_each_number_of_answers",
            comment="a restart tells nothing twice",
        ),
        sa.ForeignKeyConstraint(
            ["collection"], ["collections.number"], name="history_has_a_collection", comment="none is an orphan"
        ),
    )


def _tokens() -> None:
    _create(
        "tokens",
        sa.Column("id", sa.Text, nullable=False, comment="names the token without telling it"),
        sa.Column("hash", sa.LargeBinary(32), nullable=False, comment="SHA-256 of the token"),
        sa.Column("role", sa.Text, nullable=False),
        sa.Column("name", sa.Text, nullable=False, comment="whose it is, for people"),
        sa.Column("created_at", sa.BigInteger, nullable=False),
        sa.PrimaryKeyConstraint("id", name="tokens_id_is_the_key", comment="tokens are revoked by it"),
        sa.UniqueConstraint("hash", name="tokens_hash_is_unique", comment="a token has one role"),
        sa.CheckConstraint(
            "role IN ('admin', 'analyst', 'gateway')", name="tokens_role_is_known", comment="the server decides by it"
        ),
        sa.CheckConstraint("length(hash) = 32", name="tokens_hash_is_sha256", comment="never the token itself"),
    )
