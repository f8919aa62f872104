"""The database's tables, as the newest migration leaves them.

Times are whole milliseconds since 1970-01-01 UTC. Names of constraints say what they keep true; `dither_migrations`
creates the same schema with a comment on each, and a test holds the two together.
"""

from sqlalchemy import (
    BigInteger,
    CheckConstraint,
    Column,
    Float,
    ForeignKeyConstraint,
    Identity,
    Integer,
    LargeBinary,
    MetaData,
    PrimaryKeyConstraint,
    SmallInteger,
    Table,
    Text,
    UniqueConstraint,
)

__all__ = [
    "answers", "collections", "counts", "history", "metadata", "misfit_looks", "queries", "snapshots", "tokens",
]  # fmt: skip

metadata = MetaData()

collections = Table(
    "collections",
    metadata,
    Column("number", Integer, Identity(), nullable=False),
    Column("id", Text, nullable=False),
    Column("specification", Text, nullable=False),
    Column("state", Text, nullable=False),
    Column("created_at", BigInteger, nullable=False),
    Column("closes_at", BigInteger),
    Column("max_answers", BigInteger),
    PrimaryKeyConstraint("number", name="collections_number_is_the_key"),
    UniqueConstraint("id", name="collections_id_is_unique"),
    CheckConstraint("state IN ('open', 'paused', 'closed')", name="collections_state_is_known"),
    CheckConstraint("max_answers > 0", name="collections_max_answers_is_positive"),
)

queries = Table(
    "queries",
    metadata,
    Column("number", Integer, Identity(), nullable=False),
    Column("id", Text, nullable=False),
    Column("query", Text, nullable=False),
    Column("purpose", Text, nullable=False, server_default="training"),
    PrimaryKeyConstraint("number", name="queries_number_is_the_key"),
    UniqueConstraint("id", "purpose", name="queries_id_and_purpose_are_unique"),
    CheckConstraint("purpose IN ('training', 'check')", name="queries_purpose_is_known"),
)

answers = Table(
    "answers",
    metadata,
    Column("collection", Integer, nullable=False),
    Column("ticket", LargeBinary(20), nullable=False),
    Column("query", Integer, nullable=False),
    Column("answer", SmallInteger, nullable=False),
    Column("received_at", BigInteger, nullable=False),
    PrimaryKeyConstraint("collection", "ticket", name="answers_one_ticket_counts_once"),
    ForeignKeyConstraint(["collection"], ["collections.number"], name="answers_have_a_collection"),
    ForeignKeyConstraint(["query"], ["queries.number"], name="answers_have_a_query"),
    CheckConstraint("length(ticket) = 20", name="answers_ticket_has_20_bytes"),
    CheckConstraint("answer >= 0", name="answers_answer_is_not_negative"),
    sqlite_with_rowid=False,
)

counts = Table(
    "counts",
    metadata,
    Column("collection", Integer, nullable=False),
    Column("query", Integer, nullable=False),
    Column("answer", SmallInteger, nullable=False),
    Column("slot", SmallInteger, nullable=False),
    Column("count", BigInteger, nullable=False),
    PrimaryKeyConstraint("collection", "query", "answer", "slot", name="counts_one_row_for_each_answer_and_slot"),
    ForeignKeyConstraint(["collection"], ["collections.number"], name="counts_have_a_collection"),
    ForeignKeyConstraint(["query"], ["queries.number"], name="counts_have_a_query"),
    CheckConstraint("count > 0", name="counts_count_is_positive"),
    sqlite_with_rowid=False,
)

snapshots = Table(
    "snapshots",
    metadata,
    Column("collection", Integer, nullable=False),
    Column("answers", BigInteger, nullable=False),
    Column("stored_at", BigInteger, nullable=False),
    Column("content", LargeBinary, nullable=False),
    PrimaryKeyConstraint("collection", name="snapshots_one_for_each_collection"),
    ForeignKeyConstraint(["collection"], ["collections.number"], name="snapshots_have_a_collection"),
)

history = Table(
    "history",
    metadata,
    Column("collection", Integer, nullable=False),
    Column("answers", BigInteger, nullable=False),
    Column("at", BigInteger, nullable=False),
    Column("ess", Float, nullable=False),
    Column("posterior", Text, nullable=False),
    Column("query", Text, nullable=False),
    PrimaryKeyConstraint("collection", "answers", name="history_one_row_for_each_number_of_answers"),
    ForeignKeyConstraint(["collection"], ["collections.number"], name="history_has_a_collection"),
)

misfit_looks = Table(
    "misfit_looks",
    metadata,
    Column("collection", Integer, nullable=False),
    Column("look", BigInteger, nullable=False),
    Column("check_answers", BigInteger, nullable=False),
    Column("answers", BigInteger, nullable=False),
    Column("p_value", Float, nullable=False),
    Column("at", BigInteger, nullable=False),
    PrimaryKeyConstraint("collection", "look", name="misfit_looks_each_is_made_once"),
    ForeignKeyConstraint(["collection"], ["collections.number"], name="misfit_looks_have_a_collection"),
)

tokens = Table(
    "tokens",
    metadata,
    Column("id", Text, nullable=False),
    Column("hash", LargeBinary(32), nullable=False),
    Column("role", Text, nullable=False),
    Column("name", Text, nullable=False),
    Column("created_at", BigInteger, nullable=False),
    PrimaryKeyConstraint("id", name="tokens_id_is_the_key"),
    UniqueConstraint("hash", name="tokens_hash_is_unique"),
    CheckConstraint("role IN ('admin', 'analyst', 'gateway')", name="tokens_role_is_known"),
    CheckConstraint("length(hash) = 32", name="tokens_hash_is_sha256"),
)
