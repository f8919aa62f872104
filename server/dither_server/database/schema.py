"""The database's tables, as the newest migration leaves them.

Times are whole milliseconds since 1970-01-01 UTC. Names of constraints say what they keep true; `dither_migrations`
creates the same schema with a comment on each, and a test holds the two together.
"""

from sqlalchemy import (
    BigInteger,
    Boolean,
    CheckConstraint,
    Column,
    Float,
    ForeignKeyConstraint,
    Identity,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    PrimaryKeyConstraint,
    SmallInteger,
    Table,
    Text,
    UniqueConstraint,
    true,
)

__all__ = [
    "answers", "audit_log", "collections", "counts", "deletions", "gateways", "history", "invitations", "leases",
    "member_counts", "metadata", "misfit_looks", "publications", "queries", "refusals", "replicas", "snapshots",
    "spent_tickets", "tallies", "ticket_keys", "tokens",
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
    Column("keep_answers", Boolean, nullable=False, server_default=true()),
    Column("deleted_at", BigInteger),
    Column("deleted_by", Text),
    Column("purge_at", BigInteger),
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
    Column("group_number", SmallInteger, nullable=False, server_default="0"),
    Column("period_number", Integer, nullable=False, server_default="0"),
    PrimaryKeyConstraint("number", name="queries_number_is_the_key"),
    UniqueConstraint("id", "purpose", name="queries_id_and_purpose_are_unique"),
    CheckConstraint("purpose IN ('training', 'check')", name="queries_purpose_is_known"),
    CheckConstraint("group_number >= 0", name="queries_group_is_not_negative"),
    CheckConstraint("period_number >= 0", name="queries_period_is_not_negative"),
)

answers = Table(
    "answers",
    metadata,
    Column("collection", Integer, nullable=False),
    Column("ticket", LargeBinary(20), nullable=False),
    Column("query", Integer, nullable=False),
    Column("answer", SmallInteger, nullable=False),
    Column("received_at", BigInteger, nullable=False),
    Column("retry_hash", LargeBinary(16)),
    # The table counts has the foreign keys to collections and queries: checking them for each answer would be slow.
    PrimaryKeyConstraint("collection", "ticket", name="answers_one_ticket_counts_once"),
    CheckConstraint("length(ticket) = 20", name="answers_ticket_has_20_bytes"),
    CheckConstraint("answer >= 0", name="answers_answer_is_not_negative"),
    CheckConstraint("length(retry_hash) = 16", name="answers_retry_hash_has_16_bytes"),
    sqlite_with_rowid=False,
)

spent_tickets = Table(
    "spent_tickets",
    metadata,
    Column("collection", Integer, nullable=False),
    Column("ticket", LargeBinary(20), nullable=False),
    PrimaryKeyConstraint("collection", "ticket", name="spent_tickets_one_ticket_counts_once"),
    CheckConstraint("length(ticket) = 20", name="spent_tickets_ticket_has_20_bytes"),
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
    Index("counts_by_query", "query"),
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

member_counts = Table(
    "member_counts",
    metadata,
    Column("collection", Integer, nullable=False),
    Column("institution", Text, nullable=False),
    Column("size", Integer, nullable=False),
    Column("counts", Text, nullable=False),
    Column("received_at", BigInteger, nullable=False),
    PrimaryKeyConstraint("collection", "institution", name="member_counts_one_institution_counts_once"),
    ForeignKeyConstraint(["collection"], ["collections.number"], name="member_counts_have_a_collection"),
    CheckConstraint("size > 0", name="member_counts_size_is_positive"),
)

tokens = Table(
    "tokens",
    metadata,
    Column("id", Text, nullable=False),
    Column("hash", LargeBinary(32), nullable=False),
    Column("role", Text, nullable=False),
    Column("name", Text, nullable=False),
    Column("created_at", BigInteger, nullable=False),
    Column("collections", Text),
    Column("expires_at", BigInteger),
    PrimaryKeyConstraint("id", name="tokens_id_is_the_key"),
    UniqueConstraint("hash", name="tokens_hash_is_unique"),
    CheckConstraint("role IN ('admin', 'analyst', 'gateway')", name="tokens_role_is_known"),
    CheckConstraint("length(hash) = 32", name="tokens_hash_is_sha256"),
    CheckConstraint("collections IS NULL OR role <> 'admin'", name="tokens_of_admins_are_for_every_collection"),
)

invitations = Table(
    "invitations",
    metadata,
    Column("collection", Integer, nullable=False),
    Column("hash", LargeBinary(32), nullable=False),
    Column("sealed", LargeBinary),
    PrimaryKeyConstraint("collection", "hash", name="invitations_each_code_is_one"),
    ForeignKeyConstraint(["collection"], ["collections.number"], name="invitations_have_a_collection"),
    CheckConstraint("length(hash) = 32", name="invitations_hash_is_sha256"),
    sqlite_with_rowid=False,
)

gateways = Table(
    "gateways",
    metadata,
    Column("number", Integer, Identity(), nullable=False),
    Column("token", Text, nullable=False),
    Column("name", Text, nullable=False),
    PrimaryKeyConstraint("number", name="gateways_number_is_the_key"),
    UniqueConstraint("token", name="gateways_token_is_unique"),
)

tallies = Table(
    "tallies",
    metadata,
    Column("collection", Integer, nullable=False),
    Column("query", Integer, nullable=False),
    Column("gateway", Integer, nullable=False),
    Column("period", BigInteger, nullable=False),
    Column("slot", SmallInteger, nullable=False),
    Column("tickets", BigInteger, nullable=False),
    Column("answers", BigInteger, nullable=False),
    Column("prompt", BigInteger, nullable=False),
    PrimaryKeyConstraint(
        "collection", "query", "gateway", "period", "slot", name="tallies_one_row_for_each_period_and_slot"
    ),
    ForeignKeyConstraint(["collection"], ["collections.number"], name="tallies_have_a_collection"),
    ForeignKeyConstraint(["query"], ["queries.number"], name="tallies_have_a_query"),
    Index("tallies_by_query", "query"),
    sqlite_with_rowid=False,
)

refusals = Table(
    "refusals",
    metadata,
    Column("collection", Integer, nullable=False),
    Column("cause", Text, nullable=False),
    Column("slot", SmallInteger, nullable=False),
    Column("count", BigInteger, nullable=False),
    PrimaryKeyConstraint("collection", "cause", "slot", name="refusals_one_row_for_each_cause_and_slot"),
    ForeignKeyConstraint(["collection"], ["collections.number"], name="refusals_have_a_collection"),
    sqlite_with_rowid=False,
)

replicas = Table(
    "replicas",
    metadata,
    Column("slot", SmallInteger, nullable=False, autoincrement=False),
    Column("holder", Text, nullable=False),
    Column("expires_at", BigInteger, nullable=False),
    PrimaryKeyConstraint("slot", name="replicas_slot_is_the_key"),
    UniqueConstraint("holder", name="replicas_holder_is_unique"),
)

leases = Table(
    "leases",
    metadata,
    Column("collection", Integer, nullable=False, autoincrement=False),
    Column("holder", Text),
    Column("term", BigInteger, nullable=False),
    PrimaryKeyConstraint("collection", name="leases_one_for_each_collection"),
    ForeignKeyConstraint(["collection"], ["collections.number"], name="leases_have_a_collection"),
)

publications = Table(
    "publications",
    metadata,
    Column("collection", Integer, nullable=False, autoincrement=False),
    Column("term", BigInteger, nullable=False),
    Column("version", BigInteger, nullable=False),
    Column("answers", BigInteger, nullable=False),
    Column("published_at", BigInteger, nullable=False),
    Column("content", Text, nullable=False),
    PrimaryKeyConstraint("collection", name="publications_one_for_each_collection"),
    ForeignKeyConstraint(["collection"], ["collections.number"], name="publications_have_a_collection"),
)

ticket_keys = Table(
    "ticket_keys",
    metadata,
    Column("number", Integer, nullable=False, autoincrement=False),
    Column("created_at", BigInteger, nullable=False),
    Column("signs_from", BigInteger, nullable=False),
    PrimaryKeyConstraint("number", name="ticket_keys_number_is_the_key"),
)

deletions = Table(
    "deletions",
    metadata,
    Column("number", Integer, nullable=False, autoincrement=False),
    Column("id", Text, nullable=False),
    Column("created_at", BigInteger, nullable=False),
    Column("deleted_at", BigInteger, nullable=False),
    Column("deleted_by", Text, nullable=False),
    Column("purged_by", Text, nullable=False),
    Column("rows", Text, nullable=False),
    Column("receipt", Text),
    PrimaryKeyConstraint("number", name="deletions_number_is_the_key"),
    UniqueConstraint("id", name="deletions_id_is_unique"),
)

audit_log = Table(
    "audit_log",
    metadata,
    Column("number", Integer, Identity(), nullable=False),
    Column("at", BigInteger, nullable=False),
    Column("what", Text, nullable=False),
    Column("by", Text, nullable=False),
    Column("collection", Text),
    Column("facts", Text, nullable=False),
    PrimaryKeyConstraint("number", name="audit_log_number_is_the_key"),
    Index("audit_log_by_collection", "collection"),
)
