"""Deletion of collections, and a log of who did what.

Revision ID: 0010
Revises: 0009
"""

from typing import Any

import sqlalchemy as sa
from alembic import op
from sqlalchemy.schema import SetConstraintComment

revision = "0010"
down_revision = "0009"
branch_labels = None
depends_on = None

_ONLY_GROWS = "the audit log only grows"


def upgrade() -> None:
    """No collection is deleted yet; what was done before is in the server's log lines alone."""
    _mark_deleted()
    _deletions()
    _audit_log()


def _mark_deleted() -> None:
    # One statement for each, so that SQLite does not rebuild the table.
    op.add_column("collections", sa.Column("deleted_at", sa.BigInteger, comment="null unless it is deleted"))
    op.add_column("collections", sa.Column("deleted_by", sa.Text, comment="the id of a token"))
    op.add_column("collections", sa.Column("purge_at", sa.BigInteger, comment="when all of it is removed"))
    # A question is removed once nothing refers to it, which the database checks for each.
    op.create_index("counts_by_query", "counts", ["query"])
    op.create_index("tallies_by_query", "tallies", ["query"])


def _create(name: str, *elements: Any) -> None:
    table = op.create_table(name, *elements)
    if op.get_bind().dialect.supports_constraint_comments:
        for constraint in table.constraints:
            op.execute(SetConstraintComment(constraint))


def _deletions() -> None:
    _create(
        "deletions",
        sa.Column("number", sa.Integer, nullable=False, autoincrement=False, comment="of the collection that was"),
        sa.Column("id", sa.Text, nullable=False),
        sa.Column("created_at", sa.BigInteger, nullable=False),
        sa.Column("deleted_at", sa.BigInteger, nullable=False),
        sa.Column("deleted_by", sa.Text, nullable=False, comment="the id of a token, or what did it"),
        sa.Column("purged_by", sa.Text, nullable=False, comment="as deleted_by"),
        sa.Column("rows", sa.Text, nullable=False, comment="JSON: how many rows of each kind are removed so far"),
        sa.Column("receipt", sa.Text, comment="JSON, signed; null while rows are being removed"),
        sa.PrimaryKeyConstraint(
            "number", name="deletions_number_is_the_key", comment="no later collection has the number, nor its tickets"
        ),
        sa.UniqueConstraint("id", name="deletions_id_is_unique", comment="a collection is removed once"),
    )


def _audit_log() -> None:
    _create(
        "audit_log",
        sa.Column("number", sa.Integer, sa.Identity(), nullable=False),
        sa.Column("at", sa.BigInteger, nullable=False),
        sa.Column("what", sa.Text, nullable=False),
        sa.Column("by", sa.Text, nullable=False, comment="the id of a token, or what did it"),
        sa.Column("collection", sa.Text, comment="its id, if it was done to one, which may be gone by now"),
        sa.Column("facts", sa.Text, nullable=False, comment="JSON: the ids of what was changed"),
        sa.PrimaryKeyConstraint("number", name="audit_log_number_is_the_key", comment="in the order of the rows"),
    )
    op.create_index("audit_log_by_collection", "audit_log", ["collection"])
    if op.get_bind().dialect.name == "sqlite":
        for change in ("UPDATE", "DELETE"):
            op.execute(
                f"CREATE TRIGGER audit_log_{change.lower()} BEFORE {change} ON audit_log "
                f"BEGIN SELECT RAISE(ABORT, '{_ONLY_GROWS}'); END"
            )
        return
    op.execute(
        "CREATE FUNCTION refuse_change_of_audit_log() RETURNS trigger LANGUAGE plpgsql AS "
        f"$$ BEGIN RAISE EXCEPTION '{_ONLY_GROWS}'; END $$"
    )
    op.execute(
        "CREATE TRIGGER audit_log_only_grows BEFORE UPDATE OR DELETE OR TRUNCATE ON audit_log "
        "FOR EACH STATEMENT EXECUTE FUNCTION refuse_change_of_audit_log()"
    )
