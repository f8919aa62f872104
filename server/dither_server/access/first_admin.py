"""The first admin's token, which the first start creates and writes to a file that only its user can read.

It is not written to the log, since logs are kept and passed on.
"""

import logging
import os
from dataclasses import dataclass
from pathlib import Path

from sqlalchemy import Connection, Engine, select, text

from dither_server.access.tokens import Token, draw_token, insert_token
from dither_server.audit import audit
from dither_server.clock import Clock, milliseconds
from dither_server.database.audit_log import append_audit
from dither_server.database.engine import writing
from dither_server.database.schema import tokens
from dither_server.errors import StartRefused
from dither_server.settings import Settings

__all__ = ["FirstAdmin", "make_first_admin", "token_file"]

_SERVER = "server"
"""The creator of the token in the audit log."""

_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class FirstAdmin:
    """The token that was just created, and the file with its secret."""

    token: Token
    file: Path

    def tell(self) -> None:
        """Logs where the secret is."""
        audit("token made", _SERVER, token=self.token.id, role=self.token.role)
        _log.warning(f"the first admin's token is in a file: read it with cat {self.file}, and store it elsewhere")


def make_first_admin(engine: Engine, settings: Settings, clock: Clock) -> FirstAdmin | None:
    """Creates an admin's token; None if there is an admin already, or DITHER_ADMIN_TOKEN is set.

    Raises `StartRefused` if the file exists or cannot be written; then no token is created.
    """
    if settings.admin_token is not None:
        return None
    file = token_file(engine)
    with writing(engine).connect() as connection:
        if _has_admin(connection):
            return None
        secret, digest, token = draw_token(clock, "admin", "first admin")
        insert_token(connection, digest, token)
        append_audit(connection, milliseconds(clock()), "token made", _SERVER, token=token.id, role=token.role)
        _write(file, secret)
        try:  # the file is written first, since an unreadable token would stop the next start from creating one
            connection.commit()
        except BaseException:
            file.unlink()
            raise
    return FirstAdmin(token, file)


def token_file(engine: Engine) -> Path:
    """The token's file: an SQLite database's name and `.admin-token`, or `dither.admin-token` in the working folder."""
    sqlite = engine.dialect.name == "sqlite" and engine.url.database
    return Path(f"{sqlite or 'dither'}.admin-token").absolute()


def _has_admin(connection: Connection) -> bool:
    """Whether there is an admin's token. Takes a lock, so that of processes that start together only one creates it."""
    if connection.dialect.name == "postgresql":
        connection.execute(text("LOCK TABLE tokens IN SHARE ROW EXCLUSIVE MODE"))
    return connection.execute(select(tokens.c.id).where(tokens.c.role == "admin").limit(1)).first() is not None


def _write(file: Path, secret: str) -> None:
    try:
        descriptor = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except FileExistsError:
        raise StartRefused(
            f"The first admin's token would overwrite {file}, which belongs to another database: move that file first."
        ) from None
    except OSError as error:
        raise StartRefused(
            f"The first admin's token cannot be written to {file} ({error.strerror}): set DITHER_ADMIN_TOKEN instead."
        ) from None
    try:
        with os.fdopen(descriptor, "w") as stream:
            stream.write(f"{secret}\n")
            stream.flush()
            os.fsync(stream.fileno())
    except OSError as error:
        file.unlink()
        raise StartRefused(f"The first admin's token cannot be written to {file} ({error.strerror}).") from None
