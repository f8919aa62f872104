"""Several processes on one database: their slots, leases of particle systems, publications, and ticket keys.

Revision ID: 0003
Revises: 0002
"""

import time
from typing import Any

import sqlalchemy as sa
from alembic import op
from sqlalchemy.schema import SetConstraintComment

revision = "0003"
down_revision = "0002"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Give every collection a lease without holder; the key that has signed tickets so far becomes the first key."""
    _replicas()
    _leases()
    _publications()
    _ticket_keys()


def _create(name: str, *elements: Any, **options: Any) -> sa.Table:
    """Create a table, with comments on its constraints where the database supports them."""
    table = op.create_table(name, *elements, **options)
    if op.get_bind().dialect.supports_constraint_comments:
        for constraint in table.constraints:
            op.execute(SetConstraintComment(constraint))
    return table


def _replicas() -> None:
    _create(
        "replicas",
        sa.Column("slot", sa.SmallInteger, nullable=False, autoincrement=False, comment="whose count rows it adds to"),
        sa.Column("holder", sa.Text, nullable=False, comment="random, of one process"),
        sa.Column("expires_at", sa.BigInteger, nullable=False, comment="by the database's clock"),
        sa.PrimaryKeyConstraint("slot", name="replicas_slot_is_the_key", comment="slots are used again"),
        sa.UniqueConstraint("holder", name="replicas_holder_is_unique", comment="a process has one slot"),
    )


def _leases() -> None:
    _create(
        "leases",
        sa.Column("collection", sa.Integer, nullable=False, autoincrement=False),
        sa.Column("holder", sa.Text, comment="who runs the particle system, while it is alive; NULL is nobody"),
        sa.Column("term", sa.BigInteger, nullable=False, comment="grows with every new holder"),
        sa.PrimaryKeyConstraint(
            "collection", name="leases_one_for_each_collection", comment="a particle system has one owner"
        ),
        sa.ForeignKeyConstraint(
            ["collection"], ["collections.number"], name="leases_have_a_collection", comment="none is an orphan"
        ),
    )
    op.execute("INSERT INTO leases (collection, holder, term) SELECT number, NULL, 0 FROM collections")


def _publications() -> None:
    _create(
        "publications",
        sa.Column("collection", sa.Integer, nullable=False, autoincrement=False),
        sa.Column("term", sa.BigInteger, nullable=False, comment="of the lease it was published under"),
        sa.Column("version", sa.BigInteger, nullable=False, comment="grows within a term"),
        sa.Column("answers", sa.BigInteger, nullable=False, comment="how many it knows of, check answers too"),
        sa.Column("published_at", sa.BigInteger, nullable=False, comment="by the database's clock"),
        sa.Column("content", sa.Text, nullable=False, comment="questions and posterior as JSON"),
        sa.PrimaryKeyConstraint(
            "collection", name="publications_one_for_each_collection", comment="a new one replaces the old"
        ),
        sa.ForeignKeyConstraint(
            ["collection"], ["collections.number"], name="publications_have_a_collection", comment="none is an orphan"
        ),
    )


def _ticket_keys() -> None:
    keys = _create(
        "ticket_keys",
        sa.Column("number", sa.Integer, nullable=False, autoincrement=False, comment="inside tickets; no key material"),
        sa.Column("created_at", sa.BigInteger, nullable=False),
        sa.Column("signs_from", sa.BigInteger, nullable=False, comment="until the next key does"),
        sa.PrimaryKeyConstraint(
            "number", name="ticket_keys_number_is_the_key", comment="processes that make the next key make one"
        ),
    )
    now = int(time.time() * 1000)
    op.bulk_insert(keys, [{"number": 0, "created_at": now, "signs_from": now}])
