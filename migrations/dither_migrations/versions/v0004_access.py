"""The collections to which a token is limited; invitations.

Revision ID: 0004
Revises: 0003
"""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.schema import SetConstraintComment

revision = "0004"
down_revision = "0003"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Existing tokens are valid for every collection, and there are no invitations."""
    _collections_of_tokens()
    _invitations()


def _collections_of_tokens() -> None:
    with op.batch_alter_table("tokens", copy_from=_tokens_before()) as tokens:
        tokens.add_column(
            sa.Column("collections", sa.Text, comment="a JSON list of the ids that it is for; null means every one")
        )
        tokens.create_check_constraint(
            "tokens_of_admins_are_for_every_collection", "collections IS NULL OR role <> 'admin'"
        )
    if op.get_bind().dialect.supports_constraint_comments:
        op.execute(
            "COMMENT ON CONSTRAINT tokens_of_admins_are_for_every_collection ON tokens "
            "IS 'an admin makes tokens for itself, so a limit would be none'"
        )


def _tokens_before() -> sa.Table:
    return sa.Table(
        "tokens",
        sa.MetaData(),
        sa.Column("id", sa.Text, nullable=False),
        sa.Column("hash", sa.LargeBinary(32), nullable=False),
        sa.Column("role", sa.Text, nullable=False),
        sa.Column("name", sa.Text, nullable=False),
        sa.Column("created_at", sa.BigInteger, nullable=False),
        sa.PrimaryKeyConstraint("id", name="tokens_id_is_the_key"),
        sa.UniqueConstraint("hash", name="tokens_hash_is_unique"),
        sa.CheckConstraint("role IN ('admin', 'analyst', 'gateway')", name="tokens_role_is_known"),
        sa.CheckConstraint("length(hash) = 32", name="tokens_hash_is_sha256"),
    )


def _invitations() -> None:
    table = op.create_table(
        "invitations",
        sa.Column("collection", sa.Integer, nullable=False),
        sa.Column("hash", sa.LargeBinary(32), nullable=False, comment="of the code, which is not stored"),
        sa.Column("sealed", sa.LargeBinary, comment="its ticket, which only code and retry key open; null until then"),
        sa.PrimaryKeyConstraint(
            "collection", "hash", name="invitations_each_code_is_one", comment="one code is worth one ticket"
        ),
        sa.ForeignKeyConstraint(
            ["collection"], ["collections.number"], name="invitations_have_a_collection", comment="none is an orphan"
        ),
        sa.CheckConstraint("length(hash) = 32", name="invitations_hash_is_sha256", comment="never the code itself"),
        sqlite_with_rowid=False,
    )
    if op.get_bind().dialect.supports_constraint_comments:
        for constraint in table.constraints:
            op.execute(SetConstraintComment(constraint))
